"""auto: never below linear_tree on validation texts; reports what does not fit; can be resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xmtc
from quick import tiny_bert, training
from xmtc.core.config import merged
from xmtc.core.errors import MissingExtra, StoreError
from xmtc.core.ranking import Ranking
from xmtc.core.run import Run
from xmtc.data.planted import planted
from xmtc.models import lightxml, linear_tree, xr_transformer
from xmtc.models.auto import probes
from xmtc.models.auto import search as auto
from xmtc.models.auto.tried import TRIED
from xmtc.neural.encoders import frozen
from xmtc.neural.settings import CnnEncoder
from xmtc.text import tfidf

DATA = planted(texts=200, labels=12)
FINE_TUNED, LIGHTXML = auto.FINE_TUNED
SPEED = probes.LearningSpeed(0.0, 1e-6, 1e-6)


def quick(**changes):
    """Settings of a search with a tiny encoder, that takes a second or two."""
    encoder = {"name": tiny_bert(), "max_tokens": 16, "trainable_layers": None}
    kinds = {
        "linear_tree": {},
        "xr_transformer": {"encoder": encoder, "levels": {"arity": 4, "max_leaf": 3}},
        "lightxml": {
            "encoder": encoder,
            "training": training(encoder_lr=3e-3, head_lr=2e-2, warmup_epochs=2),
        },
    }
    kinds = merged(kinds, {name: changes.pop(name) for name in list(changes) if name in kinds})
    overrides = tuple(f"{kind} {' '.join(flat(values))}" for kind, values in kinds.items())
    return auto.Config(**{"max_epochs": 1, "overrides": overrides, **changes})


def flat(values, prefix=""):
    """Settings as after --set."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}={value}"


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels are compiled in advance, so that this does not count as time of the first tree."""
    xmtc.train("linear_tree", DATA)
    xmtc.train("one_vs_all", DATA)


@pytest.fixture
def quick_probe(monkeypatch):
    """The speed of learning is not measured."""
    monkeypatch.setattr(auto, "learning_speed", lambda *_: SPEED)


@cache
def whole():
    """A search without interruption, with the quick probe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "learning_speed", lambda *_: SPEED)
        return auto.choose(DATA, quick())


def figures(choice):
    return {each.name: each.figures for each in choice.tried}


def notes(choice):
    return {each.name: each.note for each in choice.tried}


def test_all_that_fits_is_tried_and_the_best_is_selected():
    choice = whole()
    found = figures(choice)
    assert list(found) == [*auto.LINEAR, auto.FROZEN, *auto.FINE_TUNED, auto.COMBINED]
    assert found[choice.selected]["P@5"] == max(each["P@5"] for each in found.values())
    assert choice.model.trained_on.texts == len(DATA)
    assert xmtc.evaluate(choice.model, planted(seed=1)).metrics["P@1"] > 95


class Stubborn:
    """A model that gives every text the same labels, in a random order."""

    def __init__(self, model, seed):
        self.labels = model.labels
        self.trained_on = model.trained_on
        self.kind = model.kind
        self.order = np.random.default_rng(seed).permutation(len(model.labels)).astype(np.int32)
        self.model = model

    def rank(self, inputs, k, allowed=None):
        labels = np.tile(self.order[:k], (len(inputs), 1))
        return Ranking(labels, np.tile(np.linspace(1, 0, k, dtype=np.float32), (len(inputs), 1)))

    def to_parts(self):
        return self.model.to_parts()


