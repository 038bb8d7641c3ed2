"""Random rankings with a truth, small enough for naive loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from xmtc.core.arrays import Csr, csr_of_rows
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking


@dataclass(frozen=True)
class Case:
    predicted: list[list[int]]  # with repeats, -1 in any place, ids beyond the truth's columns
    truth: list[set[int]]
    ranking: Ranking
    relevant: Csr
    trained_on: TrainedOn


def random_case(seed: int, texts: int = 12, labels: int = 8, k: int = 7) -> Case:
    rng = np.random.default_rng(seed)
    predicted = rng.integers(-1, labels + 2, (texts, k)).astype(np.int32)
    scores = -np.sort(-rng.random((texts, k)).astype(np.float32), axis=1)
    truth = [set(np.flatnonzero(rng.random(labels) < 0.3).tolist()) for _ in range(texts)]
    counts = rng.integers(0, 100, labels - 2)  # the last two labels are unknown in training
    return Case(
        predicted.tolist(),
        truth,
        Ranking(predicted, scores),
        csr_of_rows([sorted(row) for row in truth], labels),
        TrainedOn(1000, counts.astype(np.int64)),
    )


@pytest.fixture(scope="session")
def make_case() -> Callable[..., Case]:
    return random_case
