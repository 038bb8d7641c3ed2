"""What a user types: train, predict, evaluate, save, load."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from xmtc.core import config as settings
from xmtc.core import store
from xmtc.core.arrays import Allowed, Inputs, Ints
from xmtc.core.dataset import Dataset
from xmtc.core.errors import (
    ConfigError,
    DataError,
    StoreError,
    did_you_mean,
    is_number,
    is_whole,
    require,
)
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import from_untrusted
from xmtc.core.provenance import Provenance
from xmtc.core.ranking import rank_in_blocks
from xmtc.core.run import Run
from xmtc.evaluation.comparison import Comparison, compare_rankings
from xmtc.evaluation.report import Report, evaluate_ranking
from xmtc.linear.explain import Evidence
from xmtc.models import catalog

DECIDED = 100  # labels of a text that a threshold decides upon, the best ones


@dataclass(frozen=True)
class Explanation:
    """Why a label was ranked: the evidence of each classifier on the way to it, its own last."""

    label: str
    score: float
    path: tuple[Evidence, ...]


def train(
    kind: str,
    dataset: Dataset,
    config: Any = None,
    /,
    *,
    validation: Dataset | float | None = None,
    run: str | Path | None = None,
    **overrides: Any,
) -> Model:
    """A trained model: `train("one_vs_all", data, svm={"cost": 2})`.

    config: the kind's own Config, or a dict of settings; single settings win over it.
    validation: texts to choose by, instead of some of `dataset` that are held out: the best
    checkpoint of a neural kind, the best kind of `auto`, the weights of an ensemble. A number is
    the setting of that name: the share that the latter two hold out.
    run: a folder in which neural kinds keep checkpoints, a log and, with matplotlib, curves; a
    training that was killed goes on from there.
    """
    module = catalog.module_of(kind)
    check_dataset(dataset, "train")
    if is_number(validation):
        overrides = {**overrides, "validation": validation}
        validation = None
    made = config_of(kind, config, overrides)
    check_trainable(dataset)
    if validation is not None:
        check_uses_validation(kind)
        check_dataset(validation, "validation")
        dataset = dataset.with_validation(cast(Dataset, validation))
    model: Model = module.train(dataset, made, Run.at(run))
    return model


def check_uses_validation(kind: str) -> None:
    """Raise when validation data is of no use to the kind."""
    known = catalog.kinds_with_validation()
    if kind not in known:
        raise ConfigError(
            f"{kind} chooses nothing by validation data; leave it out. These do: "
            f"{', '.join(known)}."
        )


def config_of(kind: str, config: Any = None, overrides: Mapping[str, Any] | None = None) -> Any:
    """The kind's own Config, from one, from a dict of settings or from nothing."""
    module = catalog.module_of(kind)
    if config is not None and not isinstance(config, module.Config | Mapping):
        raise ConfigError(
            f"the settings are a {type(config).__name__}; give {kind}.Config or a dict. "
            "Texts and labels go into a Dataset: xmtc.Dataset.of(texts, labels)."
        )
    if isinstance(config, module.Config):
        config = settings.to_dict(config)
    return settings.from_dict(module.Config, settings.merged(config or {}, overrides or {}))


def predict(
    model: Model,
    texts: Inputs,
    k: int = 5,
    threshold: float | None = None,
    *,
    only: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
) -> list[list[tuple[str, float]]]:
    """The best labels of each text: `[[("olive oil", 0.93), ("market", 0.71)], ...]`.

    threshold: leave out labels that score less. only, exclude: names of labels that may, or may
    not, be returned.
    """
    if not hasattr(texts, "__len__"):
        texts = list(texts)
    check_texts(texts)
    number = threshold is None or is_number(threshold)
    require(number, "threshold", threshold, "must be a number, or None")
    ranking = model.rank(texts, _most(k, model), allowed_labels(model.labels, only, exclude))
    return (ranking if threshold is None else ranking.above(threshold)).named(model.labels)


def _most(k: int, model: Model) -> int:
    """As many labels as are asked for, or as there are."""
    require(is_whole(k) and k >= 1, "k", k, "ask for one label or more, a whole number")
    return min(int(k), len(model.labels))


