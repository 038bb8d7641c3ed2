"""xmtc: extreme multi-label text classification. Text in, label names out.

    import xmtc

    train, test = xmtc.datasets.debian()
    model = xmtc.train("one_vs_all", train)
    xmtc.predict(model, ["a terminal emulator for the desktop"], k=5)

Names are imported when first used, so that `import xmtc` and `xmtc --help` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xmtc import version

if TYPE_CHECKING:
    from xmtc import datasets, sklearn
    from xmtc.api import compare, evaluate, explain, load, predict, save, train
    from xmtc.core.dataset import Dataset
    from xmtc.core.errors import ConfigError, DataError, MissingExtra, StoreError, XmtcError
    from xmtc.core.interfaces import Encoder, Model, Scorer
    from xmtc.core.labels import LabelSpace
    from xmtc.core.progress import show as show_progress
    from xmtc.core.ranking import Ranking
    from xmtc.core.threads import set_threads
    from xmtc.core.tree import LabelTree
    from xmtc.core.walk import walk
    from xmtc.data.read import read_dataset
    from xmtc.data.writing import write_dataset
    from xmtc.evaluation.comparison import Comparison
    from xmtc.evaluation.report import Report
    from xmtc.models.update import add_labels, remove_labels, update
    from xmtc.planning.plan import Plan, plan

__version__ = version.VERSION

_HOMES = {
    "xmtc.core.dataset": ["Dataset"],
    "xmtc.core.errors": ["ConfigError", "DataError", "MissingExtra", "StoreError", "XmtcError"],
    "xmtc.core.interfaces": ["Encoder", "Model", "Scorer"],
    "xmtc.core.labels": ["LabelSpace"],
    "xmtc.core.ranking": ["Ranking"],
    "xmtc.core.threads": ["set_threads"],
    "xmtc.core.tree": ["LabelTree"],
    "xmtc.core.walk": ["walk"],
    "xmtc.data.read": ["read_dataset"],
    "xmtc.data.writing": ["write_dataset"],
    "xmtc.evaluation.comparison": ["Comparison"],
    "xmtc.evaluation.report": ["Report"],
    "xmtc.models.update": ["add_labels", "remove_labels", "update"],
    "xmtc.planning.plan": ["Plan", "plan"],
    "xmtc.api": ["compare", "evaluate", "explain", "load", "predict", "save", "train"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ["datasets", "sklearn"]

__all__ = [
    "Comparison",
    "ConfigError",
    "DataError",
    "Dataset",
    "Encoder",
    "LabelSpace",
    "LabelTree",
    "MissingExtra",
    "Model",
    "Plan",
    "Ranking",
    "Report",
    "Scorer",
    "StoreError",
    "XmtcError",
    "__version__",
    "add_labels",
    "compare",
    "datasets",
    "evaluate",
    "explain",
    "load",
    "plan",
    "predict",
    "read_dataset",
    "remove_labels",
    "save",
    "set_threads",
    "show_progress",
    "sklearn",
    "train",
    "update",
    "walk",
    "write_dataset",
]


def __getattr__(name: str) -> Any:
    globals()[name] = value = _looked_up(name)  # the next time it is simply there
    return value


def _looked_up(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xmtc.{name}")
    if name == "show_progress":
        return importlib.import_module("xmtc.core.progress").show
    if name not in _HOME_OF:
        raise AttributeError(f"module 'xmtc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
