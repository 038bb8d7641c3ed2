"""Tables from records: templates, claims, the row that stands; where figures come from."""

from __future__ import annotations

import json
import math
import re
import shlex
from functools import partial

import pytest
from benchmarks import pages, results_page, runner, standing
from benchmarks.__main__ import parser
from benchmarks.catalog import EXPERIMENTS
from benchmarks.experiment import Options, Result
from benchmarks.record import records
from benchmarks.render import (
    Column,
    caption,
    captions,
    filled,
    recorded_results,
    results_table,
    short,
    table,
)
from hypothesis import given
from hypothesis import strategies as st

MACHINE = {"cores": 2, "cpu": "Abacus", "ram_gb": 8}


def row(key="linear_tree", data="eurlex4k-proxy", p5=50.0, **figures):
    return {
        "data": data,
        "key": key,
        "system": key,
        **{"threads": 2, "train_seconds": 90.0, "single_p50_ms": 12.0, "nDCG@5": 60.0},
        **{"model_mb": 90.0, "peak_mb": 900.0},
        **{f"{name}@{k}": p5 for name in ("P", "PSP") for k in (1, 3, 5)},
        **figures,
    }


def record(*rows, **changes):
    return {
        "benchmark": "quality_results",
        "measurements": list(rows),
        "machine": MACHINE,
        "command": "python -m benchmarks quality_results",
        "seed": 0,
        "commit": "0123456789ab",
        "date": "2026-01-02T03:04:05+00:00",
        **{"dirty": False, "options": {"subset": None}, "claims": []},
        **changes,
    }


def written(folder, name, *records):
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{x:time}", 59.0, "59 s"),
        ("{x:time}", 90.0, "1.5 min"),
        ("{x:.1f}/{x:.0f}", 70.16, "70.2/70"),
        ("{x}", 12_345.6, "12,346"),
        ("{x:.0%}", 1 / 3, "33%"),
        ("{x:text} {x:last}", "a | b", "a \\| b b"),
        ("{x:g?}", 0, None),
        ("{not there}", 0, None),
    ],
)
def test_a_template_is_filled_with_figures(template, value, text):
    assert filled(template, {"x": value}) == text


@given(st.floats(1e-3, 1e7))
def test_short_numbers_keep_their_value(value):
    assert math.isclose(float(short(value).replace(",", "")), value, rel_tol=0.006)


def test_a_table_leaves_out_repeats_and_columns_without_values():
    columns = [Column("set", "{data:text}"), Column("none", "{none}"), Column("P", "{P@1:g}")]
    rows = [{"data": "a", "P@1": 1}, {"data": "a", "P@1": 2}, {"data": "b"}]
    shown = table(columns, rows, merged=True)
    assert shown == "| set | P |\n|---|---|\n| a | 1 |\n|  | 2 |\n| b |  |"


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()),
        unique_by=lambda item: item[:2],
        min_size=1,
    )
)
def test_the_table_of_claims_says_of_each_whether_it_holds(items):
    text = results_table([Result(f"{s}: {aim}", holds, 1.5) for s, aim, holds in items])
    assert text.count("1.50 holds") == sum(holds for *_, holds in items)
    assert text.count("1.50 **fails**") == sum(not holds for *_, holds in items)
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_of_claims_in_several_records_the_newest_counts():
    old = {"sentence": "a: it is so", "holds": True, "figure": 1.0}
    new = {**old, "figure": 2.0}
    found = [record(claims=[old], date="2026-01-01"), record(claims=[new], date="2026-02-01")]
    assert recorded_results(found) == [Result(**new)]


def test_a_caption_has_command_commit_machine_and_seed():
    assert caption(record()) == (
        "*`python -m benchmarks quality_results`, commit 012345678, 2 cores of Abacus, seed 0.*"
    )


def test_an_archived_record_says_so_and_commands_of_several_systems_are_one():
    archived = record(benchmark="toys", command="python toys.py --all", again="not shown")
    assert caption(archived).startswith("*recorded at commit 012345678 with `python toys.py` (arch")
    command = "python -m benchmarks toys --systems {} --threads 1"
    found = [record(command=command.format(keys)) for keys in ("a-1", "b", "a-1 c")]
    assert captions(found).startswith("*`python -m benchmarks toys --systems a-1 b c --threads 1`")
    assert "\n" not in captions(found)


COMMAND = re.compile(r"`(python (?:-m )?benchmarks[^`]*)`")


