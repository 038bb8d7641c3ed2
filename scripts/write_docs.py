"""Writes the generated pages: docs/cli.md, settings tables, the table in README (`make docs`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import click

from xmtc.cli.app import COMMANDS, app
from xmtc.core.config import settings_of
from xmtc.models.catalog import KINDS, RECIPES, module_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import (
    aplc_tables,
    gudn_tables,
    neural_tables,
    plots,
    results_tables,
    tables,
    xbert_tables,
)
from benchmarks.quality import _standing, negatives
from benchmarks.record import Record, records

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "docs" / "models"
HOW_TO = ROOT / "docs" / "how-to"
PLOT = MODELS / "linear_tree_growth.svg"
CURVES = MODELS / "lightxml_curves.svg"
NEGATIVES = MODELS / "lightxml_negatives.svg"
FEATURE_LOSS = MODELS / "gudn_feature_loss.svg"
PARTITIONS = MODELS / "aplc_partitions.svg"
LAYER = MODELS / "aplc_layer.svg"
XBERT_CURVES = MODELS / "xbert_curves.svg"
XBERT_GAINS = MODELS / "xbert_ensembles.svg"
PLAN = HOW_TO / "plan-a-training.md"
RESULTS = ROOT / "docs" / "results.md"
BY_TIME = ROOT / "docs" / "results_training.svg"
BY_LATENCY = ROOT / "docs" / "results_latency.svg"
DECILES = ROOT / "docs" / "results_deciles.svg"
FREQUENCY = ROOT / "docs" / "results_frequency.svg"
IN_SHORT = ROOT / "docs" / "results_in_short.svg"


def main() -> None:
    """Write every page and plot that is not up to date."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    for path, draw in stale_plots().items():
        draw()
        print(f"wrote {path.relative_to(ROOT)}")


def pages() -> dict[Path, str]:
    """What each generated page should say now."""
    return {
        ROOT / "docs" / "cli.md": command_line_page(),
        ROOT / "README.md": _measured(ROOT / "README.md"),
        RESULTS: _measured(RESULTS),
        PLAN: _fill(PLAN.read_text(encoding="utf-8"), "plan", tables.plan(records("memory_plan"))),
        **{
            path: _fill(_measured(path), f"settings: {kind}", settings_table(kind), "settings")
            for path, kind in (
                *((MODELS / f"{kind}.md", kind) for kind in KINDS),
                *((HOW_TO / f"{kind}.md", kind) for kind in RECIPES),
            )
        },
    }


def stale_plots() -> dict[Path, Callable[[], None]]:
    """The plots that have to be drawn anew, and how."""
    growth = records("speed_growth")[:1]
    curves = neural_tables.curves_of(records("quality_lightxml"))
    bars = list(
        neural_tables.newest(
            records("quality_negatives"), list(negatives.VARIANTS.values())
        ).values()
    )
    losses = gudn_tables.curves_of(records("quality_gudn"))
    parts = list(aplc_tables.ablation_cells(records("quality_aplc_ablation")).values())
    layer = records("speed_adaptive")[:1]
    matchers = xbert_tables.curves_of(records("quality_xbert"))
    gains = xbert_tables.bars_of(records("quality_xbert"))
    every: list[tuple[Path, list[Record], Callable[[], None]]] = [
        (PLOT, growth, lambda: plots.draw_growth(growth[0], PLOT)),
        (CURVES, neural_tables.records_of(curves), lambda: plots.draw_curves(curves, CURVES)),
        (NEGATIVES, neural_tables.records_of(bars), lambda: plots.draw_negatives(bars, NEGATIVES)),
        (
            FEATURE_LOSS,
            neural_tables.records_of(losses),
            lambda: plots.draw_feature_loss(losses, FEATURE_LOSS),
        ),
        (
            PARTITIONS,
            neural_tables.records_of(parts),
            lambda: plots.draw_partitions(parts, PARTITIONS),
        ),
        (LAYER, layer, lambda: plots.draw_adaptive(layer[0], LAYER)),
        (
            XBERT_CURVES,
            neural_tables.records_of(matchers),
            lambda: plots.draw_curves(matchers, XBERT_CURVES),
        ),
        (
            XBERT_GAINS,
            neural_tables.records_of([(None, each) for *_, some in gains for each in some]),
            lambda: plots.draw_gains(gains, XBERT_GAINS),
        ),
        *_plots_of_results(),
    ]
    return {
        path: draw
        for path, made_of, draw in every
        if made_of and not plots.is_fresh(path, *made_of)
    }


def _plots_of_results() -> list[tuple[Path, list[Record], Callable[[], None]]]:
    cells = _standing.standing()
    made = results_tables
    every = neural_tables.records_of(list(cells.values()))
    short = made.shown_in_short(cells)
    tenths = neural_tables.records_of(
        [row for some in made.decile_rows(cells).values() for row in some]
    )
    lines = made.decile_lines(cells)
    counts = made.frequencies()
    by_time, by_latency = (made.panels(cells, what) for what in ("train_seconds", "single_p50_ms"))
    one = made.panels(cells, "train_seconds", [row["data"] for _, row, _ in short[:1]])
    time = "training, s"
    latency = "one text, ms"
    return [
        (BY_TIME, every, lambda: plots.draw_fronts(by_time, time, BY_TIME, every)),
        (BY_LATENCY, every, lambda: plots.draw_fronts(by_latency, latency, BY_LATENCY, every)),
        (IN_SHORT, every if one else [], lambda: plots.draw_fronts(one, time, IN_SHORT, every)),
        (DECILES, tenths, lambda: plots.draw_deciles(lines, DECILES, tenths)),
        (
            FREQUENCY,
            neural_tables.records_of(counts),
            lambda: plots.draw_frequencies(counts, FREQUENCY),
        ),
    ]


