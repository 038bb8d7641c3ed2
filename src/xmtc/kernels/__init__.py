"""Loops over arrays, compiled by numba; they know nothing of the rest of xmtc."""
