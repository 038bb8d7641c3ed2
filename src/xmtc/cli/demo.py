"""`xmtc demo`: trains on the data set that ships with xmtc and shows what comes out."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from xmtc.cli.output import json_option, print_json, print_table

KINDS = ("most_frequent", "linear_tree", "one_vs_all", "lightxml")
AVERAGED = ("linear_tree", "lightxml")  # if both are shown, so is their average
# For a few minutes on two cores: the first words only, one layer of the encoder is fine-tuned.
SETTINGS: dict[str, dict[str, Any]] = {
    "lightxml": {
        "encoder": {"max_tokens": 24, "trainable_layers": 1},
        "training": {"epochs": 1, "batch_size": 64},
    }
}
DIGITS = {"train s": 1, "ms/text": 3, "MB": 1}  # others 2
SHOWN = ("P@1", "P@3", "P@5", "R@5", "nDCG@5", "PSP@5")
BLOCK = 1024  # test texts between two steps of the progress bar
EXAMPLES = (
    "Desktop calendar and task manager with reminders, written in Python for GNOME",
    "Header files for developing programs that read and write compressed PNG images",
    "Online multiplayer space game with OpenGL graphics and sound",
)


@dataclass(frozen=True)
class DemoRow:
    """A model, its ranking of the test texts, and the seconds that both took."""

    name: str
    model: Any
    ranking: Any
    trained: float
    ranked: float


@click.command("demo")
@click.option("--kind", "kinds", multiple=True, help="Only these kinds; repeatable.")
@json_option
def command(kinds: tuple[str, ...], as_json: bool) -> None:
    """Train on Debian's package descriptions; predict what a package will depend on.

    linear_tree, lightxml and their average (of log odds) side by side; ten minutes on two cores.
    lightxml needs `xmtc[neural]`; without it the linear models are shown, in a minute.
    """
    from xmtc import api, datasets
    from xmtc.core import progress

    if not as_json:
        progress.show_progress(True)
    train, test = datasets.debian()
    chosen = kinds or _possible(KINDS)
    if not as_json:
        click.echo(
            f"{len(train):,} package descriptions to learn from, {len(test):,} to test on, "
            f"{len(train.labels):,} labels: the packages they depend on"
        )
    _compile(chosen, train)
    tried = [_tried(kind, train, test) for kind in chosen]
    if set(AVERAGED) <= set(chosen):
        tried.append(_average([each for each in tried if each.name in AVERAGED]))
    results = {each.name: _figures(each, test) for each in tried}
    if as_json:
        print_json(results)
        return
    columns = list(next(iter(results.values())))
    rows = [
        [kind, *(f"{values[name]:.{DIGITS.get(name, 2)}f}" for name in columns)]
        for kind, values in results.items()
    ]
    print_table(["model", *columns], rows, "Test set, percent; all cores")
    if chosen != (kinds or KINDS):
        click.echo(
            "To see lightxml too, which reads with a pretrained encoder, and the average "
            "with linear_tree: pip install 'xmtc[neural]'\n"
        )
    best = max(tried, key=lambda each: results[each.name]["P@1"])
    for text, named in zip(EXAMPLES, api.predict(best.model, EXAMPLES, k=5), strict=True):
        rows = [[label, f"{score:.3f}"] for label, score in named]
        print_table([text, "score"], rows, f"{best.name} suggests")
    click.echo("Next: put .venv/bin on your path (source .venv/bin/activate), then: xmtc --help")


def _possible(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Those that can be trained with what is installed."""
    from xmtc.core.errors import XmtcError
    from xmtc.neural.encoders.locate import BUNDLED, find
    from xmtc.neural.extra import require_neural

    try:
        require_neural("lightxml")
        find(BUNDLED)
    except XmtcError:
        return tuple(kind for kind in kinds if kind != "lightxml")
    return kinds


def _compile(kinds: tuple[str, ...], train: Any) -> None:
    """Use every kernel once, so that the times shown are those of later runs."""
    from xmtc import api
    from xmtc.core.progress import track

    with track("compiling, once", len(kinds)) as advance:
        for kind in kinds:
            few = train.take(range(32 if kind in SETTINGS else 200))
            api.predict(api.train(kind, few, SETTINGS.get(kind)), train.texts[:2])
            advance(1)


def _tried(kind: str, train: Any, test: Any) -> DemoRow:
    from xmtc import api
    from xmtc.core.ranking import rank_in_blocks
    from xmtc.models import ensemble

    started = time.perf_counter()
    model = api.train(kind, train, SETTINGS.get(kind))
    trained = time.perf_counter()
    deep = ensemble.Config().depth if kind in AVERAGED else 5
    ranking = rank_in_blocks(model.rank, test.texts, deep, f"testing {kind}", BLOCK)
    return DemoRow(kind, model, ranking, trained - started, time.perf_counter() - trained)


def _average(members: list[DemoRow]) -> DemoRow:
    """The ensemble of models that have ranked the test texts: ranking again would take a minute."""
    from xmtc.models import ensemble

    model = ensemble.of([each.model for each in members], ensemble.Config(how="logit"))
    started = time.perf_counter()
    ranking = model.merged([each.ranking for each in members], 5)
    ranked = time.perf_counter() - started + sum(each.ranked for each in members)
    name = " + ".join(each.name for each in members)
    return DemoRow(name, model, ranking, sum(each.trained for each in members), ranked)


def _figures(tried: DemoRow, test: Any) -> dict[str, float]:
    from xmtc import api
    from xmtc.core import store
    from xmtc.evaluation.report import evaluate_ranking

    model = tried.model
    relevant = test.named_in(model.labels).relevant
    metrics = evaluate_ranking(tried.ranking.top(5), relevant, model.trained_on).metrics
    with tempfile.TemporaryDirectory() as folder:
        api.save(model, Path(folder) / "model")
        size = store.size_on_disk(Path(folder) / "model")
    return {
        **{name: round(metrics[name], 2) for name in SHOWN},
        "train s": round(tried.trained, 1),
        "ms/text": round(tried.ranked / len(test) * 1e3, 3),
        "MB": round(size / 1e6, 1),
    }
