"""`xmtc evaluate MODEL DATA`"""

from __future__ import annotations

import time
from typing import Any, get_args

import click

from xmtc.cli.data_options import about, read, reading_options
from xmtc.cli.output import int8_option, json_option, print_json, print_table
from xmtc.evaluation.propensity import Family

SHOWN = ("P", "R", "nDCG", "PSP", "PSnDCG", "RP", "coverage")


@click.command("evaluate")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("-k", "ks", multiple=True, type=click.IntRange(1), help="Cut-offs; repeatable.")
@click.option("--threshold", type=float, help="Also F1, counting scores from this value on.")
@click.option("--resamples", default=0, help="Confidence intervals from this many resamples.")
@click.option(
    "--family",
    default="default",
    show_default=True,
    type=click.Choice(get_args(Family)),
    help="Propensity constants of PSP, by the kind of data set.",
)
@click.option(
    "--filter",
    "filter_file",
    type=click.Path(),
    help="Pairs of text and label to leave out, as filter_labels_test.txt.",
)
@click.option("--split", default="test", show_default=True, help="Which part of a data folder.")
@int8_option
@reading_options
@json_option
def command(
    model: str,
    data: str,
    ks: tuple[int, ...],
    threshold: float | None,
    resamples: int,
    family: str,
    filter_file: str | None,
    split: str,
    int8: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Rank the labels of DATA with MODEL and measure it; figures are percent."""
    from xmtc import api
    from xmtc.data.formats.xc_split import read_filter_pairs

    loaded = api.load(model, int8)
    dataset = read(data, split, **reading)
    pairs = read_filter_pairs(filter_file) if filter_file else None
    options = {"threshold": threshold, "resamples": resamples, "family": family}
    started = time.perf_counter()
    with about(data):
        cuts = sorted(set(ks)) or (1, 3, 5)
        report = api.evaluate(loaded, dataset, cuts, without=pairs, **options)
    per_text = (time.perf_counter() - started) / max(1, len(dataset))
    if as_json:
        values = report.to_dict()
        print_json({**values.pop("metrics"), **values, "ms_per_text": round(per_text * 1e3, 4)})
        return
    _print_metrics(report.metrics, report.settings.ks, report.texts, report.intervals)
    _print_bands(report)


def _print_metrics(metrics: dict[str, float], ks: Any, texts: int, intervals: Any) -> None:
    def cell(name: str) -> str:
        value = f"{metrics[name]:.2f}"
        if name in intervals:
            low, high = intervals[name]
            value += f" ({low:.2f} to {high:.2f})"
        return value

    names = [name for name in SHOWN if f"{name}@{ks[0]}" in metrics]
    rows = [[name, *(cell(f"{name}@{k}") for k in ks)] for name in names]
    rows += [[name, cell(name)] for name in metrics if "@" not in name]
    print_table(["percent", *(f"@{k}" for k in ks)], rows, f"{texts:,} texts")


def _print_bands(report: Any) -> None:
    if not report.bands:
        return
    k = report.settings.ks[-1]
    rows = [
        [
            band.name,
            f"{band.labels:,}",
            f"{band.positives:,}",
            f"{band.recall[f'R@{k}']:.2f}" if band.positives else "–",
        ]
        for band in report.bands
    ]
    title = "By training frequency of the label"
    print_table(["training texts", "labels", "relevant pairs", f"R@{k}"], rows, title)
