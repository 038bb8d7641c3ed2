"""Describes labels by vectors and groups them into trees."""
