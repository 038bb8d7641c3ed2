"""HTML report: a comparison as one file that opens from disk and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any

from xmtc.core.svg import escaped
from xmtc.evaluation import pictures
from xmtc.evaluation.bootstrap import Difference
from xmtc.evaluation.comparison import Comparison, Example, Label

# The browser is told to fetch nothing and to run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2em auto;padding:0 1em;color:#222}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}
table{border-collapse:collapse;margin:1em 0;font-size:14px}
td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}
.legend span{margin-right:1.5em}.legend b{display:inline-block;width:.8em;height:.8em;
margin-right:.4em}
.example{border-left:3px solid #ddd;padding-left:1em;margin:1em 0;overflow-wrap:anywhere}
.right{color:#1a7f37;font-weight:600}.wrong{color:#888}
"""


def html_report(comparison: Comparison, metrics: Sequence[str], limit: int = 10) -> str:
    """The whole file.

    metrics: rows of the tables. limit: labels and texts shown of each kind, at most.
    """
    models = [escaped(name) for name in comparison.models]
    title = f"xmtc compare: {', '.join(models)}"
    sections = [_section(comparison, name, metrics, limit) for name in comparison.versus]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        f"<p>{summary(comparison)}</p>\n{_bands(comparison)}\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )


def summary(comparison: Comparison) -> str:
    """How many texts, and what the intervals are, in one sentence."""
    measures = comparison.measures
    texts = len(comparison.truth)
    return (
        f"{texts:,} text{'s' * (texts != 1)}; figures are percent. Differences with "
        f"{measures.confidence:.0%} intervals from {measures.resamples:,} paired bootstrap samples."
    )


def verdict(name: str, difference: Difference) -> str:
    """A difference in words: better, worse or no clear change."""
    words = "no clear change"
    if difference.low > 0:
        words = "better"
    elif difference.high < 0:
        words = "worse"
    return f"{name}: {words}, {difference}, p = {difference.p:.3f}"


def _section(comparison: Comparison, model: str, metrics: Sequence[str], limit: int) -> str:
    """One model compared with the first."""
    versus = comparison.versus[model]
    first = comparison.models[0]
    k = comparison.k
    texts = {
        "both": versus.both_right,
        f"only {model}": len(versus.won),
        f"only {first}": len(versus.lost),
        "neither": versus.neither_right,
    }
    bands = [band.name for band in comparison.bands[first] if band.positives]
    lines = [
        f"<h2>{escaped(model)} compared with {escaped(first)}</h2>",
        f"<p>{verdict(f'P@{k}', versus.metrics[f'P@{k}'])}</p>",
        pictures.whiskers({name: versus.metrics[name] for name in metrics}),
        _table(*metric_table(comparison, model, metrics)),
        "<h3>By label frequency</h3>",
        f"<p>Change of recall at {k}, by training texts of the label.</p>",
        pictures.whiskers({name: versus.bands[name] for name in bands}),
        "<h3>First label correct</h3>",
        pictures.shares(texts),
    ]
    if limit:
        gained, lost = comparison.labels(model, limit)
        texts_won, texts_lost = comparison.examples(model, limit)
        lines += [
            "<h3>Labels</h3>",
            f"<p>Texts for which only one of the two has the label among its first {k}.</p>",
            _labels("Gained most", gained),
            _labels("Lost most", lost),
            "<h3>Texts</h3>",
            *_examples(f"Only {model} is right", texts_won),
            *_examples(f"Only {first} is right", texts_lost),
        ]
    return "\n".join(lines)


def metric_table(
    comparison: Comparison, model: str, metrics: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: the metrics of the first model and of this one."""
    first = comparison.models[0]
    versus = comparison.versus[model]
    before = comparison.metrics[first]
    after = comparison.metrics[model]
    rows = [
        [name, *side_by_side(before[name], after[name], versus.metrics[name])] for name in metrics
    ]
    return ["percent", first, model, "difference", "p"], rows


def side_by_side(before: float, after: float, difference: Difference) -> list[str]:
    """Two figures, their difference and its p value."""
    return [f"{before:.2f}", f"{after:.2f}", str(difference), f"{difference.p:.3f}"]


def label_table(labels: Sequence[Label]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: labels that were gained or lost."""
    rows = [[name, *(f"{count:,}" for count in counts)] for name, *counts in map(astuple, labels)]
    return ["label", "training texts", "test texts", "gained", "lost"], rows


def _bands(comparison: Comparison) -> str:
    recall = f"R@{comparison.k}"
    ends = comparison.bands[comparison.models[0]]
    groups = {
        f"{band.name} ({band.positives:,})": {
            name: bands[place].recall[recall] for name, bands in comparison.bands.items()
        }
        for place, band in enumerate(ends)
        if band.positives
    }
    return (
        f"<h2>By label frequency</h2><p>Recall at {comparison.k}, percent, by training texts of "
        f"the label (in brackets: relevant labels of the test texts).</p>{pictures.bars(groups)}"
    )


def _labels(title: str, labels: Sequence[Label]) -> str:
    return f"<h4>{title}</h4>{_table(*label_table(labels))}" if labels else f"<p>{title}: none.</p>"


def _examples(title: str, examples: Sequence[Example]) -> list[str]:
    return [f"<h4>{escaped(title)}</h4>", *([*map(_example, examples)] or ["<p>None.</p>"])]


def _example(example: Example) -> str:
    right = set(example.relevant)
    answers = "".join(
        f"<br>{escaped(model)}: " + ", ".join(_mark(name, name in right) for name in names)
        for model, names in example.answers.items()
    )
    return (
        f'<div class="example"><p>{escaped(example.text)}</p><p>relevant: '
        f"{', '.join(_mark(name, True) for name in example.relevant)}{answers}</p></div>"
    )


def _mark(name: str, right: bool) -> str:
    return f'<span class="{"right" if right else "wrong"}">{escaped(name)}</span>'


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [_row("th", header), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escaped(str(cell))}</{tag}>" for cell in cells) + "</tr>"