@settings(max_examples=8)
@given(
    seed=st.integers(0, 1000), metric=st.sampled_from(["P@1", "P@5", "nDCG@5"]), bad=st.booleans()
)
def test_what_is_selected_is_never_below_linear_tree_on_validation(seed, metric, bad):
    def stubborn(data, *_, **__):
        return Stubborn(xmtc.train("linear_tree", data), seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "learning_speed", lambda *_: SPEED)
        patch.setattr(lightxml, "train", stubborn)
        patch.setattr(xr_transformer, "train", stubborn)
        if bad:
            patch.setattr(xr_transformer, "of_vectors", stubborn)
        patch.setattr(auto.ModelSearch, "_refitted", lambda search, name: search.models[name])
        data = planted(texts=60, labels=8, seed=seed)
        config = quick(metric=metric, seed=seed)
        choice = auto.choose(data, config)
    found = figures(choice)
    held_out = auto.split_of(data, config).held_out
    assert found[choice.selected][metric] >= found[auto.TREE][metric]
    assert xmtc.evaluate(choice.model, held_out).metrics[metric] == pytest.approx(
        found[choice.selected][metric]
    )
    combined = [name for name in found if name != auto.TREE]  # it is the first of three
    assert found[auto.COMBINED][metric] >= max(found[name][metric] for name in combined) - 1e-6


def test_with_too_few_minutes_it_is_linear_tree_and_says_so():
    choice = auto.choose(DATA, quick(minutes=1e-9))  # less than any tree takes
    assert (choice.selected, choice.model.kind) == ("linear_tree", "linear_tree")
    assert [each.name for each in choice.tried] == [*auto.LINEAR, auto.FROZEN]
    assert all("not tried: needs about" in each.note for each in choice.tried[1:])
    assert "none of the others has a higher P@5" in choice.why
    assert choice.model.trained_on.texts == len(DATA)


def test_time_for_reading_but_not_for_learning(monkeypatch):
    monkeypatch.setattr(auto, "learning_speed", lambda *_: probes.LearningSpeed(0.0, 1e6, 1e6))
    choice = auto.choose(DATA, quick())
    assert list(figures(choice)) == [*auto.LINEAR, auto.FROZEN, *auto.FINE_TUNED, auto.COMBINED]
    assert figures(choice)[FINE_TUNED] == figures(choice)[LIGHTXML] == {}
    assert "not tried" in notes(choice)[FINE_TUNED]


def test_without_torch_linear_models_are_compared(monkeypatch):
    def missing(what):
        raise MissingExtra(f"{what} needs PyTorch. Install with: pip install 'xmtc[neural]'")

    monkeypatch.setattr(auto, "require_neural", missing)
    choice = auto.choose(DATA, quick())
    assert list(figures(choice)) == [*auto.LINEAR, auto.FROZEN, auto.COMBINED]
    assert "pip install" in notes(choice)[auto.FROZEN]
    assert choice.model.trained_on.texts == len(DATA)


def test_a_failure_is_reported_and_the_others_go_on(quick_probe, monkeypatch):
    def diverged(*_, **__):
        raise xmtc.ConfigError("the loss is no number in batch 3. Lower training.encoder_rate.")

    monkeypatch.setattr(xr_transformer, "train", diverged)
    choice = auto.choose(DATA, quick())
    assert list(figures(choice)) == [*auto.LINEAR, auto.FROZEN, *auto.FINE_TUNED, auto.COMBINED]
    assert notes(choice)[FINE_TUNED].startswith("failed: the loss is no number in batch 3")
    assert figures(choice)[LIGHTXML]


def test_what_needs_too_much_memory_leaves_the_others(quick_probe, monkeypatch):
    def too_large(*_, **__):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(xr_transformer, "train", too_large)
    choice = auto.choose(DATA, quick())
    assert "failed: " in notes(choice)[FINE_TUNED]
    assert "allocate memory" in notes(choice)[FINE_TUNED]
    assert figures(choice)[LIGHTXML]


def test_an_encoder_that_is_missing_leaves_the_linear_models():
    nowhere = {"xr_transformer": {"encoder": {"name": "no-such-encoder"}}}
    choice = auto.choose(DATA, quick(**nowhere))
    assert list(figures(choice)) == [*auto.LINEAR, auto.FROZEN, auto.COMBINED]
    assert "no-such-encoder" in notes(choice)[auto.FROZEN]


