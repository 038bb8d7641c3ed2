"""Tokens: texts as numbers, made once. A long text is cut, or read in several pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core.arrays import Ints, Longs, starts_of
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.core.threads import blocks

BLOCK = 1000  # texts tokenised at once
# A text of a megabyte need not be tokenised whole to keep its first tokens. Words are shorter.
CHARACTERS_PER_TOKEN = 40


@dataclass(frozen=True)
class Cut:
    """What is kept of a text that has more than `room` tokens."""

    room: int
    long_texts: str = "head"
    max_chunks: int = 4

    def pieces(self, ids: list[int]) -> list[list[int]]:
        """One piece, or several of them with chunks."""
        if len(ids) <= self.room or self.long_texts == "head":
            return [ids[: self.room]]
        if self.long_texts == "head_tail":
            head = self.room // 2
            return [ids[:head] + ids[head - self.room :]]
        end = min(len(ids), self.room * self.max_chunks)
        return [ids[start : start + self.room] for start in range(0, end, self.room)]

    def shortened(self, text: str) -> str:
        """The part of the text that can matter; half characters become question marks."""
        most = self.room * CHARACTERS_PER_TOKEN
        if self.long_texts == "chunks":
            text = text[: most * self.max_chunks]
        elif len(text) > 2 * most and self.long_texts == "head_tail":
            text = f"{text[:most]} {text[-most:]}"
        elif self.long_texts == "head":
            text = text[:most]
        return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True)
class Tokens:
    """Piece p has `ids[starts[p] : starts[p + 1]]`; text t has pieces `first[t]` on."""

    ids: Ints
    starts: Longs  # (pieces + 1,)
    first: Longs  # (texts + 1,)

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lengths(self) -> Longs:
        """(texts,) the longest piece of each text."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.maximum.reduceat(np.diff(self.starts), self.first[:-1])

    @property
    def piece_counts(self) -> Longs:
        """(texts,) how many pieces each text has."""
        return np.diff(self.first)


def tokenise(texts: Sequence[str], tokenizer: Any, cut: Cut) -> Tokens:
    """All texts, without special tokens. The tokenizer itself works in parallel."""
    ids = [np.zeros(0, np.int32)]  # one array per block: a small one per text would take more
    sizes: list[int] = []
    counts: list[int] = []
    with track("tokenising", len(texts)) as advance:
        for start, stop in blocks(len(texts), BLOCK):
            block = [cut.shortened(text) for text in texts[start:stop]]
            few: list[Ints] = []
            for found in tokenizer.encode_batch_fast(block, add_special_tokens=False):
                pieces = cut.pieces(found.ids)
                counts.append(len(pieces))
                sizes += map(len, pieces)
                few += [np.array(piece, np.int32) for piece in pieces]
            ids.append(np.concatenate(few))
            advance(stop - start)
    return Tokens(np.concatenate(ids), starts_of(sizes), starts_of(counts))


def tokenised(texts: Sequence[str], tokenizer: Any, cut: Cut, cache: Path) -> Tokens:
    """The same, memory-mapped from the cache, where it is made unless it is there."""
    folder = cache / f"tokens-{_key(texts, tokenizer, cut)}"
    if not folder.exists():
        tokens = tokenise(texts, tokenizer, cut)
        try:
            with written(folder) as draft:
                draft.mkdir()
                for name in ("ids", "starts", "first"):
                    np.save(draft / f"{name}.npy", getattr(tokens, name))
        except OSError:
            if not folder.exists():  # else another process made the same
                raise
    names = ("ids", "starts", "first")
    return Tokens(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))


def _key(texts: Sequence[str], tokenizer: Any, cut: Cut) -> str:
    digest = hashlib.sha256(repr((cut, len(texts), tokenizer.to_str())).encode())
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:32]