def evaluate(
    model: Model,
    dataset: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    *,
    without: Ints | None = None,
    **options: Any,
) -> Report:
    """How well the model ranks this data set's labels. Labels it never saw count as misses.

    without: (pairs, 2) texts and labels of the data set that are taken out of the answers before
    they are cut at k, as the LF data sets ask for (`filter_labels_test.txt`).
    """
    check_dataset(dataset, "evaluate")
    require(bool(ks), "ks", ks, "name at least one cut-off, e.g. (1, 3, 5)")
    check_truth(dataset, model.labels)
    truth = dataset.named_in(model.labels)
    decided = 0 if options.get("threshold") is None else min(DECIDED, len(model.labels))
    deep = max(*ks, decided)
    if without is None:
        ranking = rank_in_blocks(model.rank, truth.inputs, deep)
    else:
        pairs = _in_other_ids(without, dataset.labels, truth.labels)
        most = int(np.bincount(pairs[:, 0]).max(initial=0)) if len(pairs) else 0
        ranking = rank_in_blocks(model.rank, truth.inputs, deep + most).without(pairs).top(deep)
    return evaluate_ranking(ranking, truth.relevant, model.trained_on, ks=tuple(ks), **options)


def compare(
    models: Mapping[str, Model],
    dataset: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    *,
    different_labels: bool = False,
    **options: Any,
) -> Comparison:
    """Is the second model better than the first? `compare({"old": old, "new": new}, test)`.

    models: two or more by name; the others are compared with the first.
    different_labels: allow models with different labels; a label unknown to a model is a miss.
    options: settings of `Measures`, e.g. resamples=1000, seed=0.
    """
    from xmtc.models.ensemble.label_union import all_labels, ids_in, renumbered, seen_by

    if len(models) < 2:
        raise ConfigError(
            f"expected two or more models to compare, got {len(models)}. To measure one alone: "
            "xmtc evaluate."
        )
    require(bool(ks), "ks", ks, "name at least one cut-off, e.g. (1, 3, 5)")
    check_dataset(dataset, "compare")
    members = list(models.values())
    if not different_labels:
        _check_same_labels(models)
    labels = all_labels(members)
    check_truth(dataset, labels)
    truth = dataset.named_in(labels)
    rankings = {
        name: renumbered(
            rank_in_blocks(model.rank, truth.inputs, max(ks), f"ranking with {model.kind}"),
            ids_in(labels, model.labels),
        )
        for name, model in models.items()
    }
    return compare_rankings(
        rankings, truth, seen_by(members, labels), ks=tuple(sorted(set(ks))), **options
    )


def _check_same_labels(models: Mapping[str, Model]) -> None:
    first, *others = models
    expected = set(models[first].labels.names)
    for other in others:
        names = set(models[other].labels.names)
        if names != expected:
            raise DataError(
                f"{first} and {other} have different labels: {len(expected - names):,} only the "
                f"first, {len(names - expected):,} only the second, e.g. {min(expected ^ names)!r}."
                " Train both on the same data, or pass different_labels=True to count labels "
                "unknown to a model as missed."
            )


def explain(model: Model, text: str, k: int = 3) -> list[Explanation]:
    """For each of the k best labels, the words that spoke for and against it."""
    if not hasattr(model, "explain"):
        raise ConfigError(f"{model.kind} cannot say why; these can: {catalog.explaining()}.")
    if not isinstance(text, str):
        raise DataError(f"explain takes one text, not a {type(text).__name__}.")
    ranking = model.rank([text], _most(k, model)).named(model.labels)[0]
    return [
        Explanation(name, score, tuple(model.explain(text, model.labels.id_of[name])))
        for name, score in ranking
    ]


def save(model: Model, folder: str | Path, overwrite: bool = False) -> None:
    """Write the model to a folder of its own; it appears whole or not at all."""
    store.write(model.kind, model.to_parts(), folder, overwrite)


