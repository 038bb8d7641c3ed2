"""Makes the encoder that the settings name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from xmtc.core.errors import ConfigError
from xmtc.neural.batches.layout import Layout
from xmtc.neural.batches.tokens import tokenise
from xmtc.neural.devices import device
from xmtc.neural.encoders import transformer, word_encoders
from xmtc.neural.encoders.locate import find
from xmtc.neural.encoders.lsa_init import place_words
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import (
    BiLstmEncoder,
    Encoder,
    Pretrained,
    WordEncoder,
    XmlCnnEncoder,
    XttentionEncoder,
)

TEXTS_FOR_WORDS = 50_000  # more say little more about which words go together


def make_encoder(texts: Sequence[str], config: Encoder, pooler: bool = False) -> TextEncoder:
    """The encoder of these settings; without pretraining its vocabulary comes from the texts.

    pooler: keep it for the training, also where the vector is made without it.
    """
    if not isinstance(config, Pretrained):
        numbers_alike = isinstance(config, XttentionEncoder)
        tokenizer = word_encoders.word_tokenizer(texts, config.vocabulary_size, numbers_alike)
        encoder = TextEncoder(own_body(config, tokenizer), tokenizer, word_encoders.LAYOUT, config)
        _begin_words(encoder, texts)
        return encoder.to(device())
    folder = find(config.name)
    slow = transformer.load_tokenizer(folder)
    model = transformer.load(folder, config.dropout)
    layout = Layout.of(slow)
    if config.published.cls_position == "first":
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
    if isinstance(encoder.config, XmlCnnEncoder):
        table *= word_encoders.XML_CNN_SPREAD


def _spread_out(texts: Sequence[str]) -> list[str]:
    places = np.linspace(0, len(texts) - 1, TEXTS_FOR_WORDS).astype(int)
    return [texts[place] for place in places]


def transformer_body(
    model: Any, config: Pretrained, with_types: bool, pooler: bool = False
) -> nn.Module:
    """The encoder without its pooler, unless that makes the vector or is asked for."""
    has_one = getattr(model, "pooler", None) is not None
    if has_one and config.pooling != "pooler" and not pooler:
        model.pooler = None
    if config.pooling == "pooler" and not has_one:
        raise ConfigError(f"pooling=pooler: the encoder {config.name} has none; use cls or mean.")
    if pooler and not has_one:
        raise ConfigError(
            f"the encoder {config.name} has no pooler; set guides.published.features=concat."
        )
    return transformer.Transformer(model, with_types)


def own_body(config: WordEncoder, tokenizer: Any) -> nn.Module:
    """An encoder over words with new weights."""
    usual = (tokenizer.get_vocab_size(), config.embedding_dim, config.dropout)
    if isinstance(config, XttentionEncoder):
        return word_encoders.Xttention(*usual, config.views, config.hidden_dim)
    if isinstance(config, XmlCnnEncoder):
        return word_encoders.XmlCnn(
            *usual, config.filters, config.pools, config.hidden_dim, config.published.stride
        )
    return (word_encoders.BiLstm if isinstance(config, BiLstmEncoder) else word_encoders.Cnn)(
        *usual
    )


def positions(model: Any, layout: Layout) -> int:
    """How many tokens the encoder can read."""
    most = getattr(model.config, "max_position_embeddings", None) or 0
    most = most if most > 0 else 1 << 16  # XLNet says -1: as many as one likes
    shifted = model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return int(most) - (layout.pad + 1 if shifted else 0)  # their positions begin after the pad id
