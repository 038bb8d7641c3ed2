"""A TextEncoder as arrays, and back: a saved model needs nothing of the encoder it came from."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import torch
from torch import nn

from xmtc.core.arrays import Array
from xmtc.core.errors import StoreError
from xmtc.core.parts import Parts
from xmtc.neural.batches.token_layout import TokenLayout
from xmtc.neural.devices import Rng, device
from xmtc.neural.encoders import transformer
from xmtc.neural.encoders.make import own_body, positions, transformer_body
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import EncoderConfig, Pretrained

LARGEST = 1 << 24  # of a number that says how large an encoder is


def encoder_arrays(encoder: TextEncoder, name: str) -> dict[str, Array]:
    """Its weights, and as bytes its tokenizer.json and how it is built."""
    about: dict[str, Any] = {"layout": asdict(encoder.layout)}
    if isinstance(encoder.body, transformer.Transformer):
        about["model"] = _plain(encoder.body.model.config.to_dict())
        about["with_types"] = encoder.body.with_types
    weights = {
        f"{name}.{key}": value.detach().cpu().float().numpy()
        for key, value in encoder.body.state_dict().items()
    }
    return {
        **weights,
        f"{name}.about.json": _bytes(json.dumps(about, sort_keys=True)),
        f"{name}.tokenizer.json": _bytes(encoder.tokenizer.to_str()),
    }


def encoder_from(parts: Parts, name: str, config: EncoderConfig) -> TextEncoder:
    """The encoder that `encoder_arrays` described, checked."""
    from tokenizers import Tokenizer

    try:
        about = json.loads(_text(parts, f"{name}.about.json"))
        tokenizer = Tokenizer.from_str(_text(parts, f"{name}.tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        layout = _layout(about["layout"])
        with (
            Rng(0).turn(),
            torch.device("meta"),
        ):  # nothing is allocated until the shapes are known to fit
            body = _body(about, config, tokenizer)
        weights = _weights(parts, name, body)
        with Rng(0).turn():  # drawing weights must not disturb a training in another thread
            body = _body(about, config, tokenizer)
        body.load_state_dict(weights)
        encoder = TextEncoder(body, tokenizer, layout, config).to(device())
        _try_out(encoder)
        encoder.finish()
    except (StoreError, MemoryError, torch.OutOfMemoryError):  # too small a machine is no damage
        raise
    # The folder is untrusted: tokenizers raises bare Exceptions, transformers may fail anywhere.
    except Exception as error:
        raise StoreError(f"the encoder in the model folder is damaged: {error!r:.200}") from error
    return encoder


def _try_out(encoder: TextEncoder) -> None:
    """The encoder must be able to read any text."""
    body = encoder.eval().body
    layout = encoder.layout
    own = not isinstance(body, transformer.Transformer)
    words = body.words if own else body.model.get_input_embeddings()
    largest = max(encoder.tokenizer.get_vocab().values(), default=0)
    most = encoder.config.max_tokens if own else positions(body.model, layout)
    if largest >= words.num_embeddings or not layout.extra < encoder.config.max_tokens <= most:
        raise StoreError("the encoder in the model folder cannot read what its tokenizer gives it.")
    if not -len(layout.after) <= layout.cls < max(1, len(layout.before)):
        raise StoreError("the encoder in the model folder has no such CLS token.")
    if not np.isfinite(encoder.encode(["", "a"])).all():
        raise StoreError("the encoder in the model folder gives vectors that are not finite.")


def _body(about: dict[str, Any], config: EncoderConfig, tokenizer: Any) -> nn.Module:
    if not isinstance(config, Pretrained):
        return own_body(config, tokenizer)
    _check_sizes(about["model"])
    with transformer.quiet():
        model = transformer.bare(about["model"])
    return transformer_body(model, config, about["with_types"])


def _weights(parts: Parts, name: str, body: nn.Module) -> dict[str, torch.Tensor]:
    return {
        key: torch.from_numpy(parts.array(f"{name}.{key}", np.float32, tuple(value.shape)))
        for key, value in body.state_dict().items()
    }


def _layout(values: dict[str, Any]) -> TokenLayout:
    known: dict[str, Any] = {field.name: values[field.name] for field in fields(TokenLayout)}
    for name, value in known.items():
        known[name] = tuple(value) if isinstance(value, list) else value
    return TokenLayout(**known)


def _check_sizes(config: dict[str, Any]) -> None:
    """A description of a few bytes must not make us allocate all memory."""
    for key, value in config.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise StoreError(
                f"the encoder in the model folder says {key}={value}: implausibly large."
            )
    if config.get("num_hidden_layers", config.get("n_layers", 0)) > 1000:
        raise StoreError("the encoder in the model folder has more than 1000 layers.")


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    """What describes the shape; nothing that says where it came from."""
    return {
        key: value
        for key, value in config.items()
        if key not in ("_name_or_path", "transformers_version", "auto_map", "dtype")
    }


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


def _text(parts: Parts, name: str) -> str:
    return parts.array(name, np.uint8, (None,)).tobytes().decode()
