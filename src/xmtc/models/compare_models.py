"""Comparing: several trained models on the same labelled texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xmtc.api import check_truth
from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, DataError, require
from xmtc.core.interfaces import Model
from xmtc.core.progress import track
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks
from xmtc.evaluation.comparison import Comparison, compare_rankings
from xmtc.models.ensemble.label_union import all_labels, ids_in, renumbered, seen_by

BLOCK = 4096  # texts ranked between two steps of the progress bar


def compare(
    models: Mapping[str, Model],
    dataset: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    *,
    different_labels: bool = False,
    **options: Any,
) -> Comparison:
    """Is the second model better than the first? `compare({"old": old, "new": new}, test)`.

    models: two or more by name; the first is what the others are compared with.
    different_labels: allow models that know different labels; what a model does not know it
    misses. options: those of `Measures`, as resamples=1000 and seed=0.
    """
    _check(models, different_labels)
    require(bool(ks), "ks", ks, "name at least one cut-off, e.g. (1, 3, 5)")
    members = list(models.values())
    labels = all_labels(members)
    check_truth(dataset, labels)
    truth = dataset.named_in(labels)
    rankings = {
        name: renumbered(_rank(model, truth, max(ks)), ids_in(labels, model.labels))
        for name, model in models.items()
    }
    return compare_rankings(
        rankings, truth, seen_by(members, labels), ks=tuple(sorted(set(ks))), **options
    )


def _rank(model: Model, truth: Dataset, k: int) -> Ranking:
    parts = []
    with track(f"ranking with {model.kind}", len(truth)) as advance:
        for start, stop in blocks(len(truth), BLOCK):
            parts.append(model.rank(truth.inputs[start:stop], k))
            advance(stop - start)
    return Ranking.stack(parts)


def _check(models: Mapping[str, Model], different_labels: bool) -> None:
    if len(models) < 2:
        raise ConfigError(
            f"there is {len(models) or 'no'} model to compare; give two or more. To measure one "
            "alone: xmtc evaluate."
        )
    first, *others = models
    for other in others:
        if not different_labels:
            _check_same_labels((first, models[first]), (other, models[other]))


def _check_same_labels(first: tuple[str, Model], other: tuple[str, Model]) -> None:
    known = [set(model.labels.names) for _, model in (first, other)]
    if known[0] == known[1]:
        return
    counts = np.array([len(known[0] - known[1]), len(known[1] - known[0])])
    name = min(known[0] ^ known[1])
    raise DataError(
        f"{first[0]} and {other[0]} know different labels: {counts[0]:,} only the first, "
        f"{counts[1]:,} only the second, e.g. {name!r}. Train both on the same data; or pass "
        "different_labels=True, and what a model does not know counts as missed."
    )
