"""The one fingerprint: a SHA-256 over text, numbers, arrays and whatever is made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def digest(*parts: Any) -> str:
    """Hexadecimal. Parts are strings, bytes, numbers, None, arrays, and lists or dicts of these.

    Each part enters with its type and length, so that no two different lists look the same. The
    order of a dict does not matter.
    """
    sha = hashlib.sha256()
    for part in parts:
        _add(sha, part)
    return sha.hexdigest()


def digest_of_texts(texts: Iterable[str]) -> str:
    """Of a corpus, text by text."""
    sha = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        sha.update(b"%d:%b" % (len(data), data))
    return sha.hexdigest()


def digest_of_text(text: str) -> str:
    """Of one text as UTF-8, as any other program computes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    """Of a file's bytes, a megabyte at a time."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def _add(sha: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        sha.update(f"array {part.dtype.str} {part.shape};".encode())
        sha.update(np.ascontiguousarray(part).data)
    elif isinstance(part, Mapping):
        sha.update(b"dict %d;" % len(part))
        for name in sorted(part):
            _add(sha, name)
            _add(sha, part[name])
    elif isinstance(part, list | tuple):
        sha.update(b"list %d;" % len(part))
        for each in part:
            _add(sha, each)
    else:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        sha.update(f"{type(part).__name__} {len(data)};".encode())
        sha.update(data)
