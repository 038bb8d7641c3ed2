"""The verbs of the library: train, predict, evaluate, explain, save, load.

Every command of the command line is a thin caller of one of them.
"""

from __future__ import annotations

import copy
import logging
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
from xmtc.models import catalog, presets
from xmtc.planning.plan import Plan, within

THRESHOLD_DEPTH = 100  # labels of a text to which a threshold is applied
EMPTY: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Explanation:
    """Why a label was ranked: the evidence of each classifier on the way to it, its own last."""

    label: str
    score: float
    path: tuple[Evidence, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        steps = [
            {"bias": each.bias, "margin": each.margin, "terms": [list(term) for term in each.terms]}
            for each in self.path
        ]
        by = {"by": self.path[-1].by} if self.path[-1].by else {}
        return {"label": self.label, "score": self.score, **by, "path": steps}


def train(
    kind: str,
    dataset: Dataset,
    config: Any = None,
    /,
    *,
    preset: str | None = None,
    validation: Dataset | float | None = None,
    run: str | Path | None = None,
    **overrides: Any,
) -> Model:
    """A trained model: `train("one_vs_all", data, svm={"cost": 2})`.

    config: the kind's own Config, or a dict of settings; overrides win over it.
    preset: published settings by name (`xmtc presets`); config and overrides win over it. A preset
    that is an ensemble trains all its members and combines them.
    validation: a validation set, used instead of a held-out share of `dataset` for what the kind
    selects: the best checkpoint, the best kind of `auto`, the weights of an ensemble. A number is
    the fraction of `dataset` that is held out.
    run: a folder for checkpoints, a log and curves of neural kinds; a training that was killed
    continues from there.
    """
    check_trainable(dataset, "train")
    if validation is not None and is_number(validation):
        share = {"validation": validation}
        trains = "training" in catalog.settings_of(kind)
        overrides = settings.merged(overrides, {"training": share} if trains else share)
        validation = None
    kind, made = resolve(kind, config, preset, overrides)
    for sentence in settings.without_effect(made):
        logging.getLogger("xmtc").warning("%s.", sentence)
    if validation is not None:
        check_uses_validation(kind)
        check_dataset(validation, "validation")
        dataset = dataset.with_validation(cast(Dataset, validation))
    model: Model = catalog.module_of(kind).train(dataset, made, Run.at(run))
    return model


def resolve(
    kind: str, config: Any = None, preset: str | None = None, overrides: Mapping[str, Any] = EMPTY
) -> tuple[str, Any]:
    """The kind and its own Config, of a preset, a Config or dict, and overrides; later ones win.

    The kind of a preset that is an ensemble is ensemble.
    """
    values: Mapping[str, Any] = EMPTY
    if preset is not None:
        found = presets.of_kind(kind, preset)
        kind = found.kind
        values = found.settings
    cls = catalog.module_of(kind).Config
    if isinstance(config, cls):
        config = settings.to_dict(config)
    elif config is not None and not isinstance(config, Mapping):
        raise ConfigError(
            f"config: expected {kind}.Config or a dict of settings, got {type(config).__name__}. "
            "Texts and labels go into a Dataset: xmtc.Dataset.of(texts, labels)."
        )
    for each in (config, overrides):
        values = settings.merged(values, each) if each else values
    return kind, settings.from_dict(cls, values) if values else cls()


def plan(
    kind: str,
    dataset: Dataset,
    config: Any = None,
    *,
    memory: float | None = None,
    minutes: float | None = None,
) -> Plan:
    """An estimate for these settings; with limits, for the nearest settings that fit them.

    config: as for `train`. memory: bytes the process may have at its peak. minutes: of training.
    A few classifiers are trained to see how fast this machine is, so this takes a while itself: of
    linear_tree a third to nine tenths of the training's own time, of one_vs_all a second or two.
    """
    check_trainable(dataset, "plan")
    kind, resolved = resolve(kind, config)
    return within(kind, dataset, resolved, catalog.costs_of(kind, dataset), memory, minutes)


def check_uses_validation(kind: str) -> None:
    """Raise when the kind does not use validation data."""
    kinds = catalog.kinds_with_validation()
    if kind not in kinds:
        raise ConfigError(
            f"{kind} does not use validation data; drop validation=. Kinds that do: "
            f"{', '.join(kinds)}."
        )


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
    allowed = None
    if only is not None or exclude != ():
        allowed = allowed_labels(model.labels, only, exclude)
    ranking = model.rank(texts, _limit(k, model), allowed)
    if threshold is not None:
        require(is_number(threshold), "threshold", threshold, "must be a number, or None")
        ranking = ranking.above(threshold)
    return ranking.named(model.labels)


def _limit(k: int, model: Model) -> int:
    """k, but no more than there are labels."""
    require(is_whole(k) and k >= 1, "k", k, "must be a whole number, at least 1")
    return min(int(k), len(model.labels))


def evaluate(
    model: Model,
    dataset: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    *,
    without: Ints | None = None,
    **options: Any,
) -> Report:
    """Metrics of the model on labelled texts. Labels it does not know count as misses.

    without: (pairs, 2) texts and labels of the data set that are removed from the rankings before
    they are cut at k, as the LF data sets require (`filter_labels_test.txt`).
    """
    check_dataset(dataset, "evaluate")
    require(bool(ks), "ks", ks, "name at least one cut-off, e.g. (1, 3, 5)")
    check_truth(dataset, model.labels)
    truth = dataset.named_in(model.labels)
    thresholded = options.get("threshold") is not None
    depth = max(*ks, min(THRESHOLD_DEPTH, len(model.labels)) if thresholded else 0)
    if without is None:
        ranking = rank_in_blocks(model.rank, truth.inputs, depth)
    else:
        ids = np.array([truth.labels.id_of[name] for name in dataset.labels.names], np.int32)
        pairs = np.stack([without[:, 0], ids[without[:, 1]]], axis=1)
        extra = int(np.bincount(pairs[:, 0]).max(initial=0)) if len(pairs) else 0
        ranking = rank_in_blocks(model.rank, truth.inputs, depth + extra)
        ranking = ranking.without(pairs).top(depth)
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
    from xmtc.models.ensemble.label_union import all_labels, ids_in, merged_training, renumbered

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
        rankings, truth, merged_training(members, labels), ks=tuple(sorted(set(ks))), **options
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
    """For each of the k best labels, the words that speak for and against it."""
    if not hasattr(model, "explain"):
        raise ConfigError(
            f"{model.kind} models cannot be explained. Kinds with explanations: "
            f"{catalog.explaining()}."
        )
    if not isinstance(text, str):
        raise DataError(f"explain: expected one text, got {type(text).__name__}.")
    ranking = model.rank([text], _limit(k, model)).named(model.labels)[0]
    return [
        Explanation(name, score, tuple(model.explain(text, model.labels.id_of[name])))
        for name, score in ranking
    ]


def save(model: Model, folder: str | Path, overwrite: bool = False) -> None:
    """Write the model to a folder of its own; it appears whole or not at all."""
    store.write(model.kind, model.to_parts(), folder, overwrite)


def remember(model: Model, sources: Sequence[Provenance]) -> Model:
    """The model with a record of where its training data is, so that `xmtc update` finds it."""
    trained_on = replace(model.trained_on, sources=tuple(sources))
    remembered: Model = replace(cast(Any, model), trained_on=trained_on)
    return remembered


def load(folder: str | Path, int8: bool = False) -> Model:
    """The model in a folder, after checking every byte of it.

    int8: its encoder runs with 8-bit weights, which is faster and a little less exact.
    """
    if not isinstance(folder, str | PathLike):
        raise ConfigError(f"load: expected a model's folder, got {type(folder).__name__}.")
    kind, parts = store.read(folder)
    if kind not in catalog.KINDS:
        raise StoreError(
            f"{folder} holds a model of kind {kind!r}, which this version of xmtc does not know."
        )
    if int8:
        parts = replace(parts, settings=copy.deepcopy(parts.settings))
        encoders = list(_encoders_in(parts.settings))
        require(
            bool(encoders),
            "int8",
            int8,
            f"is for models with a pretrained encoder, and {kind} has none; leave it out",
        )
        for encoder in encoders:
            encoder["int8"] = True
    model: Model = from_untrusted(lambda: catalog.class_of(kind).from_parts(parts))
    return model


def _encoders_in(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of all pretrained encoders, those of an ensemble's members too."""
    for value in values.values():
        if isinstance(value, dict):
            yield from [value] if "int8" in value else _encoders_in(value)


def allowed_labels(
    labels: LabelSpace, only: Iterable[str] | None, exclude: Iterable[str]
) -> Allowed:
    """(labels,) True where a label may be returned; None when all may."""
    if only is None and exclude == ():
        return None
    allowed = np.full(len(labels), only is None)
    for names, value in ((only or (), True), (exclude, False)):
        for name in [names] if isinstance(names, str) else names:
            if name not in labels.id_of:
                hint = did_you_mean(name, labels.names) or "."
                raise DataError(f"the model has no label {name!r}{hint}")
            allowed[labels.id_of[name]] = value
    return None if allowed.all() else allowed


def check_dataset(dataset: Any, what: str) -> None:
    """Raise when this is not a Dataset."""
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"{what}: expected a Dataset, got {type(dataset).__name__}. Make one with "
            "xmtc.read_dataset(path) or xmtc.Dataset.of(texts, labels)."
        )


def check_trainable(dataset: Any, what: str) -> None:
    """Raise when there is nothing to train on."""
    if not isinstance(dataset, Dataset):
        check_dataset(dataset, what)
    if not dataset.relevant.shape[0]:
        raise DataError("the training set has no texts. Check the file and its format.")
    if not dataset.relevant.nnz:
        raise DataError("no training text has a label. Check the file, its format and columns.")


def check_texts(texts: Any) -> None:
    """Raise when this is not a list of strings, or a sparse matrix."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got one text. Put it into a list: [text]")
    if hasattr(texts, "shape") and not hasattr(texts, "tolist"):
        return  # a sparse matrix: the model checks it
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f'text {place}: expected a string, got {text!r:.40}. Use "" for an empty text.'
            )


def check_truth(dataset: Dataset, known: LabelSpace) -> None:
    """Raise when no answer could be right: no text has a label, or none that is known."""
    names = [dataset.labels.names[label] for label in np.unique(dataset.relevant.indices)]
    if not names:
        raise DataError(
            "no text of the test set has a label, so there is nothing to compare with. Use "
            "labelled texts; to see the model's answers: xmtc predict."
        )
    if not any(name in known.id_of for name in names):
        raise DataError(
            f"none of the {len(names):,} labels of the test set, e.g. {names[0]!r}, is one of the "
            f"model's {len(known):,} labels, e.g. {known.names[0]!r}. Are the labels ids in one "
            "file and names in the other?"
        )
