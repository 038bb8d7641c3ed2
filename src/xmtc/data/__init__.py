"""Reads and checks data sets."""
