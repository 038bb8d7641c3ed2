"""TextEncoder: tokens in, one vector per text out. It is what a model trains and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Floats
from xmtc.core.errors import ConfigError
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.batches.layout import Batch, Layout
from xmtc.neural.batches.tokens import Cut, tokenise
from xmtc.neural.devices import device, threads_for
from xmtc.neural.encoders import transformer, word_encoders
from xmtc.neural.encoders.locate import OWN, find
from xmtc.neural.encoders.lsa_init import place_words
from xmtc.neural.encoders.quantized import quantised
from xmtc.neural.settings import EncoderConfig

RANKING_TOKENS = 4096  # per batch when texts are only read
TEXTS_FOR_WORDS = 50_000  # more say little more about which words go together


class TextEncoder(nn.Module):
    """A body that gives states of tokens, and how a text's vector is made of them."""

    def __init__(self, body: Any, tokenizer: Any, layout: Layout, config: EncoderConfig) -> None:
        super().__init__()
        self.body = body
        self.tokenizer = tokenizer
        self.layout = layout
        self.config = config
        self.cut = Cut(config.max_tokens - layout.extra, config.long_texts, config.max_chunks)
        self.layers = min(config.layers, layer_count(body))
        self.dim = body.width * self.layers
        self.products_per_token = products_per_token(body)
        self.reader = [
            body
        ]  # what reads when nothing is taught; a list, so that it is no submodule

    def finish(self) -> None:
        """From here on it only reads."""
        self.eval().requires_grad_(False)
        if isinstance(self.body, transformer.Transformer):
            if self.config.vector != "pooler" and hasattr(self.body.model, "pooler"):
                self.body.model.pooler = None  # a guide of the training may have needed it
            self.body.fastest = {}  # measured for training; a saved model would not know it
            self.body.use(self.body.ways[0])
        if self.config.int8 and device().type == "cpu":  # a graphics processor reads exactly
            self.reader = [quantised(self.body)]

    def forward(self, batch: Batch) -> Tensor:
        """(texts, dim)"""
        return self._vectors(self.body, batch)

    def with_pooled(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(texts, dim) and, from the same reading, (texts, width) of the encoder's own pooler."""
        if self.config.vector == "pooler":
            vectors = self(batch)
            return vectors, vectors
        states, pooled = self.body.with_pooled(batch, self.layers)
        return self._of_states(states, batch), mean_by_owner(pooled, batch)

    def _vectors(self, body: Any, batch: Batch) -> Tensor:
        if self.config.vector == "pooler" or self.config.name in word_encoders.WHOLE:
            return mean_by_owner(body.pooled(batch), batch)
        return self._of_states(body(batch, self.layers), batch)

    def states(self, batch: Batch) -> Tensor:
        """(texts, length, width) of the last layer; places beyond a text's end hold anything."""
        found: Tensor = self.reader[0](batch, 1)[-1]
        return found

    def _of_states(self, states: Sequence[Tensor], batch: Batch) -> Tensor:
        pieces = [pool(state, batch, self.config.vector) for state in states]
        return mean_by_owner(torch.cat(pieces, dim=1), batch)

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, dim) of raw texts, read in batches of like length."""
        tokens = tokenise(texts, self.tokenizer, self.cut)
        vectors = np.empty((len(texts), self.dim), np.float32)
        lengths = (tokens.lengths + self.layout.extra) * tokens.piece_counts
        everything = np.arange(len(texts))
        with torch.inference_mode(), threads_for(float(lengths.sum()) * self.products_per_token):
            for rows in sorted_batches(lengths, everything, len(texts), RANKING_TOKENS):
                batch = self.layout.batch(tokens, rows).to(device())
                vectors[rows] = self._vectors(self.reader[0], batch).float().cpu().numpy()
        return vectors


def make_encoder(texts: Sequence[str], config: EncoderConfig, pooler: bool = False) -> TextEncoder:
    """The encoder that the settings name; bilstm and cnn learn their words from the texts.

    pooler: keep it for the training, also where the vector is made without it.
    """
    if config.name in OWN and not pooler:
        tokenizer = word_encoders.word_tokenizer(texts, config.words, config.name == "xttention")
        encoder = TextEncoder(own_body(config, tokenizer), tokenizer, word_encoders.LAYOUT, config)
        _begin_words(encoder, texts)
        return encoder.to(device())
    if config.name in OWN:
        raise ConfigError(f"the encoder {config.name} has no pooler; set guides.features='concat'.")
    folder = find(config.name)
    slow = transformer.load_tokenizer(folder)
    model = transformer.load(folder, config.attention, config.dropout)
    layout = Layout.of(slow)
    if config.cls_position == "first":
        layout = replace(layout, cls=0, pad_left=False)
    most = positions(model, layout)
    if config.max_tokens > most:
        raise ConfigError(
            f"max_tokens={config.max_tokens}: the encoder {config.name} reads at most {most} "
            "tokens."
        )
    tokenizer = slow.backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # XLNet's tokenizer gives segment ids that matter without saying that its encoder wants them.
    with_types = "token_type_ids" in slow.model_input_names or any(layout.after_types)
    body = transformer_body(model, config, with_types, pooler)
    return TextEncoder(body, tokenizer, layout, config).to(device())


def _begin_words(encoder: TextEncoder, texts: Sequence[str]) -> None:
    """Words begin near those that occur in the same texts; where there are many, some texts say."""
    some = texts if len(texts) <= TEXTS_FOR_WORDS else _spread_out(texts)
    tokens = tokenise(some, encoder.tokenizer, encoder.cut)
    table = encoder.body.words.weight.detach()
    place_words(table, tokens)
    table *= word_encoders.SPREAD.get(encoder.config.name, 1.0)


def _spread_out(texts: Sequence[str]) -> list[str]:
    places = np.linspace(0, len(texts) - 1, TEXTS_FOR_WORDS).astype(int)
    return [texts[place] for place in places]


def transformer_body(
    model: Any, config: EncoderConfig, with_types: bool, pooler: bool = False
) -> nn.Module:
    """The encoder without its pooler, unless that makes the vector or is asked for."""
    has_one = getattr(model, "pooler", None) is not None
    if has_one and config.vector != "pooler" and not pooler:
        model.pooler = None
    if config.vector == "pooler" and not has_one:
        raise ConfigError(f"vector='pooler': the encoder {config.name} has none; use cls or mean.")
    if pooler and not has_one:
        raise ConfigError(f"the encoder {config.name} has no pooler; set guides.features='concat'.")
    return transformer.Transformer(model, with_types)


def own_body(config: EncoderConfig, tokenizer: Any) -> nn.Module:
    """The encoder of this name with new weights."""
    if config.vector == "pooler":
        raise ConfigError(f"vector='pooler': the encoder {config.name} has none; use mean or max.")
    dropout = 0.2 if config.dropout < 0 else config.dropout
    usual = (tokenizer.get_vocab_size(), config.width, dropout)
    if config.name == "xttention":
        return word_encoders.Xttention(*usual, config.views, config.hidden)
    if config.name == "xml_cnn":
        return word_encoders.XmlCnn(
            *usual, config.filters, config.pools, config.hidden, config.stride
        )
    return (word_encoders.BiLstm if config.name == "bilstm" else word_encoders.Cnn)(*usual)


def products_per_token(body: nn.Module) -> int:
    """Every weight is used once for a token, but embeddings are only looked up."""
    embeddings = (part for part in body.modules() if isinstance(part, nn.Embedding))
    looked_up = sum(part.weight.numel() for part in embeddings)
    return sum(weights.numel() for weights in body.parameters()) - looked_up


def layer_count(body: Any) -> int:
    """How many layers give states; the embeddings count as one."""
    config = getattr(getattr(body, "model", None), "config", None)
    return 1 if config is None else int(config.num_hidden_layers) + 1


def positions(model: Any, layout: Layout) -> int:
    """How many tokens the encoder can read."""
    most = getattr(model.config, "max_position_embeddings", None) or 0
    most = most if most > 0 else 1 << 16  # XLNet says -1: as many as one likes
    shifted = model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return int(most) - (layout.pad + 1 if shifted else 0)  # their positions begin after the pad id


def pool(states: Tensor, batch: Batch, vector: str) -> Tensor:
    """(pieces, length, width) -> (pieces, width); padding does not count."""
    if vector == "cls":
        return states[torch.arange(len(states)), batch.cls]
    mask = batch.mask.unsqueeze(2).to(states.dtype)
    if vector == "max":
        return states.masked_fill(mask == 0, float("-inf")).amax(1)
    return (states * mask).sum(1) / mask.sum(1)


def mean_by_owner(pieces: Tensor, batch: Batch) -> Tensor:
    """(pieces, dim) -> (texts, dim), the mean of each text's pieces."""
    if batch.owner is None:
        return pieces
    sums = pieces.new_zeros(batch.texts, pieces.shape[1]).index_add(0, batch.owner, pieces)
    counts = torch.bincount(batch.owner, minlength=batch.texts)
    return sums / counts.unsqueeze(1)
