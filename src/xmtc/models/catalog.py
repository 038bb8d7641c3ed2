"""The catalog: which kinds of model there are. Adding one is adding a line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from xmtc.core.errors import ConfigError, did_you_mean
from xmtc.models import presets

if TYPE_CHECKING:
    from xmtc.core.dataset import Dataset
    from xmtc.planning.cost import Estimate

# kind -> (module, model class). A module exports Config, train and its model class; `costs` too
# where time and memory can be estimated before training.
KINDS = {
    "most_frequent": ("xmtc.models.most_frequent", "MostFrequent"),
    "linear_tree": ("xmtc.models.linear_tree", "LinearTree"),
    "lightxml": ("xmtc.models.lightxml", "LightXML"),
    "gudn": ("xmtc.models.gudn", "Gudn"),
    "aplc": ("xmtc.models.aplc", "Aplc"),
    "xbert": ("xmtc.models.xbert", "XBert"),
    "xr_transformer": ("xmtc.models.xr_transformer", "XRTransformer"),
    "one_vs_all": ("xmtc.models.one_vs_all", "OneVsAll"),
    "xml_cnn": ("xmtc.models.xml_cnn", "XmlCnn"),
    "label_attention": ("xmtc.models.label_attention", "LabelAttention"),
    "ensemble": ("xmtc.models.ensemble", "Ensemble"),
}
# What can be trained, but is saved as one of the kinds above: such a module has no model class.
RECIPES = {"auto": "xmtc.models.auto"}
TRAINABLE = (*KINDS, *RECIPES)


def module_of(kind: str) -> Any:
    """The module that trains this kind."""
    modules = {known: module for known, (module, _) in KINDS.items()} | RECIPES
    if kind not in modules:
        if kind in presets.names():
            made_for = presets.load(kind).kind
            raise ConfigError(f"{kind} is a preset of {made_for}: train {made_for} with it.")
        hint = did_you_mean(kind, modules) or "."
        raise ConfigError(f"no kind of model {kind!r}{hint} Available: {', '.join(modules)}")
    return importlib.import_module(modules[kind])


def explaining() -> str:
    """The kinds whose models can be explained, for a sentence."""
    return ", ".join(kind for kind in KINDS if hasattr(class_of(kind), "explain"))


def kinds_with_validation() -> tuple[str, ...]:
    """The kinds that use validation data."""
    return tuple(kind for kind in TRAINABLE if {"training", "validation"} & settings_of(kind))


def settings_of(kind: str) -> set[str]:
    """The settings and groups of a kind, without those inside groups."""
    return {field.name for field in fields(module_of(kind).Config)}


def costs_of(kind: str, dataset: Dataset) -> Callable[[Any], Estimate]:
    """Settings of this kind -> what training with them costs."""
    if kind in RECIPES:
        raise ConfigError(f"{kind} does its own planning; set minutes= instead.")
    module = module_of(kind)
    if not hasattr(module, "costs"):
        known = ", ".join(each for each in KINDS if hasattr(module_of(each), "costs"))
        raise ConfigError(
            f"no estimate for {kind}. Available: {known}. A neural training shows the time to its "
            "end while it runs; `xmtc train auto --minutes M` keeps a limit."
        )
    estimate: Callable[[Any], Estimate] = module.costs(dataset)
    return estimate


def class_of(kind: str) -> Any:
    """The class of this kind's finished models."""
    return getattr(module_of(kind), KINDS[kind][1])
