"""Training a MiniLM: lightxml beside a plain Hugging Face Trainer and PECOS's matcher."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kit import Claim, Measurement, Options, chosen, dataset, say, timed, with_texts
from benchmarks.peers.ask import Peer
from benchmarks.process import alone
from benchmarks.quality._cells import some
from benchmarks.quality.lightxml import write_for_peer

if TYPE_CHECKING:
    from xmtc import Dataset

ALL = "xmtc, all layers learn"
DEFAULT = "xmtc, default"
TRAINER = "Hugging Face Trainer"
MATCHER = "PECOS matcher"
SYSTEMS = {"all": ALL, "default": DEFAULT, "trainer": TRAINER, "pecos": MATCHER}
SETTINGS: dict[str, Any] = {
    "data": ["debian-deps", "eurlex4k-proxy"],
    "systems": list(SYSTEMS),
    "texts": 384,  # drawn, of natural length
    "tokens": 128,  # longer texts are cut, for everyone
    "batch": 32,  # texts per step, for everyone
    "remarks": [
        "seconds: of one epoch, as the difference between a training of two epochs and one of one "
        "epoch, so that nobody's imports, loading and tokenising count; each in a process of its "
        "own, in turns, medians over the rounds",
        "Trainer: random batches, padded to the longest text of the batch, tokenised beforehand, "
        "no loader processes, all layers learn, mean of the states, one linear layer over all "
        "labels, binary cross-entropy; its own defaults otherwise",
        "PECOS: its matcher on a level of 16 clusters, its smallest output layer; all layers "
        "learn, padded to 128 tokens as it does; steps of 32 texts instead of epochs",
        "all layers learn: lightxml with encoder.trainable_layers=-1; default: two of six learn "
        "and what the others make of the texts is kept",
        "with_reading: an epoch and its share of the reading by the frozen layers, over as many "
        "epochs as are the default",
    ],
}
TIMES = 1.5


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    names = chosen(options.only, SETTINGS["data"], "--only")
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    rows = []
    for name in names:
        rounds: dict[str, list[Measurement]] = {key: [] for key in keys}
        for number in range(1, options.repeats + 1):
            for key, found in rounds.items():
                found.append(WORKS[key](name, options))
                say(f"round {number}, {name}, {SYSTEMS[key]}: {found[-1]['seconds']:.1f} s")
        rows += [_row(name, key, found, options) for key, found in rounds.items()]
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """The default, reading included, beside both; all layers, like for like, beside both."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        for peer in (TRAINER, MATCHER):
            if peer in rows and DEFAULT in rows:
                times = rows[DEFAULT]["with_reading"] / rows[peer]["texts_per_second"]
                claims.append(
                    Claim(
                        f"{name}: default trains {TIMES} times as many texts/s as "
                        f"{peer}, reading included (times)",
                        times >= TIMES,
                        times,
                    )
                )
            if peer in rows and ALL in rows:
                times = rows[ALL]["texts_per_second"] / rows[peer]["texts_per_second"]
                claims.append(
                    Claim(
                        f"{name}: with all layers learning, not slower than {peer} (times)",
                        times >= 1,
                        times,
                    )
                )
    return claims


def _row(name: str, key: str, found: list[Measurement], options: Options) -> Measurement:
    """Medians over the rounds."""
    seconds = statistics.median(row["seconds"] for row in found)
    once = statistics.median(row.get("reading_seconds", 0.0) for row in found)
    texts = found[0]["texts"]
    epochs = found[0].get("epochs", 1)
    reading = {"with_reading": round(texts / (seconds + once / epochs), 2)} if once else {}
    return {
        "data": name,
        "system": SYSTEMS[key],
        "threads": options.threads,
        "texts": texts,
        "seconds": round(seconds, 2),
        "texts_per_second": round(texts / seconds, 2),
        **reading,
        "runs": [round(row["seconds"], 3) for row in found],
    }


def _sample(name: str, options: Options) -> Dataset:
    texts = min(SETTINGS["texts"], options.subset or SETTINGS["texts"])
    return some(with_texts(dataset(options, name)), texts, options.seed)


def _ours(layers: int | None) -> Callable[[str, Options], Measurement]:
    return lambda name, options: alone(_train_ours, name, layers, options)


def _train_ours(name: str, layers: int | None, options: Options) -> Measurement:
    """layers: that learn; None: the default."""
    import xmtc
    from xmtc.models import lightxml

    xmtc.set_threads(options.threads)
    sample = _sample(name, options)
    encoder = {"max_tokens": SETTINGS["tokens"]}
    encoder |= {} if layers is None else {"trainable_layers": layers}

    def seconds(texts: Dataset, epochs: int) -> float:
        training = {"epochs": epochs, "batch": SETTINGS["batch"], "validation": 0.0}
        work = timed(lambda: xmtc.train("lightxml", texts, encoder=encoder, training=training))
        return work[1].seconds

    few = with_texts(sample.take(range(min(8, len(sample)))))
    seconds(few, 1)
    least = seconds(few, 1)
    one = seconds(sample, 1)
    two = seconds(sample, 2)
    reading = (
        {}
        if layers is not None
        else {
            "reading_seconds": max(0.0, 2 * one - two - least),
            "epochs": lightxml.Config().training.epochs,
        }
    )
    return {"texts": len(sample), "seconds": two - one, **reading}


def _trainer(name: str, options: Options) -> Measurement:
    with _folder(name, options) as (folder, sample), Peer("trainer", "hf_trainer.py") as peer:
        answer = peer.ask(
            folder=folder,
            threads=options.threads,
            seed=options.seed,
            tokens=SETTINGS["tokens"],
            batch=SETTINGS["batch"],
        )
    return {"texts": len(sample), "seconds": answer["seconds"]}


def _pecos(name: str, options: Options) -> Measurement:
    with _folder(name, options) as (folder, sample), Peer("pecos", "pecos_xrt.py") as peer:
        epoch = -(-len(sample) // SETTINGS["batch"])
        answer = peer.ask(
            mode="pace",
            folder=folder,
            threads=options.threads,
            rate=1e-4,
            tokens=SETTINGS["tokens"],
            seed=options.seed,
            steps=[epoch, 2 * epoch],
        )
    return {"texts": len(sample), "seconds": answer["step_seconds"] * len(sample) / answer["batch"]}


@contextmanager
def _folder(name: str, options: Options) -> Iterator[tuple[str, Dataset]]:
    """The texts for a peer, and the same for us."""
    sample = _sample(name, options)
    with tempfile.TemporaryDirectory() as folder:
        write_for_peer(Path(folder), sample, list(sample.texts[:1]))
        yield folder, sample


WORKS: dict[str, Callable[[str, Options], Measurement]] = {
    "all": _ours(-1),
    "default": _ours(None),
    "trainer": _trainer,
    "pecos": _pecos,
}
