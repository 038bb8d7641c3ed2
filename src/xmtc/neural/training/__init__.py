"""The training loop and what it needs: optimizer, schedule, averaging, checkpoints, log."""
