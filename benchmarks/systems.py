"""The systems that experiments compare: our kinds, and other packages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from benchmarks import data, figures, training
from benchmarks.experiment import Options, Row, System
from benchmarks.peers.client import Peer

if TYPE_CHECKING:
    from xmtc import Dataset, Model

PEER_TOKENS = {"debian-deps": 128}  # it fills up all texts, of which half have 78 at most
PEER_RATE = 1e-4  # its default learning rate


@dataclass(frozen=True)
class Ours(System):
    """A kind of ours: default settings, or a preset, and what `settings` changes."""

    kind: str
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    neural: bool = False  # in bf16 where the processor has it, with the seed of the run
    in_minutes: bool = False  # as many epochs as fit the minutes, by a probe beforehand
    validation_texts: int = 0  # held out of the training texts, unless there is a dev part
    checkpoints: int = 0  # within a training, of which the best counts

    def measure(self, data: str, options: Options) -> Row | list[Row]:
        place, cost = training.trained(self, data, options)
        return cost | figures.of_folder(place, data, options)

    def train(self, texts: Dataset, settings: Mapping[str, Any], **more: Any) -> Model:
        """A model with these settings on top of the preset."""
        import xmtc

        return xmtc.train(self.kind, texts, dict(settings), preset=self.preset, **more)

    def limit(self, options: Options) -> float:
        return options.limit_minutes + (6 * options.minutes if self.neural else 0.0)

    def minutes(self, options: Options) -> float | None:
        return options.minutes if self.in_minutes else None


@dataclass(frozen=True)
class Auto(Ours):
    """`auto`, given twice the minutes of a single model; with what it tried."""

    def measure(self, data: str, options: Options) -> Row:
        place, cost = training.trained(self, data, options)
        report = json.loads((place.parent / "run" / "tried.json").read_text())
        tried = {"selected": report["selected"], "tried": report["tried"], "why": [report["why"]]}
        return {**cost, **tried, **figures.of_folder(place, data, options)}

    def minutes(self, options: Options) -> float:
        return 2 * options.minutes


@dataclass(frozen=True)
class LinearPeer(System):
    """A linear system in an environment of its own, given the features that ours make."""

    venv: str
    script: str
    mode: str = ""
    trees: int = 1

    def measure(self, name: str, options: Options) -> Row:
        from xmtc.text import tfidf

        question = {"trees": self.trees, "mode": self.mode}
        row = asked(self.venv, self.script, question, name, options)
        return {"text": asdict(tfidf.TfidfConfig()), "trees": self.trees, **row}


@dataclass(frozen=True)
class XrTransformerPeer(System):
    """PECOS XR-Transformer with our encoder and features, in the same minutes of training."""

    def measure(self, name: str, options: Options) -> Row:
        tokens = PEER_TOKENS.get(name, 256)
        question = {"mode": "train", "minutes": options.minutes, "tokens": tokens}
        return asked("pecos", "pecos_xrt.py", {**question, "rate": PEER_RATE}, name, options)

    def limit(self, options: Options) -> float:
        return options.limit_minutes + 4 * options.minutes

    def minutes(self, options: Options) -> float:
        return options.minutes


def asked(venv: str, script: str, question: Row, name: str, options: Options) -> Row:
    """A peer's figures of training and ranking, and those of its ranking of the test texts."""
    from xmtc.neural.encoders.locate import find

    train = data.training(name, options)
    test = data.test(name, options).named_in(train.labels)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_for_peer(place, train, test.texts)
        if "tokens" in question:
            (place / "encoder").symlink_to(find("minilm"), target_is_directory=True)
        shared = {"threads": options.threads, "seed": options.seed, "k": figures.K}
        with Peer(venv, script) as peer:
            answer = peer.ask(folder=folder, **shared, **question)
        if "failed" in answer:
            return {**peer.about, **answer}
        ranking = figures.saved_ranking(place / "ranking.npz")
    speed = {"texts_per_second": len(test) / answer["rank_seconds"]}
    quality = figures.of_ranking(ranking, test, train.trained_on())
    return {**peer.about, **answer, **speed, **quality}


def write_for_peer(folder: Path, train: Dataset, texts: Sequence[str]) -> None:
    """The files that adapters read: matrices X and Y to train on, T to rank, both parts' texts."""
    from xmtc.text import tfidf

    encoder, features = tfidf.learn(train.texts, tfidf.TfidfConfig())
    matrices = {"X": features, "Y": train.relevant, "T": encoder.encode(texts)}
    for part, matrix in matrices.items():
        sp.save_npz(folder / part, sp.csr_matrix(matrix))
    both = json.dumps([list(train.texts), list(texts)])
    (folder / "texts.json").write_text(both, encoding="utf-8")
