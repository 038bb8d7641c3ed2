"""Merges the rankings of several models into one, and finds the weights that suit them best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xmtc.core.arrays import Bools, Doubles
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.kernels.merge_rankings import merged
from xmtc.kernels.topk import best

# Weights that are tried; members whose scores fall more slowly often deserve very little.
GRID = (0.01, 0.02, *(step / 20 for step in range(21)), 0.98, 0.99)
SMOOTHING = 1e-4  # added to both sides of odds, so that no score counts as certain
MAX_ROUNDS = 10  # of coordinate ascent over all members; rarely more than three are needed

How = Literal["average", "logit", "sigmoid", "softmax", "rank_average", "round_robin"]
Missing = Literal["floor", "zero"]


def merge(
    rankings: Sequence[Ranking],
    k: int,
    how: How,
    weights: Doubles,
    missing: Missing = "floor",
    known: Bools | None = None,
) -> Ranking:
    """The k best labels of equally long rankings; scores from 0 to 1 stay in that range.

    weights: (rankings,) that sum to 1; a ranking with weight 0 does not enter. known: (rankings,
    labels) True where a ranking's model knows the label; None: all know all.
    Ranks count from 1 for the first place down to 1/length for the last; round robin takes the
    first places of all rankings, then the second ones, and so on.
    """
    members: list[int] = np.flatnonzero(weights).tolist()
    count = len(members)
    values = [_values(rankings[each], how, place, count) for place, each in enumerate(members)]
    labels = np.concatenate([rankings[each].labels for each in members], axis=1)
    if how == "round_robin":
        return Ranking(*best(*merged(labels, np.concatenate(values, axis=1), largest=True), k))
    zero = float(_log_odds(np.zeros(1))[0]) if how == "logit" else 0.0
    floors = []  # (texts, 1) each: the value of labels that a member knows and did not rank
    lowest = missing == "floor" and how != "rank_average"
    for member, value in zip(members, values, strict=True):
        # a ranking with places left has ruled all other labels out
        full = rankings[member].labels[:, -1:] != NO_LABEL
        floors.append(np.where(full & lowest, value[:, -1:], zero))
    above = [
        (value - floor) * weights[member]
        for member, value, floor in zip(members, values, floors, strict=True)
    ]
    ids, sums = merged(labels, np.concatenate(above, axis=1))
    shares = np.zeros_like(sums)
    for member, floor in zip(members, floors, strict=True):
        share = weights[member] * (1.0 if known is None else known[member][ids])
        sums += share * floor
        shares += share
    means = sums / np.maximum(shares, 1e-9)  # padding is never read
    scores = _sigmoid(means) if how == "logit" else means
    return Ranking(*best(ids, scores.astype(np.float32), k))


def _values(ranking: Ranking, how: How, place: int, members: int) -> Doubles:
    """(texts, places) what each rank or score of a member counts. place: of the member."""
    ranked = ranking.labels != NO_LABEL
    scores = np.where(ranked, ranking.scores, 0).astype(np.float64)
    if how == "average":
        return scores
    if how == "logit":
        return _log_odds(scores)
    if how == "sigmoid":
        return _sigmoid(scores)
    if how == "softmax":
        masked = np.where(ranked, scores, -1e300)
        powers = np.exp(masked - masked.max(axis=1, keepdims=True)) * ranked
        return np.asarray(powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300))
    ranks = np.broadcast_to(ranking.k - np.arange(ranking.k, dtype=np.float64), scores.shape)
    if how == "rank_average":
        return ranks / ranking.k
    return (ranks + (members - place) / (members + 1)) / (ranking.k + 1)


def _sigmoid(values: Doubles) -> Doubles:
    return np.asarray(1 / (1 + np.exp(-values)))


def _log_odds(scores: Doubles) -> Doubles:
    return np.asarray(np.log((scores + SMOOTHING) / (1 - scores + SMOOTHING)))


@dataclass(frozen=True)
class LearnedWeights:
    """Weights of members, and the validation metric that selected them."""

    weights: tuple[float, ...]
    figure: float  # with these weights
    equal: float  # with equal weights
    alone: tuple[float, ...]  # of each member


def best_weights(figure: Callable[[Doubles], float], members: int) -> LearnedWeights:
    """Coordinate ascent: one weight after the other, while the others keep their ratio."""
    starts = [np.full(members, 1 / members), *np.eye(members)]
    figures = [figure(start) for start in starts]
    first = int(np.argmax(figures))  # equal weights, if nothing is better
    weights = starts[first]
    highest = figures[first]
    with track("learning weights", MAX_ROUNDS * members) as advance:
        for _ in range(MAX_ROUNDS if members > 1 else 0):
            before = highest
            for member in range(members):
                others = weights.copy()
                others[member] = 0
                if not others.any():
                    others[:] = 1
                    others[member] = 0
                tried = [others * ((1 - value) / others.sum()) for value in GRID]
                for value, moved in zip(GRID, tried, strict=True):
                    moved[member] = value
                reached = [figure(moved) for moved in tried]
                place = int(np.argmax(reached))
                if reached[place] > highest + 1e-9:
                    weights = tried[place]
                    highest = reached[place]
                advance(1, f"{highest:.2f}")
            if highest == before:
                break
    return LearnedWeights(tuple(weights.tolist()), highest, figures[0], tuple(figures[1:]))
