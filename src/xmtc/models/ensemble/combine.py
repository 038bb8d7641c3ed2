"""How several rankings become one, and which weights suit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xmtc.core.arrays import Bools, Doubles
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.kernels.merge_rankings import joined
from xmtc.kernels.topk import best

# Weights that are tried; members whose scores fall more slowly often deserve very little.
GRID = (0.01, 0.02, *(step / 20 for step in range(21)), 0.98, 0.99)
SURE = 1e-4  # added to both sides of odds, so that no score is taken to be certain
ROUNDS = 10  # over all members; rarely more than three are needed

How = Literal["average", "logit", "sigmoid", "softmax", "rank_average", "round_robin"]
Missing = Literal["floor", "zero"]


def combined(
    rankings: Sequence[Ranking],
    k: int,
    how: How,
    weights: Doubles,
    missing: Missing = "floor",
    known: Bools | None = None,
) -> Ranking:
    """The k best of equally long rankings; scores from 0 to 1 stay there.

    weights: (rankings,) 1 in all; where it is 0, a ranking has no say. known: (rankings, labels)
    True where a ranking's model knows the label; None: all know all.
    Ranks count from 1 for the first place down to 1/length for the last; round robin takes the
    first places of all, then the second ones, and so on.
    """
    heard: list[int] = np.flatnonzero(weights).tolist()
    values = [
        _values(rankings[member], how, place, len(heard)) for place, member in enumerate(heard)
    ]
    labels = np.concatenate([rankings[member].labels for member in heard], axis=1)
    if how == "round_robin":
        return Ranking(*best(*joined(labels, np.concatenate(values, axis=1), largest=True), k))
    floors = [
        _floor(rankings[member], part, how, missing)
        for member, part in zip(heard, values, strict=True)
    ]
    above = [
        (part - floor) * weights[member]
        for member, part, floor in zip(heard, values, floors, strict=True)
    ]
    ids, sums = joined(labels, np.concatenate(above, axis=1))
    shares = np.zeros_like(sums)
    for member, floor in zip(heard, floors, strict=True):
        asked = weights[member] * (1.0 if known is None else known[member][ids])
        sums += asked * floor
        shares += asked
    means = sums / np.maximum(shares, 1e-9)  # what pads get is never read
    scores = _sigmoid(means) if how == "logit" else means
    return Ranking(*best(ids, scores.astype(np.float32), k))


def _values(ranking: Ranking, how: How, place: int, members: int) -> Doubles:
    """(texts, places) what a member's places count."""
    kept = ranking.labels != NO_LABEL
    scores = np.where(kept, ranking.scores, 0).astype(np.float64)
    if how == "average":
        return scores
    if how == "logit":
        return _log_odds(scores)
    if how == "sigmoid":
        return _sigmoid(scores)
    if how == "softmax":
        masked = np.where(kept, scores, -1e300)
        powers = np.exp(masked - masked.max(axis=1, keepdims=True)) * kept
        return np.asarray(powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300))
    ranks = np.broadcast_to(ranking.k - np.arange(ranking.k, dtype=np.float64), scores.shape)
    if how == "rank_average":
        return ranks / ranking.k
    return (ranks + (members - place) / (members + 1)) / (ranking.k + 1)


def _sigmoid(values: Doubles) -> Doubles:
    return np.asarray(1 / (1 + np.exp(-values)))


def _log_odds(scores: Doubles) -> Doubles:
    return np.asarray(np.log((scores + SURE) / (1 - scores + SURE)))


def _floor(ranking: Ranking, values: Doubles, how: How, missing: Missing) -> Doubles:
    """(texts, 1) what a label counts that a member knows and did not rank."""
    nothing = float(_log_odds(np.zeros(1))[0]) if how == "logit" else 0.0
    if missing == "zero" or how == "rank_average":
        return np.full((len(ranking), 1), nothing)
    full = ranking.labels[:, -1:] != NO_LABEL  # else the member had nothing more to say
    return np.where(full, values[:, -1:], nothing)


@dataclass(frozen=True)
class Learned:
    """Weights, and by which figures on the validation texts they were chosen."""

    weights: tuple[float, ...]
    figure: float  # with these weights
    plain: float  # with equal weights
    alone: tuple[float, ...]  # of each member


def searched(figure: Callable[[Doubles], float], members: int) -> Learned:
    """One weight after the other is moved to where it helps, the others keeping their ratio."""
    starts = [np.full(members, 1 / members), *np.eye(members)]
    figures = [figure(start) for start in starts]
    first = int(np.argmax(figures))  # equal weights, if nothing is better
    weights = starts[first]
    highest = figures[first]
    with track("learning weights", ROUNDS * members) as advance:
        for _ in range(ROUNDS if members > 1 else 0):
            before = highest
            for member in range(members):
                tried = [_moved(weights, member, value) for value in GRID]
                reached = [figure(each) for each in tried]
                place = int(np.argmax(reached))
                if reached[place] > highest + 1e-9:
                    weights = tried[place]
                    highest = reached[place]
                advance(1, f"{highest:.2f}")
            if highest == before:
                break
    return Learned(tuple(weights.tolist()), highest, figures[0], tuple(figures[1:]))


def _moved(weights: Doubles, member: int, value: float) -> Doubles:
    others = weights.copy()
    others[member] = 0
    if not others.any():
        others[:] = 1
        others[member] = 0
    moved: Doubles = others * ((1 - value) / others.sum())
    moved[member] = value
    return moved
