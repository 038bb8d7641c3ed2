"""Report: one evaluation in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from xmtc.core import config
from xmtc.core.arrays import Csr
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking
from xmtc.evaluation.bootstrap import intervals
from xmtc.evaluation.frequency_bands import Band, bands_of
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.sums import add_up, contributions, percentages


@dataclass(frozen=True)
class Report:
    """All figures are percent."""

    texts: int
    metrics: dict[str, float]  # "P@1", "nDCG@5", "PSP@5", "coverage@5", ...
    bands: tuple[Band, ...] = ()  # head, torso, tail, unseen; none without training counts
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # when asked for
    settings: Measures = field(default_factory=Measures)

    def __str__(self) -> str:
        rows = [f"{self.texts:,} texts, percent"]
        return "\n".join(
            rows + [f"{name:>12} {value:6.2f}" for name, value in self.metrics.items()]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def evaluate_ranking(
    ranking: Ranking, relevant: Csr, trained_on: TrainedOn | None = None, **settings: object
) -> Report:
    """Compare a ranking with the truth: `evaluate_ranking(ranking, relevant, ks=(1, 3, 5))`.

    relevant: (texts, labels) in the ids of the ranking; labels unknown to the model come after.
    trained_on: label counts of the training texts; PSP, PSnDCG and the bands need them.
    settings: those of `Measures`.
    """
    measures = config.from_dict(Measures, settings)
    parts = contributions(ranking, relevant, measures, trained_on)
    sums = add_up(parts)
    return Report(
        parts.texts,
        {name: float(value[0]) for name, value in percentages(sums, measures).items()},
        () if trained_on is None else bands_of(sums, trained_on, measures),
        intervals(parts, measures) if measures.resamples else {},
        measures,
    )
