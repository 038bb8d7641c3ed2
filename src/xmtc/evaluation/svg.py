"""SVG: small charts as text, so that a page needs neither a plotting library nor a network."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from xmtc.core.escape import printable

COLORS = ("#1f6f8b", "#d1495b", "#66a182", "#edae49", "#7d5ba6", "#8d96a3")
WIDTH = 720
LEFT = 150
RIGHT = 60
ROW = 22


def escaped(text: str) -> str:
    """The text as it may stand in HTML, also inside quotes."""
    return html.escape(printable(text))


def whiskers(rows: Sequence[tuple[str, float, float, float]], unit: str) -> str:
    """(name, low, middle, high) as dots with whiskers around a line at 0; clear ones are filled."""
    reach = max([0.1, *(max(abs(low), abs(high)) for _, low, _, high in rows)]) * 1.05

    def at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value + reach) / (2 * reach)

    height = ROW * (len(rows) + 2)
    parts = [_line(at(0), ROW / 2, at(0), height - ROW, "#999")]
    for place, (name, low, middle, high) in enumerate(rows):
        y = ROW * (place + 1)
        color = COLORS[0] if low > 0 else COLORS[1] if high < 0 else "#888"
        fill = color if low > 0 or high < 0 else "#fff"
        parts += [
            _text(LEFT - 10, y + 4, name, "end"),
            _line(at(low), y, at(high), y, color),
            f'<circle cx="{at(middle):.1f}" cy="{y}" r="4" fill="{fill}" stroke="{color}"/>',
            _text(WIDTH - RIGHT + 8, y + 4, f"{middle:+.2f}"),
        ]
    for value in (-reach / 1.05, 0.0, reach / 1.05):
        parts.append(_text(at(value), height - 6, f"{value:+.1f}" if value else "0", "middle"))
    parts.append(_text(LEFT - 10, height - 6, unit, "end"))
    return _svg(height, parts)


def bars(groups: Mapping[str, Mapping[str, float]]) -> str:
    """For each group one bar of 0 to 100 percent per series, the same color for the same series."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    parts = []
    y = 4.0
    for group, values in groups.items():
        parts.append(_text(LEFT - 10, y + 14, group, "end"))
        for name, value in values.items():
            width = (WIDTH - LEFT - RIGHT) * min(100.0, max(0.0, value)) / 100
            parts += [
                _box(LEFT, y, width, 16, _color(series, name)),
                _text(LEFT + width + 6, y + 13, f"{value:.1f}"),
            ]
            y += 18
        y += 8
    return _svg(y, parts) + legend(series)


def shares(parts_of_all: Mapping[str, int]) -> str:
    """Counts side by side in one bar."""
    total = max(1, sum(parts_of_all.values()))
    left = 0.0
    parts = []
    for name, count in parts_of_all.items():
        width = WIDTH * count / total
        parts.append(_box(left, 2, width, 26, _color(list(parts_of_all), name)))
        if width > 50:
            parts.append(_text(left + width / 2, 20, f"{count:,}", "middle", "#fff"))
        left += width
    return _svg(30, parts) + legend(list(parts_of_all))


def legend(series: Sequence[str]) -> str:
    """Which color is which."""
    spots = (
        f'<span><b style="background:{_color(series, name)}"></b>{escaped(name)}</span>'
        for name in series
    )
    return f'<p class="legend">{"".join(spots)}</p>'


def _color(series: Sequence[str], name: str) -> str:
    return COLORS[list(series).index(name) % len(COLORS)]


def _svg(height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img">{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}" stroke-width="1.5"/>'
    )


def _box(x: float, y: float, width: float, height: float, color: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", color: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">'
        f"{escaped(words)}</text>"
    )
