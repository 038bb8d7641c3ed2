"""Changes a finished linear_tree: new labels, fewer labels, more texts. It makes a new model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Longs, as_csr, csr, csr_of_rows, unit_rows
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import ConfigError, DataError, did_you_mean
from xmtc.core.interfaces import Model
from xmtc.linear.edit import with_labels, with_old_labels, without_labels
from xmtc.linear.nodes import retrain_forest
from xmtc.models.linear_tree import LinearTree, kept_as


def add_labels(
    model: Model, examples: Dataset | None = None, texts: Mapping[str, str] | None = None
) -> LinearTree:
    """The model with new labels, each learned from a few examples, or from its own text alone.

    examples: texts with labels; only labels that the model lacks are added. texts: name -> what the
    label says. Nothing else of the model changes.
    """
    tree, texts = _linear_tree(model), dict(texts or {})
    named = examples.labels.names if examples else ()
    wide = tree.labels.extended_by([*named, *texts])
    new = wide.names[len(tree.labels) :]
    if not new:
        raise DataError("there is no new label: the model has all of those names already.")
    shown, relevant, counts = _shown(tree, examples, texts, new)
    config = tree.config
    forests = kept_as(config, (
        with_labels(forest, shown, relevant, config.svm, config.beam) for forest in tree.forests
    ))  # fmt: skip
    counts = np.concatenate([tree.trained_on.label_counts, counts])
    seen = replace(tree.trained_on, label_counts=counts)
    return replace(tree, forests=forests, labels=wide, trained_on=seen)


def remove_labels(model: Model, names: Iterable[str]) -> LinearTree:
    """The model without these labels. Nothing else of it changes."""
    tree, gone = _linear_tree(model), set(names)
    for name in gone:
        if name not in tree.labels.id_of:
            hint = did_you_mean(name, tree.labels.names) or "."
            raise DataError(f"the model has no label {name!r}{hint}")
    kept = np.array([name not in gone for name in tree.labels.names])
    if not kept.any():
        raise DataError("that would remove all labels; a model needs at least one.")
    forests = kept_as(tree.config, (without_labels(forest, kept) for forest in tree.forests))
    counts = tree.trained_on.label_counts[kept]
    return replace(tree, forests=forests, labels=tree.labels.only(kept),
                   trained_on=replace(tree.trained_on, label_counts=counts))  # fmt: skip


def update(model: Model, old: Dataset, new: Dataset) -> LinearTree:
    """The model after more texts: only the nodes that the new texts reach are trained again.

    old: what the model was trained on; its vocabulary and its tree stay. Labels that only the new
    texts have are added. Labels that no text carries, because they were added with examples of
    their own, stay as they are; those that were removed stay away unless the new texts have them.
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
        tree = add_labels(tree, new)
    both = _joined(old.named_in(tree.labels), new.named_in(tree.labels), len(tree.labels))
    features = as_csr(sp.vstack([tree.encode(part.inputs) for part in (old, new)]))
    fresh = np.arange(both.shape[0]) >= len(old)
    config = tree.config
    forests = kept_as(config, (
        retrain_forest(forest, features, both, fresh, config.svm, config.negatives, config.beam,
                       config.relevance)
        for forest in tree.forests
    ))  # fmt: skip
    counts = np.bincount(both.indices, minlength=len(tree.labels)).astype(np.int64)
    unseen = counts == 0
    if unseen.any():
        counts = np.where(unseen, tree.trained_on.label_counts, counts)
        pairs = zip(forests, tree.forests, strict=True)
        forests = kept_as(config, (with_old_labels(*pair, unseen) for pair in pairs))
    return replace(tree, forests=forests, trained_on=TrainedOn(both.shape[0], counts))


def _linear_tree(model: Model) -> LinearTree:
    if not isinstance(model, LinearTree):
        raise ConfigError(
            f"models of kind {model.kind} cannot be changed; train again, or use linear_tree."
        )
    return model


def _shown(
    tree: LinearTree, examples: Dataset | None, texts: dict[str, str], new: tuple[str, ...]
) -> tuple[Csr, Csr, Longs]:
    """(examples, features), (examples, new labels), and how many examples each label has.

    A label that has none learns from its own text, or from its name if there is no text.
    """
    known, place = len(tree.labels), {name: place for place, name in enumerate(new)}
    rows, relevant = [], sp.csr_array((0, len(new)), dtype=np.float32)
    if examples is not None:
        named = examples.named_in(tree.labels).relevant[:, known:]
        relevant = csr(named.data, named.indices, named.indptr, len(new))
        rows.append(tree.encode(examples.inputs))
    counts = np.bincount(relevant.indices, minlength=len(new)).astype(np.int64)
    bare = [name for name in new if not counts[place[name]]]
    if bare:
        rows.append(unit_rows(tree.encode([texts.get(name, name) for name in bare])))
        said = csr_of_rows([[place[name]] for name in bare], len(new))
        relevant = sp.vstack([relevant, said])
    return as_csr(sp.vstack(rows)), as_csr(relevant), counts


def _carried(new: Dataset) -> Dataset:
    """Without the labels that no text carries, as the part of a larger data set may have."""
    carried = np.bincount(new.relevant.indices, minlength=len(new.labels)) > 0
    return replace(new, relevant=new.relevant[:, carried], labels=new.labels.only(carried))


def _joined(old: Dataset, new: Dataset, labels: int) -> Csr:
    """(texts, labels) of both, without labels that the model does not have."""
    return as_csr(sp.vstack([old.relevant[:, :labels], new.relevant[:, :labels]]))
