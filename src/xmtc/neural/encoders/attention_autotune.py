"""Which attention is fastest here: tried out, for each length, on batches that a training reads.

What was found is kept with the run: a training that goes on must compute as it did before.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from xmtc.core.arrays import Longs
from xmtc.core.files import written
from xmtc.neural.devices import in_precision, seeded, use_our_threads
from xmtc.neural.encoders import transformer
from xmtc.neural.encoders.frozen import Source
from xmtc.neural.encoders.text_encoder import TextEncoder

ROUNDS = 3  # of which the quickest counts; a round is every way once


def use_fastest(
    encoder: TextEncoder, source: Source, batches: Sequence[Longs], cache: Path
) -> None:
    """From here on `encoder`, whose trained part the source has, reads as fast as it can."""
    body = encoder.body
    wanted = encoder.config.attention == "measured" and isinstance(body, transformer.Transformer)
    if wanted and len(body.ways) > 1:
        body.fastest = source.encoder.body.fastest = _remembered(source, batches, cache)


def _remembered(source: Source, batches: Sequence[Longs], cache: Path) -> dict[int, str]:
    typical = _typical(source.lengths, batches)
    about = [source.encoder.body.model.config.to_dict(), sorted(typical), source.precision]
    key = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    path = cache / f"attention-{key[:32]}.json"
    if not path.exists():
        found = {size: _fastest(source, rows) for size, rows in typical.items()}
        with written(path) as draft:
            draft.write_text(json.dumps(found), encoding="utf-8")
    known: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return {int(size): way for size, way in known.items()}


def _typical(lengths: Longs, batches: Sequence[Longs]) -> dict[int, Longs]:
    """Power of two -> the largest batch that is as long as that, or a little shorter."""
    found: dict[int, Longs] = {}
    for rows in batches:
        size = 1 << int(lengths[rows].max() - 1).bit_length()
        if len(rows) > len(found.get(size, ())):
            found[size] = rows
    return found


def _fastest(source: Source, rows: Longs) -> str:
    use_our_threads()
    encoder = source.encoder
    batch = source.batch(rows)
    body = encoder.body
    was_training = encoder.training
    encoder.train()
    times: dict[str, list[float]] = {way: [] for way in body.ways}
    with seeded(0):  # dropout must not use up the training's chance
        for _ in range(ROUNDS):
            for way, taken in times.items():
                body.use(way)
                taken.append(seconds_of(encoder, batch, source.precision))
    body.use(body.ways[0])
    encoder.train(was_training).zero_grad(set_to_none=True)
    return min(times, key=lambda way: min(times[way]))


def seconds_of(encoder: TextEncoder, batch: Any, precision: str = "fp32") -> float:
    """Reading a batch once, forward and back."""
    started = time.perf_counter()
    with in_precision(precision):
        vectors: torch.Tensor = encoder(batch)
    if vectors.requires_grad:
        vectors.sum().backward()  # type: ignore[no-untyped-call]
    return time.perf_counter() - started
