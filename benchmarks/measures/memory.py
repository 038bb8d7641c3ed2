"""Memory: estimates of `xmtc.plan`, reading data, and neural kinds with very many labels."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import data, figures, training
from benchmarks.experiment import Options, Row, System
from benchmarks.limits import MEGABYTE, alone, peak, reset_peak, resident
from benchmarks.peers.runner import latency
from benchmarks.systems import Ours

TOKENS = 128  # of texts that are ranked one by one
K = 5


@dataclass(frozen=True)
class Plan(System):
    """The estimate of a kind, and its training, each in a process of its own."""

    kind: str

    def measure(self, name: str, options: Options) -> Row:
        found = {
            "kind": self.kind,
            **alone(planned, self.kind, name, options),
            **alone(trained, self.kind, name, options),
        }
        found["time_ratio"] = found["told_cpu_s"] / found["train_cpu_s"]
        found["memory_ratio"] = found["told_mb"] / found["peak_mb"]
        return found


def planned(kind: str, name: str, options: Options) -> Row:
    """The estimate."""
    import xmtc

    dataset, before = loaded(kind, name, options)
    start = time.process_time()
    made = xmtc.plan(kind, dataset)
    own = {"plan_cpu_s": time.process_time() - start, "told_cpu_s": made.cpu_seconds}
    return {**own, "told_mb": made.peak_bytes / MEGABYTE - before}


def trained(kind: str, name: str, options: Options) -> Row:
    """The training."""
    import xmtc

    dataset, before = loaded(kind, name, options)
    start = time.process_time()
    xmtc.train(kind, dataset)
    return {"train_cpu_s": time.process_time() - start, "peak_mb": peak() - before}


def loaded(kind: str, name: str, options: Options) -> tuple[Any, float]:
    """The training part, and the MB in memory before it was read; kernels are compiled."""
    import xmtc
    from xmtc.data.planted import planted as planted_texts

    xmtc.set_threads(options.threads)
    small = planted_texts(texts=400, labels=200)
    xmtc.plan(kind, small)
    xmtc.train(kind, small)
    gc.collect()
    if sys.platform == "linux":  # free memory would be used again, and not be seen to grow
        ctypes.CDLL(None).malloc_trim(0)
    before = resident()
    reset_peak()
    return data.training(name, options), before


@dataclass(frozen=True)
class Reading(System):
    """Peak memory of reading the training part."""

    def measure(self, name: str, options: Options) -> Row:
        from xmtc import read_dataset

        texts = read_dataset(data.file_of(name, "trn")).texts
        size = sum(len(text.encode()) for text in texts) / MEGABYTE
        return {"peak_mb": peak(), "texts": len(texts), "text_mb": size}


@dataclass(frozen=True)
class Doctor(System):
    """Peak memory of `xmtc data doctor` on both parts; kernels are compiled within."""

    def measure(self, name: str, options: Options) -> Row:
        paths = [str(data.file_of(name, part)) for part in ("trn", "tst")]
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # before numba is imported, as for a new user
            from xmtc.cli.app import app

            with redirect_stdout(sys.stderr):
                app.main(["data", "doctor", *paths], standalone_mode=False)
            return {"peak_mb": peak()}


@dataclass(frozen=True)
class ManyLabels(Ours):
    """A short training, then one text at a time, as a whole and in parts."""

    def measure(self, name: str, options: Options) -> list[Row]:
        place, cost = training.trained(self, name, options)
        parts = lightxml_parts if self.kind == "lightxml" else aplc_parts
        return [{"what": "training", **cost}, *alone(parts, place, name, options)]


def lightxml_parts(place: Path, name: str, options: Options) -> list[Row]:
    """In int8, of long texts: as a whole, the encoder, the walk through the labels."""
    import xmtc
    from xmtc.core.walk import walk

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    parts = model.to_parts()
    encoder = {**parts.settings["encoder"], "int8": True, "max_tokens": TOKENS}
    settings = {**parts.settings, "encoder": encoder}
    model = type(model).from_parts(replace(parts, settings=settings))
    long = [text for text in data.test(name, options).texts if len(text.split()) >= TOKENS]
    vectors = [model.encode([text]) for text in long[:300]]

    def ranked(vector: Any) -> Any:
        found = walk(model.tree, model.scorers, vector, K, beam=model.config.beam)
        return found.named(model.labels)

    return [
        {"what": "all texts", **figures.of_model(model, name, options)},
        {"what": "long texts", **latency(lambda text: xmtc.predict(model, [text], k=K), long)},
        {"what": "encoder", **latency(lambda text: model.encode([text]), long)},
        {"what": "label side", **latency(ranked, vectors)},
    ]


def aplc_parts(place: Path, name: str, options: Options) -> list[Row]:
    """The label side with tails skipped and with all tails opened."""
    import xmtc

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    texts = list(data.test(name, options).texts)
    vectors = [model.encode([text]) for text in texts[:300]]

    def ranked(vector: Any, prune: bool) -> Any:
        return model.scorer.rank_and_count(vector, K, prune=prune)[0].named(model.labels)

    skipped = model.tails_skipped(texts, K)
    return [
        {"what": "all texts", **figures.of_model(model, name, options), "tails_skipped": skipped},
        {"what": "label side", **latency(lambda vector: ranked(vector, True), vectors)},
        {"what": "all tails", **latency(lambda vector: ranked(vector, False), vectors)},
    ]
