"""`xmtc train KIND DATA --out FOLDER`"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import click

from xmtc.cli.data_options import about, read, reading_options, source
from xmtc.cli.model_options import memory_option, minutes_option, model_settings, setting_options
from xmtc.cli.output import counted, json_option, megabytes, print_json, print_table, seconds
from xmtc.cli.plan import described
from xmtc.models.catalog import TRAINABLE


@click.command("train")
@click.argument("kind", metavar="KIND")
@click.argument("data", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder for the model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@setting_options
@click.option("--validation", type=click.Path(), help="A validation set: labelled texts.")
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
    preset: str | None,
    config_file: str | None,
    pairs: tuple[str, ...],
    validation: str | None,
    memory: float | None,
    minutes: float | None,
    split: str,
    as_json: bool,
    **reading: Any,
) -> None:
    """Train a model of KIND on DATA, a file or folder of labelled texts, and save it.

    `xmtc settings KIND` lists the settings, `xmtc presets` published ones; --config wins over
    --preset, --set over both. With --memory or --minutes, settings of linear kinds are changed
    until they fit; KIND auto tries several kinds within --minutes and returns the best on held-out
    texts, never worse there than linear_tree. --validation names a file, or a folder with a
    validation part, that is used instead of held-out texts of DATA, e.g. to select the best
    checkpoint (the options of reading apply to both). Neural kinds write checkpoints, a log and
    curves to FOLDER.run: a training that was killed continues when the same command is run again.
    """
    from xmtc import api
    from xmtc import plan as make_plan
    from xmtc.core import store
    from xmtc.core.run import Run

    kind, settings = model_settings(kind, preset, config_file, pairs)  # before the long work
    store.check_target(out, overwrite)
    if validation is not None:
        api.check_uses_validation(kind)
    dataset = read(data, split, **reading)
    if validation is not None:
        validation_set = read(validation, "validation", **reading)
        with about(validation):
            dataset = dataset.with_validation(validation_set)
    if minutes is not None and hasattr(settings, "minutes"):  # auto keeps to them by itself
        settings = replace(settings, minutes=minutes)
    elif memory is not None or minutes is not None:
        plan = make_plan(kind, dataset, settings, memory=memory, minutes=minutes)
        click.echo(described(plan), err=True)
        settings = plan.settings
    run = Run.at(f"{out}.run")
    started = time.perf_counter()
    try:
        model = api.train(kind, dataset, settings, run=f"{out}.run")
    except KeyboardInterrupt:
        if run.unfinished():
            click.echo(f"Run the same command again to continue from {out}.run", err=True)
        raise
    duration = time.perf_counter() - started
    if os.environ.get("RANK", "0") != "0":
        return  # torchrun: every process has the model, the first one saves it
    model = api.remember(model, [source(data, dataset, split, **reading)])
    api.save(model, out, overwrite)
    run.tidy()
    _report(model, out, len(dataset), duration, as_json)


def _report(model: Any, out: str, texts: int, duration: float, as_json: bool) -> None:
    from xmtc.core import store
    from xmtc.models.auto import tried

    size = store.size_on_disk(out)
    outcome = tried.read(f"{out}.run")
    if as_json:
        print_json(
            {
                "kind": model.kind,
                "folder": out,
                "texts": texts,
                "labels": len(model.labels),
                "seconds": round(duration, 3),
                "bytes": size,
                **outcome,
            }
        )
        return
    if outcome:
        print_table(tried.COLUMNS, tried.table(outcome), words=2)
        click.echo(outcome["why"])
    click.echo(
        f"Trained {model.kind} on {counted(texts, 'text')} with "
        f"{counted(len(model.labels), 'label')} in {seconds(duration)}; saved {megabytes(size)} "
        f"to {out}"
    )


command.epilog = "Kinds: " + ", ".join(TRAINABLE)
