"""`xmtc update MODEL MORE --train OLD --out FOLDER`"""

from __future__ import annotations

import time
from typing import Any

import click

from xmtc.cli.reading import read, reading_options
from xmtc.cli.show import json_option, print_json, seconds


@click.command("update")
@click.argument("model", type=click.Path())
@click.argument("more", type=click.Path())
@click.option("--train", "old", required=True, type=click.Path(),
              help="The data that MODEL was trained on.")  # fmt: skip
@click.option("--out", required=True, type=click.Path(), help="Folder for the new model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@reading_options
@json_option
def command(
    model: str, more: str, old: str, out: str, overwrite: bool, as_json: bool, **reading: Any
) -> None:
    """Teach a linear_tree the labelled texts in MORE; only what they touch is trained again.

    The vocabulary and the tree stay; new labels are added. A model holds no texts, so its training
    data is read again.
    """
    from xmtc.core import store
    from xmtc.models import api
    from xmtc.models.incremental import update

    loaded = api.load(model)
    store.check_target(out, overwrite)
    before, after = read(old, "train", **reading), read(more, "train", **reading)
    started = time.perf_counter()
    updated = update(loaded, before, after)
    duration = time.perf_counter() - started
    api.save(updated, out, overwrite)
    added = len(updated.labels) - len(loaded.labels)
    if as_json:
        print_json({"folder": out, "texts": updated.trained_on.texts, "new_labels": added,
                    "labels": len(updated.labels), "seconds": round(duration, 3)})  # fmt: skip
    else:
        click.echo(f"Learned {len(after):,} more texts and {added:,} new labels in "
                   f"{seconds(duration)}; saved to {out}")  # fmt: skip
