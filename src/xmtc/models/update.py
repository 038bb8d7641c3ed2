"""Changes a finished linear_tree: new labels, fewer labels, more texts. It makes a new model.

A gudn takes new labels too: it reads texts and labels alike.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Longs, as_csr, csr, csr_of_rows, label_counts, unit_rows
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import ConfigError, DataError, did_you_mean
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.linear.edit import with_labels, with_old_labels, with_places, without_labels
from xmtc.linear.nodes import retrain_forest
from xmtc.models import gudn
from xmtc.models.gudn import Gudn
from xmtc.models.linear_tree import LinearTree, kept_as
from xmtc.text import tfidf

SHOWN = 5  # labels that a message names


def add_labels(
    model: Model, examples: Dataset | None = None, texts: Mapping[str, str] | None = None
) -> LinearTree | Gudn:
    """The model with new labels, each learned from a few examples, or from its own text alone.

    examples: texts with labels; only labels that the model lacks are added. texts: name -> what the
    label says. Nothing else of the model changes.
    """
    changed = _takes_labels(model)
    texts = dict(texts or {})
    if examples is not None and not isinstance(examples, Dataset):
        raise DataError("examples are a data set: xmtc.Dataset.of(texts, labels).")
    for name, said in texts.items():
        if not isinstance(said, str):
            raise DataError(f"the text of {name!r} is a {type(said).__name__}, not a text.")
    named = examples.labels.names if examples else ()
    wide = changed.labels.extended_by([*named, *texts])
    new = wide.names[len(changed.labels) :]
    if not named and not texts:
        raise DataError("the examples carry no label, so there is none to add.")
    if not new:
        raise DataError("there is no new label: the model has all of those names already.")
    relevant = _examples_of(changed, examples, new)
    counts = label_counts(relevant)
    counts = np.minimum(counts, changed.trained_on.texts)  # examples are no training texts
    counts = np.concatenate([changed.trained_on.label_counts, counts])
    seen = replace(changed.trained_on, label_counts=counts)
    if isinstance(changed, Gudn):
        return _wider_gudn(changed, examples, relevant, texts, wide, seen)
    config = changed.config
    by_text = np.isin(np.arange(len(new)), _bare(relevant))
    shown, relevant = _shown(changed, examples, relevant, by_text, texts, new)
    forests = kept_as(
        config,
        (
            with_labels(forest, shown, relevant, by_text, config.svm, config.beam)
            for forest in changed.forests
        ),
    )
    return replace(changed, forests=forests, labels=wide, trained_on=seen)


def remove_labels(model: Model, names: Iterable[str]) -> LinearTree:
    """The model without these labels. Nothing else of it changes."""
    tree = _linear_tree(model)
    gone = {names} if isinstance(names, str) else set(names)
    for name in gone:
        if name not in tree.labels.id_of:
            hint = did_you_mean(name, tree.labels.names) or "."
            raise DataError(f"the model has no label {name!r}{hint}")
    kept = np.array([name not in gone for name in tree.labels.names])
    if not kept.any():
        raise DataError("that would remove all labels; a model needs at least one.")
    forests = kept_as(tree.config, (without_labels(forest, kept) for forest in tree.forests))
    counts = tree.trained_on.label_counts[kept]
    return replace(
        tree,
        forests=forests,
        labels=tree.labels.only(kept),
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
            f"the model was trained on {tree.trained_on.texts:,} texts, the old data has "
            f"{len(old):,}. Give the same training data."
        )
    new = _carried(new)
    unknown = new.named_in(tree.labels).labels.names[len(tree.labels) :]
    if unknown:
        tree = _with_places(tree, new, unknown)
    both = _joined(old.named_in(tree.labels), new.named_in(tree.labels), len(tree.labels))
    features = as_csr(sp.vstack([tree.encode_to_learn(part.inputs) for part in (old, new)]))
    fresh = np.arange(both.shape[0]) >= len(old)
    config = tree.config
    forests = tuple(
        retrain_forest(
            forest,
            features,
            both,
            fresh,
            config.svm,
            config.negatives,
            config.beam,
            config.published.relevance,
            config.weight_type,
            config.seed,
        )
        for forest in tree.forests
    )
    counts = label_counts(both)
    known_better = (counts == 0) | (counts < tree.trained_on.label_counts)
    if known_better.any():
        counts = np.maximum(counts, tree.trained_on.label_counts)
        pairs = zip(forests, tree.forests, strict=True)
        forests = kept_as(config, (with_old_labels(*pair, known_better) for pair in pairs))
    return replace(tree, forests=forests, trained_on=TrainedOn(both.shape[0], counts))


def _with_places(tree: LinearTree, new: Dataset, names: tuple[str, ...]) -> LinearTree:
    """The tree with labels that have a leaf, but have learned nothing."""
    wide = tree.labels.extended_by(names)
    shown = tree.encode_to_learn(new.inputs)
    relevant = _examples_of(tree, new, names)
    _warn_of_unknown(shown, relevant, names)
    forests = kept_as(
        tree.config,
        (with_places(forest, shown, relevant, tree.config.beam) for forest in tree.forests),
    )
    counts = np.concatenate([tree.trained_on.label_counts, np.zeros(len(names), np.int64)])
    seen = replace(tree.trained_on, label_counts=counts)
    return replace(tree, forests=forests, labels=wide, trained_on=seen)


def _warn_of_unknown(shown: Csr, relevant: Csr, names: Sequence[str]) -> None:
    """Labels whose examples hold no word that the model knows cannot be found."""
    empty = np.diff(shown.indptr) == 0
    heard = np.bincount(
        relevant.indices, ~np.repeat(empty, np.diff(relevant.indptr)), minlength=len(names)
    )
    carried = label_counts(relevant)
    silent = [repr(names[int(at)]) for at in np.flatnonzero((carried > 0) & (heard == 0))]
    if silent:
        logging.getLogger("xmtc").warning(
            "the texts of some new labels hold no word that the model knows, so it will not find "
            "them: %s. Train again to learn new words.",
            _listed(silent),
        )


def _listed(labels: Sequence[str]) -> str:
    """Some of them, and how many more there are."""
    more = len(labels) - SHOWN
    return ", ".join([*labels[:SHOWN], *([f"and {more:,} more labels"] if more > 0 else [])])


def _linear_tree(model: Model) -> LinearTree:
    if not isinstance(model, LinearTree):
        more = " beyond new labels" if isinstance(model, Gudn) else ""
        raise ConfigError(
            f"models of kind {model.kind} cannot be changed{more}; train again, or use linear_tree."
        )
    return model


def _takes_labels(model: Model) -> LinearTree | Gudn:
    return model if isinstance(model, Gudn) else _linear_tree(model)


def _examples_of(model: LinearTree | Gudn, examples: Dataset | None, new: tuple[str, ...]) -> Csr:
    """(examples, new labels)"""
    if examples is None:
        return as_csr(np.zeros((0, len(new)), np.float32))
    named = examples.named_in(model.labels).relevant[:, len(model.labels) :]
    return csr(named.data, named.indices, named.indptr, len(new))


def _shown(
    tree: LinearTree,
    examples: Dataset | None,
    relevant: Csr,
    by_text: Array,
    texts: dict[str, str],
    new: tuple[str, ...],
) -> tuple[Csr, Csr]:
    """(examples, features), (examples, new labels).

    A label without an example learns from its own text, or from its name if there is no text.
    """
    rows = [] if examples is None else [tree.encode_to_learn(examples.inputs)]
    if rows:
        _warn_of_unknown(rows[0], relevant, new)
    bare = np.flatnonzero(by_text)
    if len(bare):
        own = [texts.get(new[place]) or new[place] for place in bare]
        _check_words(tree, [new[place] for place in bare], own)
        rows.append(unit_rows(tree.encode_to_learn(own)))
        relevant = sp.vstack([relevant, csr_of_rows([[int(place)] for place in bare], len(new))])
    return as_csr(sp.vstack(rows)), as_csr(relevant)


def _check_words(tree: LinearTree, names: list[str], said: list[str]) -> None:
    """A label is found by the words of its text that the model knows; some have few, or none."""
    known = np.diff(tree.encoder.encode(said).indptr)
    every = replace(tree.config.text, min_df=1, max_df=1.0, max_features=None)
    words = np.diff(tfidf.learn(said, every)[1].indptr)
    weak = np.flatnonzero((known == 0) | (2 * known < words))
    told = _listed([f"{names[at]!r} ({known[at]} of {words[at]} words)" for at in weak])
    if not known.any():
        raise DataError(
            f"the model knows no word of the new labels and could never find them: "
            f"{told}. Describe them in words of the training texts, or give examples."
        )
    if told:
        logging.getLogger("xmtc").warning(
            "the model knows few words of some new labels and will hardly find them: %s. "
            "Describe them in words of the training texts, or give examples.",
            told,
        )


def _wider_gudn(
    model: Gudn,
    examples: Dataset | None,
    relevant: Csr,
    texts: dict[str, str],
    wide: LabelSpace,
    seen: TrainedOn,
) -> Gudn:
    """A new label is the mean of its examples, or what it says itself."""
    known = len(model.labels)
    descriptions = [
        model.labels.texts[label] if model.labels.texts else "" for label in range(known)
    ]
    descriptions += [texts.get(name, "") for name in wide.names[known:]]
    labels = LabelSpace(wide.names, tuple(descriptions) if any(descriptions) else None)
    vectors = np.zeros((len(labels) - known, len(model.middle)), np.float32)
    bare = _bare(relevant)
    if len(bare):
        said = model.texts_of(labels)
        told = [texts.get(labels.names[known + place], "") for place in bare]
        # A text that is given is read, whatever labels said while training.
        vectors[bare] = model.encode(
            [text or said[known + place] for text, place in zip(told, bare, strict=True)]
        )
    if examples is not None:
        sums = relevant.T @ model.encode(examples.inputs)
        counts = label_counts(relevant)
        vectors += sums / np.maximum(1, counts)[:, None].astype(np.float32)
    return gudn.with_labels(model, labels, vectors, seen)


def _bare(relevant: Csr) -> Longs:
    """The new labels that have no example."""
    return np.flatnonzero(label_counts(relevant) == 0)


def _carried(new: Dataset) -> Dataset:
    """Without the labels that no text carries, as the part of a larger data set may have."""
    carried = label_counts(new.relevant) > 0
    return replace(new, relevant=new.relevant[:, carried], labels=new.labels.only(carried))


def _joined(old: Dataset, new: Dataset, labels: int) -> Csr:
    """(texts, labels) of both, without labels that the model does not have."""
    return as_csr(sp.vstack([old.relevant[:, :labels], new.relevant[:, :labels]]))
