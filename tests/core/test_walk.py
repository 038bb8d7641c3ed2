"""The walk finds what looking at every path would find, however the work is cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core import walk as walking
from xmtc.core.threads import set_threads
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.kernels.children import expand

COMBINE = ["multiply", "add", "child"]


class Scores:
    """Knows the score of every node of a level for every text."""

    def __init__(self, table):
        self.table = table  # (texts, nodes)

    def score(self, encoded, candidates):
        rows = self.table[encoded[:, 0]]
        return np.take_along_axis(rows, np.maximum(candidates, 0), axis=1).astype(np.float32)


@st.composite
def problems(draw, max_depth=6):
    """A tree, scorers whose scores often tie, and the texts' numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = []
    scorers = []
    above = 1
    texts = draw(st.integers(0, 5))
    steps = draw(st.sampled_from([2, 8, 1000]))
    for _ in range(draw(st.integers(1, max_depth))):
        size = draw(st.integers(1, 12))
        levels.append(rng.integers(0, above, size))
        scorers.append(Scores((rng.integers(0, steps, (texts, size)) / steps).astype(np.float32)))
        above = size
    return LabelTree.of(levels), scorers, np.arange(texts)[:, None]


def brute_force(tree, scorers, texts, k, combine):
    """Every label by its whole path from the root, sorted."""
    labels = np.full((texts, k), -1)
    scores = np.full((texts, k), -np.inf, np.float32)
    for text in range(texts):
        ranked = sorted(
            (-path_score(tree, scorers, text, label, combine), label)
            for label in range(tree.label_count)
        )
        for place, (score, label) in enumerate(ranked[:k]):
            labels[text, place] = label
            scores[text, place] = -score
    return labels, scores


def path_score(tree, scorers, text, label, combine):
    path = [label]
    for level in range(tree.depth - 1, 0, -1):
        path.append(tree.parents[level][path[-1]])
    total = np.float32(1 if combine == "multiply" else 0)
    for level, node in enumerate(reversed(path)):
        score = scorers[level].table[text, node]
        total = {"multiply": total * score, "add": total + score, "child": score}[combine]
    return np.float32(total)


@given(problems(), st.sampled_from(COMBINE), st.integers(1, 15))
def test_without_a_limit_the_walk_finds_the_best_of_all_paths(problem, combine, k):
    tree, scorers, encoded = problem
    ranking = walk(tree, scorers, encoded, k, beam=1000, combine=combine)
    labels, scores = brute_force(tree, scorers, len(encoded), k, combine)
    np.testing.assert_array_equal(ranking.labels, labels)
    np.testing.assert_array_equal(ranking.scores, scores)


@settings(max_examples=30)
@given(problems(max_depth=20), st.sampled_from(COMBINE), st.integers(1, 6), st.integers(1, 6))
def test_blocks_and_threads_never_change_the_answer(problem, combine, k, beam):
    tree, scorers, encoded = problem
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for cells, threads in itertools.product([1, 7, 1 << 20], [1, 3]):
            patch.setattr(walking, "CELLS_PER_BLOCK", cells)
            set_threads(threads)
            ranking = walk(tree, scorers, encoded, k, beam=beam, combine=combine)
            found.append((ranking.labels.tolist(), ranking.scores.tolist()))
    set_threads(None)
    assert all(other == found[0] for other in found)
    assert np.shape(found[0][0]) == (len(encoded), k) or not len(encoded)


@given(problems(), st.sampled_from(COMBINE), st.integers(1, 4))
def test_a_narrow_beam_keeps_the_best_node_of_each_level(problem, combine, k):
    tree, scorers, encoded = problem
    ranking = walk(tree, scorers, encoded, k, beam=1, combine=combine)
    for text in range(len(encoded)):
        node = 0
        for level in range(tree.depth):
            children = np.flatnonzero(tree.parents[level] == node)
            if not len(children):
                break
            # argmax takes the first: the smallest id among equals
            scores = [
                path_score(LabelTree(tree.parents[: level + 1]), scorers, text, child, combine)
                for child in children
            ]
            node = children[int(np.argmax(scores))]
        expected = node if len(children) else -1
        assert ranking.labels[text, 0] == expected


def test_equal_scores_rank_by_label_id_wherever_the_labels_hang():
    tree = LabelTree.of([[0, 0, 0], [2, 0, 1, 2, 0]])
    same = [Scores(np.ones((1, 3), np.float32)), Scores(np.ones((1, 5), np.float32))]
    for beam in (3, 10):
        assert walk(tree, same, np.zeros((1, 1), int), 5, beam).labels.tolist() == [[0, 1, 2, 3, 4]]


def test_asking_for_more_labels_than_exist_pads():
    tree = LabelTree.flat(2)
    ranking = walk(tree, [Scores(np.array([[0.1, 0.9]]))], np.zeros((1, 1), int), 4)
    assert ranking.labels.tolist() == [[1, 0, -1, -1]]
    assert ranking.scores[0, 2:].tolist() == [-np.inf, -np.inf]


def test_no_texts_or_no_labels_or_dead_ends_give_padding():
    assert walk(LabelTree.flat(3), [Scores(np.zeros((0, 3)))], np.zeros((0, 1), int), 2).k == 2
    nothing = walk(LabelTree.flat(0), [Scores(np.zeros((2, 1)))], np.zeros((2, 1), int), 2)
    assert nothing.labels.tolist() == [[-1, -1], [-1, -1]]
    dead_end = LabelTree.of([[0, 0], [1, 1]])
    scorers = [Scores(np.array([[0.9, 0.1]])), Scores(np.array([[0.5, 0.5]]))]
    assert walk(dead_end, scorers, np.zeros((1, 1), int), 2, beam=1).labels.tolist() == [[-1, -1]]
    assert walk(dead_end, scorers, np.zeros((1, 1), int), 2, beam=2).labels.tolist() == [[0, 1]]


def test_there_must_be_a_scorer_for_each_level():
    with pytest.raises(ValueError, match="1 scorers for a tree of 2 levels"):
        walk(LabelTree.of([[0], [0]]), [Scores(np.zeros((1, 1)))], np.zeros((1, 1), int), 1)


@given(problems(), st.data())
def test_expanding_nodes_lists_their_children_in_order(problem, data):
    tree, _, encoded = problem
    for level, children in enumerate(tree.children):
        above = 1 if level == 0 else len(tree.parents[level - 1])
        nodes = np.array(
            [data.draw(st.permutations([*range(above), -1])) for _ in encoded], np.int32
        ).reshape(len(encoded), above + 1)
        scores = nodes.astype(np.float32) / 7
        candidates, parent_scores = expand(children.start, children.nodes, nodes, scores)
        for text, row in enumerate(nodes):
            expected = [
                (child, np.float32(node) / np.float32(7))
                for node in row
                if node >= 0
                for child in np.flatnonzero(tree.parents[level] == node)
            ]
            width = candidates.shape[1]
            found = list(zip(candidates[text], parent_scores[text], strict=True))
            assert found == expected + [(-1, 0)] * (width - len(expected))


@pytest.mark.parametrize("nodes", [[[2]], [[0, 5]]])
def test_expanding_a_node_that_is_not_there_is_an_error(nodes):
    nodes = np.array(nodes, np.int32)
    with pytest.raises(ValueError, match="of 2 nodes"):
        expand(np.array([0, 1, 2]), np.array([0, 1], np.int32), nodes, nodes.astype(np.float32))
