"""Plots: a picture is written, or it is said what is missing."""

import sys

import numpy as np
import pytest

from xmtc.core.errors import DataError, MissingExtra
from xmtc.evaluation.plots import label_frequency_plot


def test_the_picture_is_a_png(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "labels.png"
    label_frequency_plot(np.array([0, 900, 30, 1, 1]), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_labels_there_is_nothing_to_draw(tmp_path):
    with pytest.raises(DataError, match="no label has a text"):
        label_frequency_plot(np.zeros(3, np.int64), tmp_path / "labels.png")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'xmtc\[plots\]'"):
        label_frequency_plot(np.array([1]), tmp_path / "labels.png")