def remember(model: Model, sources: Sequence[Provenance]) -> Model:
    """The model, knowing where its training data is, so that `xmtc update` finds it."""
    seen = replace(model.trained_on, sources=tuple(sources))
    knowing: Model = replace(cast(Any, model), trained_on=seen)
    return knowing


def load(folder: str | Path, int8: bool = False) -> Model:
    """The model in a folder, after checking every byte of it.

    int8: its encoder reads with 8-bit weights, which is faster and a little less exact.
    """
    if not isinstance(folder, str | PathLike):
        raise ConfigError(f"load takes a model's folder, not a {type(folder).__name__}.")
    kind, parts = store.read(folder)
    if kind not in catalog.KINDS:
        raise StoreError(f"{folder} holds a {kind!r}, which this version of xmtc does not know.")
    if int8:
        parts = replace(parts, settings=copy.deepcopy(parts.settings))
        encoders = list(_encoders_in(parts.settings))
        require(
            bool(encoders),
            "int8",
            int8,
            f"is for models with an encoder, and {kind} has none; leave it out",
        )
        for encoder in encoders:
            encoder["int8"] = True
    model: Model = from_untrusted(lambda: catalog.class_of(kind).from_parts(parts))
    return model


def _encoders_in(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of all encoders, those of an ensemble's members too."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from [value] if name == "encoder" else _encoders_in(value)


def allowed_labels(
    labels: LabelSpace, only: Iterable[str] | None, exclude: Iterable[str]
) -> Allowed:
    """(labels,) True where a label may be returned; None when all may."""
    if only is None and exclude == ():
        return None
    allowed = np.full(len(labels), only is None)
    allowed[_ids(labels, only or ())] = True
    allowed[_ids(labels, exclude)] = False
    return None if allowed.all() else allowed


def _ids(labels: LabelSpace, names: Iterable[str]) -> list[int]:
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in labels.id_of:
            hint = did_you_mean(name, labels.names) or "."
            raise DataError(f"the model has no label {name!r}{hint}")
    return [labels.id_of[name] for name in names]


def _in_other_ids(pairs: Ints, old: LabelSpace, new: LabelSpace) -> Ints:
    """(text, label) pairs with their labels renumbered from one space to the other."""
    ids = np.array([new.id_of[name] for name in old.names], np.int32)
    return np.stack([pairs[:, 0], ids[pairs[:, 1]]], axis=1)


def check_dataset(dataset: Any, what: str) -> None:
    """Raise when this is not a Dataset."""
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"{what} takes a Dataset, not a {type(dataset).__name__}. Make one with "
            "xmtc.read_dataset(path) or xmtc.Dataset.of(texts, labels)."
        )


def check_texts(texts: Any) -> None:
    """Raise when this is not a list of strings, or a sparse matrix."""
    if isinstance(texts, str):
        raise DataError("this takes a list of texts; put the one text into a list: [text]")
    if hasattr(texts, "shape") and not hasattr(texts, "tolist"):
        return  # a sparse matrix: the model checks it
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f'text {place} is {text!r:.40}, not a string. Use "" for none.')


def check_truth(dataset: Dataset, known: LabelSpace) -> None:
    """Raise when no answer could be right: no text has a label, or none that is known."""
    names = [dataset.labels.names[label] for label in np.unique(dataset.relevant.indices)]
    if not names:
        raise DataError(
            "no text of the test data has a label, so no answer is right or wrong. Give labelled "
            "texts; to see the answers themselves: xmtc predict."
        )
    if not any(name in known.id_of for name in names):
        raise DataError(
            f"none of the {len(names):,} labels of the test data, e.g. {names[0]!r}, is one of the "
            f"{len(known):,} labels that were learned, e.g. {known.names[0]!r}. Are the labels ids "
            "in one file and names in the other?"
        )


def check_trainable(dataset: Dataset) -> None:
    """Raise when there is nothing to learn."""
    if not len(dataset):
        raise DataError("the training data has no texts. Check the file and its format.")
    if not dataset.relevant.nnz:
        raise DataError("no text of the training data has a label; there is nothing to learn.")
