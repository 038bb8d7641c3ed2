"""Cells of neural comparisons: a model is trained in one process and measured in another.

Models that take long are kept in the work folder with what their training cost, so that a cell can
be run alone, and a training that was killed goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kit import Measurement, Options, chosen, dataset, say, timed, with_texts
from benchmarks.peers.at_work import batches, by_batch, latency
from benchmarks.process import alone, forget_peak, megabytes_in, peak
from benchmarks.quality import _figures
from benchmarks.record import source

if TYPE_CHECKING:
    from xmtc import Dataset, Model, Ranking

KS = _figures.KS
METRICS = _figures.METRICS
PROBE = 384  # texts by which the speed of training is measured
SPARE = 0.97  # of the time that is planned for
JUDGES = 1000  # texts of a dev part by which a checkpoint is chosen; auto draws as many as it wants


@dataclass(frozen=True)
class Job:
    """A model to be trained: kind and settings, on the training part of a data set."""

    name: str  # of the folder that keeps it
    kind: str
    data: str
    settings: dict[str, Any]
    held_out: int = 0  # texts that are not taught; kinds that hold out by themselves: 0
    texts: int | None = None  # only so many, drawn with the seed
    minutes: float = 0.0  # above 0: as many epochs as fit
    hidden: int = 0  # labels that are not taught, although texts carry them; see `hidden_labels`
    shares_reading: bool = False  # what frozen layers make of the texts is kept for other jobs too
    goes_on_from: str = ""  # another job's name: stages that its run has kept are not done again

    def part(self, options: Options) -> Dataset:
        """The texts that it is taught."""
        train = some(with_texts(dataset(options, self.data)), self.texts, options.seed)
        if self.hidden:
            train = without_labels(train, hidden_labels(train, self.hidden))
        return train.split(self.held_out / len(train), options.seed)[0] if self.held_out else train


def some(train: Dataset, texts: int | None, seed: int) -> Dataset:
    """So many texts, drawn, and the labels that they carry."""
    import numpy as np

    if texts is None or texts >= len(train):
        return train
    drawn = np.random.default_rng(seed).choice(len(train), texts, replace=False)
    return with_texts(train.take(np.sort(drawn)))


def hidden_labels(train: Dataset, many: int) -> Any:
    """So many labels of at least five texts, drawn with seed 7; True for each."""
    import numpy as np

    often = np.flatnonzero(train.trained_on().label_counts >= 5)
    drawn = np.random.default_rng(7).choice(often, min(many, len(often)), replace=False)
    return np.isin(np.arange(len(train.labels)), drawn)


def without_labels(train: Dataset, gone: Any) -> Dataset:
    """The same texts without the labels where `gone` is True."""
    return replace(train, relevant=train.relevant[:, ~gone], labels=train.labels.only(~gone))


def trained(job: Job, options: Options, limit: float | None = None) -> tuple[Path, Measurement]:
    """The folder of the model and what its training cost; an earlier one if it is the same.

    limit: minutes after which training is given up.
    """
    place = options.work / f"{job.data}-{job.name}"
    default = defaults(job.kind)
    asked = {
        "job": repr(job),
        "threads": options.threads,
        "seed": options.seed,
        "subset": options.subset,
        "defaults": default,
    }
    if _chooses_by_dev(job, options):
        asked["judges"] = JUDGES
    cost = kept(place, asked, lambda: alone(_train, job, options, place, minutes=limit))
    return place / "model", {**cost, "defaults": {job.kind: default}}


def kept(place: Path, asked: dict[str, Any], make: Callable[[], Measurement]) -> Measurement:
    """What was made here before for the same question, or is made now; failures are not kept."""
    done = _read(place / "figures.json")
    of_no_commit = done.get("trained_dirty") and not source()["dirty"]
    if of_no_commit or _read(place / "asked.json") != asked:
        shutil.rmtree(place, ignore_errors=True)  # of another training, whole or not
        place.mkdir(parents=True)
        (place / "asked.json").write_text(json.dumps(asked))
        done = {}
    if done:
        say(f"{place.name}: trained before, at commit {done['trained_commit']}")
        return done
    done = make()
    if "failed" not in done:
        (place / "figures.json").write_text(json.dumps(done))
    return done


def training_row(job: Job, options: Options) -> tuple[Path, Measurement]:
    """The folder of the model, and its training as a row beside others of this model."""
    place, cost = trained(job, options)
    wanted = (
        "train_texts",
        "labels",
        "train_seconds",
        "train_cpu_seconds",
        "peak_mb",
        "model_mb",
        "trained_commit",
        "trained_dirty",
        "config",
    )
    return place, {"what": "training", **{name: cost[name] for name in wanted}}


def in_cells(
    options: Options,
    settings: dict[str, Any],
    systems: Mapping[str, str],
    cells: Mapping[str, Callable[[str, Options], Measurement]],
) -> list[Measurement]:
    """One row per data set and system, both as far as they were asked for."""
    names = chosen(options.only, settings["data"], "--only")
    keys = chosen(options.systems, settings["systems"], "--systems")
    rows = []
    for name in names:
        for key in keys:
            row = cells[key](name, options)
            rows.append(
                {
                    "data": name,
                    "system": systems[key],
                    "threads": options.threads,
                    "minutes": options.minutes,
                    **rounded(row),
                }
            )
            say(f"{name}, {systems[key]}: {row.get('failed') or round(row['P@5'], 2)}")
    return rows


def cell(job: Job, options: Options, k: int, limit: float | None = None) -> Measurement:
    """What a model's training cost, and what it reaches."""
    place, cost = trained(job, options, limit)
    return without_run(cost) | alone(_measured_at, place, job.data, options, k)


