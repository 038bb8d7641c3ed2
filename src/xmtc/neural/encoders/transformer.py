"""A Hugging Face encoder: its states, and its lower layers apart from its upper ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from xmtc.core.errors import ConfigError, memory_errors
from xmtc.neural.batches.token_layout import Batch

ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
OTHER_DROPOUTS = ("hidden_dropout_prob", "dropout", "embedding_dropout", "mlp_dropout")


class Transformer(nn.Module):
    """Any encoder that `transformers` knows."""

    def __init__(self, model: Any, with_types: bool) -> None:
        super().__init__()
        self.model = model
        self.with_types = with_types  # some encoders refuse segment ids
        self.width = int(model.config.hidden_size)

    def forward(self, batch: Batch, layers: int) -> tuple[Tensor, ...]:
        """The last `layers` states, (pieces, length, width) each, the last layer first."""
        return self.with_pooled(batch, layers)[0]

    def pooled(self, batch: Batch) -> Tensor:
        """(pieces, width) what the encoder's own pooler makes of it."""
        pooled: Tensor = self.with_pooled(batch, 1)[1]
        return pooled

    def inputs(self, batch: Batch) -> dict[str, Tensor]:
        """What the encoder is called with."""
        types = {"token_type_ids": batch.types} if self.with_types else {}
        if batch.states is not None:
            return {"inputs_embeds": batch.states, "attention_mask": batch.mask, **types}
        return {"input_ids": batch.ids, "attention_mask": batch.mask, **types}

    def with_pooled(self, batch: Batch, layers: int) -> tuple[tuple[Tensor, ...], Any]:
        """Both; None where the pooler should be."""
        inputs = self.inputs(batch)
        read = self.model(**inputs, output_hidden_states=layers > 1)
        last = (read.last_hidden_state,) if layers == 1 else read.hidden_states[::-1][:layers]
        return tuple(last), getattr(read, "pooler_output", None)


@contextmanager
def _untrusted(problem: str) -> Iterator[None]:
    """What goes wrong inside is the folder's fault, but for a lack of memory.

    tokenizers raises bare Exceptions, transformers and safetensors may fail anywhere.
    """
    try:
        with memory_errors():
            yield
    except MemoryError:
        raise
    except Exception as error:
        raise ConfigError(f"{problem}: {error!r:.300}") from error


def load(folder: Path, dropout: float | None) -> Any:
    """The encoder in a folder, its weights from safetensors only."""
    from transformers import AutoConfig, AutoModel

    theirs = f"cannot use the encoder in {folder}"
    with _untrusted(theirs), quiet():
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    set_dropout(config, dropout)
    with _untrusted(theirs), quiet():
        return AutoModel.from_pretrained(
            folder,
            config=config,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
        )


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of the encoder in a folder; it must have a tokenizer.json to be saved."""
    from transformers import AutoTokenizer

    with _untrusted(f"cannot read the tokenizer in {folder}"):
        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    if not tokenizer.is_fast:
        raise ConfigError(f"{folder} has no tokenizer.json. Save the tokenizer there anew.")
    return tokenizer


def bare(config: dict[str, Any]) -> Any:
    """An encoder of this shape, its weights still to be filled in."""
    from transformers import AutoConfig, AutoModel

    known = {name: value for name, value in config.items() if name[0] != "_" and name != "auto_map"}
    return AutoModel.from_config(AutoConfig.for_model(**known))


def set_dropout(config: Any, dropout: float | None) -> None:
    """Dropout inside attention is always 0: with it the fast attention cannot be used."""
    for name in ATTENTION_DROPOUTS:
        if hasattr(config, name):
            setattr(config, name, 0.0)
    for name in OTHER_DROPOUTS:
        if dropout is not None and hasattr(config, name):
            setattr(config, name, dropout)


def layers_of(model: Any) -> nn.ModuleList | None:
    """The encoder's own list of layers."""
    lists = [part for part in model.modules() if isinstance(part, nn.ModuleList)]
    count = getattr(model.config, "num_hidden_layers", 0)
    return next((part for part in lists if len(part) == count), None)


def freeze_below(model: Any, trainable: int) -> int:
    """All but the last `trainable` layers stop learning; returns how many that are."""
    layers = layers_of(model)
    if layers is None:
        raise ConfigError(
            "trainable_layers: this encoder has no list of layers; set trainable_layers=none."
        )
    frozen = max(0, len(layers) - trainable)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for layer in layers[frozen:]:
        layer.requires_grad_(True)
    for name, child in model.named_children():  # a norm after the last layer, the pooler
        if "embed" not in name and layers not in child.modules():
            child.requires_grad_(True)
    return frozen


class Given(nn.Module):
    """Stands in for the embeddings: passes on what the frozen layers made."""

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """The given states, whichever way this encoder passes them."""
        given = (*inputs, *named.values())
        return next(value for value in given if isinstance(value, Tensor) and value.ndim == 3)


def upper_part(model: Any, frozen: int) -> Any:
    """The same encoder without its lowest `frozen` layers, sharing all weights with it.

    It is called with `inputs_embeds`, the states of layer number `frozen`.
    """
    layers = layers_of(model)
    assert layers is not None
    upper = _with(model, layers, nn.ModuleList(layers[frozen:]))
    for name, _ in list(upper.named_children()):
        if "embed" in name:
            stand_in = nn.Identity() if "project" in name else Given()
            upper._modules[name] = stand_in
    return upper


def _with(part: Any, old: nn.Module, new: nn.Module) -> Any:
    """A copy of the module tree down to `old`, which is replaced; everything else is shared."""
    if part is old:
        return new
    if part is None or not any(inner is old for inner in part.modules()):
        return part
    twin = copy.copy(part)
    twin._modules = {name: _with(child, old, new) for name, child in part._modules.items()}
    return twin


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, transformers shows no bars and gives no advice."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
