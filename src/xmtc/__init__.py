"""xmtc: extreme multi-label text classification. Text in, label names out.

    import xmtc

    train, test = xmtc.datasets.debian()
    model = xmtc.train("one_vs_all", train)
    xmtc.predict(model, ["a terminal emulator for the desktop"], k=5)

Names are imported when first used, so that `import xmtc` and `xmtc --help` are quick. Type checkers
read `__init__.pyi`, which lists the same names.
"""

from __future__ import annotations

import importlib
from typing import Any

from xmtc import version

__version__ = version.VERSION

_HOMES = {
    "xmtc.core.dataset": ["Dataset"],
    "xmtc.core.errors": ["ConfigError", "DataError", "MissingExtra", "StoreError", "XmtcError"],
    "xmtc.core.interfaces": ["Encoder", "Model", "Scorer"],
    "xmtc.core.labels": ["LabelSpace"],
    "xmtc.core.progress": ["show_progress"],
    "xmtc.core.ranking": ["Ranking"],
    "xmtc.core.threads": ["set_threads"],
    "xmtc.core.tree": ["LabelTree"],
    "xmtc.core.walk": ["walk"],
    "xmtc.data.read": ["read_dataset"],
    "xmtc.data.write": ["write_dataset"],
    "xmtc.evaluation.comparison": ["Comparison"],
    "xmtc.evaluation.report": ["Report"],
    "xmtc.models.update": ["add_labels", "remove_labels", "update"],
    "xmtc.planning.plan": ["Plan"],
    "xmtc.api": ["compare", "evaluate", "explain", "load", "plan", "predict", "save", "train"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ["datasets", "sklearn"]

__all__ = ["__version__", *_HOME_OF, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f"xmtc.{name}")
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'xmtc' has no attribute {name!r}")
    globals()[name] = value  # found without this function the next time
    return value


def __dir__() -> list[str]:
    return __all__
