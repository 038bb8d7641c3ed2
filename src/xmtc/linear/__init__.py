"""Trains and applies many linear classifiers."""
