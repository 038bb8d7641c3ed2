"""`xmtc compare MODEL1 MODEL2 ... --test DATA`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.output import json_option, print_json, print_table
from xmtc.core.errors import ConfigError
from xmtc.core.files import write_text
from xmtc.evaluation.propensity import Family

if TYPE_CHECKING:
    from xmtc.evaluation.comparison import Comparison

SHOWN = ("P", "nDCG", "PSP", "R")
NOTHING = ["–"]  # the recall of labels of which there are none to find


@click.command("compare")
@click.argument("models", nargs=-1, required=True, type=click.Path())
@click.option(
    "--test",
    "data",
    required=True,
    type=click.Path(),
    help="Labelled texts that no model was trained on.",
)
@click.option("-k", "ks", multiple=True, type=click.IntRange(1), help="Cut-offs; repeatable.")
@click.option(
    "--resamples",
    default=1000,
    show_default=True,
    type=click.IntRange(20),
    help="How many bootstrap samples of the texts are drawn.",
)
@click.option(
    "--family",
    default="default",
    show_default=True,
    type=click.Choice(get_args(Family)),
    help="Propensity constants of PSP, by the kind of data set.",
)
@click.option(
    "--top",
    default=5,
    show_default=True,
    type=click.IntRange(0),
    help="How many labels and texts of each kind to show.",
)
@click.option(
    "--different-labels",
    is_flag=True,
    help="Allow models that know different labels; what one lacks it misses.",
)
@click.option("--html", "html_file", type=click.Path(), help="Also write a report with plots here.")
@click.option("--overwrite", is_flag=True, help="Replace a report that is already there.")
@click.option("--split", default="test", show_default=True, help="Which part of a data folder.")
@reading_options
@json_option
def command(
    models: tuple[str, ...],
    data: str,
    ks: tuple[int, ...],
    resamples: int,
    family: str,
    top: int,
    different_labels: bool,
    html_file: str | None,
    overwrite: bool,
    split: str,
    as_json: bool,
    **reading: Any,
) -> None:
    """Compare trained MODELS with the first of them: is a difference significant, and where is it?

    All rank the same texts. Intervals and p values are from a paired bootstrap over texts.
    """
    from xmtc import api
    from xmtc.evaluation.html_report import html_report, label_table, metric_table, summary

    _check(models, html_file, overwrite)
    dataset = read(data, split, **reading)
    names = models if as_json else _short_names(models)
    loaded = {name: api.load(model) for name, model in zip(names, models, strict=True)}
    found = api.compare(
        loaded,
        dataset,
        ks or (1, 3, 5),
        different_labels=different_labels,
        resamples=resamples,
        family=family,
    )
    shown = [f"{name}@{k}" for name in SHOWN for k in found.measures.ks]
    if html_file:  # first, so that it is there when what reads our output stops early
        write_text(html_file, html_report(found, shown, top))
    if as_json:
        print_json(found.to_dict(top))
    else:
        click.echo(f"{summary(found)}\n")
        for model in found.versus:
            print_table(*metric_table(found, model, shown))
            _print_bands(found, model)
            _print_texts(found, model, top)
            for title, labels in zip(("gains", "loses"), found.labels(model, top), strict=True):
                if labels:
                    print_table(*label_table(labels), f"Labels on which {model} {title} most")
    if html_file:
        click.echo(f"Wrote the report to {html_file}; open it in a browser.", err=as_json)


def _check(models: tuple[str, ...], html_file: str | None, overwrite: bool) -> None:
    """What can be known before the long work."""
    places = [Path(model).resolve() for model in models]
    twice = [each for each, place in zip(models, places, strict=True) if places.count(place) > 1]
    if twice:
        raise ConfigError(f"{twice[-1]} is named twice; a model does not differ from itself.")
    if html_file and Path(html_file).is_dir():
        raise ConfigError(f"{html_file} is a folder. Name a file in it, such as report.html.")
    if html_file and not Path(html_file).absolute().parent.is_dir():
        raise ConfigError(f"there is no folder to write {html_file} to. Make it first.")
    if html_file and Path(html_file).exists() and not overwrite:
        raise ConfigError(
            f"{html_file} is already there. Choose another name, or pass --overwrite."
        )


def _short_names(models: tuple[str, ...]) -> list[str]:
    """As much of the end of each path as tells them apart."""
    parts = [Path(model).absolute().parts for model in models]
    for length in range(1, max(map(len, parts))):
        names = ["/".join(each[-length:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    return list(models)


def _print_bands(found: Comparison, model: str) -> None:
    from xmtc.evaluation.html_report import side_by_side

    versus = found.versus[model].bands
    first = found.models[0]
    recall = f"R@{found.k}"
    pairs = zip(found.bands[first], found.bands[model], strict=True)
    rows = []
    for band, other in pairs:
        cells = NOTHING * 4
        if band.positives:
            cells = side_by_side(band.recall[recall], other.recall[recall], versus[band.name])
        rows.append([band.name, f"{band.positives:,}", *cells])
    title = f"R@{found.k} by training frequency of the label"
    print_table(["training texts", "relevant pairs", first, model, "difference", "p"], rows, title)


def _print_texts(found: Comparison, model: str, top: int) -> None:
    versus = found.versus[model]
    first = found.models[0]
    click.echo(
        f"First label correct: both {versus.both_right:,}, only {model} {len(versus.won):,}, "
        f"only {first} {len(versus.lost):,}, neither {versus.neither_right:,}\n"
    )
    for title, examples in zip((model, first), found.examples(model, top), strict=True):
        rows = [
            [
                _short(each.text, 60),
                _short("; ".join(each.relevant), 40),
                *(_short("; ".join(names[:1]), 30) for names in each.answers.values()),
            ]
            for each in examples
        ]
        if rows:
            columns = ["text", "relevant", first, model]
            print_table(columns, rows, f"Only {title} has the first label correct", words=4)


def _short(words: str, length: int) -> str:
    return words if len(words) <= length else f"{words[: length - 3]}..."
