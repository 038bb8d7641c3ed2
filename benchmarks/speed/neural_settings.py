"""What each setting that makes neural training fast on a CPU brings, alone; attention by length."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, Timing, in_turns, one, summary, timed

DEFAULT = "default"
FP32 = "cache in fp32"
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    DEFAULT: {},
    "all layers learn": {"encoder": {"trainable_layers": None}},
    "frozen layers, no cache": {"encoder": {"published": {"frozen_cache": None}}},
    FP32: {"encoder": {"published": {"frozen_cache": "fp32"}}},
    "dropout in the encoder": {"encoder": {"dropout": None}},
}
SETTINGS: dict[str, Any] = {
    "data": "xmtc.datasets.debian(), its first training texts, all 18,542 labels",
    "texts": 64,
    "tokens": 128,
    "changes": CHANGES,
    "remarks": [
        "lightxml's default encoder and training, one epoch, one setting changed at a time; the "
        "output layer has a row for every label",
        "cpu_seconds: of an epoch; reading: of what the frozen layers make of the texts, once for "
        "all epochs, and near 0 where an earlier row had left the same; cache_mb: on disk",
        "processor time counts, because the machine may be busy; medians over rounds in turns",
    ],
}
SLACK = 0.95  # of measuring: what is as fast may look a little slower


def run(options: Options) -> list[Measurement]:
    """One row per change."""
    import xmtc

    xmtc.set_threads(options.threads)
    train, _ = xmtc.datasets.debian()
    some = train.take(range(options.subset or SETTINGS["texts"]))
    return _epochs(some, options)


def check(measurements: list[Measurement]) -> list[Claim]:
    """Every setting that is there for speed does no harm; fp16 is there for the disk."""
    ours, whole = (one(measurements, change=change) for change in (DEFAULT, FP32))
    share = ours["cache_mb"] / whole["cache_mb"]
    claims = [Claim("the cache takes half of what fp32 takes (times)", share < 0.55, share)]
    ours = ours["texts_per_cpu_second"]
    for change in [change for change in CHANGES if change not in (DEFAULT, FP32)]:
        times = ours / one(measurements, change=change)["texts_per_cpu_second"]
        claims.append(Claim(f"the default is as fast as: {change} (times)", times >= SLACK, times))
    return claims


def _epochs(some: Any, options: Options) -> list[Measurement]:
    rows: dict[str, Measurement] = {}
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            change: partial(_epoch, some, change, Path(folder), rows, options) for change in CHANGES
        }
        timings = in_turns(ways, options.repeats)
    return [
        {
            "change": change,
            "tokens": SETTINGS["tokens"],
            **_speed(len(some), timings[change]),
            **rows[change],
        }
        for change in CHANGES
    ]


def _epoch(
    some: Any, change: str, folder: Path, rows: dict[str, Measurement], options: Options
) -> Timing:
    """Time of one epoch; what came before it is noted in the first round."""
    from xmtc.core.config import from_dict, merged, to_dict
    from xmtc.core.run import NO_RUN
    from xmtc.models.lightxml import Config
    from xmtc.neural.batches.tokens import tokenize
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.frozen import FrozenSource, source_of
    from xmtc.neural.encoders.make import make_encoder
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.training.loop import fit
    from xmtc.neural.training.task import LabelTask, Net

    fixed = {"encoder": {"max_tokens": SETTINGS["tokens"]}, "training": {"epochs": 1}}
    config = from_dict(Config, merged(merged(to_dict(Config()), fixed), CHANGES[change]))
    rng = Rng(options.seed)
    encoder = make_encoder(some.texts, config.encoder, rng=rng)
    tokens = tokenize(some.texts, encoder.tokenizer, encoder.cut)
    source, reading = timed(lambda: source_of(encoder, tokens, folder, config.training.precision))
    cached = source.states.nbytes / 1e6 if isinstance(source, FrozenSource) else 0.0
    known = {"reading": round(reading.cpu_seconds, 2), "cache_mb": round(cached, 1)}
    rows.setdefault(change, known)  # later rounds find the cache
    with rng.turn():
        head = Flat(encoder.dim, len(some.labels), mean=False)
    net = Net(source.encoder, head, config.dropout)
    task = LabelTask(net, source, some.relevant, config.training, dict)
    once = replace(config.training, validation=None)
    return timed(lambda: fit(task, once, "speed", NO_RUN, rng))[1]


def _speed(texts: int, timings: Sequence[Timing]) -> Measurement:
    found = summary(timings)
    return {"texts_per_cpu_second": round(texts / found["cpu_seconds"], 2), **found}
