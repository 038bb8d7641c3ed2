"""`xmtc update MODEL MORE --out FOLDER`"""

from __future__ import annotations

import time
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from xmtc.cli.data_options import read, reading_options, source
from xmtc.cli.output import counted, json_option, print_json, seconds

if TYPE_CHECKING:
    from xmtc import Dataset
    from xmtc.core.provenance import Provenance


@click.command("update")
@click.argument("model", type=click.Path())
@click.argument("more", type=click.Path())
@click.option(
    "--train",
    "old",
    multiple=True,
    type=click.Path(),
    help="The data that MODEL was trained on, if it is not where it was; repeatable.",
)
@click.option("--out", required=True, type=click.Path(), help="Folder for the new model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@reading_options
@json_option
def command(
    model: str,
    more: str,
    old: tuple[str, ...],
    out: str,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Train a linear_tree on the labelled texts in MORE; only what they touch is trained again.

    The vocabulary and the tree stay; new labels are added. A model holds no texts, so its training
    data is read again from where it was.
    """
    from xmtc import api, update
    from xmtc.core import store

    loaded = api.load(model)
    store.check_target(out, overwrite)
    before, sources = _trained_on(loaded.trained_on.sources, old, reading)
    after = read(more, **reading)
    started = time.perf_counter()
    updated = update(loaded, before, after)
    duration = time.perf_counter() - started
    knowing = api.remember(updated, [*sources, source(more, after, **reading)])
    api.save(knowing, out, overwrite)
    added = len(updated.labels) - len(loaded.labels)
    if as_json:
        print_json(
            {
                "folder": out,
                "texts": updated.trained_on.texts,
                "new_labels": added,
                "labels": len(updated.labels),
                "seconds": round(duration, 3),
            }
        )
    else:
        what = f"{counted(len(after), 'more text')} and {counted(added, 'new label')}"
        click.echo(f"Trained on {what} in {seconds(duration)}; saved to {out}")


def _trained_on(
    known: tuple[Provenance, ...], given: tuple[str, ...], reading: dict[str, Any]
) -> tuple[Dataset, list[Provenance]]:
    """The old texts: those given, or else from where the model says that they are."""
    from xmtc.core.dataset import Dataset
    from xmtc.data.training_sources import check_same, read_again

    if not given:
        return read_again(known), list(known)
    parts = [read(path, **reading) for path in given]
    sources = [source(path, part, **reading) for path, part in zip(given, parts, strict=True)]
    check_same(known, sources)
    return reduce(Dataset.concat, parts), sources
