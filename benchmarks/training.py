"""Training our own kinds on the clock, each in a process of its own; models stay in a work folder.

A model that was trained before with the same settings at the same commit is not trained again.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.cpu import precision
from benchmarks.experiment import Options, Row
from benchmarks.limits import alone, megabytes_in, peak, reset_peak, timed
from benchmarks.record import say, source

if TYPE_CHECKING:
    from benchmarks.systems import Ours
    from xmtc import Dataset

PROBE_TEXTS = 384  # by which the speed of training is measured
SPARE = 0.97  # of the time that is planned for
DEV_TEXTS = 1000  # of a dev part, where a checkpoint is chosen
BATCH = 32  # the default


def trained(system: Ours, name: str, options: Options) -> tuple[Path, Row]:
    """The folder of the model and the cost of its training."""
    from xmtc.core.digest import digest

    asked = f"{system!r} {options.threads} {options.seed} {options.subset} {options.minutes}"
    place = options.work / f"{name}-{system.preset or system.kind}-{digest(asked)[:12]}"
    file = place / "cost.json"
    cost = json.loads(file.read_text()) if file.exists() else {}
    if not cost or cost["trained_commit"] != source()["commit"][:9] or cost["trained_dirty"]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        cost = alone(_train, system, name, options, place)
        file.write_text(json.dumps(cost))
    return place / "model", cost


def _train(system: Ours, name: str, options: Options, place: Path) -> Row:
    """In a process of its own, so that its peak of memory is the training's."""
    import xmtc
    from xmtc.models import catalog

    xmtc.set_threads(options.threads)
    texts = data.training(name, options)
    settings = planned(system, texts, options)
    epochs = settings.get("training", {}).get("epochs", 0)
    say(f"{name}, {system.title}: training, {epochs or 'default'} epochs")
    validates = system.kind in catalog.kinds_with_validation() and data.has_dev(name)
    dev_texts = DEV_TEXTS if system.checkpoints else None
    validation = data.dev(name, options, dev_texts) if validates else None
    reset_peak()
    model, cost = timed(
        lambda: system.train(texts, settings, validation=validation, run=place / "run")
    )
    memory = peak()
    xmtc.save(model, place / "model")
    commit = source()
    return {
        "train_texts": len(texts),
        "labels": len(texts.labels),
        "train_seconds": round(cost.seconds, 1),
        "train_cpu_seconds": round(cost.cpu_seconds, 1),
        "peak_mb": round(memory, 1),
        "model_mb": round(megabytes_in(place / "model"), 1),
        "epochs": epochs,
        "config": settings,
        "trained_commit": commit["commit"][:9],
        "trained_dirty": commit["dirty"],
    }


def planned(system: Ours, texts: Dataset, options: Options) -> dict[str, Any]:
    """All settings, with epochs that fit the minutes and checkpoints; kernels are compiled."""
    import xmtc

    few = data.with_texts(texts.take(range(min(64, len(texts)))))
    settings = dict(system.settings)
    if system.kind == "auto":  # it would take all of its minutes to warm up
        xmtc.train("linear_tree", few).rank(list(few.texts[:4]), 5)
        kinds = ("xr_transformer", "lightxml")
        overrides = [f"{kind} training.precision={precision()}" for kind in kinds]
        own = {"minutes": system.minutes(options), "seed": options.seed}
        return {**settings, **own, "overrides": overrides}
    if not system.neural:
        system.train(few, settings).rank(list(few.texts[:4]), 5)
        return settings
    training: dict[str, Any] = {"precision": precision(), "seed": options.seed}
    training |= settings.get("training", {})
    settings["training"] = training
    system.train(few, _short(settings, 1)).rank(list(few.texts[:4]), 5)
    if system.validation_texts:
        training["validation"] = min(0.2, system.validation_texts / len(texts))
    if system.in_minutes:
        training["epochs"] = _epochs_that_fit(system, settings, texts, options)
    if system.checkpoints:
        steps = training["epochs"] * math.ceil(len(texts) / BATCH)
        training["published"] = {"validate_every": max(1, steps // system.checkpoints)}
        training["patience"] = training["epochs"]
    return settings


def _short(settings: Mapping[str, Any], epochs: int) -> dict[str, Any]:
    """The settings for a short training without validation."""
    return {**settings, "training": {**settings["training"], "epochs": epochs, "validation": None}}


def _epochs_that_fit(
    system: Ours, settings: Mapping[str, Any], texts: Dataset, options: Options
) -> int:
    """As many as fit the minutes, by some short trainings.

    The time of an epoch over eight texts is that of the labels, and does not grow with the texts.
    """
    sample = data.drawn(texts, PROBE_TEXTS)  # of all labels: few would need no clusters
    few = sample.take(range(8))

    def seconds(part: Dataset, epochs: int) -> float:
        return timed(lambda: system.train(part, _short(settings, epochs)))[1].seconds

    one_of_few = seconds(few, 1)
    of_labels = max(0.0, seconds(few, 2) - one_of_few)
    one = seconds(sample, 1)
    epoch = max(0.0, (seconds(sample, 3) - one) / 2 - of_labels)
    scale = len(texts) / len(sample)
    model = system.train(few, _short(settings, 1))
    rank = timed(lambda: model.rank(list(sample.texts), 5))[1].seconds / len(sample)
    validating = system.checkpoints * system.validation_texts * rank
    once = max(0.0, one - one_of_few - epoch) * scale + validating
    left = options.minutes * 60 * SPARE - once
    return max(1, int(left / (of_labels + epoch * scale)))
