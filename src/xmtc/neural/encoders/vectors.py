"""Text vectors of a whole corpus, read once and cached block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from xmtc.core.arrays import Array, Longs
from xmtc.core.digest import digest
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.core.threads import blocks
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.devices import in_precision
from xmtc.neural.encoders.activation_cache import allocate, found_or_made
from xmtc.neural.encoders.frozen import BatchSource, digest_of
from xmtc.neural.encoders.text_encoder import RANKING_TOKENS

BLOCK = 4096  # texts that are read before their vectors are stored


def text_vectors(source: BatchSource, cache: Path) -> Array:
    """(texts, dim) of all the source's texts; read once, cached block by block."""
    encoder = source.encoder
    how = (source.below, source.precision, repr(encoder.layout), encoder.pooling, encoder.layers)
    name = f"vectors-{digest(*how, digest_of(encoder))[:32]}"

    def make(path: Path) -> Longs:
        try:
            _read_all(source, path)
        except FileNotFoundError:  # another process was first, and has removed the blocks
            if not path.exists():
                raise
        return np.arange(len(source.tokens))

    path, rows = found_or_made(cache, name, source.tokens.text_digests, make)
    vectors: Array = np.load(path, mmap_mode="r")
    return vectors if np.array_equal(rows, np.arange(len(vectors))) else vectors[rows]


def _read_all(source: BatchSource, path: Path) -> None:
    """Each block in a file of its own, unless it is there; then all of them in one."""
    count = len(source.tokens)
    parts = {start: path.with_name(f"{path.stem}-{start}.npy") for start, _ in blocks(count, BLOCK)}
    with track("reading with the encoder", count) as advance:
        for start, stop in blocks(count, BLOCK):
            if not parts[start].exists():
                with written(parts[start]) as draft:
                    np.save(draft, _read(source, np.arange(start, stop)))
            advance(stop - start)
    with written(path) as draft:
        whole = allocate(draft, np.float32, (count, source.encoder.dim))
        for start, stop in blocks(count, BLOCK):
            whole[start:stop] = np.load(parts[start])
        whole.flush()
    for part in parts.values():
        part.unlink(missing_ok=True)


def _read(source: BatchSource, rows: Longs) -> Array:
    encoder = source.encoder.eval()
    vectors = np.empty((len(rows), encoder.dim), np.float32)
    lengths = (source.lengths * source.tokens.piece_counts)[rows]
    with torch.no_grad(), in_precision(source.precision):
        for places in sorted_batches(lengths, np.arange(len(rows)), len(rows), RANKING_TOKENS):
            vectors[places] = encoder(source.batch(rows[places])).float().cpu().numpy()
    return vectors
