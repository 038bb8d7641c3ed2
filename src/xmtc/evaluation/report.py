"""Report: one evaluation in numbers, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from xmtc.core import config
from xmtc.core.arrays import Csr
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking
from xmtc.evaluation.bootstrap import intervals
from xmtc.evaluation.frequency_bands import Band, bands_of
from xmtc.evaluation.settings import Measures
from xmtc.evaluation.sums import Tally, add_up, evidence


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
        return {
            "texts": self.texts,
            "metrics": dict(self.metrics),
            "bands": [asdict(band) for band in self.bands],
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "settings": config.to_dict(self.settings),
        }


def evaluate_ranking(
    ranking: Ranking, relevant: Csr, trained_on: TrainedOn | None = None, **settings: object
) -> Report:
    """Compare a ranking with the truth: `evaluate_ranking(ranking, relevant, ks=(1, 3, 5))`.

    relevant: (texts, labels) in the ids of the ranking; labels unknown to the model come after.
    trained_on: what the model saw; PSP, PSnDCG and the bands need it.
    settings: those of `Measures`.
    """
    measures = config.from_dict(Measures, settings)
    found = evidence(ranking, relevant, measures, trained_on)
    report = report_of(Tally(measures, trained_on, add_up(found)))
    spread = intervals(found, measures) if measures.resamples else {}
    return Report(report.texts, report.metrics, report.bands, spread, measures)


def report_of(tally: Tally) -> Report:
    """The report of everything a tally has seen; without intervals, which need all texts."""
    measures = tally.measures
    sums = tally.sums
    if sums is None:
        return Report(0, {}, settings=measures)
    known = tally.trained_on
    bands = () if known is None else bands_of(sums, known, measures)
    return Report(round(sums.texts), tally.metrics(), bands, settings=measures)


def relative_improvement(
    metrics: Mapping[str, float], baseline: Mapping[str, float]
) -> dict[str, float]:
    """100 (m - b) / b for every metric both have: X-BERT's Table 4 with Parabel as baseline.

    A metric for which the baseline scores 0 has no relative improvement and is left out.
    """
    return {
        name: 100 * (value - baseline[name]) / baseline[name]
        for name, value in metrics.items()
        if baseline.get(name)
    }
