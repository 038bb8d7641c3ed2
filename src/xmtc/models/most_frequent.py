"""most_frequent: always the labels seen most often in training. A floor for every other model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Allowed, Inputs, count_of
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.kernels.topk import best
from xmtc.planning.cost import Estimate, Spent

KIND = "most_frequent"


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


@dataclass(frozen=True, repr=False)
class MostFrequent:
    """Scores a label by the share of training texts that carry it, whatever the text says."""

    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The same k labels for every text."""
        texts = count_of(inputs)
        ids = np.arange(len(self.labels), dtype=np.int32)
        ids = ids if allowed is None else ids[allowed]
        shares = self.trained_on.label_counts[ids] / max(1, self.trained_on.texts)
        top, scores = best(ids[None], shares[None].astype(np.float32), k)
        return Ranking(np.repeat(top, texts, axis=0), np.repeat(scores, texts, axis=0))

    def to_parts(self) -> Parts:
        """Everything needed to make this model again."""
        return Parts({}, self.labels, self.trained_on)

    @staticmethod
    def from_parts(parts: Parts) -> MostFrequent:
        """The model as it was saved."""
        parts.config(Config)
        return MostFrequent(parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> MostFrequent:
    """Count the labels."""
    return MostFrequent(dataset.labels, dataset.trained_on())


def costs(dataset: Dataset) -> Callable[[Config], Estimate]:
    """Settings -> what training with them costs."""
    return lambda config: Estimate(Spent(), 0, 0)
