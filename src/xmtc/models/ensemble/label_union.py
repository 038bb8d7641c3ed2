"""The labels of several models as one label space, matched by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmtc.core.arrays import Ints
from xmtc.core.dataset import TrainedOn
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.ranking import NO_LABEL, Ranking


def all_labels(models: Sequence[Model]) -> LabelSpace:
    """The first model's labels, then new ones of the others; each with the first text it has."""
    labels = models[0].labels
    if all(model.labels == labels for model in models):
        return labels
    texts: dict[str, str] = {}
    for model in models:
        labels = labels.extended_by(model.labels.names)
        for name, text in zip(model.labels.names, model.labels.texts or (), strict=False):
            texts[name] = texts.get(name) or text
    return labels.with_texts(texts) if any(texts.values()) else labels


def merged_training(models: Sequence[Model], labels: LabelSpace) -> TrainedOn:
    """Per label the largest count of all models: their training sets overlap as a rule."""
    counts = np.zeros(len(labels), np.int64)
    for model in models:
        ids = ids_in(labels, model.labels)
        counts[ids] = np.maximum(counts[ids], model.trained_on.label_counts)
    sources = dict.fromkeys(source for each in models for source in each.trained_on.sources)
    return TrainedOn(max(each.trained_on.texts for each in models), counts, tuple(sources))


def ids_in(union: LabelSpace, labels: LabelSpace) -> Ints:
    """(labels,) their ids in the union."""
    return np.array([union.id_of[name] for name in labels.names], np.int32)


def renumbered(ranking: Ranking, ids: Ints) -> Ranking:
    """The same ranking with label `i` called `ids[i]`."""
    labels = np.where(ranking.labels == NO_LABEL, np.int32(NO_LABEL), ids[ranking.labels])
    return Ranking(labels, ranking.scores)