def without_run(cost: Measurement) -> Measurement:
    """What a training cost, without how it went."""
    gone = {"curve"} if cost.get("was_resumed") else {"curve", "was_resumed"}
    return {name: value for name, value in cost.items() if name not in gone}


def together(costs: Sequence[Measurement]) -> Measurement:
    """What the trainings of several models cost that work as one."""
    added = {
        what: sum(cost[what] for cost in costs)
        for what in ("train_seconds", "train_cpu_seconds", "model_mb")
    }
    return {
        **added,
        "peak_mb": max(cost["peak_mb"] for cost in costs),
        "trained_commit": ", ".join(dict.fromkeys(cost["trained_commit"] for cost in costs)),
        "trained_dirty": any(cost.get("trained_dirty") for cost in costs),
        "defaults": {kind: value for cost in costs for kind, value in cost["defaults"].items()},
    }


def _measured_at(place: Path, data: str, options: Options, k: int) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    return measured(xmtc.load(place), options, data, k)


def defaults(kind: str) -> dict[str, Any]:
    """A model that was trained with other defaults is another one. As JSON gives it back."""
    from xmtc.core import config
    from xmtc.models.catalog import module_of

    values: dict[str, Any] = json.loads(json.dumps(config.to_dict(module_of(kind).Config())))
    return values


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _train(job: Job, options: Options, place: Path) -> Measurement:
    """In a process of its own, so that its peak of memory is the training's."""
    import xmtc

    xmtc.set_threads(options.threads)
    part = job.part(options)
    _warm_up(job, part)
    config = _planned(job, part, place)
    say(f"{job.data}, {job.name}: training, {config.get('training', {}).get('epochs', '')} epochs")
    kept = job.goes_on_from and options.work / f"{job.data}-{job.goes_on_from}"
    folder = (kept or place) / "run"
    before = 0.0 if kept else _begun(place, folder)
    forget_peak()
    if job.shares_reading:  # this process ends with the training
        os.environ["XMTC_CACHE"] = str(options.work / "cache")
    by = _judges(job, options)
    model, cost = timed(lambda: xmtc.train(job.kind, part, config, validation=by, run=folder))
    memory = peak()
    xmtc.save(model, place / "model", overwrite=True)
    lines = lines_of(folder / "log.jsonl")
    seconds = before + cost.seconds
    return {
        "train_texts": len(part),
        "labels": len(part.labels),
        "train_seconds": round(seconds, 1),
        "train_cpu_seconds": round(cost.cpu_seconds, 1),
        "peak_mb": round(memory, 1),
        "model_mb": round(megabytes_in(place / "model"), 1),
        "epochs": config.get("training", {}).get("epochs", 0),
        "curve": _curve(lines, seconds),
        "config": config,
        "was_resumed": before > 0,
        "trained_commit": source()["commit"][:9],
        "trained_dirty": source()["dirty"],
    }


