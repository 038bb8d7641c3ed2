"""Text of strangers, as it may be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without what would steer a terminal or is half a character."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text
    )
