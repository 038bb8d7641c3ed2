"""Bootstrap: how much the metrics would vary if other texts had been drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Doubles
from xmtc.core.threads import blocks
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.sums import Contributions, add_up, percentages

_NUMBERS_AT_ONCE = 2**22  # draws x texts (or labels) held at a time: 32 MB each
PAIRED_RESAMPLES = 1000
_EQUAL = 1e-9  # differences below this are rounding


@dataclass(frozen=True)
class Difference:
    """A ranking minus the one it is compared with, in percentage points."""

    estimate: float
    low: float
    high: float
    better: float  # share of resamples in which it scores higher; ties count half
    p: float  # two-sided p value of no difference

    def __str__(self) -> str:
        return f"{self.estimate:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def intervals(parts: Contributions, measures: Measures) -> dict[str, tuple[float, float]]:
    """(low, high) percent for every metric: percentile intervals of the resamples."""
    estimates = percentages(add_up(parts), measures)
    drawn = _resampled(parts, measures)
    found = {}
    for name, value in estimates.items():
        estimate = float(value[0])
        centered = _centered(parts, name, estimate, drawn[name])
        found[name] = _interval(estimate, centered, measures, (0.0, 100.0))
    return found


def differences(sides: Sequence[Contributions], measures: Measures) -> list[dict[str, Difference]]:
    """Each side but the first minus the first, for every metric, on the same draws of texts."""
    estimates = [percentages(add_up(side), measures) for side in sides]
    drawn = [_resampled(side, measures) for side in sides]
    found: list[dict[str, Difference]] = []
    for values, resamples in zip(estimates[1:], drawn[1:], strict=True):
        found.append({})
        for name, base in estimates[0].items():
            estimate = float(values[name][0] - base[0])
            changes = resamples[name] - drawn[0][name]
            better = (changes > 0).mean() + (changes == 0).mean() / 2 if len(changes) else 0.5
            centered = _centered(sides[0], name, estimate, changes)
            low, high = _interval(estimate, centered, measures, (-100.0, 100.0))
            # Two-sided: the share of resamples at least as far from the estimate as 0 is. The
            # sample itself counts as one more, so that no finite number of resamples gives p = 0.
            far = np.abs(centered - estimate) >= abs(estimate) - _EQUAL
            p = float((far.sum() + 1) / (len(centered) + 1))
            found[-1][name] = Difference(estimate, low, high, float(better), p)
    return found


def _centered(parts: Contributions, name: str, estimate: float, drawn: Doubles) -> Doubles:
    """The resamples of a metric around its estimate.

    Sums over texts are so by themselves. Coverage and macro F1 count labels, of which a resample
    holds fewer distinct ones than the sample: they are moved, their mean to the estimate.
    """
    if name in parts.fractions or not len(drawn):
        return drawn
    return np.asarray(drawn - drawn.mean() + estimate)


def _resampled(parts: Contributions, measures: Measures) -> dict[str, Doubles]:
    """(resamples,) of every metric; equal seeds draw equal texts."""
    draws = [percentages(add_up(parts, each), measures) for each in _draws(parts, measures)]
    names = percentages(add_up(parts), measures)
    return {name: np.concatenate([[], *(draw[name] for draw in draws)]) for name in names}


def _draws(parts: Contributions, measures: Measures) -> Iterator[Doubles]:
    """(draws, texts) how often each text was drawn, in blocks that fit in memory."""
    rng = np.random.default_rng(measures.seed)
    texts = parts.texts
    widest = max([texts, 1, *(each.shape[1] for each in parts.labels.values())])
    for start, stop in blocks(measures.resamples, max(1, _NUMBERS_AT_ONCE // widest)):
        weights = np.zeros((stop - start, texts))
        for draw in weights if texts else ():
            draw[:] = np.bincount(rng.integers(0, texts, texts), minlength=texts)
        yield weights


def _interval(
    estimate: float, drawn: Doubles, measures: Measures, limits: tuple[float, float]
) -> tuple[float, float]:
    if not len(drawn):
        return limits
    tail = (1 - measures.confidence) / 2
    low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))
