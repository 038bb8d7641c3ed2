"""Measures: the settings of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from xmtc.core.config import check_bounds, setting
from xmtc.core.errors import require
from xmtc.evaluation.metrics import Convention
from xmtc.evaluation.propensity import PRESETS, Family


@dataclass(frozen=True)
class Measures:
    """What `evaluate_ranking` computes."""

    ks: tuple[int, ...] = setting((1, 3, 5), "cut-offs: P@1, P@3, P@5 and so on")
    threshold: float | None = setting(None, "adds F1 of the labels that score at least this")
    family: Family = setting("default", "propensity constants; amazon: Amazon-670K and -3M only")
    propensity_a: float | None = setting(None, "propensity constant A instead of the family's")
    propensity_b: float | None = setting(None, "propensity constant B instead of the family's")
    psndcg: Convention = setting("pyxclib", "normalization of PSnDCG, or as in AttentionXML's code")
    tail_up_to: int = setting(5, "maximum training texts of a tail label", low=1)
    torso_up_to: int = setting(50, "maximum training texts of a torso label; more: head")
    resamples: int = setting(0, "bootstrap samples for confidence intervals; 0: none", low=0)
    confidence: float = setting(0.95, "confidence level of the intervals", above=0, below=1)
    seed: int = setting(0, "random seed of the bootstrap")

    def __post_init__(self) -> None:
        require(min(self.ks, default=0) >= 1, "ks", self.ks, "name places from 1 on, e.g. 1,3,5")
        check_bounds(self)
        require(
            self.torso_up_to > self.tail_up_to,
            "torso_up_to",
            self.torso_up_to,
            f"must be more than tail_up_to, which is {self.tail_up_to}",
        )

    @property
    def a(self) -> float:
        """The exponent of the propensity model."""
        return PRESETS[self.family][0] if self.propensity_a is None else self.propensity_a

    @property
    def b(self) -> float:
        """The shift of the propensity model."""
        return PRESETS[self.family][1] if self.propensity_b is None else self.propensity_b
