"""Plots: pictures of a data set. They need matplotlib, which is an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core.arrays import Longs
from xmtc.core.errors import DataError, MissingExtra


def label_frequency_plot(
    label_counts: Longs, path: str | Path, title: str = "Label frequency"
) -> None:
    """The long tail as the papers draw it: texts per label, most frequent first, both axes log.

    label_counts: (labels,) how many texts carry each label. Labels without texts are left out.
    """
    counts = np.sort(np.asarray(label_counts)[np.asarray(label_counts) > 0])[::-1]
    if not len(counts):
        raise DataError("no label has a text, so there is no label frequency to draw")
    figure = _figure()
    axes = figure.add_subplot()
    axes.loglog(np.arange(1, len(counts) + 1), counts, ".-", color="#1f6f8b", markersize=4)
    axes.set_xlabel("label, most frequent first (rank)")
    axes.set_ylabel("texts that carry the label")
    axes.set_title(f"{title}: {len(counts):,} labels, {_once(counts)} of them in one text only")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_minor_formatter(lambda value, _: "")
    axes.grid(visible=True, which="major", alpha=0.3)
    figure.savefig(path, format="png", dpi=150)


def _once(counts: Longs) -> str:
    return f"{int((counts == 1).sum()):,}"


def require_plots() -> None:
    """Raise now what drawing would raise later, before the long work."""
    _figure()


def _figure() -> Any:
    """A figure of its own: pyplot would keep global state and open windows."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "plots need matplotlib. Install it with: pip install 'xmtc[plots]'"
        ) from error
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
