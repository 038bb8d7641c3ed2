"""TextEncoder: tokens in, one vector per text out. It is what a model trains and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Floats
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.batches.token_layout import Batch, TokenLayout
from xmtc.neural.batches.tokens import Cut, tokenize
from xmtc.neural.devices import device, threads_for
from xmtc.neural.encoders import transformer
from xmtc.neural.encoders.quantized import quantized
from xmtc.neural.settings import Pretrained, WordEncoderConfig

RANKING_TOKENS = 4096  # per batch when texts are only read


class TextEncoder(nn.Module):
    """A body that gives states of tokens, and how a text's vector is made of them."""

    def __init__(
        self, body: Any, tokenizer: Any, layout: TokenLayout, config: Pretrained | WordEncoderConfig
    ) -> None:
        super().__init__()
        self.body = body
        self.tokenizer = tokenizer
        self.layout = layout
        self.config = config
        self.cut = _cut(config, layout)
        # "": the body makes the vector itself.
        self.pooling: str = getattr(config, "pooling", "")
        self.layers = 1
        if isinstance(config, Pretrained):
            self.layers = min(config.published.pooled_layers, layer_count(body))
        self.dim = body.width * self.layers
        self.products_per_token = products_per_token(body)
        # What reads outside of training; in a list, so that it is no submodule.
        self.reader = [body]

    def finish(self) -> None:
        """From here on it only reads."""
        self.eval().requires_grad_(False)
        if isinstance(self.body, transformer.Transformer):
            if self.pooling != "pooler" and hasattr(self.body.model, "pooler"):
                self.body.model.pooler = None  # a guide of the training may have needed it
            # A graphics processor reads with full precision.
            if isinstance(self.config, Pretrained) and self.config.int8 and device().type == "cpu":
                self.reader = [quantized(self.body)]

    def forward(self, batch: Batch) -> Tensor:
        """(texts, dim)"""
        return self._vectors(self.body, batch)

    def with_pooled(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(texts, dim) and, from the same reading, (texts, width) of the encoder's own pooler."""
        if self.pooling == "pooler":
            vectors = self(batch)
            return vectors, vectors
        states, pooled = self.body.with_pooled(batch, self.layers)
        return self._of_states(states, batch), mean_by_owner(pooled, batch)

    def _vectors(self, body: Any, batch: Batch) -> Tensor:
        if self.pooling in ("pooler", ""):
            return mean_by_owner(body.pooled(batch), batch)
        return self._of_states(body(batch, self.layers), batch)

    def states(self, batch: Batch) -> Tensor:
        """(texts, length, width) of the last layer; places beyond a text's end hold anything."""
        found: Tensor = self.reader[0](batch, 1)[-1]
        return found

    def _of_states(self, states: Sequence[Tensor], batch: Batch) -> Tensor:
        pieces = [pool(state, batch, self.pooling) for state in states]
        return mean_by_owner(torch.cat(pieces, dim=1), batch)

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, dim) of raw texts, read in batches of like length."""
        tokens = tokenize(texts, self.tokenizer, self.cut)
        vectors = np.empty((len(texts), self.dim), np.float32)
        lengths = (tokens.lengths + self.layout.extra) * tokens.piece_counts
        everything = np.arange(len(texts))
        with torch.inference_mode(), threads_for(float(lengths.sum()) * self.products_per_token):
            for rows in sorted_batches(lengths, everything, len(texts), RANKING_TOKENS):
                batch = self.layout.batch(tokens, rows).to(device())
                vectors[rows] = self._vectors(self.reader[0], batch).float().cpu().numpy()
        return vectors


def _cut(config: Pretrained | WordEncoderConfig, layout: TokenLayout) -> Cut:
    room = config.max_tokens - layout.extra
    if not isinstance(config, Pretrained):
        return Cut(room)
    if config.max_chunks is not None:
        return Cut(room, "chunks", config.max_chunks)
    return Cut(room, config.published.long_texts)


def products_per_token(body: nn.Module) -> int:
    """Every weight is used once for a token, but embeddings are only looked up."""
    embeddings = (part for part in body.modules() if isinstance(part, nn.Embedding))
    looked_up = sum(part.weight.numel() for part in embeddings)
    return sum(weights.numel() for weights in body.parameters()) - looked_up


def layer_count(body: Any) -> int:
    """How many layers give states; the embeddings count as one."""
    config = getattr(getattr(body, "model", None), "config", None)
    return 1 if config is None else int(config.num_hidden_layers) + 1


def pool(states: Tensor, batch: Batch, pooling: str) -> Tensor:
    """(pieces, length, width) -> (pieces, width); padding does not count."""
    if pooling == "cls":
        return states[torch.arange(len(states)), batch.cls]
    mask = batch.mask.unsqueeze(2).to(states.dtype)
    if pooling == "max":
        return states.masked_fill(mask == 0, float("-inf")).amax(1)
    return (states * mask).sum(1) / mask.sum(1)


def mean_by_owner(pieces: Tensor, batch: Batch) -> Tensor:
    """(pieces, dim) -> (texts, dim), the mean of each text's pieces."""
    if batch.owner is None:
        return pieces
    sums = pieces.new_zeros(batch.texts, pieces.shape[1]).index_add(0, batch.owner, pieces)
    counts = torch.bincount(batch.owner, minlength=batch.texts)
    return sums / counts.unsqueeze(1)
