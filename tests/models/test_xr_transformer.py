"""XR-Transformer: levels and their epochs, active nodes and their loss, frozen and taught encoders,
what explanations say, resuming."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from quick import quick_settings, training, training_config
from xmtc.api import resolve
from xmtc.core import run
from xmtc.core.arrays import as_csr, csr, csr_of_rows
from xmtc.core.config import merged
from xmtc.core.labels import LabelSpace
from xmtc.core.tree import LabelTree
from xmtc.data.planted import planted
from xmtc.linear.forest import flat_forest
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig, train_one_vs_all
from xmtc.models.xr_transformer import model as xr_transformer
from xmtc.models.xr_transformer.level_training import (
    BOOTSTRAP,
    Course,
    active_nodes,
    epochs_by_level,
)
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.heads.sampled import Active
from xmtc.neural.training import head_warmup, loop

TREE = LabelTree.of([[0] * 4, [0, 0, 1, 1, 1, 2, 2, 3]])


def quick(**changes):
    return merged(quick_settings("xr_transformer"), changes)


EXACT = {"weight_type": "float32"}
FROZEN = {"training": {"epochs": 0}}
IN_TREES = {"flat_up_to": 0}


@given(st.integers(0, 50), st.lists(st.floats(0, 9), min_size=1, max_size=5), st.integers(1, 6))
def test_all_epochs_are_given_to_the_levels(epochs, shares, levels):
    found = epochs_by_level(epochs, shares, levels)
    assert len(found) == levels
    assert sum(found) == epochs
    assert min(found) >= 0


def test_the_published_steps_are_shared_as_published():
    preset = xr_transformer.EURLEX_4K
    assert epochs_by_level(preset.training.epochs, preset.shares, 3) == [10, 13, 20]
    assert epochs_by_level(1, preset.shares, 3) == [0, 0, 1]
    wide = xr_transformer.WIKI_500K
    assert epochs_by_level(wide.training.epochs, wide.shares, 5)[0] == 0


def test_a_text_is_taught_the_children_of_what_it_carries_and_of_what_was_guessed():
    counts = csr_of_rows([[3, 5], [7]], 8)
    guessed = np.array([[1, 0], [0, -1]], np.int32)
    active = active_nodes(TREE, counts, guessed)
    rows = [active.indices[active.indptr[row] : active.indptr[row + 1]].tolist() for row in (0, 1)]
    assert rows == [[0, 1, 2, 3, 4, 5, 6], [0, 1, 7]]
    assert active.toarray().tolist() == counts.toarray().tolist()


def test_without_a_level_above_all_nodes_are_active_and_counts_are_kept():
    counts = TREE.summed_at(0, csr_of_rows([[2, 3, 5], []], 8))
    active = active_nodes(LabelTree(TREE.parents[:1]), counts, None)
    assert active.nnz == 8
    assert active.toarray().tolist() == [[0, 2, 1, 0], [0, 0, 0, 0]]


def test_the_loss_is_the_weighted_squared_hinge_of_the_active_nodes():  # spec 2.8, oracle 8.6
    logits = np.array([2, 0.5, -0.2, -1.5], np.float32)
    head = Active(logits[:, None], np.zeros(4, np.float32))
    one = torch.ones(1, 1)
    active = csr(np.array([1, 1, 0, 0]), np.arange(4), np.array([0, 4]), 4)
    assert head.loss(one, active).item() == pytest.approx(0.2225)
    heavy = csr(np.array([3.0, 0.0]), np.array([1, 2]), np.array([0, 2]), 4)
    assert head.loss(one, heavy).item() == pytest.approx((3 * 0.25 + 0.64) / 2)


def test_only_active_nodes_learn():
    head = Active(np.ones((4, 2), np.float32), np.zeros(4, np.float32))
    active = csr(np.array([1.0, 0.0]), np.array([1, 2]), np.array([0, 2]), 4)
    head.loss(torch.full((1, 2), 0.25), active).backward()
    assert head.weights.weight.grad.coalesce().indices().tolist() == [[1, 2]]


@pytest.mark.parametrize("depth", [1, 2])
def test_an_output_layer_begins_with_the_margins_of_its_levels_classifiers(depth):
    data = planted(texts=40, labels=8)
    vectors = np.random.default_rng(0).normal(3, 2, (40, 5))
    vectors = vectors.astype(np.float32)
    standard = Standard.of(vectors)
    tree = LabelTree(TREE.parents[:depth])
    course = SimpleNamespace(lesson=SimpleNamespace(standard=standard), tree=TREE, dataset=data)
    head = Course._bootstrapped(course, tree, vectors)
    read = (vectors - standard.center) / np.float32(standard.spread)  # what the layer will read
    weights = head.weights.weight.detach().numpy()
    biases = head.biases.weight.detach().numpy()
    margins = read @ weights.T + biases[:, 0]
    rows = as_csr(read / np.float32(5**0.5))  # of about length 1
    relevant = TREE.relevant_at(depth - 1, data.relevant)
    nodes = margins.shape[1]
    found = train_forest(rows, relevant, tree, ForestConfig(BOOTSTRAP)).rank(
        rows, nodes, nodes, "label"
    )
    expected = 1 / (1 + np.exp(-np.take_along_axis(margins, found.labels.astype(int), axis=1)))
    assert np.ptp(margins) > 0.5
    assert found.scores == pytest.approx(expected, abs=1e-5)


def test_the_last_level_of_a_forest_has_the_margins_it_ranks_by():
    data = planted(texts=40, labels=8)
    features = csr(*_dense(np.random.default_rng(0).normal(size=(40, 5))), 5)
    forest = train_forest(features, data.relevant, TREE, ForestConfig(SvmConfig(prune=0.0)))
    weights, biases = forest.last_level()
    margins = features @ weights.T + biases
    found = forest.rank(features, 8, beam=8, score="label")
    for row in range(40):
        expected = 1 / (1 + np.exp(-margins[row, found.labels[row]]))
        assert found.scores[row] == pytest.approx(expected, abs=1e-5)


def _dense(rows):
    count, width = rows.shape
    return rows.ravel(), np.tile(np.arange(width), count), np.arange(count + 1) * width


@pytest.mark.parametrize(
    "changes",
    [
        FROZEN,
        {"encoder": {"trainable_layers": 2}},
        {"encoder": {"type": "cnn", "embedding_dim": 32, "dropout": 0.0}},
        {"training": {"validation": 0.2}},
        IN_TREES,
        {**IN_TREES, "linear": {"trees": 2, "published": {"vectors": "cooccurrence"}}},
        {"most_nodes": 4},
        {**FROZEN, **IN_TREES, "linear": {**EXACT, "published": {"vectors": "pifa_weighted"}}},
        {"linear": {**EXACT, "trees": 3}},
    ],
    ids=["frozen", "two-layers", "cnn", "validated", "tree", "trees", "coarse", "weighted", "flat"],
)
def test_every_way_to_train_finds_the_planted_labels(changes):
    model = xmtc.train("xr_transformer", planted(), quick(**changes))
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90


def test_few_labels_have_a_classifier_each_as_one_vs_all_and_more_have_a_tree():
    data = planted(texts=90, labels=9)
    exact = {"linear": EXACT}
    flat = xmtc.train("xr_transformer", data, quick(**FROZEN, **exact, flat_up_to=9))
    assert [forest.tree.depth for forest in flat.forests] == [1]
    rows = flat.encode(data.texts)
    alone = flat_forest(*train_one_vs_all(rows, data.relevant, flat.config.flat_svm), "int8")
    expected = alone.rank(rows, 9, score="label")
    found = flat.rank(data.texts, 9)
    assert (found.labels == expected.labels).all()
    assert np.allclose(found.scores, expected.scores, atol=1e-5)
    small_leaves = {"linear": {"tree": {"max_leaf": 3}}}
    deep = xmtc.train("xr_transformer", data, quick(**FROZEN, **small_leaves, flat_up_to=8))
    assert deep.forests[0].tree.depth > 1


def test_settings_that_do_nothing_are_said_and_a_flat_model_with_them_is_loaded(caplog, tmp_path):
    data = planted(texts=60, labels=6)
    trees = {
        "trees": 3,
        "published": {"score": "probability", "search": "exact"},
        "svm": {"cost": 2.0},
    }
    model = xmtc.train("xr_transformer", data, quick(**FROZEN, linear=trees))
    for name in ("linear.trees", "linear.score", "linear.search", "linear.svm", "flat_up_to=5000"):
        assert name in caplog.text
    xmtc.save(model, tmp_path / "flat")
    again = xmtc.load(tmp_path / "flat")
    assert len(again.forests) == 1
    assert (again.rank(data.texts, 3).labels == model.rank(data.texts, 3).labels).all()
    caplog.clear()
    xmtc.train("xr_transformer", data, quick(**FROZEN, **IN_TREES, flat_svm={"cost": 2.0}))
    assert "flat_svm is not used for ranking: 6 labels are ranked by a tree" in caplog.text
    caplog.clear()
    xmtc.train("xr_transformer", data, quick(**FROZEN))
    assert caplog.text == ""


def test_a_tree_that_is_given_is_used_however_few_labels_there_are(tmp_path):
    data = planted(texts=60, labels=6)
    above = tmp_path / "above.tsv"
    above.write_text(
        "".join(f"{name}\tgroup {place % 2}\n" for place, name in enumerate(data.labels.names))
    )
    model = xmtc.train("xr_transformer", data, quick(**FROZEN, linear={"parents": str(above)}))
    assert model.forests[0].tree.depth == 2


def test_labels_without_texts_are_a_clear_no():
    data = planted(texts=60, labels=6).named_in(LabelSpace((*planted(labels=6).labels.names, "x")))
    model = xmtc.train("xr_transformer", data, quick(**FROZEN))
    scores = dict(xmtc.predict(model, [data.texts[0]], k=7)[0])
    assert scores["x"] < 0.5


def test_vectors_of_a_taught_encoder_serve_another_ranker_too():
    data = planted(texts=60, labels=8)
    keys = {
        xr_transformer._key(data, resolve("xr_transformer", quick(**changes))[1])
        for changes in ({}, IN_TREES, {"flat_svm": {"cost": 3.0}})
    }
    assert len(keys) == 1


def test_a_model_of_before_there_was_a_choice_keeps_its_tree():
    data = planted(texts=60, labels=8)
    made = xmtc.train("xr_transformer", data, quick(**FROZEN, **IN_TREES))
    parts = made.to_parts()
    before = {name: value for name, value in parts.settings.items() if "flat" not in name}
    again = xr_transformer.XRTransformer.from_parts(replace(parts, settings=before))
    assert again.config.flat_up_to == 0
    expected, found = (model.rank(data.texts, 5) for model in (made, again))
    assert (found.labels == expected.labels).all()
    assert (found.scores == expected.scores).all()


def test_a_frozen_encoder_stays_as_it_was_made_and_a_taught_one_changes():
    from xmtc.neural.encoders.make import make_encoder

    config = resolve("xr_transformer", quick())[1]
    before = make_encoder([], config.encoder).body.state_dict()
    for changes, same in ((FROZEN, True), ({}, False)):
        model = xmtc.train("xr_transformer", planted(), quick(**changes))
        after = model.encoder.body.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before) == same


class Asked:
    """An encoder whose vectors say what words do not."""

    dim = 2

    def encode(self, texts):
        return np.array([[1.0, 0] if "yes" in text else [0, 1.0] for text in texts], np.float32)

    def finish(self):
        pass


def test_dense_columns_are_read_however_many_words_a_text_has():
    """Of a text with more words than are kept, and of a label with more words than describe it."""
    texts = [
        f"{answer}{' '.join(f'w{i}x{j}' for j in range(120))}"
        for i in range(40)
        for answer in ("", "yes")
    ]
    data = xmtc.Dataset.of(texts, [["odd" if place % 2 else "even"] for place in range(80)])
    encoder = Asked()
    config = xr_transformer.Config()
    model = xr_transformer.of_vectors(data, encoder, encoder.encode(texts), config)
    assert xmtc.predict(model, ["unknown", "unknown yes"], k=1) == [
        [("even", pytest.approx(0.75, abs=0.1))],
        [("odd", pytest.approx(0.75, abs=0.1))],
    ]


@pytest.mark.parametrize("ranker", [{}, IN_TREES], ids=["flat", "tree"])
def test_the_encoder_speaks_as_one_in_explanations(ranker):
    model = xmtc.train("xr_transformer", planted(), quick(**FROZEN, **ranker))
    (first, *_) = xmtc.explain(model, "sign3a sign3b", k=1)
    assert first.label == "label 0003"
    names = [name for name, _ in first.path[-1].terms]
    assert names.count(xr_transformer.ENCODER) == 1
    assert "sign3a" in names
    weights, biases = model.forests[0].last_level()
    (margin,) = model.encode(["sign3a sign3b"]) @ weights[3] + biases[3]
    assert first.path[-1].margin == pytest.approx(margin, abs=1e-4)


class Killed(Exception):
    pass


def test_a_killed_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    data = planted()
    settings = quick(training={"checkpoint_seconds": 0})
    whole = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
    real = loop.Training._step
    steps = []

    def until_killed(self, *rest):
        real(self, *rest)
        steps.append(1)
        if len(steps) in (3, 9):
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", until_killed)
    with run.kept_in(tmp_path / "run"):
        for _ in range(2):
            with pytest.raises(Killed):
                xmtc.train("xr_transformer", data, settings)
        done = len(steps)
        again = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
        total = len(steps)
        xmtc.train("xr_transformer", data, settings)
    assert done == 9 < total == len(steps)  # what is done is not done again
    assert (again.scores == whole.scores).all()


def test_a_killed_reading_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(head_warmup, "BLOCK", 50)
    data = planted()
    settings = quick(**FROZEN)
    whole = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
    real = head_warmup._read
    read = []

    def until_killed(source, rows):
        read.append(rows[0])
        if len(read) == 3:
            raise Killed
        return real(source, rows)

    monkeypatch.setattr(head_warmup, "_read", until_killed)
    with run.kept_in(tmp_path / "run"):
        with pytest.raises(Killed):
            xmtc.train("xr_transformer", data, settings)
        again = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
    assert read[:4] == [0, 50, 100, 100]
    assert len(read) == len(data) // 50 + 1
    assert (again.labels == whole.labels).all()


@pytest.mark.parametrize("ranker", [{}, IN_TREES], ids=["flat", "tree"])
def test_a_folder_whose_trees_do_not_fit_the_encoder_is_refused(ranker):
    model = xmtc.train("xr_transformer", planted(texts=40, labels=6), quick(**FROZEN, **ranker))
    parts = model.to_parts()
    rows = parts.arrays["tree0.row_step"].copy()
    rows[-1] = 255
    broken = replace(parts, arrays={**parts.arrays, "tree0.row_step": rows})
    with pytest.raises(xmtc.StoreError):
        xr_transformer.XRTransformer.from_parts(broken)
    fewer = {name: array for name, array in parts.arrays.items() if name != "encoder.about.json"}
    with pytest.raises(xmtc.StoreError, match="about"):
        xr_transformer.XRTransformer.from_parts(replace(parts, arrays=fewer))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vector_weight": 0}, "linear_tree"),
        ({"shares": []}, "shares"),
        ({"training": training(warmup_epochs=1)}, "linear classifiers"),
        ({"levels": {"method": "random"}}, "balanced"),
        ({"flat_up_to": -1}, "0 or more"),
    ],
)
def test_impossible_settings_say_what_to_do(changes, message):
    with pytest.raises(xmtc.ConfigError, match=message):
        xmtc.train("xr_transformer", planted(), quick(**changes))


@pytest.mark.slow
def test_what_the_bundled_encoder_knows_helps_the_words():
    train, test = xmtc.datasets.debian()
    some = train.take(range(0, len(train), 8))
    few = test.take(range(0, len(test), 8))
    model = xmtc.train("xr_transformer", some, FROZEN, encoder={"max_tokens": 48})
    words = xmtc.train("linear_tree", some)
    figures = [xmtc.evaluate(each, few).metrics["P@5"] for each in (model, words)]
    assert figures[0] > figures[1]


def test_held_out_texts_choose_the_best_moment_and_are_then_learned_too():
    data = planted(texts=60, labels=8)
    model = xmtc.train("xr_transformer", data, quick(training={"validation": 0.3}))
    assert model.words.feature_count == xmtc.train("linear_tree", data).encoder.feature_count


def test_settings_that_levels_have_no_use_for_are_refused():
    with pytest.raises(xmtc.ConfigError, match="each level has epochs of its own"):
        xr_transformer.Config(training=training_config(epochs=3, from_epoch=1))