def _chooses_by_dev(job: Job, options: Options) -> bool:
    """Whether there is a dev part, and the kind chooses anything."""
    from xmtc.models import catalog

    given = (options.data / job.data / "dev.jsonl.gz").is_file()
    return given and job.kind in catalog.kinds_with_validation()


def _judges(job: Job, options: Options) -> Dataset | None:
    """Texts of the dev part to choose by."""
    if not _chooses_by_dev(job, options):
        return None
    many = None if job.kind == "auto" else JUDGES
    return some(dataset(options, job.data, "dev"), many, options.seed)


def _warm_up(job: Job, part: Dataset) -> None:
    """Kernels are compiled and modules imported before the clock starts."""
    import xmtc

    few = with_texts(part.take(range(min(64, len(part)))))
    if "minutes" in job.settings:  # it would take all of them; what it does itself counts
        xmtc.train("linear_tree", few).rank(list(few.texts[:4]), 5)
        return
    neural = {"training": {"epochs": 1, "validation": 0.0}} if "training" in job.settings else {}
    xmtc.train(job.kind, few, _merged(job.settings, neural)).rank(list(few.texts[:4]), 5)


def _planned(job: Job, part: Dataset, place: Path) -> dict[str, Any]:
    """The settings with as many epochs as fit the minutes; decided once for a place."""
    if not job.minutes:
        return job.settings
    plan = _read(place / "plan.json")
    if plan.get("job") != repr(job):
        training = job.settings["training"]
        validating = training.get("validation", 0) * len(part) * training.get("validations", 1)
        pace = _pace(job, part)
        left = job.minutes * 60 * SPARE - pace["once"] - validating * pace["rank"]
        plan = {"job": repr(job), "epochs": max(1, int(left / pace["epoch"])), **pace}
        (place / "plan.json").write_text(json.dumps(plan))
        say(f"an epoch takes about {pace['epoch']:.0f} s, reading {pace['once']:.0f} s")
    return in_epochs(job.settings, plan["epochs"], len(part))


