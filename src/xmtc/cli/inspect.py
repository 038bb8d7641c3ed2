"""`xmtc inspect MODEL`"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from xmtc.cli.output import counted, json_option, megabytes, print_json, print_table


@click.command("inspect")
@click.argument("model", type=click.Path())
@click.option("--top", default=10, show_default=True, help="How many frequent labels to show.")
@json_option
def command(model: str, top: int, as_json: bool) -> None:
    """Show what is in the folder MODEL: its kind, settings, labels and arrays."""
    from xmtc import api
    from xmtc.core import store

    loaded = api.load(model)  # so that what we show is known to be sound
    manifest = store.read_manifest(model)
    counts = loaded.trained_on.label_counts
    frequent = [
        {"label": loaded.labels.names[label], "texts": int(counts[label])}
        for label in np.argsort(-counts, kind="stable")[:top]
    ]
    summary = {
        "folder": model,
        "kind": manifest["kind"],
        "library": manifest["library"],
        "format": manifest["format"],
        "texts": manifest["texts"],
        "labels": manifest["labels"],
        "bytes": store.size_on_disk(model),
        "settings": manifest["settings"],
        "sources": manifest.get("sources", []),
        "arrays": manifest["arrays"],
        "frequent_labels": frequent,
    }
    if as_json:
        print_json(summary)
    else:
        _print(summary)


def _print(summary: dict[str, Any]) -> None:
    click.echo(
        f"{summary['folder']}: {summary['kind']}, trained on {counted(summary['texts'], 'text')} "
        f"with {counted(summary['labels'], 'label')}; {megabytes(summary['bytes'])}, xmtc "
        f"{summary['library']}"
    )
    for source in summary["sources"]:
        click.echo(f"trained on {_value(source)}")
    settings = [[name, _value(value)] for name, value in _flat(summary["settings"])]
    print_table(["setting", "value"], settings, "Settings", words=2)
    arrays = [
        [name, entry["dtype"], " x ".join(f"{size:,}" for size in entry["shape"])]
        for name, entry in summary["arrays"].items()
    ]
    print_table(["array", "type", "shape"], arrays, "Arrays", words=2)
    labels = [[entry["label"], f"{entry['texts']:,}"] for entry in summary["frequent_labels"]]
    print_table(["label", "texts"], labels, "Most frequent labels")


def _value(value: Any) -> str:
    """A setting as it is given on the command line; of training data where it was."""
    if isinstance(value, list):
        return ",".join(map(_value, value)) or "none"
    if isinstance(value, dict):
        return f"{value['path']} ({counted(value['texts'], 'text')})"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat = []
    for name, value in settings.items():
        nested = isinstance(value, dict)
        flat += _flat(value, f"{prefix}{name}.") if nested else [(prefix + name, value)]
    return flat
