"""Makes the encoder that the settings name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from xmtc.core.errors import ConfigError
from xmtc.neural.batches.token_layout import TokenLayout
from xmtc.neural.batches.tokens import tokenize
from xmtc.neural.devices import Rng, device, use_our_threads
from xmtc.neural.encoders import transformer, word_encoders
from xmtc.neural.encoders.locate import find
from xmtc.neural.encoders.lsa_init import place_words
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import (
    BiLstmEncoder,
    EncoderConfig,
    Pretrained,
    WordEncoderConfig,
    XmlCnnEncoder,
    XttentionEncoder,
)

TEXTS_FOR_WORDS = 50_000  # more say little more about which words go together


def make_encoder(
    texts: Sequence[str], config: EncoderConfig, pooler: bool = False, rng: Rng | None = None
) -> TextEncoder:
    """The encoder of these settings; those that are not pretrained take their words from the texts.

    pooler: load the encoder's own, although its vector is made without it.
    rng: draws new weights.
    """
    use_our_threads()
    with (rng or Rng(0)).turn():
        if isinstance(config, Pretrained):
            encoder = _pretrained(config, pooler)
        else:
            encoder = _word_encoder(texts, config)
    return encoder.to(device())


def _word_encoder(texts: Sequence[str], config: WordEncoderConfig) -> TextEncoder:
    numbers_alike = isinstance(config, XttentionEncoder)
    tokenizer = word_encoders.word_tokenizer(texts, config.vocabulary_size, numbers_alike)
    encoder = TextEncoder(own_body(config, tokenizer), tokenizer, word_encoders.LAYOUT, config)
    # Words begin near those that occur in the same texts; where there are many, a sample tells.
    sample = texts
    if len(texts) > TEXTS_FOR_WORDS:
        places = np.linspace(0, len(texts) - 1, TEXTS_FOR_WORDS).astype(int)
        sample = [texts[place] for place in places]
    table = encoder.body.words.weight.detach()
    place_words(table, tokenize(sample, tokenizer, encoder.cut))
    if isinstance(config, XmlCnnEncoder):
        table *= word_encoders.XML_CNN_SPREAD
    return encoder


def _pretrained(config: Pretrained, pooler: bool) -> TextEncoder:
    folder = find(config.name)
    slow = transformer.load_tokenizer(folder)
    model = transformer.load(folder, config.dropout)
    layout = TokenLayout.of(slow)
    if config.published.cls_position == "first":
        layout = replace(layout, cls=0, pad_left=False)
    longest = positions(model, layout)
    if config.max_tokens > longest:
        raise ConfigError(
            f"max_tokens={config.max_tokens}: the encoder {config.name} reads at most {longest} "
            "tokens."
        )
    tokenizer = slow.backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # XLNet's tokenizer gives segment ids that matter without saying that its encoder wants them.
    with_types = "token_type_ids" in slow.model_input_names or any(layout.after_types)
    body = transformer_body(model, config, with_types, pooler)
    return TextEncoder(body, tokenizer, layout, config)


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


def own_body(config: WordEncoderConfig, tokenizer: Any) -> nn.Module:
    """An encoder over words with new weights."""
    usual = (tokenizer.get_vocab_size(), config.embedding_dim, config.dropout)
    if isinstance(config, XttentionEncoder):
        return word_encoders.Xttention(*usual, config.views, config.hidden_dim)
    if isinstance(config, XmlCnnEncoder):
        return word_encoders.DynamicPoolingCnn(
            *usual, config.filters, config.pools, config.hidden_dim, config.published.stride
        )
    return (word_encoders.BiLstm if isinstance(config, BiLstmEncoder) else word_encoders.Cnn)(
        *usual
    )


def positions(model: Any, layout: TokenLayout) -> int:
    """How many tokens the encoder can read."""
    most = getattr(model.config, "max_position_embeddings", None) or 0
    most = most if most > 0 else 1 << 16  # XLNet says -1: as many as one likes
    shifted = model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return int(most) - (layout.pad + 1 if shifted else 0)  # their positions begin after the pad id
