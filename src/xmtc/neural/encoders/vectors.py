"""Text vectors of a whole corpus, read once and cached block by block."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch

from xmtc.core.arrays import Array, Longs
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.core.threads import blocks
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.devices import in_precision
from xmtc.neural.encoders import activation_cache
from xmtc.neural.encoders.activation_cache import room_for
from xmtc.neural.encoders.frozen import Source, digest_of
from xmtc.neural.encoders.text_encoder import RANKING_TOKENS

BLOCK = 4096  # texts that are read before their vectors are stored


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


def vectors_key(source: Source) -> str:
    """Of all that its vectors depend on, but the tokens."""
    encoder = source.encoder
    how = (source.below, source.precision, encoder.layout, encoder.pooling, encoder.layers)
    return hashlib.sha256(f"{how} {digest_of(encoder)}".encode()).hexdigest()[:32]
