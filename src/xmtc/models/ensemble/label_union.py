"""Union: several models' labels as one label space, by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmtc.core.arrays import Ints
from xmtc.core.dataset import TrainedOn
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.ranking import NO_LABEL, Ranking


def all_labels(models: Sequence[Model]) -> LabelSpace:
    """Those of the first, then what the others have besides; each with the first text it has."""
    labels = models[0].labels
    if all(model.labels == labels for model in models):
        return labels
    texts: dict[str, str] = {}
    for model in models:
        labels = labels.extended_by(model.labels.names)
        for name, text in zip(model.labels.names, model.labels.texts or (), strict=False):
            texts[name] = texts.get(name) or text
    return labels.with_texts(texts) if any(texts.values()) else labels


def seen_by(models: Sequence[Model], labels: LabelSpace) -> TrainedOn:
    """The most that a model saw of each label: they mostly learn from the same texts."""
    counts = np.zeros(len(labels), np.int64)
    for model in models:
        ids = ids_in(labels, model.labels)
        counts[ids] = np.maximum(counts[ids], model.trained_on.label_counts)
    sources = dict.fromkeys(source for each in models for source in each.trained_on.sources)
    return TrainedOn(max(each.trained_on.texts for each in models), counts, tuple(sources))


def ids_in(everyone: LabelSpace, mine: LabelSpace) -> Ints:
    """(my labels,) their ids in the larger space."""
    return np.array([everyone.id_of[name] for name in mine.names], np.int32)


def renumbered(ranking: Ranking, ids: Ints) -> Ranking:
    """The same ranking with label `i` called `ids[i]`."""
    labels = np.where(ranking.labels == NO_LABEL, np.int32(NO_LABEL), ids[ranking.labels])
    return Ranking(labels, ranking.scores)
