"""Benchmarks: every figure we publish can be measured again with one command."""
