"""Frozen layers: what they make of each text is computed once and kept on disk."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xmtc.core.arrays import Array, Longs
from xmtc.core.drafts import draft_of
from xmtc.core.errors import StoreError
from xmtc.core.progress import step
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.batches.layout import Batch
from xmtc.neural.batches.tokens import Tokens
from xmtc.neural.devices import device, in_precision
from xmtc.neural.encoders import transformer
from xmtc.neural.encoders.encoder import RANKING_TOKENS, TextEncoder

DTYPES: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32}
LARGEST = 65504  # of fp16
CLOSE = 1e-5  # how far the parts together may be from the whole


@dataclass(frozen=True)
class TokenSource:
    """Batches straight from the tokens."""

    encoder: TextEncoder
    tokens: Tokens
    precision: str = "fp32"  # of matrix products while the encoder only reads

    @property
    def lengths(self) -> Longs:
        """(texts,) places a text takes in a batch, special tokens included."""
        return self.tokens.lengths + self.encoder.layout.extra

    def batch(self, rows: Longs) -> Batch:
        """The texts at these positions."""
        return self.encoder.layout.batch(self.tokens, rows).to(device())


@dataclass(frozen=True)
class FrozenSource:
    """Batches that bring the states of the frozen layers along; `encoder` is the upper part."""

    encoder: TextEncoder
    tokens: Tokens
    states: Array  # (tokens of all pieces with their special ones, width), on disk
    precision: str = "fp32"  # of matrix products while the encoder only reads

    @property
    def lengths(self) -> Longs:
        """(texts,) places a text takes in a batch, special tokens included."""
        return self.tokens.lengths + self.encoder.layout.extra

    def batch(self, rows: Longs) -> Batch:
        """The texts at these positions."""
        batch = self.encoder.layout.batch(self.tokens, rows)
        first, extra = self.tokens.first, self.encoder.layout.extra
        pieces = np.concatenate([np.arange(first[row], first[row + 1]) for row in rows])
        starts = self.tokens.starts[pieces] + extra * pieces
        ends = self.tokens.starts[pieces + 1] + extra * (pieces + 1)
        shape = (*batch.mask.shape, self.states.shape[1])
        states = torch.zeros(shape)
        flat = [self.states[start:end] for start, end in zip(starts, ends, strict=True)]
        states[batch.mask.bool()] = torch.from_numpy(np.concatenate(flat)).float()
        return replace(batch, states=states).to(device())


Source = TokenSource | FrozenSource


def source_of(
    encoder: TextEncoder, tokens: Tokens, cache: Path, precision: str = "fp32"
) -> Source:  # fmt: skip
    """How the encoder reads these texts in training: cached below, where layers are frozen."""
    trainable = encoder.config.trainable_layers
    if trainable < 0 or not isinstance(encoder.body, transformer.Transformer):
        return TokenSource(encoder, tokens, precision)
    frozen = transformer.freeze_below(encoder.body.model, trainable)
    upper = None if encoder.config.frozen_cache == "none" else _upper(encoder, frozen)
    if upper is None or encoder.layers > trainable + 1:
        return TokenSource(encoder, tokens, precision)  # frozen all the same, only not cached
    states = _states(encoder, frozen, tokens, cache, precision)
    return FrozenSource(upper, tokens, states, precision)


def beside(source: Source, encoder: TextEncoder, tokens: Tokens, cache: Path) -> Source:
    """How the same encoder, of which the source has the trained part, reads other texts."""
    if isinstance(source, TokenSource):
        return replace(source, tokens=tokens)
    frozen = transformer.freeze_below(encoder.body.model, encoder.config.trainable_layers)
    states = _states(encoder, frozen, tokens, cache, source.precision)
    return replace(source, tokens=tokens, states=states)


def _upper(encoder: TextEncoder, frozen: int) -> TextEncoder | None:
    """The trainable part, if it does with the frozen states what the whole encoder does."""
    whole = encoder.body
    body = transformer.Transformer(
        transformer.upper_part(_hooked(whole.model), frozen), whole.with_types
    )
    upper = TextEncoder(body, encoder.tokenizer, encoder.layout, encoder.config)
    ids = np.array([5, 6, 7, 8, 9], np.int32)
    few = Tokens(ids, np.array([0, 2, 5]), np.array([0, 1, 2]))
    batch = encoder.layout.batch(few, [0, 1]).to(device())
    was_training = encoder.training
    encoder.eval(), upper.eval()
    with torch.no_grad():
        try:
            given = replace(batch, states=_lower(whole, batch, frozen))
            same = torch.allclose(upper(given), encoder(batch), atol=CLOSE)
        except (TypeError, ValueError, RuntimeError, AttributeError):
            same = False
    if not same:
        encoder.train(was_training)
        return None
    return upper.train(was_training)  # what is below it only reads, from now on


def _hooked(model: Any) -> Any:
    """transformers hooks into the layers when it is first asked for all states. Copies made after
    that share the hooks; copies made before would hook the same layers again."""
    ids = torch.ones((1, 1), dtype=torch.int64, device=model.device)
    with torch.no_grad():
        model(input_ids=ids, attention_mask=ids, output_hidden_states=True)
    return model


def _lower(body: Any, batch: Batch, frozen: int) -> torch.Tensor:
    """The states that enter the first trainable layer."""
    states: tuple[torch.Tensor, ...]
    states = body.model(**body.inputs(batch), output_hidden_states=True).hidden_states
    return states[frozen]


def _states(
    encoder: TextEncoder, frozen: int, tokens: Tokens, cache: Path, precision: str
) -> Array:  # fmt: skip
    path = cache / f"states-{_key(encoder, frozen, tokens, precision)}.npy"
    if not path.exists():
        draft = draft_of(path)
        try:
            with in_precision(precision):
                _fill(draft, encoder, frozen, tokens)
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)  # gigabytes
    return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]


def _fill(path: Path, encoder: TextEncoder, frozen: int, tokens: Tokens) -> None:
    extra = encoder.layout.extra
    pieces = Tokens(tokens.ids, tokens.starts, np.arange(len(tokens.starts)))
    ends = tokens.starts + extra * np.arange(len(tokens.starts))
    shape = (int(ends[-1]), encoder.body.width)
    dtype = DTYPES[encoder.config.frozen_cache]
    states = room_for(path, dtype, shape)
    lengths, everything = pieces.lengths + extra, np.arange(len(pieces))
    lowest = _lower_alone(encoder.body, frozen)
    with step("reading with frozen layers", len(pieces)) as advance, torch.inference_mode():
        for rows in sorted_batches(lengths, everything, len(pieces), RANKING_TOKENS):
            batch = encoder.layout.batch(pieces, rows).to(device())
            found = _lower(lowest, batch, frozen)[batch.mask.bool()].float().cpu().numpy()
            places = [np.arange(ends[row], ends[row + 1]) for row in rows]
            states[np.concatenate(places)] = np.clip(found, -LARGEST, LARGEST).astype(dtype)
            advance(len(rows))
    states.flush()


def room_for(path: Path, dtype: Any, shape: tuple[int, int]) -> np.memmap[Any, Any]:
    """An array on disk, all of it allocated: a full disk is found now, not in the middle."""
    try:
        states = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        path.unlink(missing_ok=True)
        size = math.prod(shape) * np.dtype(dtype).itemsize / 1e6
        raise StoreError(
            f"no room for {size:,.0f} MB in {path.parent}: {error}. Make room, set XMTC_CACHE to "
            "another folder, or take a larger disk. States of frozen layers can be done without: "
            "encoder.frozen_cache=none."
        ) from error
    return states


def _lower_alone(body: Any, frozen: int) -> Any:
    """The body with one layer above the frozen ones: its input is what we want, unnormed."""
    layers = transformer.layers_of(body.model)
    assert layers is not None
    kept = torch.nn.ModuleList(layers[: frozen + 1])
    lower = copy.copy(body)
    lower._modules = {**body._modules, "model": transformer._with(body.model, layers, kept)}
    return lower.eval()


def digest_of(encoder: TextEncoder, frozen_only: bool = False) -> str:
    """Of all its weights, or of those that are not taught."""
    digest = hashlib.sha256()
    for name, weights in encoder.body.named_parameters():
        if not (frozen_only and weights.requires_grad):
            digest.update(name.encode())
            digest.update(weights.detach().contiguous().cpu().numpy())
    return digest.hexdigest()


def _key(encoder: TextEncoder, frozen: int, tokens: Tokens, precision: str) -> str:
    """Frozen weights, layout, tokens and precision: all that the states depend on."""
    how = (frozen, encoder.layout, encoder.config.frozen_cache, precision)
    digest = hashlib.sha256(repr(how).encode())
    digest.update(json.dumps(encoder.body.model.config.to_dict(), default=str).encode())
    digest.update(digest_of(encoder, frozen_only=True).encode())
    for array in (tokens.ids, tokens.starts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]
