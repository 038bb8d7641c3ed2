"""XR-Transformer: levels and their epochs, active nodes and their loss, frozen and fine-tuned
encoders, rankers, explanations, resuming."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from quick import quick_settings
from xmtc.api import resolve
from xmtc.core.arrays import as_csr, csr, csr_of_rows
from xmtc.core.config import from_dict, merged, without_effect
from xmtc.core.labels import LabelSpace
from xmtc.core.tree import LabelTree
from xmtc.data.planted import planted
from xmtc.linear.forest import flat_forest
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig, train_one_vs_all
from xmtc.models import linear_tree, presets, xr_transformer
from xmtc.models.xr_transformer.level_training import (
    BOOTSTRAP,
    LabelledTexts,
    LevelTraining,
    active_nodes,
    epochs_by_level,
)
from xmtc.neural.devices import Rng
from xmtc.neural.encoders import vectors
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.heads.sampled import Active
from xmtc.neural.training import loop

TREE = LabelTree.of([[0] * 4, [0, 0, 1, 1, 1, 2, 2, 3]])


def quick(**changes):
    return merged(quick_settings("xr_transformer"), changes)


def published(name):
    return from_dict(xr_transformer.Config, presets.load(name).settings)


EXACT = {"weight_type": "float32"}
FROZEN = {"training": {"epochs": 0}}
IN_TREES = {"ranker": {"type": "tree"}}


@given(st.integers(0, 50), st.lists(st.floats(0, 9), min_size=1, max_size=5), st.integers(1, 6))
def test_all_epochs_are_given_to_the_levels(epochs, shares, levels):
    found = epochs_by_level(epochs, shares, levels)
    assert len(found) == levels
    assert sum(found) == epochs
    assert min(found) >= 0


def test_the_published_steps_are_shared_as_published():
    config = published("xr-transformer-eurlex4k")
    assert epochs_by_level(config.training.epochs, config.levels.epoch_shares, 3) == [10, 13, 20]
    assert epochs_by_level(1, config.levels.epoch_shares, 3) == [0, 0, 1]
    large = published("xr-transformer-wiki500k")
    assert epochs_by_level(large.training.epochs, large.levels.epoch_shares, 5)[0] == 0


# Table of the paper's appendix: tokens, learning rate, arity, largest cluster, training beam,
# ranker tree, cost of positive and of negative texts, ranker beam.
PUBLISHED = {
    "eurlex4k": (128, 5e-5, 16, 16, 5, (8, 16), (2, 4), 75),
    "wiki10": (256, 5e-5, 16, 16, 20, (16, 16), (4, 1), 100),
    "amazoncat": (256, 5e-5, 8, 16, 50, (8, 16), (0.25, 0.5), 100),
    "wiki500k": (128, 1e-4, 8, 16, 5, (32, 100), (4, 1), 50),
    "amazon670k": (128, 1e-4, 16, 32, 5, (32, 100), (1, 1), 75),
    "amazon3m": (128, 1e-4, 16, 100, 20, (32, 100), (8, 1), 50),
}


@pytest.mark.parametrize("data", PUBLISHED)
def test_presets_are_the_published_settings(data):
    config = published(f"xr-transformer-{data}")
    levels = config.levels
    ranker = config.ranker
    assert (
        config.encoder.max_tokens,
        config.training.optimizer.encoder_lr,
        levels.arity,
        levels.max_leaf,
        levels.beam,
        (ranker.tree.arity, ranker.tree.max_leaf),
        (ranker.svm.cost * ranker.svm.positive_cost, ranker.svm.cost),
        ranker.beam,
    ) == PUBLISHED[data]
    assert config.encoder.name == "bert-base-uncased"
    assert config.training.batch_size == 256
    assert ranker.published.vectors == "pifa_weighted"


def test_active_nodes_are_the_children_of_relevant_nodes_and_of_candidates():
    counts = csr_of_rows([[3, 5], [7]], 8)
    candidates = np.array([[1, 0], [0, -1]], np.int32)
    active = active_nodes(TREE, counts, candidates)
    rows = [active.indices[active.indptr[row] : active.indptr[row + 1]].tolist() for row in (0, 1)]
    assert rows == [[0, 1, 2, 3, 4, 5, 6], [0, 1, 7]]
    assert active.toarray().tolist() == counts.toarray().tolist()


def test_without_a_level_above_all_nodes_are_active_with_their_counts():
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
    prepared = SimpleNamespace(standard=standard, rng=Rng(0))
    texts = LabelledTexts(data.texts, None, data.relevant)
    levels = LevelTraining(prepared, TREE, texts, None, xr_transformer.Config())
    head = levels.initial_head(tree, vectors)
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
        {"ranker": {"type": "tree", "trees": 2, "published": {"vectors": "cooccurrence"}}},
        {"levels": {"max_nodes": 4}},
        {**FROZEN, "ranker": {"type": "tree", **EXACT, "published": {"vectors": "pifa_weighted"}}},
        {"ranker": {"type": "one_vs_all", **EXACT}},
    ],
    ids=["frozen", "two-layers", "cnn", "validated", "tree", "trees", "coarse", "weighted", "flat"],
)
def test_every_way_to_train_finds_the_planted_labels(changes):
    model = xmtc.train("xr_transformer", planted(), quick(**changes))
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90


def test_few_labels_have_a_classifier_each_as_one_vs_all_and_more_have_a_tree():
    data = planted(texts=90, labels=9)
    exact = {"ranker": {"type": "one_vs_all", "weight_type": "float32"}}
    flat = xmtc.train("xr_transformer", data, quick(**FROZEN, **exact))
    assert [forest.tree.depth for forest in flat.forests] == [1]
    rows = flat.encode(data.texts)
    alone = flat_forest(*train_one_vs_all(rows, data.relevant, flat.config.ranker.svm))
    expected = alone.rank(rows, 9, score="label")
    found = flat.rank(data.texts, 9)
    assert (found.labels == expected.labels).all()
    assert np.allclose(found.scores, expected.scores, atol=1e-5)
    small_leaves = {"ranker": {"type": "tree", "tree": {"max_leaf": 3}}}
    deep = xmtc.train("xr_transformer", data, quick(**FROZEN, **small_leaves))
    assert deep.forests[0].tree.depth > 1


@pytest.mark.parametrize("most", [8, 9])
def test_without_a_choice_the_number_of_labels_selects_the_ranker(most, tmp_path):
    data = planted(texts=90, labels=9)
    model = xmtc.train("xr_transformer", data, quick(**FROZEN, max_flat_labels=most))
    assert model.config.ranker is None
    assert xr_transformer.is_flat(model.config, 9) == (most == 9)
    named = {"ranker": {"type": "one_vs_all" if most == 9 else "tree"}}
    expected = xmtc.train("xr_transformer", data, quick(**FROZEN, **named)).rank(data.texts, 3)
    xmtc.save(model, tmp_path / "model")
    for found in (model.rank(data.texts, 3), xmtc.load(tmp_path / "model").rank(data.texts, 3)):
        assert (found.labels == expected.labels).all()
        assert (found.scores == expected.scores).all()


def test_settings_without_effect_are_reported():
    config = from_dict(xr_transformer.Config, {**FROZEN, "dropout": 0.2, "levels": {"beam": 9}})
    reason = "has no effect: training.epochs=0: the encoder is not fine-tuned"
    assert list(without_effect(config)) == [f"dropout {reason}", f"levels {reason}"]
    config = from_dict(xr_transformer.Config, {"ranker": "tree", "max_flat_labels": 9})
    assert list(without_effect(config)) == ["max_flat_labels has no effect: the ranker is set"]
    assert not list(without_effect(xr_transformer.Config()))


def test_features_of_the_same_texts_are_made_once(monkeypatch):
    calls = []
    learn = xr_transformer.tfidf.learn
    pifa = xr_transformer.pifa
    monkeypatch.setattr(
        xr_transformer.tfidf, "learn", lambda *given: calls.append("tfidf") or learn(*given)
    )
    monkeypatch.setattr(xr_transformer, "pifa", lambda *given: calls.append("pifa") or pifa(*given))
    monkeypatch.setattr(linear_tree.label_features, "pifa", lambda *_: 1 / 0)
    weighted = {"ranker": {"type": "tree", "published": {"vectors": "pifa_weighted"}}}
    xmtc.train("xr_transformer", planted(texts=60, labels=8), quick(**weighted))
    assert calls == ["tfidf", "pifa"]


def test_a_tree_that_is_given_is_used_however_few_labels_there_are(tmp_path):
    data = planted(texts=60, labels=6)
    above = tmp_path / "above.tsv"
    above.write_text(
        "".join(f"{name}\tgroup {place % 2}\n" for place, name in enumerate(data.labels.names))
    )
    ranker = {"ranker": {"type": "tree", "parents": str(above)}}
    model = xmtc.train("xr_transformer", data, quick(**FROZEN, **ranker))
    assert model.forests[0].tree.depth == 2


def test_labels_without_texts_are_a_clear_no():
    data = planted(texts=60, labels=6).named_in(LabelSpace((*planted(labels=6).labels.names, "x")))
    model = xmtc.train("xr_transformer", data, quick(**FROZEN))
    scores = dict(xmtc.predict(model, [data.texts[0]], k=7)[0])
    assert scores["x"] < 0.5


def test_another_ranker_reuses_a_fine_tuned_encoder():
    data = planted(texts=60, labels=8)
    keys = {
        xr_transformer._key(data, resolve("xr_transformer", quick(**changes))[1])
        for changes in ({}, IN_TREES, {"ranker": {"type": "one_vs_all", "svm": {"cost": 3.0}}})
    }
    assert len(keys) == 1


def test_a_frozen_encoder_stays_as_it_was_made_and_a_fine_tuned_one_changes():
    from xmtc.neural.encoders.make import make_encoder

    config = resolve("xr_transformer", quick())[1]
    before = make_encoder([], config.encoder).body.state_dict()
    for changes, same in ((FROZEN, True), ({}, False)):
        model = xmtc.train("xr_transformer", planted(), quick(**changes))
        after = model.encoder.body.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before) == same


class YesOrNo:
    """An encoder whose vectors hold what words do not."""

    dim = 2

    def encode(self, texts):
        return np.array([[1.0, 0] if "yes" in text else [0, 1.0] for text in texts], np.float32)

    def finish(self):
        pass


def test_dense_columns_are_read_however_many_words_a_text_has():
    """Of a text with more words than max_terms, and of a label with more than its own limit."""
    texts = [
        f"{answer}{' '.join(f'w{i}x{j}' for j in range(120))}"
        for i in range(40)
        for answer in ("", "yes")
    ]
    data = xmtc.Dataset.of(texts, [["odd" if place % 2 else "even"] for place in range(80)])
    encoder = YesOrNo()
    config = xr_transformer.Config()
    model = xr_transformer.of_vectors(data, encoder, encoder.encode(texts), config)
    assert xmtc.predict(model, ["unknown", "unknown yes"], k=1) == [
        [("even", pytest.approx(0.75, abs=0.1))],
        [("odd", pytest.approx(0.75, abs=0.1))],
    ]


@pytest.mark.parametrize("ranker", [{}, IN_TREES], ids=["flat", "tree"])
def test_the_whole_vector_is_one_term_of_explanations(ranker):
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
    settings = quick()
    monkeypatch.setenv("XMTC_CHECKPOINT_SECONDS", "0")
    whole = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
    real = loop.Training._step
    steps = []

    def until_killed(self, *rest):
        real(self, *rest)
        steps.append(1)
        if len(steps) in (3, 9):
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", until_killed)
    run = tmp_path / "run"
    for _ in range(2):
        with pytest.raises(Killed):
            xmtc.train("xr_transformer", data, settings, run=run)
    done = len(steps)
    again = xmtc.train("xr_transformer", data, settings, run=run).rank(data.texts, 5)
    total = len(steps)
    xmtc.train("xr_transformer", data, settings, run=run)
    assert done == 9 < total == len(steps)  # what is done is not done again
    assert (again.scores == whole.scores).all()


def test_a_killed_reading_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "BLOCK", 50)
    data = planted()
    settings = quick(**FROZEN)
    whole = xmtc.train("xr_transformer", data, settings).rank(data.texts, 5)
    real = vectors._read
    read = []

    def until_killed(source, rows):
        read.append(rows[0])
        if len(read) == 3:
            raise Killed
        return real(source, rows)

    monkeypatch.setattr(vectors, "_read", until_killed)
    run = tmp_path / "run"
    with pytest.raises(Killed):
        xmtc.train("xr_transformer", data, settings, run=run)
    again = xmtc.train("xr_transformer", data, settings, run=run).rank(data.texts, 5)
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
        ({"vector_weight": 0}, "above 0"),
        ({"levels": {"epoch_shares": []}}, "one number per level"),
        ({"training": {"head": {"warmup_epochs": 1}}}, "no setting 'training.head'"),
        ({"training": {"averaging": {"from_epoch": 1}}}, "no setting 'training.averaging'"),
        ({"levels": {"arity": 3}}, "power of 2"),
        ({"levels": {"max_leaf": 0}}, "at least 1"),
        ({"levels": {"beam": 0}}, "at least 1"),
        ({"max_flat_labels": -1}, "at least 0"),
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


def test_held_out_texts_select_the_best_epoch_and_join_the_training_set():
    data = planted(texts=60, labels=8)
    model = xmtc.train("xr_transformer", data, quick(training={"validation": 0.3}))
    assert model.words.feature_count == xmtc.train("linear_tree", data).encoder.feature_count
