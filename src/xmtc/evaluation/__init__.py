"""Compares rankings with the truth."""
