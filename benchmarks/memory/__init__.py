"""How much memory a process took at its peak."""
