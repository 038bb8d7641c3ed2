"""`xmtc data doctor FILE [TEST]` and `xmtc data convert IN OUT`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.output import counted, json_option, print_json, print_table
from xmtc.core.errors import ConfigError, DataError
from xmtc.core.files import write_text

MARKS = {"error": "✗", "warning": "!", "note": "·"}


@click.group("data")
def command() -> None:
    """Look at data sets before training on them."""


@command.command("doctor")
@click.argument("file", type=click.Path())
@click.argument("test", type=click.Path(), required=False)
@click.option("--plot", type=click.Path(), help="Draw label frequencies to this .svg file.")
@reading_options
@json_option
def doctor(file: str, test: str | None, plot: str | None, as_json: bool, **reading: Any) -> None:
    """Say what is wrong with the data in FILE, and how it relates to the data in TEST.

    Finds empty texts, duplicates, test texts that are also in training, labels seen once or never,
    names that differ only in case or spaces. Texts are counted from 1.
    """
    from xmtc.data.doctor import examine
    from xmtc.evaluation.pictures import label_frequency

    if plot and Path(plot).suffix != ".svg":
        raise ConfigError(f"--plot draws SVG: expected a file name ending in .svg, got {plot}.")
    dataset = read(file, "train", **reading)
    diagnosis = examine(dataset, read(test, "test", **reading) if test else None)
    if plot:
        picture = label_frequency(diagnosis.label_counts, Path(file).name)
        write_text(plot, picture)
    if as_json:
        print_json(diagnosis.to_dict())
        return
    _print_counts(file, diagnosis)
    _print_findings(diagnosis)
    if plot:
        click.echo(f"Label frequencies are drawn in {plot}")


@command.command("convert")
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.option("--split", default="train", show_default=True, help="Which part of a data folder.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is already there.")
@reading_options
def convert(source: str, target: str, split: str, overwrite: bool, **reading: Any) -> None:
    """Read SOURCE in any format and write TARGET, whose ending says as what.

    .jsonl, .csv and .tsv, each also with .gz, and .parquet.
    """
    from xmtc.data.write import writer_for

    write = writer_for(target)
    if Path(target).exists() and not overwrite:
        raise DataError(f"{target} is already there. Choose another name, or pass --overwrite.")
    dataset = read(source, split, **reading)
    write(dataset, target)
    texts = counted(len(dataset), "text")
    labels = counted(len(dataset.labels), "label")
    click.echo(f"Wrote {texts} with {labels} to {target}")


def _print_counts(file: str, diagnosis: Any) -> None:
    texts = counted(diagnosis.texts, "text")
    labels = counted(diagnosis.labels, "label")
    click.echo(f"{file}: {texts}, {labels}")
    rows = [
        [
            name,
            f"{spread.mean:,.1f}",
            f"{spread.median:,.0f}",
            f"{spread.p95:,.0f}",
            f"{spread.max:,}",
        ]
        for name, spread in (
            ("words per text", diagnosis.words_per_text),
            ("labels per text", diagnosis.labels_per_text),
            ("texts per label", diagnosis.texts_per_label),
        )
        if spread is not None
    ]
    print_table(["", "mean", "median", "95 %", "most"], rows)


def _print_findings(diagnosis: Any) -> None:
    if not diagnosis.findings:
        click.echo("Nothing wrong was found.")
    for finding in diagnosis.findings:
        click.echo(f"\n{MARKS[finding.severity]} {finding.sentence}")
        for example in finding.examples:
            click.echo(f"    {example}")
        click.echo(f"  → {finding.advice}")
