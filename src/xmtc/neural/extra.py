"""Whether what this workshop needs is installed; found out without importing it."""

from __future__ import annotations

from importlib.util import find_spec

from xmtc.core.errors import MissingExtra

NEEDED = {"torch": "PyTorch", "transformers": "transformers", "tokenizers": "tokenizers"}


def require_neural(what: str) -> None:
    """Raise when something is missing, and say how to install it."""
    missing = [title for name, title in NEEDED.items() if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"{what} needs {' and '.join(missing)}. Install with: pip install 'xmtc[neural]'"
        )
