"""The fused beam search ranks exactly like the walk that is written once for all models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.linear.forests import FEATURES, DenseLevel, random_forest, random_texts

import xmtc
from xmtc.core.arrays import as_csr, csr_of_rows
from xmtc.core.ranking import NO_LABEL
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.data.planted import planted
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import TreeConfig, balanced_tree, build_tree
from xmtc.linear import forest as forest_module
from xmtc.linear import nodes as nodes_module
from xmtc.linear.forest import flat_forest, forest_of
from xmtc.linear.nodes import (
    ForestConfig,
    matched,
    nodes_by_level,
    train_forest,
    train_leaves,
    with_negatives,
)
from xmtc.linear.svm import SvmConfig
from xmtc.models import presets
from xmtc.text import tfidf


@given(
    st.integers(0, 5000),
    st.sampled_from(["path", "path2", "probability", "label"]),
    st.integers(1, 12),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from([3, 18]),
)
def test_the_fused_search_ranks_like_the_walk(seed, score, beam, k, int8, arity):
    forest = random_forest(seed, arity=arity)
    texts = random_texts(seed)
    forest = forest.as_int8() if int8 else forest
    combine = "child" if score == "label" else "multiply"
    scorers = [DenseLevel(forest, level, score) for level in range(forest.tree.depth)]
    allowed = np.random.default_rng(seed).random(40) < 0.6
    for choice in (None, allowed):
        expected = walk(forest.tree, scorers, texts, k, beam, combine, choice)
        found = forest.rank(texts, k, beam, score, choice)
        assert np.allclose(found.scores, expected.scores, atol=1e-5)
        assert (found.labels == expected.labels).mean() > 0.97  # rounding may swap near ties


@given(st.integers(0, 5000), st.sampled_from([1, 2, 5, 100]))
def test_blocks_threads_and_single_texts_do_not_change_the_answer(seed, size):
    forest = random_forest(seed)
    texts = random_texts(seed)
    expected = forest.rank(texts, 7, 4)
    alone = xmtc.Ranking.stack([forest.rank(texts[row : row + 1], 7, 4) for row in range(17)])
    before = forest_module.TEXTS_PER_BLOCK
    try:
        forest_module.TEXTS_PER_BLOCK = size
        cut = forest.rank(texts, 7, 4)
    finally:
        forest_module.TEXTS_PER_BLOCK = before
    for other in (alone, cut):
        assert (other.labels == expected.labels).all()
        assert np.allclose(other.scores, expected.scores, atol=1e-6)


def trained_parts(labels=60):
    dataset = planted(texts=400, labels=labels)
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    config = TreeConfig(arity=4, max_leaf=4)
    counts = dataset.trained_on().label_counts
    tree = build_tree(pifa(features, dataset.relevant), counts, config)
    return dataset, features, tree


@pytest.mark.parametrize("relevance", ["equal", "induced"])
@pytest.mark.parametrize("negatives", ["tfn", "man", "both"])
def test_every_choice_of_texts_finds_the_planted_labels(negatives, relevance):
    dataset, features, tree = trained_parts()
    config = ForestConfig(negatives=negatives, relevance=relevance)
    forest = train_forest(features, dataset.relevant, tree, config)
    ranking = forest.rank(features, 1, score="label" if negatives == "both" else "path")
    right = dataset.relevant.toarray()[np.arange(len(dataset)), ranking.labels[:, 0]]
    assert right.mean() > 0.95


def test_induced_relevance_is_the_share_of_a_texts_labels_below_a_node():
    tree = LabelTree.of([[0, 0], [0, 0, 1, 1]])
    relevant = as_csr(np.array([[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))
    root, left, right = [
        node for level in nodes_by_level(relevant, tree, "induced") for node in level
    ]
    assert root.relevance == pytest.approx([2 / 3, 1 / 3, 1])
    assert left.relevance == pytest.approx([1 / 3, 1 / 3])
    assert right.relevance == pytest.approx([1 / 3, 1])
    assert not len(nodes_by_level(relevant, tree, "equal")[0][0].relevance)


def test_labels_learn_from_their_clusters_texts_from_those_led_there_or_from_both():
    """Text 0 carries label 0, text 1 label 2, text 2 label 1 and 3; the matcher leads text 0 to
    cluster 1, text 1 to both, text 2 to cluster 0."""
    tree = LabelTree.of([[0, 0], [0, 0, 1, 1]])
    level = nodes_by_level(csr_of_rows([[0], [2], [1, 3]], 4), tree, "equal")[-1]
    led = np.array([[1, NO_LABEL], [1, 0], [0, NO_LABEL]], np.int32)
    entered = xmtc.Ranking(led, np.where(led == NO_LABEL, -np.inf, 1).astype(np.float32))

    def texts(nodes):
        return [
            (
                node.rows.tolist(),
                [each.tolist() for each in np.split(node.carriers, node.child_start[1:-1])],
            )
            for node in nodes
        ]

    assert texts(level) == [([0, 2], [[0], [2]]), ([1, 2], [[1], [2]])]  # tfn
    man, both = (with_negatives(level, entered, negatives) for negatives in ("man", "both"))
    assert texts(man) == [([1, 2], [[], [2]]), ([0, 1], [[1], []])]  # lost: 0 of label 0, 2 of 3
    assert texts(both) == [([0, 1, 2], [[0], [2]]), ([0, 1, 2], [[1], [2]])]


@given(st.integers(0, 5000), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_a_parents_score_has_the_exponent_that_is_set(seed, exponent):
    forest = random_forest(seed)
    texts = random_texts(seed)
    found = forest.rank(texts, 40, 40, "path", None, exponent)
    expected = np.ones((17, 1))
    least = np.ones((17, 1))
    for level, parents in enumerate(forest.tree.parents):
        every = np.tile(np.arange(len(parents)), (17, 1))
        own = DenseLevel(forest, level, "path").score(texts, every)
        expected = own * expected[:, parents] ** exponent
        least = np.minimum(least[:, parents], own)
    by_label = np.zeros_like(expected)
    np.put_along_axis(by_label, found.labels.astype(int), found.scores, axis=1)
    normal = least > 1e-30  # what underflows on the way stays 0
    assert np.allclose(by_label[normal], expected[normal], atol=1e-4)


def test_a_tree_of_depth_one_is_one_vs_all():
    dataset, features, _ = trained_parts(12)
    flat = LabelTree.flat(12)
    config = SvmConfig(tolerance=1e-4, max_iterations=1000)
    forest = train_forest(features, dataset.relevant, flat, ForestConfig(config, "both"))
    model = xmtc.train("one_vs_all", dataset, svm={"tolerance": 1e-4, "max_iterations": 1000})
    assert np.allclose(
        forest.rank(features, 12, score="label").scores, model.rank(features, 12).scores, atol=0.02
    )


@given(st.integers(0, 5000), st.integers(1, 30), st.sampled_from([0.0, 0.1, 1.0]))
def test_a_flat_forest_scores_each_label_by_its_own_weights(seed, labels, share):
    rng = np.random.default_rng(seed)
    texts = random_texts(seed)
    dense = rng.standard_normal((FEATURES, labels)) * (rng.random((FEATURES, labels)) < share)
    weights = as_csr(dense)
    biases = rng.standard_normal(labels).astype(np.float32)
    weights.indices = weights.indices.astype(np.int64)
    found = flat_forest(weights, biases).rank(texts, labels, score="label")
    expected = 1 / (1 + np.exp(-(texts @ dense + biases)))
    assert np.allclose(found.scores, -np.sort(-expected), atol=1e-5)
    assert np.allclose(np.take_along_axis(expected, found.labels, 1), found.scores, atol=1e-5)


@pytest.mark.parametrize("negatives", ["tfn", "both"])
def test_threads_do_not_change_a_bit_of_the_weights(negatives):
    dataset, features, tree = trained_parts()
    xmtc.set_threads(1)
    alone = train_forest(features, dataset.relevant, tree, ForestConfig(negatives=negatives))
    xmtc.set_threads(4)
    together = train_forest(features, dataset.relevant, tree, ForestConfig(negatives=negatives))
    assert (alone.entry_value == together.entry_value).all()
    assert (alone.biases == together.biases).all()


@pytest.mark.parametrize("preset", ["parabel", "bonsai", "xr-linear", "plt"])
def test_presets_train_and_survive_the_disk(preset, tmp_path):
    dataset = planted(texts=400, labels=300)
    model = xmtc.train("linear_tree", dataset, presets.load(preset).settings)
    assert xmtc.evaluate(model, dataset).metrics["P@1"] > 90
    xmtc.save(model, tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    before, after = (m.rank(dataset.texts, 5) for m in (model, loaded))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


def test_several_trees_rank_by_their_mean():
    dataset = planted(texts=300, labels=150)
    settings = {"trees": 3, "tree": {"max_leaf": 8}, "beam": 50, "published": {"score": "label"}}
    model = xmtc.train("linear_tree", dataset, settings)
    encoded = model.encoder.encode(dataset.texts[:9])
    members = [forest.rank(encoded, 150, 50, "label") for forest in model.forests]
    mean = np.zeros((9, 150))
    for member in members:
        for row in range(9):
            mean[row, member.labels[row]] += member.scores[row] / 3
    found = model.rank(dataset.texts[:9], 150).scores  # so that no tree leaves a label out
    assert np.allclose(found[:, :3], -np.sort(-mean)[:, :3], atol=1e-5)


@given(st.integers(0, 500), st.sampled_from(["path", "label"]), st.integers(1, 6))
def test_clusters_that_are_given_rank_like_those_that_the_search_finds(seed, score, beam):
    forest = random_forest(seed)
    texts = random_texts(seed)
    assume(forest.tree.depth > 1)  # else there are no clusters
    upper = LabelTree(forest.tree.parents[:-1])
    chunks = [forest.chunk(node) for node in range(forest.first_leaf)]
    found = forest_of(upper, chunks, FEATURES).rank(texts, beam, beam, score)
    whole, given = (forest.rank(texts, 7, beam, score, opened=opened) for opened in (None, found))
    assert (whole.labels == given.labels).all()
    assert (whole.scores == given.scores).all()


@pytest.mark.parametrize("negatives", ["tfn", "man", "both"])
def test_leaves_are_the_same_alone_as_in_their_tree(negatives):
    data = planted(labels=20)
    _, features = tfidf.learn(data.texts, tfidf.TfidfConfig())
    tree = balanced_tree(pifa(features, data.relevant), TreeConfig(arity=1 << 20, max_leaf=5))
    config = ForestConfig(negatives=negatives, beam=2)
    whole = train_forest(features, data.relevant, tree, config)
    clusters = tree.relevant_at(0, data.relevant)
    matcher = train_forest(features, clusters, LabelTree(tree.parents[:1]), ForestConfig())
    entered = matched(matcher, features, 2)
    leaves = train_leaves(features, data.relevant, tree, config, entered)
    for node in range(1, whole.inner_nodes):
        assert (whole.chunk(node).values == leaves.chunk(node).values).all()
    mine = leaves.rank(features, 5, opened=matcher.rank(features, 2, 2))
    assert (mine.labels == whole.rank(features, 5, 2).labels).all()


@given(st.integers(0, 500), st.floats(0.01, 1), st.sampled_from([1, 17]))
def test_clusters_far_below_the_best_are_dropped_and_no_others(seed, min_share, texts):
    forest = random_forest(seed)
    some = random_texts(seed)[:texts]
    top = forest_of(LabelTree(forest.tree.parents[:1]), [forest.chunk(0)], FEATURES)
    every, near = (top.rank(some, 4, 4, min_share=share) for share in (0.0, min_share))
    dropped = every.scores < np.float32(min_share) * every.scores[:, :1]
    assert (near.labels == np.where(dropped, NO_LABEL, every.labels)).all()


@given(st.integers(0, 500), st.floats(0.01, 1), st.integers(1, 6))
def test_down_a_tree_only_what_is_near_the_best_is_found(seed, min_share, beam):
    forest = random_forest(seed)
    texts = random_texts(seed)
    near = forest.rank(texts, 7, beam, min_share=min_share)
    found = near.labels != NO_LABEL
    least = np.float32(min_share) * near.scores[:, :1]
    assert found[:, 0].all()
    assert (near.scores >= least)[found].all()


@pytest.mark.parametrize("relevance", ["equal", "induced"])
def test_a_node_of_many_children_is_solved_part_by_part(monkeypatch, relevance):
    data = planted(texts=300, labels=60)
    _, features = tfidf.learn(data.texts, tfidf.TfidfConfig())
    arguments = (features, data.relevant, LabelTree.flat(60), ForestConfig(relevance=relevance))
    whole = train_forest(*arguments).chunk(0)
    monkeypatch.setattr(nodes_module, "TOGETHER", nodes_module.SIBLINGS)
    parts = train_forest(*arguments).chunk(0)
    for name in ("features", "entry_start", "siblings", "values", "biases"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name


def test_a_label_without_a_text_says_no():
    data = planted(texts=200, labels=20)
    names = (*data.labels.names, *(f"never {i}" for i in range(300)))
    relevant = csr_of_rows(
        [row.tolist() for row in np.split(data.relevant.indices, data.relevant.indptr[1:-1])],
        len(names),
    )
    wide = xmtc.Dataset(data.texts, relevant, xmtc.LabelSpace(names))
    model = xmtc.train("linear_tree", wide, tree={"max_leaf": 8})
    found = xmtc.predict(model, data.texts, k=3)
    assert not any(name.startswith("never") for row in found for name, _ in row[:1])
    assert xmtc.evaluate(model, data).metrics["P@1"] > 90