def test_every_caption_names_a_command_that_runs_or_is_archived():
    texts = pages.texts().values()
    found = {line: COMMAND.search(line) for text in texts for line in text.splitlines()}
    commands = {line: match[1] for line, match in found.items() if match}
    assert len(commands) > 50
    for line, command in commands.items():
        if "(archived)" not in line:
            words = shlex.split(command)
            assert words[:3] == ["python", "-m", "benchmarks"]
            asked = parser().parse_args(words[3:])
            options = Options(data=tuple(asked.data), systems=tuple(asked.systems))
            assert runner.cells_of(EXPERIMENTS[asked.experiment], options)


def test_the_newest_row_of_each_cell_is_shown(tmp_path, monkeypatch):
    found = [record(row(train_seconds=77.0)), record(row(), row("x")), record(row(), dirty=True)]
    written(tmp_path, "toys", *found)
    monkeypatch.setattr(pages, "records", partial(records, folder=tmp_path))
    columns = (Column("system", "{system:text}"), Column("training", "{train_seconds:time}"))
    shown = pages.Table("page.md", "mark", "toys", columns, systems=("linear_tree", "x"))
    cells = shown.cells()
    assert [cell[0]["system"] for cell in cells] == ["linear_tree", "x"]
    assert "| linear_tree | 1.5 min |" in shown.text(cells)
    empty = pages.Table("page.md", "mark", "dolls", columns)
    assert pages.part([empty]) == "*Not measured yet: `python -m benchmarks dolls`.*"


def test_rows_may_be_compared_with_a_system():
    first, second = pages.compared([row("base", p5=40.0), row("better", p5=50.0)], "base")
    assert first.get("P@5 above", second["P@5 above"]) == 10.0
    assert second["P@5 percent"] == pytest.approx(25.0)


FIRST = {"threads": 2, "minutes": 30.0, "date": "2026-01-01"}


@pytest.mark.parametrize(
    ("key", "worse", "better"),
    [
        ("lightxml", {"failed": "OOM", "date": "2026-09-01"}, {}),
        ("pecos", {"text": {"min_df": 2}, "date": "2026-09-01"}, {"text": {"min_df": 1}}),
        ("lightxml", {"threads": 1, "date": "2026-09-01"}, {}),
        ("lightxml", {"minutes": 20.0, "date": "2026-09-01"}, {}),
        ("lightxml", {"minutes": 90.0, "date": "2026-09-01"}, {}),
        ("xbert-1", {"date": "2026-01-01"}, {"minutes": 1.0, "date": "2026-09-01"}),
    ],
)
def test_the_row_that_stands_is_decided_by_the_documented_order(tmp_path, key, worse, better):
    found = []
    for p5, changes in ((40.0, worse), (60.0, better)):
        values = {**FIRST, **changes}
        date = values.pop("date")
        found.append(record(row(key, p5=p5, **values), date=date))
    for order in (found, found[::-1]):
        written(tmp_path, "quality_results", *order)
        cells = standing.standing(tmp_path)
        assert cells["eurlex4k-proxy", key][0]["P@5"] == 60.0


def test_rows_of_other_experiments_count_under_their_key(tmp_path):
    written(tmp_path, "quality_linear_tree", record(row("pecos-3"), row("xmtc-3")))
    written(tmp_path, "quality_lightxml", record(row("learned"), row("lightxml, int8")))
    keys = {key for _, key in standing.standing(tmp_path)}
    assert keys == {"pecos-3", "linear_tree-3", "learned"}


def test_cells_without_a_row_in_as_many_threads_are_missing(tmp_path):
    rows = [row(), row("one_vs_all", threads=1), row("sklearn", failed="> 60 min")]
    written(tmp_path, "quality_results", *map(record, [*rows, row("pecos", failed="it broke")]))
    measured = {key for _, key in standing.measured_cells(Options(), tmp_path)}
    assert measured == {"linear_tree", "sklearn"}


def test_the_results_have_tables_notes_claims_and_sources():
    law = {"data": "eurlex57k"}
    cells = {
        ("eurlex57k", "linear_tree"): (row(threads=1, **law), record()),
        ("eurlex57k", "sklearn"): (row("sklearn", fit_seconds=1.0, p5=40.0, **law), record()),
        ("eurlex57k", "fasttext"): (row("fasttext", failed="> 60 min", **law), record()),
        ("eurlex57k", "xrt"): (row("xrt", p5=30.0, **law), record(benchmark="quality_lightxml")),
    }
    text = results_page.results(cells)
    assert "| `linear_tree` | 50.0 |" in text
    assert "90 s ¹" not in text
    assert "1.5 min ¹" in text
    assert "scikit-learn one-vs-rest °" in text
    assert "> 60 min" in text
    assert "*published: BERT-base*" in text
    assert "P@5 of our best single model above every peer's (points) | 10.00 holds |" in text
    assert "PECOS XR-Transformer (eurlex57k): *recorded at commit 012345678" in text
    assert "Not measured yet" in text
