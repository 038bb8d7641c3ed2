"""The training loop and what it needs: optimiser, schedule, averaging, checkpoints, log."""
