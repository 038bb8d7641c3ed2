"""SVG: charts are well-formed, ticks are round, and nothing leaves the picture."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.svg import Axis, Panel, line_chart

SVG = "{http://www.w3.org/2000/svg}"
numbers = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf])
curves = st.lists(st.tuples(st.integers(1, 100), numbers), max_size=50)


@given(st.dictionaries(st.text(min_size=1), curves, max_size=4))
def test_a_chart_is_one_well_formed_picture_with_all_points_inside(series):
    root = ElementTree.fromstring(line_chart([Panel("loss", series), Panel("\0<&", {})], "epoch"))
    _, _, width, height = map(float, root.get("viewBox").split())
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= width
        assert 0 <= float(circle.get("cy")) <= height


def test_a_value_that_is_not_finite_leaves_a_gap():
    curve = [(1, 5.0), (2, 4.0), (3, math.nan), (4, 3.0), (5, 2.0)]
    root = ElementTree.fromstring(line_chart([Panel("loss", {"loss": curve})], "epoch"))
    assert len(list(root.iter(f"{SVG}polyline"))) == 2
    assert len(list(root.iter(f"{SVG}circle"))) == 4


@given(st.floats(-1e5, 1e5), st.floats(1e-3, 1e5))
def test_there_are_a_few_ticks_and_they_lie_on_the_axis(low, size):
    ticks = Axis(low, low + size, 0, 100).ticks()
    assert 2 <= len(ticks) <= 12
    assert all(low - 1e-6 * size <= tick <= low + size * (1 + 1e-6) for tick in ticks)


@pytest.mark.parametrize(
    ("values", "log", "expected"),
    [
        ([1, 2, 3], False, [1, 2, 3]),
        ([1, 9], False, [2, 4, 6, 8]),
        ([0.1, 0.5], False, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ([1, 5000], True, [1, 10, 100, 1000]),
        ([1, 4], True, [1, 2]),
        ([7], False, [7]),
    ],
)
def test_ticks_are_round(values, log, expected):
    assert Axis.of(values, 0, 100, log).ticks() == pytest.approx(expected)