def in_epochs(settings: dict[str, Any], epochs: int, texts: int) -> dict[str, Any]:
    """`validations` in all becomes steps between two of them."""
    training = dict(settings["training"])
    many = training.pop("validations", 0)
    batches = -(-texts // training.get("batch", 32))
    between = max(1, epochs * batches // many) if many else 0
    chosen = {"epochs": epochs, "patience": epochs, "validate_every": between}
    return {**settings, "training": {**training, **chosen}}


def _pace(job: Job, part: Dataset) -> dict[str, float]:
    """Seconds for all texts: once (reading with frozen layers), per epoch; per ranked text.

    What an epoch of eight texts takes is about labels, and does not grow with the texts.
    """
    import numpy as np

    import xmtc

    drawn = np.random.default_rng(0).choice(len(part), min(PROBE, len(part)), replace=False)
    sample = part.take(np.sort(drawn))  # of all labels: few would be learned without clusters
    few = sample.take(range(8))

    def seconds(texts: Dataset, epochs: int) -> float:
        config = _merged(job.settings, {"training": {"epochs": epochs, "validation": 0.0}})
        return timed(lambda: xmtc.train(job.kind, texts, config))[1].seconds

    least = seconds(few, 1)
    more = seconds(few, 2)
    one = seconds(sample, 1)
    three = seconds(sample, 3)
    scale = len(part) / len(sample)
    labels = max(0.0, more - least)
    quick = xmtc.train(job.kind, few, _merged(job.settings, {"training": {"validation": 0.0}}))
    ranked = timed(lambda: quick.rank(list(sample.texts), 5))[1].seconds / len(sample)
    epoch = max(0.0, (three - one) / 2 - labels)
    return {
        "epoch": labels + epoch * scale,
        "rank": ranked,
        "once": max(0.0, one - least - epoch) * scale,
    }


def _merged(settings: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Settings for a short training: no validation inside, nothing planned."""
    merged = {**settings, **{key: {**settings.get(key, {}), **more[key]} for key in more}}
    if "training" in merged:
        merged["training"] = {
            key: value for key, value in merged["training"].items() if key != "validations"
        }
    return merged


def lines_of(log: Path) -> list[dict[str, Any]]:
    """A training's log.jsonl."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _begun(place: Path, folder: Path) -> float:
    """Seconds that earlier tries of this training worked, each until the last thing it wrote.

    A run of which this is not known begins anew.
    """
    last = _read(place / "begun.json")
    if not last:
        shutil.rmtree(folder, ignore_errors=True)
    wrote = max((path.stat().st_mtime for path in folder.rglob("*")), default=0.0)
    before = last["before"] + max(0.0, wrote - last["at"]) if last and wrote else 0.0
    (place / "begun.json").write_text(json.dumps({"before": before, "at": time.time()}))
    return float(before)


def _curve(lines: Sequence[dict[str, Any]], seconds: float) -> list[dict[str, float]]:
    """Validation figures by minute since the training began, reading included."""
    if not lines:
        return []
    start = lines[-1]["time"] - seconds
    return [
        {
            "minute": round((line["time"] - start) / 60, 2),
            "step": line["step"],
            **{name: round(value, 2) for name, value in line.items() if "@" in name},
        }
        for line in lines
        if "P@1" in line
    ]


def asked(options: Options, data: str) -> Dataset:
    """The test part; for a quick try only as many texts as are taught."""
    test = dataset(options, data, "tst")
    return test.take(range(min(len(test), options.subset))) if options.subset else test


def measured(
    model: Model, options: Options, data: str, k: int = 10, names: Sequence[str] = METRICS
) -> Measurement:
    """Quality on the test part, and the speed of many texts and of one, from raw text."""
    test = asked(options, data).named_in(model.labels)
    model.rank(list(test.texts[:32]), k)
    ranking, cost = timed(lambda: model.rank(test.texts, k))
    found = _figures.quality_of(ranking, test, model.trained_on, names, options.ranking)
    return {**found, "texts_per_second": len(test) / cost.seconds, **latencies(model, test.texts)}


def latencies(model: Model, texts: Sequence[str]) -> Measurement:
    """Milliseconds per text, one at a time and some together, from raw text to names."""
    import xmtc

    single = latency(lambda text: xmtc.predict(model, [text], k=5), list(texts))
    many = by_batch(lambda part: xmtc.predict(model, part, k=5), batches(texts), len(texts))
    return {**many, **single}


def quality(
    ranking: Ranking, test: Dataset, model: Model, names: Sequence[str] = METRICS
) -> dict[str, float]:
    """The figures of one ranking of the test texts."""
    from xmtc.evaluation.report import evaluate_ranking

    metrics = evaluate_ranking(ranking, test.relevant, model.trained_on, ks=KS).metrics
    return {name: metrics[name] for name in names}


def with_encoder(model: Any, **changes: Any) -> Any:
    """The same lightxml with other settings of its encoder, such as int8=True."""
    parts = model.to_parts()
    encoder = {**parts.settings["encoder"], **changes}
    return type(model).from_parts(replace(parts, settings={**parts.settings, "encoder": encoder}))


def rounded(row: Measurement) -> Measurement:
    """Figures with the digits that count."""
    return {
        key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()
    }
