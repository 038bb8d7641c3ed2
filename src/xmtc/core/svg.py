"""SVG: shapes and line charts as text, so that a picture needs no plotting library.

Lengths are pixels, and y grows downwards. `drawing` is for an HTML page, `document` for a file.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from xmtc.core.escape import printable

COLORS = ("#1f6f8b", "#d1495b", "#66a182", "#edae49", "#7d5ba6", "#8d96a3")
GRID = "#ddd"
INK = "#222"
WIDTH = 720
LETTER = 6.5  # width of a letter of FONT
FONT = "12px system-ui,sans-serif"
DOTS = 40  # a curve of at most so many points shows each

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Points that are not finite leave a gap in their curve."""

    title: str
    curves: Mapping[str, Points]
    log: bool = False  # both axes


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False  # ticks at whole numbers only

    @staticmethod
    def of(values: Sequence[float], start: float, end: float, log: bool = False) -> Axis:
        """The axis that just holds these values; one value alone stands in the middle."""
        low = min(values, default=1.0)
        high = max(values, default=1.0)
        if low == high:
            low = low / 2 if log else low - 0.5
            high = high * 2 if log else high + 0.5
        whole = all(value == round(value) for value in values)
        return Axis(low, high, start, end, log, whole)

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        """Round values on the axis: powers of ten, or four to eight steps of 1, 2 or 5."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            tens = [10.0**power for power in powers]
            inside = [value for value in tens if self.low <= value <= self.high]
            if len(inside) > 1:
                return inside
            values = [factor * ten for ten in tens for factor in (1, 2, 5)]
            return [value for value in values if self.low <= value <= self.high]
        unit = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step = next(unit * n for n in (5, 2, 1) if unit * n <= (self.high - self.low) / 4)
        step = max(1.0, step) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(step * place, 12) for place in range(first, last + 1)]


def line_chart(panels: Sequence[Panel], x_label: str, title: str = "") -> str:
    """A file with panels side by side: curves over the same x."""
    several = any(len(panel.curves) > 1 for panel in panels)
    top = 28.0 + (28 if title else 0) + (20 if several else 0)
    bottom = top + 240
    width = WIDTH / len(panels)
    shapes = [text(12, 22, title, size=15)] if title else []
    for place, panel in enumerate(panels):
        left = width * place + 56
        right = width * (place + 1) - 24
        shapes.append(text(left - 44, top - (30 if several else 10), panel.title))
        shapes += _panel(panel, left, right, top, bottom)
        shapes.append(text((left + right) / 2, bottom + 36, x_label, "middle"))
    return document(WIDTH, bottom + 48, shapes)


def _panel(panel: Panel, left: float, right: float, top: float, bottom: float) -> list[str]:
    runs = {name: _runs(curve) for name, curve in panel.curves.items()}
    points = [point for name in runs for run in runs[name] for point in run]
    across = Axis.of([x for x, _ in points], left, right, panel.log)
    up = Axis.of([y for _, y in points], bottom, top, panel.log)
    shapes = []
    for value in across.ticks():
        shapes += [
            line(across.at(value), top, across.at(value), bottom, GRID),
            text(across.at(value), bottom + 18, _number(value), "middle"),
        ]
    for value in up.ticks():
        shapes += [
            line(left, up.at(value), right, up.at(value), GRID),
            text(left - 8, up.at(value) + 4, _number(value), "end"),
        ]
    place = left
    for name in runs if len(runs) > 1 else ():
        shapes.append(box(place, top - 19, 10, 10, color_of(list(runs), name)))
        shapes.append(text(place + 14, top - 10, name))
        place += LETTER * len(name) + 26
    for name, curve in panel.curves.items():
        color = color_of(list(runs), name)
        for run in runs[name]:
            corners = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in run)
            shapes.append(
                f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="1.5"/>'
            )
            if len(curve) <= DOTS:
                shapes += [dot(across.at(x), up.at(y), 3, color) for x, y in run]
    return shapes


def _runs(points: Points) -> list[list[tuple[float, float]]]:
    """Pieces of a curve between the points that are not finite."""
    pieces = groupby(points, lambda point: all(map(math.isfinite, point)))
    return [list(piece) for is_finite, piece in pieces if is_finite]


def _number(value: float) -> str:
    return f"{value:,.10g}"


def document(width: float, height: float, shapes: Sequence[str]) -> str:
    """An SVG file."""
    inside = drawing(width, height, [box(0, 0, width, height, "#fff"), *shapes])
    namespace = f'<svg xmlns="http://www.w3.org/2000/svg" style="font:{FONT}" '
    return inside.replace("<svg ", namespace, 1) + "\n"


def drawing(width: float, height: float, shapes: Sequence[str]) -> str:
    """An SVG element of an HTML page."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">'
        f"{''.join(shapes)}</svg>"
    )


def line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    """A straight line."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}" stroke-width="1.5"/>'
    )


def box(x: float, y: float, width: float, height: float, color: str) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>'
    )


def dot(x: float, y: float, radius: float, color: str, fill: str = "") -> str:
    """A circle, filled with its own color if not told otherwise."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill or color}" '
        f'stroke="{color}"/>'
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", color: str = INK, size: int = 12
) -> str:
    """A line of text; y is where its letters stand."""
    big = f' font-size="{size}"' if size != 12 else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"{big}>'
        f"{escaped(words)}</text>"
    )


def escaped(words: str) -> str:
    """The text as it may stand in HTML and SVG, also inside quotes."""
    return html.escape(printable(words))


def color_of(series: Sequence[str], name: str) -> str:
    """The color of one of several series; the colors start again after six."""
    return COLORS[list(series).index(name) % len(COLORS)]
