"""Ranking: for each text its best labels in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Floats, Inputs, Ints, count_of, pair_keys
from xmtc.core.labels import LabelSpace
from xmtc.core.progress import track
from xmtc.core.threads import blocks

NO_LABEL = -1  # pads rows that have fewer than k labels
NO_SCORE = -np.inf  # what a padded place scores: below everything
BLOCK = 4096  # texts ranked between two steps of the progress bar


@dataclass(frozen=True)
class Ranking:
    """Best first; equal scores in the order of label ids; padded at the end of a row."""

    labels: Ints  # (texts, k)
    scores: Floats  # (texts, k)

    def __post_init__(self) -> None:
        if self.labels.ndim != 2 or self.labels.shape != self.scores.shape:
            raise ValueError(
                f"labels {self.labels.shape} and scores {self.scores.shape}: not one 2-d shape"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def k(self) -> int:
        """How many places each row has."""
        return int(self.labels.shape[1])

    @staticmethod
    def empty(texts: int, k: int) -> Ranking:
        """Nothing but padding."""
        return Ranking(
            np.full((texts, k), NO_LABEL, np.int32), np.full((texts, k), NO_SCORE, np.float32)
        )

    @staticmethod
    def stack(parts: Sequence[Ranking]) -> Ranking:
        """Rankings of consecutive texts as one; all have the same k."""
        return Ranking(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def top(self, k: int) -> Ranking:
        """The first k places, padded when there are fewer."""
        if k <= self.k:
            return Ranking(self.labels[:, :k], self.scores[:, :k])
        wide = Ranking.empty(len(self), k)
        wide.labels[:, : self.k] = self.labels
        wide.scores[:, : self.k] = self.scores
        return wide

    def above(self, threshold: float) -> Ranking:
        """Only the labels that score at least `threshold`; the other places become padding."""
        above = self.scores >= threshold
        return Ranking(
            np.where(above, self.labels, NO_LABEL).astype(np.int32),
            np.where(above, self.scores, NO_SCORE).astype(np.float32),
        )

    def without(self, pairs: Ints) -> Ranking:
        """The same with some (text, label) pairs taken out; later labels move up."""
        width = int(max(self.labels.max(initial=0), pairs.max(initial=0))) + 1
        keys = pair_keys(np.arange(len(self))[:, None], self.labels, width)
        gone = np.isin(keys, pair_keys(pairs[:, 0], pairs[:, 1], width))
        gone &= self.labels != NO_LABEL
        order = np.argsort(gone, axis=1, kind="stable")
        remaining = ~np.take_along_axis(gone, order, axis=1)
        labels = np.take_along_axis(self.labels, order, axis=1)
        scores = np.take_along_axis(self.scores, order, axis=1)
        return Ranking(
            np.where(remaining, labels, NO_LABEL).astype(np.int32),
            np.where(remaining, scores, NO_SCORE).astype(np.float32),
        )

    def named(self, labels: LabelSpace) -> list[list[tuple[str, float]]]:
        """`[[("olive oil", 0.93), ...], ...]`: what a user sees."""
        return [
            [
                (labels.names[label], score)
                for label, score in zip(ids, scores, strict=True)
                if label != NO_LABEL
            ]
            for ids, scores in zip(self.labels.tolist(), self.scores.tolist(), strict=True)
        ]


def rank_in_blocks(
    rank: Callable[[Inputs, int], Ranking],
    inputs: Inputs,
    k: int,
    title: str = "ranking",
    size: int = BLOCK,
) -> Ranking:
    """`rank(inputs, k)` behind a progress bar, some texts at a time: `rank` is a model's."""
    parts = []
    total = count_of(inputs)
    with track(title, total) as advance:
        for start, stop in blocks(total, size):
            parts.append(rank(inputs[start:stop], k))
            advance(stop - start)
    return Ranking.stack(parts) if parts else Ranking.empty(0, k)
