"""The comparison of all systems: which cells count, which are left, what became of them; tables."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import plots, results_tables
from benchmarks.kit import BenchmarkError, Options
from benchmarks.peers.ask import PeerFailed
from benchmarks.process import Killed, TooSlow, alone
from benchmarks.quality import (
    _cells,
    _standing,
    label_frequency,
    leads,
    linear_tree,
    metrics_check,
    results,
)
from benchmarks.quality._figures import deciles, quality_of
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.test_run import run, runner
from tests.benchmarks.test_tables import claim, record

import xmtc
from xmtc import Ranking
from xmtc.core.arrays import as_csr
from xmtc.core.dataset import TrainedOn
from xmtc.data.planted import planted
from xmtc.models.auto import search as auto
from xmtc.text.tfidf import TfidfConfig

TODAY = {"linear_tree": _cells.defaults("linear_tree")}


def row(key="linear_tree", data="eurlex4k-proxy", p5=50.0, **figures):
    return {
        "data": data,
        "key": key,
        "system": results.SYSTEMS[key].title,
        "train_seconds": 90.0,
        "single_p50_ms": 12.0,
        "model_mb": 90.0,
        "peak_mb": 900.0,
        "nDCG@5": 60.0,
        "PSP@5": 40.0,
        "P@1": 80.0,
        "P@3": 70.0,
        "P@5": p5,
        "intervals": {},
        "text": {},
        **figures,
    }


def written(folder, **files):
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def own(*rows, **changes):
    return record(*rows, benchmark="quality results", **changes)


def test_rows_of_every_benchmark_count_and_the_newest_wins(tmp_path):
    tree = {"data": "rust-prs", "system": "PECOS XR-Linear", "trees": 3, "P@5": 16.0}
    light = {"data": "eurlex4k-proxy", "system": "lightxml", "P@5": 58.0}
    old = {"system": "xmtc", "P@5": 62.0}  # of one_vs_all, which has one data set
    dirty = {"data": "debian-deps", "system": "lightxml", "P@5": 1.0, "trained_dirty": True}
    cells = _standing.standing(
        written(
            tmp_path,
            quality_linear_tree=[record(tree)],
            quality_one_vs_all=[record(old)],
            quality_lightxml=[record(light, dirty), record({**light, "P@5": 59.0}, date="2026-02")],
        )
    )
    assert {cell: found["P@5"] for cell, (found, _) in cells.items()} == {
        ("rust-prs", "pecos-3"): 16.0,
        ("eurlex4k-proxy", "one_vs_all"): 62.0,
        ("eurlex4k-proxy", "lightxml"): 59.0,
    }


def test_a_row_with_the_settings_of_today_comes_before_a_newer_one_without(tmp_path):
    lines = [own(row(defaults=TODAY), date="2026-01"), own(row(p5=1.0), date="2026-02")]
    cells = _standing.standing(written(tmp_path, quality_results=lines))
    assert cells["eurlex4k-proxy", "linear_tree"][0]["P@5"] == 50.0
    assert _standing.same_defaults(row(defaults=TODAY))
    assert not _standing.same_defaults(row(defaults={"linear_tree": {"beam": 1}}))
    for names, same in ((["linear_tree", "one_vs_all"], False), (list(auto.LINEAR), True)):
        tried = [{"name": name} for name in names]
        assert _standing.same_defaults(row("auto", defaults=TODAY, tried=tried)) == same
    usual = _cells.defaults("auto")
    other = {**usual["xr_transformer"], "flat_up_to": 7}  # matters where labels are few
    changed = {"auto": {**usual, "xr_transformer": other}}
    for labels, same in ((5000, False), (5001, True)):
        assert _standing.same_defaults(row("auto", defaults=changed, labels=labels)) == same


def test_a_row_from_before_a_setting_that_does_nothing_by_default_still_counts():
    def counts(**changes) -> bool:
        settings = _cells.defaults("lightxml")
        training = {**settings["training"], **changes}
        for name in [name for name, value in changes.items() if value is None]:
            del training[name]
        return _standing.same_defaults(
            row("lightxml", defaults={"lightxml": {**settings, "training": training}})
        )

    assert counts() and counts(head_last_epochs=None, head_last_rate=None)
    assert not counts(head_last_epochs=1)
    assert not counts(head_epochs=None)


@pytest.mark.parametrize(
    ("key", "changes", "fit"),
    [
        ("linear_tree", {"defaults": TODAY}, True),
        ("linear_tree", {}, False),
        ("pecos", {}, True),
        ("pecos", {"failed": "> 60 min"}, True),
        ("pecos", {"failed": "OOM"}, True),
        ("pecos", {"failed": "ImportError: half of it is not installed"}, False),
        ("xrt", {"minutes": 30.0}, True),
        ("xrt", {"minutes": 20.0}, False),
        ("xbert-1", {"defaults": {"xbert": _cells.defaults("xbert")}}, True),  # has no clock
        ("pecos", {"threads": 1}, False),
        ("pecos", {"threads": 2}, True),
        ("auto", {"minutes": 60.0, "defaults": {"auto": _cells.defaults("auto")}}, True),
    ],
)
def test_what_is_measured_with_other_settings_or_minutes_is_measured_again(key, changes, fit):
    options = Options(minutes=30.0)
    assert results.is_fit(key, row(key, **changes), own(), options) is fit


@pytest.mark.parametrize("figure", ["single_p50_ms", "model_mb", "intervals"])
def test_a_row_that_lacks_a_figure_is_measured_again(figure):
    lacking = row("pecos")
    del lacking[figure]
    assert not results.is_fit("pecos", lacking, own(), Options())


def test_a_failure_or_fewer_minutes_do_not_hide_an_older_row(tmp_path):
    usual = {"threads": 2, "minutes": 30}
    worse = [
        row("xrt", p5=1.0, **{**usual, **change})
        for change in ({"failed": "OOM"}, {"threads": 1}, {"minutes": 5}, {"minutes": 45})
    ]
    lines = [
        own(row("xrt", **usual), date="2026-01"),
        *(own(each, date="2026-02") for each in worse),
    ]
    cells = _standing.standing(written(tmp_path, quality_results=lines))
    assert cells["eurlex4k-proxy", "xrt"][0]["P@5"] == 50.0


def test_of_two_failures_the_one_with_our_features_counts(tmp_path):
    ours = row("pecos", failed="> 60 min", threads=1)
    fewer = {**row("pecos", failed="> 2 min", threads=2), "text": {"min_df": 2}}
    lines = [own(ours, date="2026-01"), own(fewer, date="2026-02")]
    cells = _standing.standing(written(tmp_path, quality_results=lines))
    assert cells["eurlex4k-proxy", "pecos"][0]["failed"] == "> 60 min"


def test_minutes_of_a_benchmark_say_nothing_of_its_linear_rows(tmp_path):
    lines = [own(row(p5=40.0, minutes=30), date="2026-01"), own(row(), date="2026-02")]
    cells = _standing.standing(written(tmp_path, quality_results=lines))
    assert cells["eurlex4k-proxy", "linear_tree"][0]["P@5"] == 50.0


def test_a_failure_elsewhere_may_have_had_a_shorter_limit():
    elsewhere = record(benchmark="quality linear_tree")
    assert not results.is_fit("pecos", row("pecos", failed="> 1 min"), elsewhere, Options())


def test_cells_that_are_left_come_cheapest_first_and_done_ones_not_at_all(tmp_path):
    lines = [own(row(defaults=TODAY), row("pecos"))]
    left = results.pending(Options(minutes=30), written(tmp_path, quality_results=lines))
    cells = [cell[:2] for cell in left]
    assert len(set(cells)) == len(cells)
    assert not {("eurlex4k-proxy", "linear_tree"), ("eurlex4k-proxy", "pecos")} & set(cells)
    assert [cell[2] for cell in left] == sorted(cell[2] for cell in left)
    assert left[-1][:2] == ("eurlex4k-proxy", "xbert-6")
    assert ("yso-finna-en", "auto") not in cells
    assert ("eurlex57k", "lightxml") not in cells  # which two are best is not known yet


def test_a_cell_is_done_when_any_row_has_the_minutes_asked_for(tmp_path):
    lines = [own(row("xrt", minutes=30)), own(row("xrt", minutes=20), date="2026-02")]
    where = written(tmp_path, quality_results=lines)
    for minutes, done in ((30, True), (20, True), (10, False)):
        left = [cell[:2] for cell in results.pending(Options(minutes=minutes), where)]
        assert (("eurlex4k-proxy", "xrt") not in left) is done


def test_other_sets_get_the_best_two_once_all_are_measured():
    cells = {
        ("eurlex4k-proxy", key): (row(key, p5=50.0 + place), own())
        for place, key in enumerate(_standing.SINGLES)
    }
    assert _standing.best_two(cells) == ["xml_cnn", "label_attention"]
    assert {"xml_cnn", "label_attention", "learned"} <= set(results.wanted("eurlex57k", cells))
    assert "learned" not in results.wanted("rust-prs", cells)
    del cells["eurlex4k-proxy", "gudn"]
    assert _standing.best_two(cells) == []


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (TooSlow("> 60 min"), "> 60 min"),
        (PeerFailed("> 60 min"), "> 60 min"),
        (Killed("killed"), "OOM"),
        (MemoryError(), "OOM"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "OOM"),
        (ValueError("odd"), "ValueError: odd"),
    ],
)
def test_a_system_that_fails_says_how(problem, said):
    found = results._tried(failing(problem), "debian-deps", Options())
    assert found == {"failed": said, "defaults": TODAY}


@pytest.mark.parametrize(
    "problem",
    [BenchmarkError("no room"), OSError(28, "no room"), xmtc.MissingExtra("no room")],
)
def test_what_is_wrong_with_the_benchmark_is_no_result(problem):
    with pytest.raises((BenchmarkError, xmtc.XmtcError), match="no room"):
        results._tried(failing(problem), "debian-deps", Options())


def failing(problem):
    def measure(*_):
        raise problem

    return results.System("toy", measure, ("linear_tree",))


def test_a_process_is_ended_after_its_minutes():
    with pytest.raises(TooSlow, match=r"> 0\.01 min"):
        alone(time.sleep, 30, minutes=0.01)


def test_every_job_names_its_kind_and_a_folder_of_its_own(monkeypatch):
    texts = SimpleNamespace(__len__=lambda: 9)
    for module in (results.lightxml, results.xbert):
        monkeypatch.setattr(module, "dataset", lambda *_: texts)
        monkeypatch.setattr(module, "with_texts", lambda _: range(10_000))
    jobs = {key: make("wordnet-isa", Options(minutes=30)) for key, make in results.JOBS.items()}
    assert len({job.name for job in jobs.values()}) == len(jobs)
    assert all((job.kind,) == results.SYSTEMS[key].kinds for key, job in jobs.items())
    planned = {
        key for key in _standing.SINGLES if jobs[key].kind != "xbert"
    }  # whose epochs are set
    assert {key for key, job in jobs.items() if job.minutes > 0} == planned


def test_weights_of_an_ensemble_are_learned_on_the_dev_part(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    for part in ("trn", "dev", "tst"):
        xmtc.write_dataset(planted(texts=60), tmp_path / "toy" / f"{part}.jsonl.gz")
    places = [tmp_path / "good", tmp_path / "bad"]
    for place, kind in zip(places, ("one_vs_all", "most_frequent"), strict=True):
        xmtc.save(xmtc.train(kind, planted(texts=60)), place)
    monkeypatch.setattr(_cells._figures, "RESAMPLES", 20)
    found = results._measure_learned(places, "toy", Options(data=tmp_path, threads=1))
    assert found["members"] == ["one_vs_all", "most_frequent"]
    assert found["weights"][0] > 0
    assert found["dev"]["learned"] >= max(found["dev"]["equal"], *found["dev"]["alone"])
    assert found["P@1"] > 60
    assert found["batch_p50_ms"] > 0


def test_which_two_are_best_must_be_known_before_they_are_combined(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "dev.jsonl.gz").touch()
    monkeypatch.setattr(results, "standing", dict)
    with pytest.raises(BenchmarkError, match="measure all of lightxml, xr_transformer"):
        results._learned("toy", Options(data=tmp_path))


def test_an_ensemble_weighs_what_it_keeps_and_took_as_long_as_all_it_tried(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "dev.jsonl.gz").touch()
    cost = {
        "train_seconds": 10.0,
        "train_cpu_seconds": 20.0,
        "model_mb": 5.0,
        "peak_mb": 7.0,
        "trained_commit": "abc",
        "defaults": {},
    }
    monkeypatch.setattr(results, "best_two", lambda _: ["xr_transformer", "lightxml"])
    monkeypatch.setattr(results, "JOBS", dict.fromkeys(results.JOBS, lambda *_: None))
    monkeypatch.setattr(_cells, "trained", lambda *_: (tmp_path, cost))
    monkeypatch.setattr(results, "alone", lambda *_: {"weights": [0.0, 0.4, 0.6, 0.0]})
    found = results._learned("toy", Options(data=tmp_path))
    assert found["train_seconds"] == 40
    assert found["model_mb"] == 10


FAKE = '''
"""Cells."""
SETTINGS = {"data": ["meadow", "hill"], "systems": ["broken", "sheep", "goats", "yaks"]}
def run(options):
    if "broken" in options.systems: raise BenchmarkError("no sheep")
    return [{"data": *options.only, "key": *options.systems}]
def check(measurements): return []
def pending(options, results):
    done = (results / "quality_results.jsonl")
    done = done.read_text() if done.exists() else ""
    return [(d, k, m) for d, k, m in (("meadow", "broken", 1), ("meadow", "sheep", 2),
            ("hill", "goats", 3), ("hill", "yaks", 90)) if f'"key": "{k}"' not in done]
'''.replace("*options.only", "options.only[0]").replace("*options.systems", "options.systems[0]")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "quality").mkdir()
    module = FAKE.replace("SETTINGS", "from benchmarks.kit import BenchmarkError\nSETTINGS", 1)
    (tmp_path / "quality" / "results.py").write_text(module)
    yield tmp_path
    runner.sys.modules.pop("benchmarks.quality.results", None)


def cells_in(home):
    lines = (home / "records" / "quality_results.jsonl").read_text().splitlines()
    return [json.loads(line)["measurements"][0]["key"] for line in lines]


def test_a_budget_is_spent_cell_by_cell_and_a_broken_one_does_not_stop_the_rest(home, capsys):
    assert run(home, "all", "--budget", "0.5") == 2
    assert cells_in(home) == ["sheep", "goats"]
    said = capsys.readouterr().err
    assert "meadow broken could not be run: no sheep" in said
    assert "1 cells are left; the next, hill yaks, takes about 90 minutes" in said
    run(home, "all", "--budget", "0.5")
    assert cells_in(home) == ["sheep", "goats"]


def test_one_cell_is_run_by_data_set_and_model(home, capsys):
    assert run(home, "quality", "hill", "yaks") == 0
    assert cells_in(home) == ["yaks"]
    assert run(home, "speed", "hill", "yaks") == 2
    assert "only quality DATASET MODEL" in capsys.readouterr().err
    assert run(home, "quality", "hill", "yak") == 2
    assert "no system 'yak'; did you mean 'yaks'?" in capsys.readouterr().err
    assert run(home, "quality", "moon", "yaks") == 2
    assert "no data set 'moon': there are meadow, hill." in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["all", "--budget", "0"], ["list", "--budget", "3"]])
def test_a_budget_that_means_nothing_is_refused(home, capsys, wrong):
    assert run(home, *wrong) == 2
    assert "a number of hours above 0" in capsys.readouterr().err


def test_everything_includes_the_cells(home):
    assert run(home, "all") == 2
    assert cells_in(home) == ["sheep", "goats", "yaks"]


@given(st.data())
def test_parts_by_frequency_add_up_to_precision(data):
    texts = data.draw(st.integers(1, 6))
    labels = data.draw(st.integers(5, 12))
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    ranking = Ranking(
        np.array([chance.permutation(labels)[:5] for _ in range(texts)], np.int32),
        np.zeros((texts, 5), np.float32),
    )
    relevant = as_csr((chance.random((texts, labels + 1)) < 0.4).astype(np.float32))
    trained_on = TrainedOn(50, chance.integers(0, 9, labels))
    hits = [relevant[row, ranking.labels[row]].sum() for row in range(texts)]
    parts = deciles(ranking, relevant, trained_on)
    assert len(parts) == 10
    assert sum(parts) == pytest.approx(100 * sum(hits) / 5 / texts, abs=0.01)


def test_quality_has_intervals_around_its_figures():
    labels = np.tile(np.arange(5, dtype=np.int32), (40, 1))
    ranking = Ranking(labels, np.zeros((40, 5), np.float32))
    relevant = as_csr(np.eye(40, 6, dtype=np.float32) + np.eye(40, 6, k=-9, dtype=np.float32))
    found = quality_of(ranking, SimpleNamespace(relevant=relevant), TrainedOn(9, np.ones(6, int)))
    assert {"P@1", "PSP@5", "RP@5", "intervals", "deciles"} <= found.keys()
    low, high = found["intervals"]["P@5"]
    assert low < found["P@5"] < high


def test_the_sum_sets_our_best_and_one_tree_beside_the_best_peer():
    cells = {
        (data, each["key"]): (each, own())
        for data, each in (
            ("eurlex57k", row("linear_tree", p5=50.0, defaults=TODAY)),
            ("eurlex57k", row("lightxml", p5=52.0, threads=1)),
            ("eurlex57k", row("pecos", p5=49.0)),
            ("eurlex57k", row("omikuji-bonsai", p5=50.9, train_seconds=7.0)),
            ("rust-prs", row("bonsai", p5=20.02)),
            ("rust-prs", row("fasttext", p5=20.01)),
            ("debian-deps", row("one_vs_all")),
            ("debian-deps", {"key": "pecos", "failed": "OOM"}),
        )
    }
    _, _, first, second = results_tables.in_sum(cells).splitlines()
    assert first == (
        "| [eurlex57k](#eurlex57k) | `lightxml` † 52.0 (1.5 min ¹) | 50.0 (1.5 min) | "
        "omikuji Bonsai 50.9 (7 s) | +1.1 |"
    )
    assert second.endswith("|  | fastText 20.0 (1.5 min) | level |")
    assert results_tables.in_sum({}) == ""


def test_the_page_says_what_is_known_what_failed_and_what_is_missing():
    cells = {
        ("eurlex57k", "linear_tree"): (row(defaults=TODAY, intervals={"P@5": [49.0, 51.0]}), own()),
        ("eurlex57k", "pecos"): (row("pecos", p5=49.0, version="libpecos 1.2"), own()),
        ("eurlex57k", "one_vs_all"): (
            {"data": "eurlex57k", "failed": "OOM", "threads": 1},
            own(command="x"),
        ),
    }
    text = results_tables.page(cells)
    assert "| `linear_tree` | 80.0 | 70.0 | 50.0 ± 1.0 | 60.0 | 40.0 |  | 1.5 min | 12 |" in text
    assert "| PECOS XR-Linear 1.2 |" in text
    assert "| `one_vs_all` † | OOM ¹ |" in text
    assert "*published: BERT-base*" in text.partition("## debian-deps")[0]
    assert "*published" not in text.partition("## eurlex57k")[0]
    assert "Not measured yet: linear_tree, 3 trees;" in text
    assert "1.00 holds" in text
    assert "`x`, commit" in text
    assert results_tables.page({}).count("Not measured yet") == len(_standing.DATA)


def test_peers_that_were_given_fewer_words_are_marked_and_measured_again(tmp_path):
    old = {"system": "PECOS XR-Linear", "trees": 1, "data": "rust-prs", "P@5": 16.0}
    results_then = written(tmp_path, quality_linear_tree=[record(old)])
    fewer = _standing.standing(results_then)
    page = results_tables.page(fewer)
    assert "| PECOS XR-Linear ‡ |" in page
    assert "‡ given features without words that occur in a single text" in page
    equal = row("pecos", "rust-prs", 15.0)
    written(tmp_path, quality_results=[own(equal)])
    assert _standing.standing(results_then)["rust-prs", "pecos"][0]["P@5"] == 15
    for key, text, fit in (
        ("pecos", {"min_df": 2}, False),
        ("pecos", {}, True),
        ("pecos", asdict(TfidfConfig()), True),
        ("pecos", asdict(TfidfConfig(min_word=3)), False),
        ("fasttext", {"min_df": 2}, True),
    ):
        assert results.is_fit(key, row(key, text=text), own(), Options()) == fit


def test_the_ensemble_and_the_best_single_model_are_held_against_every_peer():
    rows = [
        row("linear_tree", "eurlex57k"),
        row("lightxml", "eurlex57k", 52.0),
        row("learned", "eurlex57k", 53.0),
        row("pecos", "eurlex57k", 51.0),
        row("fasttext", "eurlex57k", 40.0, **{"P@1": 81.0}),
    ]
    claims = results.check(rows)
    assert len(claims) == 10
    assert claim(claims, "single model (lightxml): P@5").figure == pytest.approx(1.0)
    assert claim(claims, "the ensemble (learned ensemble): P@5").figure == pytest.approx(2.0)
    assert not claim(claims, "single model (lightxml): P@1").holds
    assert results.check(rows[:3]) == []
    behind = [row("linear_tree", "rust-prs", 15.0), row("pecos", "rust-prs", 16.0)]
    assert len(results.check(rows + behind)) == 15
    assert not claim(results.check(behind), "single model (linear_tree): P@5").holds


def test_leads_are_measured_on_the_rankings_that_cells_leave(tmp_path, monkeypatch):
    data = planted(texts=90, labels=8)
    train = data.take(range(60))
    test = data.take(range(60, 90))
    monkeypatch.setattr(
        leads, "dataset", lambda _, name, part="trn": test if part == "tst" else train
    )
    options = Options(work=tmp_path)
    with pytest.raises(BenchmarkError, match="no rankings of eurlex57k"):
        leads.run(options)
    with pytest.raises(BenchmarkError, match="eurlex75k"):
        leads.run(Options(work=tmp_path, only=("eurlex75k",)))
    found = {}
    for key, model in (
        ("one_vs_all", xmtc.train("linear_tree", train)),
        ("pecos", xmtc.train("most_frequent", train)),
    ):
        keep = results.kept_ranking("eurlex57k", key, options)
        found[key] = quality_of(model.rank(test.texts, 8), test, train.trained_on(), keep=keep)
    np.save(
        results.kept_ranking("eurlex57k", "learned", options), np.zeros((3, 5), int)
    )  # --subset
    rows = {("eurlex57k", key): (row, own()) for key, row in found.items()}
    monkeypatch.setattr(leads, "standing", lambda: rows)
    (one,) = leads.run(options)
    assert (one["system"], one["peer"]) == ("one_vs_all", "PECOS XR-Linear")
    assert one["P@5"] == pytest.approx(found["one_vs_all"]["P@5"] - found["pecos"]["P@5"], abs=1e-3)
    low, high = one["intervals"]["P@1"]
    assert 0 < low < one["P@1"] < high
    assert all(each.holds for each in leads.check([one]))
    written(tmp_path, quality_leads=[record(one)])
    text = results_tables.leads_table("eurlex57k", rows, tmp_path)
    assert f"| one_vs_all ahead of PECOS XR-Linear | {one['P@1']:+.2f} ({low:+.2f} to" in text
    assert results_tables.leads_table("rust-prs", rows, tmp_path) == ""
    newer = {**rows, ("eurlex57k", "pecos"): (row("pecos", p5=49.0), own())}
    assert results_tables.leads_table("eurlex57k", newer, tmp_path) == ""  # of a row that is gone
    monkeypatch.setattr(leads, "standing", dict)
    with pytest.raises(BenchmarkError, match="measure it again"):
        leads.run(options)


def test_the_readme_shows_few_systems_of_both_sides():
    keys = ("linear_tree", "linear_tree-3", "lightxml", "auto", "pecos", "pecos-3", "napkinxc")
    cells = {
        ("eurlex57k", key): (row(key, "eurlex57k", 40.0 + place), own())
        for place, key in enumerate(keys)
    }
    shown = [key for key, *_ in results_tables.shown_in_short(cells)]
    assert shown == ["napkinxc", "pecos-3", "auto", "lightxml", "linear_tree-3", "linear_tree"]
    assert results_tables.shown_in_short({}) == []
    cells["eurlex57k", "auto"][0].update(weights=[0.1, 0.0, 0.9], members=["xbert", "gudn", "aplc"])
    text = results_tables.in_short(cells, "a.svg", "b.md")
    assert "](a.svg)" in text
    assert "The auto weighs `aplc` 0.90, `xbert` 0.10; its time is that of all 3 models" in text


def test_a_plot_says_what_was_measured_on_one_thread():
    cells = {
        ("eurlex57k", key): (row(key, "eurlex57k", 40.0, threads=threads), own())
        for key, threads in (("linear_tree", 2), ("aplc", 1))
    }
    found = results_tables.points(cells, "eurlex57k", "train_seconds")
    assert {point.name for point in found} == {"linear_tree", "aplc ¹"}


def test_plots_are_the_same_for_the_same_rows(tmp_path):
    cells = {
        (data, key): (row(key, data, 40.0 + len(key), deciles=[1.0] * 10), own())
        for data in _standing.DATA[:4]
        for key in ("linear_tree", "pecos")
    }
    counts = [({"data": "debian-deps", "ranks": [1, 9], "counts": [5, 1]}, own())]
    tenths = results_tables.decile_lines(cells)
    panels = results_tables.panels(cells, "train_seconds")
    assert len(panels) == len(tenths) == 4
    assert [name for name, _ in tenths["eurlex57k"]] == ["linear_tree", "PECOS XR-Linear"]
    one = {"eurlex57k": panels["eurlex57k"]}
    for name in "ab":
        plots.draw_fronts(one, "s", tmp_path / f"{name}1.svg", [own()])
        plots.draw_deciles(tenths, tmp_path / f"{name}2.svg", [own()])
        plots.draw_frequencies(counts, tmp_path / f"{name}3.svg")
    for number in "123":
        one, other = (tmp_path / f"{name}{number}.svg" for name in "ab")
        assert one.read_bytes() == other.read_bytes()
    assert plots.is_fresh(tmp_path / "a1.svg", own())


def test_names_in_a_plot_do_not_cover_each_other_and_what_is_far_below_is_at_the_edge():
    from matplotlib.figure import Figure

    points = [
        plots.Point(f"system {n}", n % 2 == 0, 10.0 + n / 10, 60.0 + n / 50) for n in range(4)
    ]
    points.append(plots.Point("a floor", False, 11.0, 1.0))
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.set_xscale("log")
    plots._draw_front(axes, points)
    axes.margins(x=0.2, y=0.1)
    figure.draw_without_rendering()
    plots._name_points(axes, points)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert "a floor, 1.0" in [text.get_text() for text in axes.texts]
    assert axes.get_ylim()[0] > 57
    assert len(boxes) == 5
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_the_front_is_what_nothing_cheaper_surpasses():
    points = [
        plots.Point(name, True, cost, quality)
        for name, cost, quality in (("a", 1, 5), ("b", 2, 5), ("c", 3, 7))
    ]
    assert [point.name for point in plots.front(points)] == ["a", "c"]


def test_ranks_are_spread_from_first_to_last():
    ranks = label_frequency.ranks_of(1000)
    assert (ranks[0], ranks[-1]) == (1, 1000)
    assert (np.diff(ranks) > 0).all()
    assert label_frequency.ranks_of(3).tolist() == [1, 2, 3]


def test_figures_that_are_no_numbers_are_those_of_the_last_round():
    rounds = [{"version": "a 1", "fit_seconds": 1.0, "deciles": [place]} for place in (1, 2)]
    found = linear_tree._summary(rounds)
    assert (found["version"], found["deciles"], found["fit_seconds"]) == ("a 1", [2], 1.0)


def test_metrics_that_differ_from_napkinxcs_are_told():
    rows = [
        {"metric": "P@1", "xmtc": 50.0, "napkinXC": 50.0},
        {"metric": "PSP@5", "xmtc": 40.0, "napkinXC": 40.1},
    ]
    assert metrics_check.check(rows[:1])[0].holds
    assert metrics_check.check(rows)[0].figure == pytest.approx(0.1)
    assert not metrics_check.check(rows)[0].holds
