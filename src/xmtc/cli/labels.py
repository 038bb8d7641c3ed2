"""`xmtc labels add MODEL --out FOLDER` and `xmtc labels remove MODEL NAME... --out FOLDER`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.output import counted, json_option, print_json
from xmtc.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from xmtc.core.interfaces import Model


@click.group("labels")
def command() -> None:
    """Add labels to a linear_tree or a gudn, or remove some of a linear_tree's."""


@command.command("add")
@click.argument("model", type=click.Path())
@click.option("--examples", type=click.Path(), help="Texts that carry the new labels.")
@click.option("--texts", type=click.Path(), help="What the new labels say, as in docs/formats.md.")
@click.option("--out", required=True, type=click.Path(), help="Folder for the new model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@reading_options
@json_option
def add(
    model: str,
    examples: str | None,
    texts: str | None,
    out: str,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Add the labels that MODEL lacks, learned from a few examples or from their own texts.

    TEXTS is a file of {"label": ..., "text": ...} lines, or of lines name<TAB>text (.tsv).
    """
    from xmtc import add_labels, api
    from xmtc.core import store

    if not examples and not texts:
        raise ConfigError("say where the new labels are: --examples FILE, --texts FILE, or both.")
    store.check_target(out, overwrite)
    loaded = api.load(model)
    shown = read(examples, **reading) if examples else None
    wider = add_labels(loaded, shown, _texts(texts) if texts else None)
    _save(wider, out, overwrite, as_json, len(loaded.labels))


@command.command("remove")
@click.argument("model", type=click.Path())
@click.argument("names", nargs=-1, required=True)
@click.option("--out", required=True, type=click.Path(), help="Folder for the new model.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is already there.")
@json_option
def remove(model: str, names: tuple[str, ...], out: str, overwrite: bool, as_json: bool) -> None:
    """Remove the labels NAMES from MODEL."""
    from xmtc import api, remove_labels
    from xmtc.core import store

    store.check_target(out, overwrite)
    loaded = api.load(model)
    _save(remove_labels(loaded, names), out, overwrite, as_json, len(loaded.labels))


def _texts(path: str) -> dict[str, str]:
    from xmtc.data.label_file import read_label_file

    file = read_label_file(path)
    texts = dict(zip(file.names, file.texts, strict=True)) if file.names else {}
    if not texts:
        raise DataError(
            f'{path} names no labels. Write lines like {{"label": ..., "text": ...}} in a .jsonl '
            "file, or name<TAB>text in a .tsv file."
        )
    return texts


def _save(model: Model, out: str, overwrite: bool, as_json: bool, before: int) -> None:
    from xmtc import api

    api.save(model, out, overwrite)
    change = len(model.labels) - before
    if as_json:
        print_json({"folder": out, "labels": len(model.labels), "change": change})
    else:
        did = "Added" if change > 0 else "Removed"
        click.echo(
            f"{did} {counted(abs(change), 'label')}, now {len(model.labels):,}; saved to {out}"
        )
