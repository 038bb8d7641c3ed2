"""What an encoder, a scorer and a model must offer; no base classes, only these shapes."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from xmtc.core.arrays import Allowed, Floats, Inputs, Ints
from xmtc.core.dataset import TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking


class Encoder(Protocol):
    """Turns texts into what its scorers read: sparse rows, dense vectors, token states."""

    def encode(self, inputs: Inputs) -> Any:
        """One row per text; rows can be sliced as `encoded[start:stop]`."""


class Scorer(Protocol):
    """Scores candidate nodes of one level of a tree."""

    def score(self, encoded: Any, candidates: Ints) -> Floats:
        """(texts, width) node ids, padded with -1 -> (texts, width) scores; pads score anything."""


@runtime_checkable
class Model(Protocol):
    """A finished thing that ranks labels for texts. It never changes, so threads share it."""

    @property
    def kind(self) -> str:
        """Its name in the catalog."""

    @property
    def labels(self) -> LabelSpace:
        """What its label ids mean."""

    @property
    def trained_on(self) -> TrainedOn:
        """How often it saw each label."""

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of each text, among those allowed."""

    def to_parts(self) -> Parts:
        """Everything needed to make this model again."""


def model_repr(model: Model) -> str:
    """The `__repr__` of models: "linear_tree(4,108 labels, 45,000 texts)"."""
    return f"{model.kind}({len(model.labels):,} labels, {model.trained_on.texts:,} texts)"
