"""Pictures: they show the figures given, and hostile names stay words."""

from xml.etree import ElementTree

import numpy as np
import pytest

from xmtc.core.errors import DataError
from xmtc.evaluation.bootstrap import Difference
from xmtc.evaluation.pictures import bars, label_frequency, shares, whiskers


def words_of(picture):
    return [each.text for each in ElementTree.fromstring(picture).iter() if each.text]


def test_label_frequency_counts_the_labels_that_have_texts():
    picture = label_frequency(np.array([0, 900, 30, 1, 1]), "a<b>.jsonl")
    assert "Labels of a<b>.jsonl: 4, of these in one text only: 2" in words_of(picture)
    assert picture.count("<circle") == 4


def test_a_long_tail_is_drawn_with_few_points():
    picture = label_frequency(np.arange(1, 200_001), "many")
    assert len(picture) < 20_000


def test_without_labels_there_is_nothing_to_draw():
    with pytest.raises(DataError, match="expected labels with texts, got none"):
        label_frequency(np.zeros(3, np.int64), "empty")


def test_only_clear_differences_are_filled():
    def fills(low, estimate, high):
        difference = Difference(estimate, low, high, better=0.5, p=0.5)
        picture = ElementTree.fromstring(whiskers({"P@1": difference}))
        return [each.get("fill") == each.get("stroke") for each in picture.iter("circle")]

    assert fills(0.1, 0.5, 0.9) == [True]
    assert fills(-0.9, -0.5, -0.1) == [True]
    assert fills(-0.1, 0.5, 0.9) == [False]


def test_bars_and_shares_name_every_series():
    for picture in (bars({"head": {"<old>": 50, "new": 70}}), shares({"<old>": 1, "new": 3})):
        assert "&lt;old&gt;</span>" in picture
        assert "new</span>" in picture
        assert "<old>" not in picture


def test_shares_fill_the_bar():
    picture = shares({"a": 1, "b": 3}).partition("<p")[0]
    widths = [float(each.get("width")) for each in ElementTree.fromstring(picture).iter("rect")]
    assert widths == [180, 540]