def test_texts_are_cut_where_reading_them_would_take_too_long(quick_probe, monkeypatch):
    def speed(texts, config):  # 200 texts and 20 again at 256 tokens: 44 minutes
        return config.encoder.max_tokens * 44 * 60 / 220 / 256

    monkeypatch.setattr(auto, "reading_speed", speed)
    long = {
        "xr_transformer": {"encoder": {"max_tokens": 256}},
        "lightxml": {"encoder": {"max_tokens": 128}},
    }
    choice = auto.choose(DATA, quick(minutes=30, **long))
    assert notes(choice)[auto.FROZEN] == "reads 32 tokens of a text, for lack of time"
    assert all("not tried" in notes(choice)[name] for name in auto.FINE_TUNED)
    assert probes.truncated(quick(**long).kinds["lightxml"], 32).encoder.max_tokens == 32
    assert probes.truncated(quick(**long).kinds["lightxml"], 256).encoder.max_tokens == 128


@pytest.mark.parametrize("room", [True, False])
def test_frozen_layers_read_all_texts_once_for_all_models(quick_probe, tmp_path, monkeypatch, room):
    """Where there is no room to cache their states, no encoder is fine-tuned."""
    encoder = {"encoder": {"trainable_layers": 1}}
    models = {"xr_transformer": encoder, "lightxml": encoder}

    def full(*_):
        raise StoreError("no room for 8,000 MB")

    if not room:
        monkeypatch.setattr(auto, "reading_speed", lambda *_: 1e-6)
        monkeypatch.setattr(frozen, "_fill", full)
    choice = auto.choose(DATA, quick(**models), Run.at(tmp_path / "run"))
    assert len(list((tmp_path / "run").rglob("states-*.npy"))) == room
    assert figures(choice)[auto.FROZEN]
    assert all(bool(figures(choice)[name]) == room for name in auto.FINE_TUNED)


def test_a_probe_finds_what_the_search_has_read_and_nothing_of_other_probes(tmp_path, monkeypatch):
    monkeypatch.setenv("XMTC_CACHE", str(tmp_path / "lasting"))
    (tmp_path / "read").mkdir()
    (tmp_path / "read" / "vectors").write_text("1 2 3")
    found = []

    def train(texts, config, run):
        found.append((run.cache, {path.name: path.read_text() for path in run.cache.iterdir()}))
        (run.cache / "states").touch()

    module = SimpleNamespace(train=train)
    probes.learning_speed(DATA, module, quick().kinds["lightxml"], tmp_path / "read")
    assert len({cache for cache, _ in found}) == len(found) == 4
    assert all(files == {"vectors": "1 2 3"} for _, files in found)
    assert [path.name for path in (tmp_path / "read").iterdir()] == ["vectors"]
    assert not (tmp_path / "lasting").exists()


def test_one_vs_all_gets_a_tenth_of_the_time(monkeypatch):
    spent = SimpleNamespace(spent=SimpleNamespace(seconds=100.0))
    monkeypatch.setattr(auto, "SMALL", 0)
    monkeypatch.setattr(auto, "one_vs_all_costs", lambda *_: lambda _: spent)
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    for minutes, fits in ((34, False), (36, True)):  # twice 100 s, in a tenth of 0.95 of them
        choice = auto.choose(DATA, quick(minutes=minutes, linear_tree={"trees": 3}))
        assert bool(figures(choice)[auto.ONE_VS_ALL]) == fits
    assert notes(choice)[auto.ONE_VS_ALL] == ""


