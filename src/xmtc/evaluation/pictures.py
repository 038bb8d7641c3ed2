"""Pictures of data sets and comparisons, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xmtc.core.arrays import Longs
from xmtc.core.errors import DataError
from xmtc.core.svg import (
    COLORS,
    WIDTH,
    Axis,
    Panel,
    box,
    color_of,
    dot,
    drawing,
    escaped,
    line,
    line_chart,
    text,
)
from xmtc.evaluation.bootstrap import Difference

LEFT = 150  # pixels for the names of rows
RIGHT = 60  # pixels for their figures
ROW = 22
POINTS = 400  # of a curve; more cannot be told apart


def label_frequency(label_counts: Longs, title: str) -> str:
    """The long tail as the papers draw it: texts per label, most frequent first, both axes log.

    label_counts: (labels,) texts that carry each label. Labels without texts are left out.
    """
    counts = np.sort(label_counts[label_counts > 0])[::-1]
    if not len(counts):
        raise DataError("expected labels with texts, got none; there is no frequency to draw")
    ranks = np.unique(np.geomspace(1, len(counts), POINTS).astype(np.int64))
    curve = list(zip(ranks.tolist(), counts[ranks - 1].tolist(), strict=True))
    once = int((counts == 1).sum())
    panel = Panel("texts that carry the label", {"texts": curve}, log=True)
    return line_chart(
        [panel],
        "rank of the label, most frequent first",
        f"Labels of {title}: {len(counts):,}, of these in one text only: {once:,}",
    )


def whiskers(rows: Mapping[str, Difference]) -> str:
    """Dots with intervals by name, filled where the interval leaves out 0."""
    reach = max([0.1, *(max(abs(each.low), abs(each.high)) for each in rows.values())])
    axis = Axis(-1.05 * reach, 1.05 * reach, LEFT, WIDTH - RIGHT)
    height = ROW * (len(rows) + 2)
    shapes = [line(axis.at(0), ROW / 2, axis.at(0), height - ROW, "#999")]
    for place, (name, each) in enumerate(rows.items()):
        y = ROW * (place + 1)
        color = COLORS[0] if each.low > 0 else COLORS[1] if each.high < 0 else ""
        shapes += [
            text(LEFT - 10, y + 4, name, "end"),
            line(axis.at(each.low), y, axis.at(each.high), y, color or "#888"),
            dot(axis.at(each.estimate), y, 4, color or "#888", color or "#fff"),
            text(WIDTH - RIGHT + 8, y + 4, f"{each.estimate:+.2f}"),
        ]
    for value in (-reach, 0.0, reach):
        shapes.append(text(axis.at(value), height - 6, f"{value:+.1f}" if value else "0", "middle"))
    shapes.append(text(LEFT - 10, height - 6, "points", "end"))
    return drawing(WIDTH, height, shapes)


def bars(groups: Mapping[str, Mapping[str, float]]) -> str:
    """For each group one bar of 0 to 100 percent per series, the same color for the same series."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    axis = Axis(0, 100, LEFT, WIDTH - RIGHT)
    shapes = []
    y = 4.0
    for group, values in groups.items():
        shapes.append(text(LEFT - 10, y + 9 * len(values) + 3, group, "end"))
        for name, value in values.items():
            end = axis.at(min(100.0, max(0.0, value)))
            shapes += [
                box(LEFT, y, end - LEFT, 16, color_of(series, name)),
                text(end + 6, y + 13, f"{value:.1f}"),
            ]
            y += 18
        y += 8
    return drawing(WIDTH, y, shapes) + _legend(series)


def shares(counts: Mapping[str, int]) -> str:
    """Counts side by side in one bar."""
    axis = Axis(0, max(1, sum(counts.values())), 0, WIDTH)
    shapes = []
    before = 0
    for name, count in counts.items():
        left = axis.at(before)
        width = axis.at(before + count) - left
        shapes.append(box(left, 2, width, 26, color_of(list(counts), name)))
        if width > 50:
            shapes.append(text(left + width / 2, 20, f"{count:,}", "middle", "#fff"))
        before += count
    return drawing(WIDTH, 30, shapes) + _legend(list(counts))


def _legend(series: Sequence[str]) -> str:
    spots = (
        f'<span><b style="background:{color_of(series, name)}"></b>{escaped(name)}</span>'
        for name in series
    )
    return f'<p class="legend">{"".join(spots)}</p>'
