"""The catalog: which kinds of model there are. Adding one is adding a line here."""

from __future__ import annotations

import importlib
from typing import Any

from xmtc.core.errors import ConfigError, did_you_mean

# kind -> (module, model class). A module exports Config, train and its model class.
KINDS = {
    "most_frequent": ("xmtc.models.most_frequent", "MostFrequent"),
    "linear_tree": ("xmtc.models.linear_tree", "LinearTree"),
    "lightxml": ("xmtc.models.lightxml", "LightXML"),
    "gudn": ("xmtc.models.gudn", "Gudn"),
    "aplc": ("xmtc.models.aplc", "Aplc"),
    "xbert": ("xmtc.models.xbert", "XBert"),
    "one_vs_all": ("xmtc.models.one_vs_all", "OneVsAll"),
    "xml_cnn": ("xmtc.models.xml_cnn", "XmlCnn"),
    "label_attention": ("xmtc.models.label_attention", "LabelAttention"),
    "ensemble": ("xmtc.models.ensemble", "Ensemble"),
}


def module_of(kind: str) -> Any:
    """The module that trains this kind."""
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or "."
        raise ConfigError(f"no model called {kind!r}{hint} There is: {', '.join(KINDS)}")
    return importlib.import_module(KINDS[kind][0])


def class_of(kind: str) -> Any:
    """The class of this kind's finished models."""
    return getattr(module_of(kind), KINDS[kind][1])
