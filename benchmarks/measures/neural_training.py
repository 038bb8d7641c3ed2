"""Texts per second of fine-tuning MiniLM: lightxml, the Hugging Face Trainer, PECOS's matcher."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.experiment import Options, Row, System
from benchmarks.limits import timed
from benchmarks.peers.client import Peer
from benchmarks.systems import write_for_peer

if TYPE_CHECKING:
    from xmtc import Dataset

TEXTS = 384  # drawn, of natural length
TOKENS = 128  # longer texts are cut
BATCH = 32  # texts of a step


@dataclass(frozen=True)
class XmtcTraining(System):
    """lightxml: an epoch, and what is done once before it."""

    all_layers: bool = False  # else as many as by default

    def measure(self, name: str, options: Options) -> Row:
        import xmtc
        from xmtc.models import lightxml

        xmtc.set_threads(options.threads)
        sample = sample_of(name, options)
        encoder: dict[str, Any] = {"max_tokens": TOKENS}
        if self.all_layers:
            encoder["trainable_layers"] = None

        def seconds(texts: Dataset, epochs: int) -> float:
            training = {"epochs": epochs, "batch_size": BATCH, "validation": None}
            config = {"encoder": encoder, "training": training}
            return timed(lambda: xmtc.train("lightxml", texts, config))[1].seconds

        few = data.with_texts(sample.take(range(8)))
        seconds(few, 1)  # imports and compiles
        least = seconds(few, 1)
        one = seconds(sample, 1)
        epoch = seconds(sample, 2) - one
        once = max(0.0, one - epoch - least)
        epochs = lightxml.Config().training.epochs
        return {**speed(sample, epoch), "with_reading": len(sample) / (epoch + once / epochs)}


@dataclass(frozen=True)
class PeerTraining(System):
    """Another package, asked for the seconds of an epoch or of a step."""

    venv: str
    script: str

    def measure(self, name: str, options: Options) -> Row:
        from xmtc.neural.encoders.locate import find

        sample = sample_of(name, options)
        epoch = math.ceil(len(sample) / BATCH)
        question = {"mode": "pace", "threads": options.threads, "seed": options.seed, "rate": 1e-4}
        question |= {"tokens": TOKENS, "batch": BATCH, "steps": [epoch, 2 * epoch]}
        with tempfile.TemporaryDirectory() as folder:
            write_for_peer(Path(folder), sample, sample.texts[:1])
            (Path(folder) / "encoder").symlink_to(find("minilm"), target_is_directory=True)
            with Peer(self.venv, self.script) as peer:
                answer = peer.ask(folder=folder, **question)
        if "failed" in answer:
            return answer
        step = answer.get("step_seconds", 0.0)
        return speed(sample, answer.get("seconds", step * len(sample) / BATCH))


def sample_of(name: str, options: Options) -> Dataset:
    """The texts that everyone trains on."""
    return data.with_texts(data.drawn(data.training(name, options), TEXTS, options.seed))


def speed(sample: Dataset, seconds: float) -> Row:
    """Of one epoch."""
    return {"texts": len(sample), "seconds": seconds, "texts_per_second": len(sample) / seconds}
