"""The output layer alone: on vectors that do not change while it learns.

First on those of the encoder before it is taught: an output layer that knows nothing sends the
encoder in all directions. Once it knows what can be read from the vectors as they are, the encoder
learns what is missing. Then again at the end: until then it was aiming at vectors that moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Array, Csr, Longs
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.core.run import Run
from xmtc.core.threads import blocks
from xmtc.neural.batches.grouping import shuffled_batches, sorted_batches
from xmtc.neural.devices import device, in_precision
from xmtc.neural.encoders import activation_cache
from xmtc.neural.encoders.frozen import Source, room_for, vectors_key
from xmtc.neural.encoders.text_encoder import RANKING_TOKENS
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.guided_loss import GuidedTask
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net, head_loss

BLOCK = 4096  # texts that are read before what was read is kept
WIDER = 2  # batches than those that the encoder learns with


@dataclass(frozen=True)
class HeadTask:
    """An output layer that learns from vectors which do not change."""

    net: Any
    read: Net  # brings vectors to its standard
    vectors: Array  # (texts, dim) as the encoder made them
    relevant: Csr  # (texts, labels)
    config: TrainingConfig
    choosing: Array | None = None  # (texts, dim) that choose the negatives, where others do

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """The output layer alone."""
        return {"head": (self.net, self.config.head_rate)}

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of all lengths together, in an order of the epoch's own."""
        ones = np.ones(len(self.vectors), np.int64)
        return shuffled_batches(
            ones, self.config.batch, self.config.batch, [self.config.seed, epoch]
        )

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        others = () if self.choosing is None else (self._standardised(self.choosing[rows]),)
        vectors = [self.read.dropout(self._standardised(self.vectors[rows])), *others]
        return head_loss(self.net, rows, vectors, self.relevant, self.config)

    def _standardised(self, vectors: Array) -> Tensor:
        return self.read.standardised(torch.from_numpy(vectors).to(device()))

    def measure(self) -> dict[str, float]:
        """Nothing is held out."""
        return {}


def warm_up_head(
    task: LabelTask | GuidedTask,
    vectors: Array,
    key: str,
    run: Run,
    *,
    last: bool = False,
    choosing: Array | None = None,
) -> None:
    """Teach the output layer of the task alone, by some passes over the vectors.

    last: the encoder was taught already. choosing: other vectors, by which negatives are chosen.
    """
    asked = task.config
    epochs, rate = (
        (asked.head_last_epochs, asked.head_last_rate)
        if last
        else (asked.head_epochs, asked.head_first_rate)
    )
    config = replace(
        asked,
        epochs=epochs,
        head_rate=rate,
        batch=WIDER * asked.batch,
        accumulate=1,
        extra_epochs=0,
        average_from=None,
        validate_every=0,
    )
    task.net.dropout.train()
    head = HeadTask(task.net.head, task.net, vectors, task.relevant, config, choosing)
    fit(head, config, key, run.below("head-last" if last else "head"))


def text_vectors(source: Source, cache: Path) -> Array:
    """(texts, dim) of all the source's texts; read once, kept in the cache block by block."""

    def read(path: Path) -> Longs:
        try:
            _put_together(source, path)
        except FileNotFoundError:  # another process was first, and has removed the blocks
            if not path.exists():
                raise
        return np.arange(len(source.tokens))

    name = f"vectors-{vectors_key(source)}"
    texts = activation_cache.texts_of(source.tokens)
    path, rows = activation_cache.found_or_made(cache, name, texts, read)
    found: Array = np.load(path, mmap_mode="r")
    return found if np.array_equal(rows, np.arange(len(found))) else found[rows]


def _put_together(source: Source, path: Path) -> None:
    count = len(source.tokens)
    parts = {start: path.with_name(f"{path.stem}-{start}.npy") for start, _ in blocks(count, BLOCK)}
    with track("reading with the encoder", count) as advance:
        for start, stop in blocks(count, BLOCK):
            _read_part(source, np.arange(start, stop), parts[start])
            advance(stop - start)
    with written(path) as draft:
        whole = room_for(draft, np.float32, (count, source.encoder.dim))
        for start, stop in blocks(count, BLOCK):
            whole[start:stop] = np.load(parts[start])
        whole.flush()
    for part in parts.values():
        part.unlink(missing_ok=True)


def _read_part(source: Source, rows: Longs, path: Path) -> None:
    """These texts' vectors in a file of their own, unless it is there."""
    if not path.exists():
        with written(path) as draft:
            np.save(draft, _read(source, rows))


def _read(source: Source, rows: Longs) -> Array:
    encoder = source.encoder.eval()
    vectors = np.empty((len(rows), encoder.dim), np.float32)
    lengths = (source.lengths * source.tokens.piece_counts)[rows]
    with torch.no_grad(), in_precision(source.precision):
        for places in sorted_batches(lengths, np.arange(len(rows)), len(rows), RANKING_TOKENS):
            vectors[places] = encoder(source.batch(rows[places])).float().cpu().numpy()
    return vectors
