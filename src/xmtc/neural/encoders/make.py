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
from xmtc.neural.encoders.locate import OWN, find
from xmtc.neural.encoders.lsa_init import place_words
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import EncoderConfig

TEXTS_FOR_WORDS = 50_000  # more say little more about which words go together


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


def positions(model: Any, layout: Layout) -> int:
    """How many tokens the encoder can read."""
    most = getattr(model.config, "max_position_embeddings", None) or 0
    most = most if most > 0 else 1 << 16  # XLNet says -1: as many as one likes
    shifted = model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return int(most) - (layout.pad + 1 if shifted else 0)  # their positions begin after the pad id
