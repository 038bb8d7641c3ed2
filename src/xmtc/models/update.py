"""Changes a trained linear_tree: new labels, fewer labels, more texts. It makes a new model.

A gudn takes new labels too: it reads texts and labels alike.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import (
    Array,
    Csr,
    Inputs,
    as_csr,
    csr,
    csr_of_rows,
    label_counts,
    row_of_each_entry,
    unit_rows,
)
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import ConfigError, DataError, did_you_mean
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.linear.edit import with_labels, with_old_labels, with_places, without_labels
from xmtc.linear.nodes import retrain_forest
from xmtc.models import gudn
from xmtc.models.gudn import Gudn
from xmtc.models.linear_tree import LinearTree, forest_config
from xmtc.text import tfidf
from xmtc.text.top_terms import top_terms

MAX_SHOWN = 5  # labels that a message names


def add_labels(
    model: Model, examples: Dataset | None = None, texts: Mapping[str, str] | None = None
) -> LinearTree | Gudn:
    """The model with new labels, each trained on a few examples, or on its label text alone.

    examples: texts with labels; only labels that the model lacks are added. texts: name -> label
    text. Nothing else of the model changes.
    """
    if not isinstance(model, Gudn):
        model = _linear_tree(model)
    texts = dict(texts or {})
    labels = _wider_labels(model.labels, examples, texts)
    new = labels.names[len(model.labels) :]
    if examples is None:
        relevant = as_csr(np.zeros((0, len(new)), np.float32))
    else:
        relevant = _new_columns(examples, model.labels, len(new))
    # Examples are no training texts, and no label has more texts than there are.
    counts = np.minimum(label_counts(relevant), model.trained_on.texts)
    counts = np.concatenate([model.trained_on.label_counts, counts])
    seen = replace(model.trained_on, label_counts=counts)
    if isinstance(model, Gudn):
        return _wider_gudn(model, examples, relevant, texts, labels, seen)
    by_text = label_counts(relevant) == 0
    features, relevant = _examples(model, examples, relevant, by_text, texts, new)
    config = model.config
    forests = tuple(
        with_labels(forest, features, relevant, by_text, config.svm, config.beam)
        for forest in model.forests
    )
    return replace(model, forests=forests, labels=labels, trained_on=seen)


def _wider_labels(
    known: LabelSpace, examples: Dataset | None, texts: Mapping[str, str]
) -> LabelSpace:
    """The labels of the model, then those of the examples and texts."""
    if examples is not None and not isinstance(examples, Dataset):
        raise DataError(
            f"examples: expected a Dataset, got {type(examples).__name__}. "
            "Make one with xmtc.Dataset.of(texts, labels)."
        )
    for name, text in texts.items():
        if not isinstance(text, str):
            raise DataError(f"the text of {name!r}: expected a string, got {type(text).__name__}.")
    names = [*(examples.labels.names if examples else ()), *texts]
    if not names:
        raise DataError("the examples carry no label, so there is none to add.")
    labels = known.extended_by(names)
    if len(labels) == len(known):
        raise DataError("there is no new label: the model has all of those names already.")
    return labels


def remove_labels(model: Model, names: Iterable[str]) -> LinearTree:
    """The model without these labels. Nothing else of it changes."""
    tree = _linear_tree(model)
    names = {names} if isinstance(names, str) else set(names)
    for name in names:
        if name not in tree.labels.id_of:
            hint = did_you_mean(name, tree.labels.names) or "."
            raise DataError(f"the model has no label {name!r}{hint}")
    stays = np.array([name not in names for name in tree.labels.names])
    if not stays.any():
        raise DataError("that would remove all labels; a model needs at least one.")
    counts = tree.trained_on.label_counts[stays]
    return replace(
        tree,
        forests=tuple(without_labels(forest, stays) for forest in tree.forests),
        labels=tree.labels.only(stays),
        trained_on=replace(tree.trained_on, label_counts=counts),
    )


def update(model: Model, old: Dataset, new: Dataset) -> LinearTree:
    """The model after more texts: only the nodes that the new texts reach are trained again.

    old: what the model was trained on; its vocabulary and its tree stay. Labels that only the new
    texts have are added. Labels that were added with more examples than these texts have of them
    stay as they are; those that were removed stay away unless the new texts have them.
    """
    tree = _linear_tree(model)
    if len(old) != tree.trained_on.texts:
        raise DataError(
            f"expected the {tree.trained_on.texts:,} texts that the model was trained on, got "
            f"{len(old):,}. Give the same training data."
        )
    used = label_counts(new.relevant) > 0  # a part of a larger data set may lack some labels
    new = replace(new, relevant=new.relevant[:, used], labels=new.labels.only(used))
    unknown = new.named_in(tree.labels).labels.names[len(tree.labels) :]
    if unknown:
        tree = _with_places(tree, new, unknown)
    known = [part.named_in(tree.labels).relevant[:, : len(tree.labels)] for part in (old, new)]
    relevant = as_csr(sp.vstack(known))
    features = as_csr(sp.vstack([_features(tree, part.inputs) for part in (old, new)]))
    fresh = np.arange(relevant.shape[0]) >= len(old)
    how = forest_config(tree.config)
    forests = tuple(
        retrain_forest(forest, features, relevant, how, fresh) for forest in tree.forests
    )
    counts = label_counts(relevant)
    known_better = (counts == 0) | (counts < tree.trained_on.label_counts)
    if known_better.any():
        counts = np.maximum(counts, tree.trained_on.label_counts)
        pairs = zip(forests, tree.forests, strict=True)
        forests = tuple(with_old_labels(*pair, known_better) for pair in pairs)
    return replace(tree, forests=forests, trained_on=TrainedOn(relevant.shape[0], counts))


def _features(tree: LinearTree, inputs: Inputs) -> Csr:
    """(texts, features) as in training, with more terms of long texts than are ranked by."""
    return top_terms(tree.encoder.encode(inputs), tree.config.max_terms)


def _with_places(tree: LinearTree, new: Dataset, names: tuple[str, ...]) -> LinearTree:
    """The tree with labels that have a leaf, but no classifier yet."""
    features = _features(tree, new.inputs)
    relevant = _new_columns(new, tree.labels, len(names))
    _warn_of_unknown(features, relevant, names)
    beam = tree.config.beam
    forests = tuple(with_places(forest, features, relevant, beam) for forest in tree.forests)
    counts = np.concatenate([tree.trained_on.label_counts, np.zeros(len(names), np.int64)])
    return replace(
        tree,
        forests=forests,
        labels=tree.labels.extended_by(names),
        trained_on=replace(tree.trained_on, label_counts=counts),
    )


def _warn_of_unknown(features: Csr, relevant: Csr, names: Sequence[str]) -> None:
    """Labels whose examples hold no word of the vocabulary cannot be found."""
    has_words = np.diff(features.indptr) > 0
    with_words = np.bincount(
        relevant.indices, has_words[row_of_each_entry(relevant)], minlength=len(names)
    )
    lost = np.flatnonzero((label_counts(relevant) > 0) & (with_words == 0))
    if len(lost):
        logging.getLogger("xmtc").warning(
            "the texts of some new labels hold no word that the model knows, so it will not find "
            "them: %s. Train again to learn new words.",
            _listed([repr(names[label]) for label in lost.tolist()]),
        )


def _listed(labels: Sequence[str]) -> str:
    """The first labels, and how many more there are."""
    more = len(labels) - MAX_SHOWN
    return ", ".join([*labels[:MAX_SHOWN], *([f"and {more:,} more labels"] if more > 0 else [])])


def _linear_tree(model: Model) -> LinearTree:
    if not isinstance(model, LinearTree):
        more = " except by new labels" if isinstance(model, Gudn) else ""
        raise ConfigError(
            f"{model.kind} models cannot be changed{more}; train again, or use linear_tree."
        )
    return model


def _new_columns(dataset: Dataset, known: LabelSpace, count: int) -> Csr:
    """(texts, new labels), those of the data set first, then others that have no text in it."""
    columns = dataset.named_in(known).relevant[:, len(known) :]
    return csr(columns.data, columns.indices, columns.indptr, count)


def _examples(
    tree: LinearTree,
    examples: Dataset | None,
    relevant: Csr,
    by_text: Array,
    texts: Mapping[str, str],
    names: tuple[str, ...],
) -> tuple[Csr, Csr]:
    """(examples, features), (examples, new labels).

    The example of a label without any (True in `by_text`) is its label text, or its name.
    """
    rows = [] if examples is None else [_features(tree, examples.inputs)]
    if rows:
        _warn_of_unknown(rows[0], relevant, names)
    labels = np.flatnonzero(by_text).tolist()
    if labels:
        own = [texts.get(names[label]) or names[label] for label in labels]
        _check_words(tree, [names[label] for label in labels], own)
        rows.append(unit_rows(_features(tree, own)))
        relevant = sp.vstack([relevant, csr_of_rows([[label] for label in labels], len(names))])
    return as_csr(sp.vstack(rows)), as_csr(relevant)


def _check_words(tree: LinearTree, names: list[str], label_texts: list[str]) -> None:
    """A label is found by the words of its text that the model knows; some have few, or none."""
    known = np.diff(tree.encoder.encode(label_texts).indptr)
    all_words = replace(tree.config.text, min_df=1, max_df=1.0, max_features=None)
    words = np.diff(tfidf.learn(label_texts, all_words)[1].indptr)
    weak = np.flatnonzero((known == 0) | (2 * known < words))
    listed = _listed([f"{names[at]!r} ({known[at]} of {words[at]} words)" for at in weak])
    if not known.any():
        raise DataError(
            f"the model knows no word of the new labels and could never find them: "
            f"{listed}. Describe them in words of the training texts, or give examples."
        )
    if listed:
        logging.getLogger("xmtc").warning(
            "the model knows few words of some new labels and will hardly find them: %s. "
            "Describe them in words of the training texts, or give examples.",
            listed,
        )


def _wider_gudn(
    model: Gudn,
    examples: Dataset | None,
    relevant: Csr,
    texts: Mapping[str, str],
    wide: LabelSpace,
    seen: TrainedOn,
) -> Gudn:
    """A new label is the mean of its examples, or else its label text."""
    known = len(model.labels)
    described = model.labels.texts or ("",) * known
    described = (*described, *(texts.get(name, "") for name in wide.names[known:]))
    labels = LabelSpace(wide.names, described if any(described) else None)
    counts = label_counts(relevant)
    vectors = np.zeros((len(labels) - known, len(model.mean_text)), np.float32)
    by_text = np.flatnonzero(counts == 0) + known
    if len(by_text):
        usual = model.texts_of(labels)  # a text that is given is read whatever is read usually
        vectors[by_text - known] = model.encode(
            [texts.get(labels.names[label]) or usual[label] for label in by_text]
        )
    if examples is not None:
        sums = relevant.T @ model.encode(examples.inputs)
        vectors += sums / np.maximum(1, counts)[:, None].astype(np.float32)
    return gudn.with_labels(model, labels, vectors, seen)