def test_three_trees_are_tried_where_they_fit_and_are_not_asked_for_already(monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    monkeypatch.setattr(auto.ModelSearch, "_tree_seconds", 10.0)
    for minutes, fits in ((10, False), (11, True)):  # twice 3 x 10 s, in a tenth of 0.95 of them
        choice = auto.choose(DATA, quick(minutes=minutes))
        assert bool(figures(choice)[auto.TREES]) == fits
    assert auto.TREE not in notes(choice)[auto.COMBINED]
    asked = quick(linear_tree={"trees": 3})
    assert auto.TREES not in figures(auto.choose(DATA, asked))


def test_a_tree_that_is_given_is_the_only_one(tmp_path, monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    above = tmp_path / "above.tsv"
    above.write_text("".join(f"{name}\tall\n" for name in DATA.labels.names))
    choice = auto.choose(DATA, quick(linear_tree={"parents": str(above)}))
    assert list(figures(choice)) == [auto.TREE, auto.ONE_VS_ALL, auto.COMBINED]


def test_what_is_linear_and_fails_costs_no_more_than_itself(monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    real = linear_tree.train

    def full(data, config, **others):
        if config.trees > 1:
            raise OSError("No space left on device")
        return real(data, config, **others)

    monkeypatch.setattr(linear_tree, "train", full)
    choice = auto.choose(DATA, quick())
    assert notes(choice)[auto.TREES] == "failed: No space left on device"
    assert figures(choice)[auto.ONE_VS_ALL]


def test_the_simplest_is_selected_where_it_is_best(monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    best = {auto.TREE: 1.0}
    monkeypatch.setattr(auto.ModelSearch, "_figure", lambda _, tried: best.get(tried.name, 0.0))
    choice = auto.choose(DATA, quick())
    assert choice.selected == choice.model.kind == auto.TREE
    assert len(choice.model.forests) == 1


def test_few_labels_are_planned_without_a_tree_and_by_the_length_of_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_tree_seconds", 10.0)
    monkeypatch.setattr(
        auto.ModelSearch, "_one_vs_all_seconds", lambda search: 8.0 * search._trainings
    )
    found = {}
    for most in (0, 12):
        config = quick(xr_transformer={"max_flat_labels": most})
        split = auto.split_of(DATA, config)
        search = auto.ModelSearch(DATA, split, config, Run(cache_folder=tmp_path))
        found[most] = search._ranker_seconds
    words = np.mean([len(set(text.split())) for text in search._sample(auto.READING_TEXTS).texts])
    assert found[0] == auto.DENSE_FACTOR * 10
    assert found[12] == pytest.approx(8 * (1 + auto.VECTOR_WORDS / words))


def test_three_trees_that_are_best_are_trained_on_all_texts(monkeypatch):
    monkeypatch.setattr(auto.ModelSearch, "_try_neural", lambda _: None)
    monkeypatch.setattr(auto.ModelSearch, "_one_vs_all_seconds", lambda _: np.inf)
    best = {auto.TREES: 1.0}
    monkeypatch.setattr(auto.ModelSearch, "_figure", lambda _, tried: best.get(tried.name, 0.0))
    choice = auto.choose(DATA, quick())
    assert (choice.selected, choice.model.kind) == (auto.TREES, "linear_tree")
    assert choice.model.trained_on.texts == len(DATA)
    assert len(choice.model.forests) == 3
    assert auto.COMBINED not in figures(choice)  # of a tree and three with it among them
    assert choice.why.startswith(
        "Selected: three linear trees. In P@5, 1.00 points above linear_tree"
    )


def test_features_and_few_texts_are_for_linear_tree():
    model = xmtc.train("linear_tree", DATA)
    bare = xmtc.Dataset((), DATA.relevant, DATA.labels, model.encode(DATA.texts))
    assert "no texts" in auto.choose(bare, quick()).why
    assert "too few texts" in auto.choose(planted(texts=20, labels=4), quick()).why
    assert "too few texts" in auto.choose(planted(texts=40, labels=4), quick(validation=0.8)).why
    rare = xmtc.Dataset.of(["a text"] * 60, [["label"], *[[]] * 59])
    assert "too few texts" in auto.choose(rare, quick()).why


def test_it_cannot_be_planned_beforehand():
    with pytest.raises(xmtc.ConfigError, match="does its own planning"):
        xmtc.plan("auto", DATA, quick(), memory=1e9)


def _counted(module, trained):
    real = module.train

    def train(data, config, *others, **more):
        trained.append((module.KIND, len(data)))
        return real(data, config, *others, **more)

    return train


class Killed(BaseException):
    """As Ctrl-C is: no ordinary error."""


@pytest.mark.parametrize("where", ["frozen", "fine_tuned", "combine"])
def test_a_search_that_was_killed_goes_on_where_it_was(where, tmp_path, quick_probe, monkeypatch):
    expected = whole()
    trained = []
    monkeypatch.setattr(linear_tree, "train", _counted(linear_tree, trained))
    monkeypatch.setattr(lightxml, "train", _counted(lightxml, trained))

    def killed(*_):
        raise Killed

    run = Run.at(tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(auto.ModelSearch, f"_{where}", killed)
        auto.choose(DATA, quick(), run)
    again = auto.choose(DATA, quick(), run)
    assert trained.count(("linear_tree", 180)) == 2  # a tree, and three
    assert trained.count(("lightxml", 180)) == 1
    assert figures(again) == figures(expected)
    texts = planted(seed=2).texts
    assert (again.model.rank(texts, 5).labels == expected.model.rank(texts, 5).labels).all()


def test_an_unfinished_search_with_other_settings_is_not_thrown_away(tmp_path):
    run = Run.at(tmp_path / "run")
    auto.choose(DATA, quick(minutes=1e-4), run)
    with pytest.raises(xmtc.ConfigError, match="unfinished search with other settings"):
        auto.choose(DATA, quick(minutes=2e-4), run)
    state_file = run.checkpoints / "search" / "state.json"
    values = json.loads(state_file.read_text())
    assert values["candidates"][auto.TREES]["fits"] is False
    state_file.write_text(json.dumps({**values, "mispelt": 1}))
    with pytest.raises(xmtc.ConfigError, match="another version of xmtc"):
        auto.choose(DATA, quick(minutes=1e-4), run)


def test_settings_of_kinds_are_checked_before_the_search():
    config = auto.Config(overrides=("linear_tree trees=2", "linear_tree beam=3"))
    assert (config.kinds["linear_tree"].trees, config.kinds["linear_tree"].beam) == (2, 3)
    with pytest.raises(xmtc.ConfigError, match="did you mean 'beam'"):
        auto.Config(overrides=("linear_tree beems=2",))
    with pytest.raises(xmtc.ConfigError, match="auto does not try 'gudn'"):
        auto.Config(overrides=("gudn dropout=0.2",))


def test_tfidf_is_learned_once_to_compare_and_once_in_the_end(quick_probe, monkeypatch):
    monkeypatch.setattr(auto, "SMALL", 0)  # the cost of one_vs_all is measured too
    learned = []
    real = tfidf.learn
    monkeypatch.setattr(
        tfidf, "learn", lambda *given: learned.append(len(given[0])) or real(*given)
    )
    choice = auto.choose(DATA, quick())
    assert all(figures(choice)[name] for name in (*auto.LINEAR, auto.FROZEN, FINE_TUNED))
    assert learned.count(180) == 1
    assert learned.count(200) <= 1


def test_the_command_line_shows_the_table_and_saves_an_ordinary_model(
    tmp_path, capfd, quick_probe, monkeypatch
):
    from xmtc.cli import app
    from xmtc.core.config import to_toml

    xmtc.write_dataset(DATA, tmp_path / "trn.jsonl")
    (tmp_path / "quick.toml").write_text(to_toml(quick()))
    command = ["train", "auto", "trn.jsonl", "--out", "model", "--config", "quick.toml"]
    monkeypatch.chdir(tmp_path)
    assert app.run([*command, "--minutes", "5"]) == 0
    output = capfd.readouterr().out
    assert "selected" in output
    assert "that no model was trained on" in output
    kind = json.loads((tmp_path / "model" / "manifest.json").read_text())["kind"]
    assert kind in xmtc.models.catalog.KINDS
    assert f"Trained {kind}" in output
    written = json.loads((tmp_path / "model.run" / TRIED).read_text())
    assert [each["name"] for each in written["tried"]][:3] == list(auto.LINEAR)
    assert not list((tmp_path / "model.run").rglob("*.npy"))  # nothing that only a search needs


def test_the_speed_of_learning_is_measured(tmp_path):
    lightxml_config = quick().kinds["lightxml"]
    tiny = replace(lightxml_config, encoder=CnnEncoder(embedding_dim=8))
    start, reading, epoch = probes.learning_speed(DATA.take(range(64)), lightxml, tiny, tmp_path)
    assert 0 < start < 30
    assert 0 <= reading < 1
    assert 0 < epoch < 1
