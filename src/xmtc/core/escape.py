"""Untrusted text, escaped for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without control characters and half characters."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text
    )