def _measured(path: Path) -> str:
    """The page with the tables of its measurements."""
    page = path.read_text(encoding="utf-8")
    newest = records
    if path.name == "README.md":
        plot, more = (str(each.relative_to(ROOT)) for each in (IN_SHORT, RESULTS))
        text = results_tables.in_short(_standing.standing(), plot, more)
        page = _fill(page, "results", text)
        return _fill(page, "demo table", tables.demo(newest("quality_demo")))
    if path == RESULTS:
        cells = _standing.standing()
        names = (BY_TIME, BY_LATENCY, DECILES, FREQUENCY)
        page = _fill(page, "plots", results_tables.plots_of(cells, *(each.name for each in names)))
        page = _fill(page, "in sum", results_tables.in_sum(cells))
        return _fill(page, "results", results_tables.page(cells))
    if path.stem == "linear_tree":
        page = _fill(page, "peers", tables.peers(newest("quality_linear_tree")))
        page = _fill(page, "growth", tables.growth(newest("speed_growth"), PLOT.name))
        page = _fill(page, "clustering", tables.clustering(newest("speed_clustering")))
    if path.stem == "lightxml":
        peers = neural_tables.beside_peers(newest("quality_lightxml"), CURVES.name)
        static = neural_tables.static_beside_dynamic(newest("quality_negatives"), NEGATIVES.name)
        page = _fill(page, "peers", peers)
        page = _fill(page, "negatives", static)
        page = _fill(page, "speed", neural_tables.training_speed(newest("speed_neural_training")))
        page = _fill(page, "labels", neural_tables.many_labels(newest("memory_lightxml_rust")))
    if path.stem == "gudn":
        page = _fill(page, "guides", gudn_tables.guides(newest("quality_gudn"), FEATURE_LOSS.name))
        page = _fill(page, "new labels", gudn_tables.unseen(newest("quality_new_labels")))
        page = _fill(page, "costs", gudn_tables.costs(newest("speed_gudn")))
    if path.stem == "aplc":
        page = _fill(page, "peers", aplc_tables.beside_others(newest("quality_aplc")))
        ablation = aplc_tables.partitions(newest("quality_aplc_ablation"), PARTITIONS.name)
        page = _fill(page, "partitions", ablation)
        page = _fill(page, "layer", aplc_tables.layer(newest("speed_adaptive"), LAYER.name))
        page = _fill(page, "labels", aplc_tables.many_labels(newest("memory_aplc_rust")))
    if path.stem == "xbert":
        found = newest("quality_xbert")
        page = _fill(page, "stages", xbert_tables.stages(found, XBERT_CURVES.name))
        page = _fill(page, "others", xbert_tables.beside_others(found))
        page = _fill(page, "ensembles", xbert_tables.ensembles(found, XBERT_GAINS.name))
    if path.stem == "xr_transformer":
        page = _fill(page, "peers", neural_tables.xr_beside_peers(newest("quality_xr_transformer")))
    if path.stem == "auto":
        page = _fill(page, "auto", neural_tables.auto_beside_linear_tree(_standing.standing()))
    return page


def command_line_page() -> str:
    """The help of every command."""
    parts = ["# The command line\n", "Written by `make docs` from `xmtc --help`.\n"]
    for path, command in _commands():
        title = " ".join(["xmtc", *path])
        context = click.Context(
            command, info_name=title, terminal_width=80, help_option_names=["-h", "--help"]
        )
        parts.append(f"## {title}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def settings_table(kind: str) -> str:
    """Name, default and meaning of each setting of a kind; of a recipe, not those of its kinds."""
    rows = [
        row
        for row in settings_of(module_of(kind).Config())
        if kind in KINDS or row.name.partition(".")[0] not in KINDS
    ]
    if not rows:
        return "There is nothing to set."
    lines = ["| setting | type | default | what it does |", "|---|---|---|---|"]
    for row in rows:
        type_name = row.type.replace("|", "or")
        lines.append(f"| `{row.name}` | {type_name} | {row.default} | {row.about} |")
    return "\n".join(lines)


def _commands() -> list[tuple[list[str], click.Command]]:
    context = click.Context(app)
    found: list[tuple[list[str], click.Command]] = [([], app)]
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        found.append(([name], command))
        if isinstance(command, click.Group):
            found += [([name, inner], part) for inner, part in command.commands.items()]
    return found


def _fill(page: str, mark: str, text: str, end: str | None = None) -> str:
    """The page with what stands between its marks replaced."""
    pattern = rf"(<!-- {re.escape(mark)}[^\n]*-->\n).*?(<!-- /{re.escape(end or mark)} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise SystemExit(f"a page lacks the marks <!-- {mark} --> and <!-- /{end or mark} -->")
    body = f"{text}\n" if text else ""
    return re.sub(pattern, lambda match: match[1] + body + match[2], page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
