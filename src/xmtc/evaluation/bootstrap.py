"""Bootstrap: how much the metrics would move if other texts had been drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Csr, Doubles
from xmtc.core.config import from_dict
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks
from xmtc.evaluation.settings import Measures
from xmtc.evaluation.sums import Evidence, add_up, evidence, finish

_NUMBERS_AT_ONCE = 2**22  # draws x texts (or labels) held at a time: 32 MB each
PAIRED_RESAMPLES = 1000
_EQUAL = 1e-9  # differences below this are rounding


@dataclass(frozen=True)
class Difference:
    """What a ranking has more than the one it is compared with, in percentage points."""

    estimate: float
    low: float
    high: float
    better: float  # share of resamples in which it scores higher; ties count half
    p: float  # how often chance alone gives so large a difference, either way; 1: none

    def __str__(self) -> str:
        return f"{self.estimate:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def intervals(found: Evidence, measures: Measures) -> dict[str, tuple[float, float]]:
    """(low, high) percent for every metric: what the resamples give, without the utmost of them."""
    estimates = {name: float(value[0]) for name, value in finish(add_up(found), measures).items()}
    drawn = _resampled(found, measures)
    return {
        name: _interval(estimate, _laid(found, name, estimate, drawn[name]), measures, (0.0, 100.0))
        for name, estimate in estimates.items()
    }


def paired_difference(
    first: Ranking,
    second: Ranking,
    relevant: Csr,
    trained_on: TrainedOn | None = None,
    **settings: object,
) -> dict[str, Difference]:
    """Is the first ranking better than the second on the same texts? Both get the same draws.

    settings: those of `Measures`; 1000 resamples when not given.
    """
    measures = from_dict(Measures, {"resamples": PAIRED_RESAMPLES, **settings})
    sides = [evidence(side, relevant, measures, trained_on) for side in (second, first)]
    return differences(sides, measures)[0]


def differences(sides: Sequence[Evidence], measures: Measures) -> list[dict[str, Difference]]:
    """What each side but the first has more than the first, for every metric."""
    estimates = [finish(add_up(side), measures) for side in sides]
    drawn = [_resampled(side, measures) for side in sides]
    return [
        {
            name: _difference(
                sides[0],
                name,
                float(one[name][0] - base[0]),
                resamples[name] - drawn[0][name],
                measures,
            )
            for name, base in estimates[0].items()
        }
        for one, resamples in zip(estimates[1:], drawn[1:], strict=True)
    ]


def _difference(
    found: Evidence, name: str, estimate: float, drawn: Doubles, measures: Measures
) -> Difference:
    laid = _laid(found, name, estimate, drawn)
    low, high = _interval(estimate, laid, measures, (-100.0, 100.0))
    better = float((drawn > 0).mean() + (drawn == 0).mean() / 2) if len(drawn) else 0.5
    return Difference(estimate, low, high, better, _p_value(estimate, laid))


def _laid(found: Evidence, name: str, estimate: float, drawn: Doubles) -> Doubles:
    """The resamples of a metric, lying around its estimate.

    Sums over texts do so by themselves. Coverage and macro F1 count labels, of which a resample
    holds fewer distinct ones than the sample: they are moved, their mean to the estimate.
    """
    if name in found.shares or not len(drawn):
        return drawn
    return np.asarray(drawn - drawn.mean() + estimate)


def _p_value(estimate: float, laid: Doubles) -> float:
    """Two-sided: the share of resamples at least as far from the estimate as that is from 0.

    The sample itself counts as one more resample, so that no finite number of them gives p = 0.
    """
    as_far = np.abs(laid - estimate) >= abs(estimate) - _EQUAL
    return float((as_far.sum() + 1) / (len(laid) + 1))


def _resampled(found: Evidence, measures: Measures) -> dict[str, Doubles]:
    """(resamples,) of every metric; equal seeds draw equal texts."""
    parts = [finish(add_up(found, weights), measures) for weights in _draws(found, measures)]
    names = finish(add_up(found), measures)
    return {name: np.concatenate([[], *(part[name] for part in parts)]) for name in names}


def _draws(found: Evidence, measures: Measures) -> Iterator[Doubles]:
    """(draws, texts) how often each text was drawn, in blocks that fit in memory."""
    chance = np.random.default_rng(measures.seed)
    texts = found.texts
    widest = max([texts, 1, *(each.shape[1] for each in found.labels.values())])
    for start, stop in blocks(measures.resamples, max(1, _NUMBERS_AT_ONCE // widest)):
        weights = np.zeros((stop - start, texts))
        for draw in weights if texts else ():
            draw[:] = np.bincount(chance.integers(0, texts, texts), minlength=texts)
        yield weights


def _interval(
    estimate: float, laid: Doubles, measures: Measures, limits: tuple[float, float]
) -> tuple[float, float]:
    if not len(laid):
        return limits
    rest = (1 - measures.confidence) / 2
    low, high = map(float, np.quantile(laid, [rest, 1 - rest]))
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))
