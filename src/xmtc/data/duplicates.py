"""Duplicates: texts that repeat an earlier training text, word for word or nearly."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Bytes, Ints, Longs, starts_of
from xmtc.core.progress import track
from xmtc.core.threads import blocks, in_threads
from xmtc.kernels import minhash

NEAR = 0.9  # overlap of three-word runs from which two texts are near duplicates
MARGIN = 0.08  # three standard errors of the estimate that proposes pairs
PROPOSALS = 16  # pairs to try per text; formulaic texts have many that come close
TEXTS_AT_ONCE = 64  # few, so that very long texts do not pile up in memory


@dataclass(frozen=True)
class Repeats:
    """One row per text: the training texts, then the test texts."""

    words: Longs  # how many words the text has
    exact: Longs  # the first training text with the same words in any case and spacing, or -1
    near: Longs  # a training text with at least 90 % of its three-word runs in common, or -1


def find_repeats(training: Sequence[str], test: Sequence[str] = ()) -> Repeats:
    """Compare every text with the training texts before it.

    MinHash proposes the pairs and the texts themselves confirm them: no pair is wrong, and very
    few near duplicates, just above the limit, are overlooked.
    """
    texts = [*training, *test]
    words, wholes, signatures = _fingerprints(texts)
    exact = _exact(words, wholes, len(training))
    rows = np.flatnonzero((words > 0) & (exact < 0))
    limit = int(np.searchsorted(rows, len(training)))
    least = round((NEAR - MARGIN) * minhash.PLACES)
    proposed = minhash.likely_partners(signatures[rows], limit, least, PROPOSALS)
    return Repeats(words, exact, _confirmed(texts, rows, proposed))


def folded(text: str) -> bytes:
    """Lower case, one Unicode form, plain spaces; the bytes that the kernel reads."""
    if text.isascii():
        return text.lower().encode()
    plain = unicodedata.normalize("NFC", text.casefold())
    return " ".join(plain.split()).encode("utf-8", "surrogatepass")


def _fingerprints(texts: list[str]) -> tuple[Longs, minhash.Hashes, minhash.Signatures]:
    with track("reading texts", len(texts)) as advance:

        def read(block: tuple[int, int]) -> tuple[Longs, minhash.Hashes, minhash.Signatures]:
            parts = [folded(text) for text in texts[slice(*block)]]
            starts = starts_of([len(part) for part in parts])
            found = minhash.fingerprints(_bytes(b"".join(parts)), starts)
            advance(len(parts))
            return found

        # An empty block gives the arrays their types when there are no texts.
        parts = in_threads(read, [(0, 0), *blocks(len(texts), TEXTS_AT_ONCE)])
    words, wholes, signatures = (np.concatenate(column) for column in zip(*parts, strict=True))
    return words, wholes, signatures


def _exact(words: Longs, wholes: minhash.Hashes, training: int) -> Longs:
    values, first = np.unique(wholes[:training], return_index=True)
    if not training:
        return np.full(len(words), -1, np.int64)
    at = np.minimum(np.searchsorted(values, wholes), len(values) - 1)
    same = (values[at] == wholes) & (words > 0) & (first[at] != np.arange(len(words)))
    return np.where(same, first[at], -1).astype(np.int64)


def _confirmed(texts: list[str], rows: Longs, proposed: Ints) -> Longs:
    """(texts,) the first proposed partner that is near indeed."""

    def near(at: int) -> int:
        partners = rows[proposed[at][proposed[at] >= 0]].tolist()
        text = _bytes(folded(texts[rows[at]]))
        others = ((other, _bytes(folded(texts[other]))) for other in partners)
        return next((i for i, other in others if minhash.overlap(text, other) >= NEAR), -1)

    asked = np.flatnonzero(proposed[:, 0] >= 0)
    confirmed = np.full(len(texts), -1, np.int64)
    confirmed[rows[asked]] = in_threads(near, asked.tolist())
    return confirmed


def _bytes(text: bytes) -> Bytes:
    return np.frombuffer(text, np.uint8)
