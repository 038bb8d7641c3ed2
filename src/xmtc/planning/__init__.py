"""What a training costs: time, memory, size."""
