"""Tokens: texts as numbers, made once. A long text is cut, or read in several pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core.arrays import Ints, Longs, starts_of
from xmtc.core.digest import digest, digest_of_texts
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.core.threads import blocks

BLOCK = 1000  # texts tokenized at once
# A text of a megabyte need not be tokenized whole to get its first tokens. Words are shorter.
CHARACTERS_PER_TOKEN = 40
DIGEST_SIZE = 16  # bytes


@dataclass(frozen=True)
class Cut:
    """Which part of a text with more than `room` tokens is read."""

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
        size = self.room * CHARACTERS_PER_TOKEN
        if self.long_texts == "chunks":
            text = text[: size * self.max_chunks]
        elif len(text) > 2 * size and self.long_texts == "head_tail":
            text = f"{text[:size]} {text[-size:]}"
        elif self.long_texts == "head":
            text = text[:size]
        return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True)
class Tokens:
    """Piece p has `ids[starts[p] : starts[p + 1]]`; text t has pieces `first[t]` on."""

    ids: Ints
    starts: Longs  # (pieces + 1,)
    first: Longs  # (texts + 1,)

    def __len__(self) -> int:
        return len(self.first) - 1

    @cached_property
    def piece_digests(self) -> list[bytes]:
        """What tells the pieces apart, by their tokens."""
        ids = np.ascontiguousarray(self.ids)
        return [short_digest(ids[a:b]) for a, b in pairwise(self.starts.tolist())]

    @property
    def text_digests(self) -> list[bytes]:
        """What tells the texts apart, by their pieces."""
        pieces = self.piece_digests
        return [short_digest(b"".join(pieces[a:b])) for a, b in pairwise(self.first.tolist())]

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


def short_digest(content: Any) -> bytes:
    """A fingerprint of DIGEST_SIZE bytes, for an index of very many."""
    return bytes.fromhex(digest(content)[: 2 * DIGEST_SIZE])


def tokenize(texts: Sequence[str], tokenizer: Any, cut: Cut) -> Tokens:
    """All texts, without special tokens. The tokenizer itself works in parallel."""
    ids = [np.zeros(0, np.int32)]  # one array per block: a small one per text would take more
    sizes: list[int] = []
    counts: list[int] = []
    with track("tokenizing", len(texts)) as advance:
        for start, stop in blocks(len(texts), BLOCK):
            block = [cut.shortened(text) for text in texts[start:stop]]
            block_pieces: list[Ints] = []
            for found in tokenizer.encode_batch_fast(block, add_special_tokens=False):
                pieces = cut.pieces(found.ids)
                counts.append(len(pieces))
                sizes += map(len, pieces)
                block_pieces += [np.array(piece, np.int32) for piece in pieces]
            ids.append(np.concatenate(block_pieces))
            advance(stop - start)
    return Tokens(np.concatenate(ids), starts_of(sizes), starts_of(counts))


def cached_tokens(
    texts: Sequence[str], tokenizer: Any, cut: Cut, cache: Path, corpus: str | None = None
) -> Tokens:
    """The same, memory-mapped from the cache, where it is made unless it is there.

    corpus: fingerprint of the texts; without it they are hashed here.
    """
    corpus = digest_of_texts(texts) if corpus is None else corpus
    key = digest(corpus, tokenizer.to_str(), cut.room, cut.long_texts, cut.max_chunks)
    folder = cache / f"tokens-{key[:32]}"
    names = ("ids", "starts", "first")
    if not folder.exists():
        tokens = tokenize(texts, tokenizer, cut)
        try:
            with written(folder) as draft:
                draft.mkdir()
                for name in names:
                    np.save(draft / f"{name}.npy", getattr(tokens, name))
        except OSError:
            if not folder.exists():  # else another process made the same
                raise
    return Tokens(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))
