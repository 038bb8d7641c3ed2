"""Frozen layers: their states for each text are computed once and cached on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xmtc.core.arrays import Array, Longs
from xmtc.core.digest import digest
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.batches.tokens import Tokens
from xmtc.neural.devices import device, in_precision
from xmtc.neural.encoders import activation_cache, transformer
from xmtc.neural.encoders.text_encoder import RANKING_TOKENS, TextEncoder
from xmtc.neural.settings import Pretrained

DTYPES: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32}
LARGEST = 65504  # of fp16
CLOSE = 1e-5  # how far the parts together may be from the whole


@dataclass(frozen=True)
class TokenSource:
    """Batches straight from the tokens."""

    encoder: TextEncoder
    tokens: Tokens
    precision: str = "fp32"  # of matrix products while the encoder only reads
    below: str = "tokens"  # what the encoder reads

    @property
    def lengths(self) -> Longs:
        """(texts,) places a text takes in a batch, special tokens included."""
        return self.tokens.lengths + self.encoder.layout.extra

    def batch(self, rows: Longs) -> Batch:
        """The texts at these positions."""
        return self.encoder.layout.batch(self.tokens, rows).to(device())


@dataclass(frozen=True)
class FrozenSource:
    """Batches with the states of the frozen layers; `encoder` is the trainable part above."""

    encoder: TextEncoder
    tokens: Tokens
    states: Array  # (tokens of pieces with their special ones, width), on disk
    places: Longs  # (pieces,) where the states of each begin
    precision: str  # of matrix products while the encoder only reads
    below: str  # the frozen layers, and how they read

    @property
    def lengths(self) -> Longs:
        """(texts,) places a text takes in a batch, special tokens included."""
        return self.tokens.lengths + self.encoder.layout.extra

    def batch(self, rows: Longs) -> Batch:
        """The texts at these positions."""
        batch = self.encoder.layout.batch(self.tokens, rows)
        first = self.tokens.first
        extra = self.encoder.layout.extra
        pieces = np.concatenate([np.arange(first[row], first[row + 1]) for row in rows])
        starts = self.places[pieces]
        ends = starts + self.tokens.starts[pieces + 1] - self.tokens.starts[pieces] + extra
        shape = (*batch.mask.shape, self.states.shape[1])
        states = torch.zeros(shape)
        flat = [self.states[start:end] for start, end in zip(starts, ends, strict=True)]
        states[batch.mask.bool()] = torch.from_numpy(np.concatenate(flat)).float()
        return replace(batch, states=states).to(device())


BatchSource = TokenSource | FrozenSource


def source_of(
    encoder: TextEncoder, tokens: Tokens, cache: Path, precision: str = "fp32"
) -> BatchSource:
    """How the encoder reads these texts in training: cached below, where layers are frozen."""
    config = encoder.config
    if not isinstance(config, Pretrained) or config.trainable_layers is None:
        return TokenSource(encoder, tokens, precision)
    trainable = config.trainable_layers
    frozen = transformer.freeze_below(encoder.body.model, trainable)
    upper = None if config.published.frozen_cache is None else _upper(encoder, frozen)
    if upper is None or encoder.layers > trainable + 1:
        return TokenSource(encoder, tokens, precision)  # frozen all the same, only not cached
    below = _key(encoder, frozen, precision)
    states = _states(encoder, frozen, tokens, cache, precision, below)
    return FrozenSource(upper, tokens, *states, precision, below)


def source_of_others(
    source: BatchSource, encoder: TextEncoder, tokens: Tokens, cache: Path
) -> BatchSource:
    """How the same encoder, whose trainable part the source has, reads other texts."""
    if isinstance(source, TokenSource):
        return replace(source, tokens=tokens)
    config = encoder.config
    assert isinstance(config, Pretrained) and config.trainable_layers is not None
    frozen = transformer.freeze_below(encoder.body.model, config.trainable_layers)
    states, places = _states(encoder, frozen, tokens, cache, source.precision, source.below)
    return replace(source, tokens=tokens, states=states, places=places)


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


class _Reached(Exception):
    """What is above need not be computed."""


def _lower(body: Any, batch: Batch, frozen: int) -> torch.Tensor:
    """The states that enter the first trainable layer."""
    layers = transformer.layers_of(body.model)
    assert layers is not None
    if frozen == len(layers):
        states: tuple[torch.Tensor, ...]
        states = body.model(**body.inputs(batch), output_hidden_states=True).hidden_states
        return states[frozen]
    entering: list[torch.Tensor] = []

    def stop(_: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        given = (*inputs, *named.values())
        entering.append(next(each for each in given if isinstance(each, torch.Tensor)))
        raise _Reached

    hook = layers[frozen].register_forward_pre_hook(stop, with_kwargs=True)
    try:
        body.model(**body.inputs(batch))
    except _Reached:
        pass
    finally:
        hook.remove()
    length_first = body.model.config.model_type == "xlnet"
    return entering[0].transpose(0, 1) if length_first else entering[0]


def _states(
    encoder: TextEncoder, frozen: int, tokens: Tokens, cache: Path, precision: str, below: str
) -> tuple[Array, Longs]:
    """Those of all pieces, and where each piece's begin; computed unless they are cached."""

    def read(path: Path) -> Longs:
        with written(path) as draft, in_precision(precision):
            return _fill(draft, encoder, frozen, tokens)

    path, places = activation_cache.found_or_made(
        cache, f"states-{below}", tokens.piece_digests, read
    )
    return np.load(path, mmap_mode="r"), places


def _fill(path: Path, encoder: TextEncoder, frozen: int, tokens: Tokens) -> Longs:
    """Writes them all; where those of each piece begin."""
    extra = encoder.layout.extra
    pieces = Tokens(tokens.ids, tokens.starts, np.arange(len(tokens.starts)))
    ends = tokens.starts + extra * np.arange(len(tokens.starts))
    shape = (int(ends[-1]), encoder.body.width)
    dtype = DTYPES[_precision_on_disk(encoder)]
    states = activation_cache.allocate(path, dtype, shape)
    lengths = pieces.lengths + extra
    everything = np.arange(len(pieces))
    encoder.eval()
    with track("reading with frozen layers", len(pieces)) as advance, torch.inference_mode():
        for rows in sorted_batches(lengths, everything, len(pieces), RANKING_TOKENS):
            batch = encoder.layout.batch(pieces, rows).to(device())
            found = _lower(encoder.body, batch, frozen)[batch.mask.bool()].float().cpu().numpy()
            places = [np.arange(ends[row], ends[row + 1]) for row in rows]
            states[np.concatenate(places)] = np.clip(found, -LARGEST, LARGEST).astype(dtype)
            advance(len(rows))
    states.flush()
    return ends[:-1]


def _precision_on_disk(encoder: TextEncoder) -> str:
    assert isinstance(encoder.config, Pretrained)
    return encoder.config.published.frozen_cache or "fp16"


def digest_of(encoder: TextEncoder, frozen_only: bool = False) -> str:
    """Of all its weights, or of those that are not trained."""
    return digest(
        {
            name: weights.detach().cpu().numpy()
            for name, weights in encoder.body.named_parameters()
            if not (frozen_only and weights.requires_grad)
        }
    )


def _key(encoder: TextEncoder, frozen: int, precision: str) -> str:
    """Frozen weights, layout and precision: all that the states depend on, but the tokens."""
    layout = repr(encoder.layout)
    shape = json.dumps(encoder.body.model.config.to_dict(), default=str)
    weights = digest_of(encoder, frozen_only=True)
    return digest(frozen, layout, _precision_on_disk(encoder), precision, shape, weights)[:32]
