"""`xmtc train KIND DATA --out FOLDER`"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import click

from xmtc.cli.data_options import about, read, reading_options, source
from xmtc.cli.output import counted, json_option, megabytes, print_json, print_table, seconds
from xmtc.cli.plan import described, memory_option, minutes_option
from xmtc.models.catalog import TRAINABLE


@click.command("train")
@click.argument("kind", metavar="KIND")
@click.argument("data", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder for the model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting; repeatable.")
@click.option("--config", "config_file", type=click.Path(), help="Settings from a TOML file.")
@click.option(
    "--validation",
    type=click.Path(),
    help="Labelled texts to choose the best checkpoint, kind or weights by.",
)
@memory_option
@minutes_option
@click.option("--split", default="train", show_default=True, help="Which part of a data folder.")
@reading_options
@json_option
def command(
    kind: str,
    data: str,
    out: str,
    overwrite: bool,
    pairs: tuple[str, ...],
    config_file: str | None,
    validation: str | None,
    memory: float | None,
    minutes: float | None,
    split: str,
    as_json: bool,
    **reading: Any,
) -> None:
    """Train a model of KIND on DATA, a file or folder of labelled texts, and save it.

    `xmtc settings KIND` lists what can be set. With --memory or --minutes, settings of the kinds
    that `xmtc plan` knows are changed until they fit; neural kinds refuse them. KIND auto tries
    several kinds within --minutes and keeps the best, never worse than linear_tree on texts held
    out. --validation names a file, or a folder with a validation part: what a kind chooses, such
    as the best checkpoint, it then chooses by these texts instead of some of DATA (options of
    reading apply to both). Neural kinds keep checkpoints in FOLDER.run: a training that was killed
    goes on when the same command is given again. Their log stays there, and curves if matplotlib
    is installed.
    """
    from xmtc import api
    from xmtc.core import config, store
    from xmtc.core.run import Run
    from xmtc.models import catalog
    from xmtc.models.auto import report
    from xmtc.planning.plan import plan

    values = config.merged(
        config.read_toml(config_file) if config_file else {}, config.assignments(pairs)
    )
    settings = config.from_dict(catalog.module_of(kind).Config, values)  # before the long work
    store.check_target(out, overwrite)
    if validation is not None:
        api.check_uses_validation(kind)
    dataset = read(data, split, **reading)
    if validation is not None:
        chosen_by = read(validation, "validation", **reading)
        with about(validation):
            dataset = dataset.with_validation(chosen_by)
    if minutes and hasattr(settings, "minutes"):  # auto plans by itself
        settings = replace(settings, minutes=minutes)
        minutes = None
    if memory is not None or minutes is not None:
        made = plan(kind, dataset, settings, memory=memory, minutes=minutes)
        click.echo(described(made), err=True)
        settings = made.settings
    run = Run.at(f"{out}.run")
    started = time.perf_counter()
    try:
        model = api.train(kind, dataset, settings, run=f"{out}.run")
    except KeyboardInterrupt:
        if run.unfinished():
            click.echo(f"The same command goes on with what is in {out}.run", err=True)
        raise
    duration = time.perf_counter() - started
    if os.environ.get("RANK", "0") != "0":
        return  # torchrun: all processes have the model, the first one saves it
    model = api.remember(model, [source(data, dataset, split, **reading)])
    api.save(model, out, overwrite)
    run.tidy()
    size = store.size_on_disk(out)
    chosen = report.read(f"{out}.run") if kind in catalog.RECIPES else {}
    if chosen and not as_json:
        print_table(report.COLUMNS, report.table(chosen), words=2)
        click.echo(chosen["why"])
    result = {
        "kind": model.kind,
        "folder": out,
        "texts": len(dataset),
        "labels": len(model.labels),
        "seconds": round(duration, 3),
        "bytes": size,
        **chosen,
    }
    if as_json:
        print_json(result)
    else:
        click.echo(
            f"Trained {model.kind} on {counted(len(dataset), 'text')} with "
            f"{counted(len(model.labels), 'label')} in {seconds(duration)}; saved "
            f"{megabytes(size)} to {out}"
        )


command.epilog = "Kinds: " + ", ".join(TRAINABLE)
