"""`xmtc demo`: trains on the data set that ships with xmtc and shows what comes out."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import click

from xmtc.cli.show import json_option, print_json, print_table

KINDS = ("most_frequent", "linear_tree", "one_vs_all")
DIGITS = {"train s": 1, "ms/text": 3, "MB": 1}  # others 2
SHOWN = ("P@1", "P@3", "P@5", "R@5", "nDCG@5", "PSP@5")
EXAMPLES = (
    "Desktop calendar and task manager with reminders, written in Python for GNOME",
    "Header files for developing programs that read and write compressed PNG images",
    "Online multiplayer space game with OpenGL graphics and sound",
)


@click.command("demo")
@click.option("--kind", "kinds", multiple=True, help="Only these kinds; repeatable.")
@json_option
def command(kinds: tuple[str, ...], as_json: bool) -> None:
    """Train on Debian's package descriptions; predict what a package will depend on."""
    from xmtc import datasets
    from xmtc.core import progress

    if not as_json:
        progress.show(True)
    train, test = datasets.debian()
    if not as_json:
        click.echo(f"{len(train):,} package descriptions to learn from, {len(test):,} to test on, "
                   f"{len(train.labels):,} labels: the packages they depend on")  # fmt: skip
    _compile(kinds or KINDS, train)
    results, models = {}, {}
    for kind in kinds or KINDS:
        models[kind], results[kind] = _measure(kind, train, test)
    if as_json:
        print_json(results)
        return
    _print_results(results)
    best = max(results, key=lambda kind: results[kind]["P@1"])
    _print_examples(best, models[best])
    click.echo("Next: put .venv/bin on your path (source .venv/bin/activate), then: xmtc --help")


def _compile(kinds: tuple[str, ...], train: Any) -> None:
    """Use every kernel once, so that the times shown are those of later runs."""
    from xmtc.core.progress import step
    from xmtc.models import api

    with step("compiling, once") as advance:
        for kind in kinds:
            api.predict(api.train(kind, train.take(range(200))), train.texts[:2])
            advance(1)


def _measure(kind: str, train: Any, test: Any) -> tuple[Any, dict[str, float]]:
    from xmtc.core import store
    from xmtc.models import api

    started = time.perf_counter()
    model = api.train(kind, train)
    trained = time.perf_counter()
    report = api.evaluate(model, test)
    ranked = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        api.save(model, Path(folder) / "model")
        size = store.size_on_disk(Path(folder) / "model")
    return model, {
        **{name: round(report.metrics[name], 2) for name in SHOWN},
        "train s": round(trained - started, 1),
        "ms/text": round((ranked - trained) / len(test) * 1e3, 3),
        "MB": round(size / 1e6, 1),
    }


def _print_results(results: dict[str, dict[str, float]]) -> None:
    columns = list(next(iter(results.values())))
    rows = [
        [kind, *(f"{values[name]:.{DIGITS.get(name, 2)}f}" for name in columns)]
        for kind, values in results.items()
    ]
    print_table(["model", *columns], rows, "Test set, percent; all cores")


def _print_examples(kind: str, model: Any) -> None:
    from xmtc.models import api

    for text, named in zip(EXAMPLES, api.predict(model, EXAMPLES, k=5), strict=True):
        print_table([text, "score"], [[name, f"{score:.3f}"] for name, score in named],
                    f"{kind} suggests")  # fmt: skip
