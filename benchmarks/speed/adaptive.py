"""Adaptive label clusters beside a full linear layer with binary cross-entropy: time, memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.kit import Claim, Measurement, Options, Timing, in_turns, one, summary, timed
from benchmarks.process import alone, forget_peak, peak, resident

if TYPE_CHECKING:
    from xmtc.core.arrays import Csr

OURS = "adaptive"
LINEAR = "linear"
SETTINGS: dict[str, Any] = {
    "data": "made here: random vectors, labels drawn by Zipf's law",
    "labels": [4_000, 30_000, 500_000, 1_000_000],
    "texts": 32,  # of a batch
    "dim": 384,
    "labels_per_text": 5,  # drawn by frequency 1 / rank
    "clusters": 4,  # of as many labels each
    "q": 2.0,
    "steps": 3,  # per round, each with a batch of its own
    "remarks": [
        "seconds: forward and backward of the layer for one batch, gradients of its weights and of "
        "the text vectors included, no optimizer; medians over rounds in turns, of the mean of "
        "some batches; the first is not counted",
        "linear: torch's linear layer and binary_cross_entropy_with_logits; its array of targets "
        "is made before the clock starts; ours makes what it needs of the labels on the clock",
        "memory_mb: resident memory above what the process had before the layer, at the peak of "
        "two such passes, weights and gradients included; each layer in a process of its own",
    ],
}
CLAIMED = 500_000
RATIO = 0.5
CLOSE = 0.01


def run(options: Options) -> list[Measurement]:
    """Two rows per number of labels."""
    counts = [count for count in SETTINGS["labels"] if count <= (options.subset or count)]
    return [row for count in counts for row in alone(_measured, count, options)]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Ratios at half a million labels."""
    if not any(row["labels"] == CLAIMED for row in measurements):
        return []
    ours, linear = (one(measurements, labels=CLAIMED, layer=name) for name in (OURS, LINEAR))
    claims = []
    for what, said in (("seconds", "the time"), ("cpu_seconds", "the processor time")):
        ratio = ours[what] / linear[what]
        claims.append(
            Claim(
                f"{CLAIMED:,} labels: forward and backward in at most {RATIO:g} of "
                f"{said} of a linear layer (times)",
                ratio <= RATIO,
                ratio,
            )
        )
    times = linear["parameters"] / ours["parameters"]
    off = abs(times / equation_9() - 1)
    claims.append(
        Claim(
            f"{CLAIMED:,} labels: fewer parameters by the factor of Eq. 9, "
            f"{equation_9():.4f} (share that it is off)",
            off <= CLOSE,
            off,
        )
    )
    return claims


def equation_9() -> float:
    """Parameters of a linear layer by those of even clusters."""
    clusters = SETTINGS["clusters"]
    return float(clusters / sum(SETTINGS["q"] ** -tail for tail in range(clusters)))


def batches(labels: int, seed: int) -> list[Csr]:
    """Labels of texts, drawn by Zipf's law."""
    import numpy as np

    from xmtc.core.arrays import csr_of_rows

    rng = np.random.default_rng(seed)
    up_to = np.cumsum(1 / np.arange(1, labels + 1))
    shape = (SETTINGS["steps"], SETTINGS["texts"], SETTINGS["labels_per_text"])
    drawn = np.searchsorted(up_to, rng.random(shape) * up_to[-1])
    return [csr_of_rows(rows, labels) for rows in drawn.tolist()]


def passes(name: str, labels: int, seed: int) -> tuple[Callable[[], Timing], int]:
    """Forward and backward of some batches, and how many parameters the layer has."""
    import torch

    from xmtc.neural.heads import AdaptiveLabelClusters, cluster_sizes
    from xmtc.neural.heads.flat import dense

    dim = SETTINGS["dim"]
    found = batches(labels, seed)
    vectors = torch.randn(SETTINGS["texts"], dim, requires_grad=True)
    layer: Any
    if name == OURS:
        even = (1 / SETTINGS["clusters"],) * SETTINGS["clusters"]
        layer = AdaptiveLabelClusters(dim, cluster_sizes(labels, even), SETTINGS["q"])
        steps: list[Callable[[], Any]] = [partial(layer, vectors, rows) for rows in found]
    else:
        layer = torch.nn.Linear(dim, labels, bias=False)
        bce = torch.nn.BCEWithLogitsLoss()
        targets = [dense(rows, vectors) for rows in found]
        steps = [partial(lambda y: bce(layer(vectors), y), y) for y in targets]

    def work() -> Timing:
        total = Timing(0.0, 0.0)
        for step in steps:
            layer.zero_grad(set_to_none=True)
            cost = timed(partial(_both_ways, step))[1]
            total = Timing(total.seconds + cost.seconds, total.cpu_seconds + cost.cpu_seconds)
        return Timing(total.seconds / len(steps), total.cpu_seconds / len(steps))

    return work, sum(parameter.numel() for parameter in layer.parameters())


def _both_ways(step: Callable[[], Any]) -> None:
    step().backward()


def _measured(labels: int, options: Options) -> list[Measurement]:
    memory = {name: alone(_memory, name, labels, options) for name in (OURS, LINEAR)}
    _set_threads(options)
    made = {name: passes(name, labels, options.seed) for name in (OURS, LINEAR)}
    for work, _ in made.values():
        work()
    timings = in_turns({name: work for name, (work, _) in made.items()}, options.repeats)
    return [
        {
            "labels": labels,
            "layer": name,
            "threads": options.threads,
            **summary(timings[name]),
            "parameters": made[name][1],
            "memory_mb": memory[name],
        }
        for name in made
    ]


def _memory(name: str, labels: int, options: Options) -> float:
    _set_threads(options)
    passes(name, 100, options.seed)[0]()  # torch's own memory
    before = resident()
    forget_peak()
    work, _ = passes(name, labels, options.seed)
    work()
    return round(peak() - before, 1)


def _set_threads(options: Options) -> None:
    import xmtc
    from xmtc.neural.devices import use_our_threads

    xmtc.set_threads(options.threads)
    use_our_threads()
