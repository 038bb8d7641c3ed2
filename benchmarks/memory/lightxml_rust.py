"""lightxml with 100,978 labels: memory of its training, and the time of one text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, one
from benchmarks.peers.at_work import latency
from benchmarks.process import alone
from benchmarks.quality import _cells
from benchmarks.quality._cells import Job

SETTINGS: dict[str, Any] = {
    "data": "rust-prs",
    "lightxml": {  # its defaults, but for these: a training of minutes
        "plain_up_to": 0,  # clusters, also in a quick try with few labels
        "encoder": {"max_tokens": 32, "trainable_layers": 1},
        "training": {"epochs": 1, "head_epochs": 1, "validation": 0.0, "checkpoint_seconds": 1e9},
    },
    "tokens": 128,  # of the texts that are ranked one by one
    "k": 5,
    "remarks": [
        "all 63,365 training texts and their labels, in clusters; one epoch, and one by the output "
        "layers alone, texts cut at 32 tokens, one layer learns: enough to see memory and have a "
        "model, not for quality; P@k says so",
        "peak_mb: resident memory of the whole process at its peak, Python, torch and data "
        "included; memory does not depend on the number of epochs",
        "ranking: the same model with encoder.int8 and texts cut at 128 tokens; from raw string to "
        "five label names; long texts: those of the test part that fill 128 tokens",
        "label side: the walk through clusters and labels and the names, of a vector that is there",
    ],
}
GIGABYTES = 8
TEXT_MS = 25
LABELS_MS = 5


def run(options: Options) -> list[Measurement]:
    """Training, then one text at a time."""
    job = Job("rust", "lightxml", SETTINGS["data"], SETTINGS["lightxml"])
    place, training = _cells.training_row(job, options)
    return [training, *map(_cells.rounded, alone(_rank, place, options))]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Limits of their own, at two threads."""
    memory = one(measurements, what="training")["peak_mb"] / 1000
    text = one(measurements, what="long texts")["single_p50_ms"]
    labels = one(measurements, what="label side")["single_p50_ms"]
    return [
        Claim(f"100,978 labels are trained within {GIGABYTES} GB (GB)", memory < GIGABYTES, memory),
        Claim(
            f"a text of 128 tokens to ranked names within {TEXT_MS} ms, p50 (ms)",
            text < TEXT_MS,
            text,
        ),
        Claim(f"of it the label side within {LABELS_MS} ms, p50 (ms)", labels < LABELS_MS, labels),
    ]


def _rank(place: Path, options: Options) -> list[Measurement]:
    import xmtc
    from xmtc.core.walk import walk

    xmtc.set_threads(options.threads)
    model: Any = _cells.with_encoder(xmtc.load(place), int8=True, max_tokens=SETTINGS["tokens"])
    texts = list(_cells.asked(options, SETTINGS["data"]).texts)
    encoder = model.encoders[0]
    k = SETTINGS["k"]
    long = [text for text in texts if _tokens(encoder, text) >= SETTINGS["tokens"]]
    vectors = [model.encode([text]) for text in long[:300]]

    def names(vector: Any) -> Any:
        return walk(model.tree, model.scorers, vector, k, beam=model.config.beam).named(
            model.labels
        )

    few = {"threads": options.threads}
    return [
        {"what": "all texts", **few, **_cells.measured(model, options, SETTINGS["data"])},
        {
            "what": "long texts",
            **few,
            **latency(lambda text: xmtc.predict(model, [text], k=k), long),
        },
        {"what": "encoder", **few, **latency(lambda text: model.encode([text]), long)},
        {"what": "label side", **few, **latency(names, vectors)},
    ]


def _tokens(encoder: Any, text: str) -> int:
    """With the special ones."""
    return int(encoder.layout.extra) + len(
        encoder.tokenizer.encode(text, add_special_tokens=False).ids
    )
