"""How fast, always beside something else in the same run."""
