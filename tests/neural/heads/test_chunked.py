"""Output layers: chunks change nothing but memory; a finished layer scores like the one trained."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.kernels.dense_scores import chosen_dots
from xmtc.neural.heads.chunked import Chunked
from xmtc.neural.heads.dense_scorer import Bottleneck, DenseScorer, Standard
from xmtc.neural.heads.flat import Flat, log_odds
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.optimizer import Optimizer


def both(labels, chunk, mean, dim=5):
    flat = Flat(dim, labels, mean)
    chunked = Chunked(dim, labels, mean, chunk)
    with torch.no_grad():
        for place, (weights, bias) in enumerate(zip(chunked.weights, chunked.biases, strict=True)):
            start = place * chunk
            weights.copy_(flat.linear.weight[start : start + chunk])
            bias.copy_(flat.linear.bias[start : start + chunk])
    return flat, chunked


def test_chunks_learn_from_vectors_in_bf16():
    flat, chunked = both(labels=7, chunk=3, mean=False)
    relevant = csr_of_rows([[0, 3], [6]], 7)
    gradients = []
    for head in (flat, chunked):
        vectors = torch.linspace(-1, 1, 10).reshape(2, 5).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = head.loss(vectors.to(torch.bfloat16), relevant)
        loss.backward()
        gradients.append(vectors.grad)
    torch.testing.assert_close(gradients[1], gradients[0], atol=0.02, rtol=0.02)


@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(0, 99))
def test_chunks_give_the_same_loss_and_the_same_steps(labels, chunk, mean, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    flat, chunked = both(labels, chunk, mean)
    relevant = csr_of_rows([rng.integers(0, labels, 3).tolist() for _ in range(4)], labels)
    for head in (flat, chunked):
        optimizer = Optimizer({"head": (head, 0.1)}, TrainingConfig())
        vectors = torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))
        head.seen = vectors.requires_grad_()
        for _ in range(2):
            optimizer.set_rates(1.0)
            head.last = head.loss(head.seen, relevant)
            head.last.backward()
            optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
    torch.testing.assert_close(chunked.last, flat.last)
    torch.testing.assert_close(chunked.seen.grad, flat.seen.grad)
    ours = chunked.scorers()[0]
    theirs = flat.scorers()[0]
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-5)
    np.testing.assert_allclose(ours.bias, theirs.bias, atol=1e-5)
    assert all(parameter.grad is None for parameter in chunked.parameters())


def test_at_first_every_text_gets_each_labels_frequency():
    counts = np.array([1, 50, 99])
    for head in (Flat(4, 3, False), Chunked(4, 3, False, chunk=2)):
        head.start_at_frequency(counts, 100)
        scores = head.scorers()[0].score(np.ones((2, 4), np.float32), np.array([[0, 1, 2]] * 2))
        np.testing.assert_allclose(scores, [counts / 100] * 2, atol=0.01)
    assert torch.isfinite(log_odds(np.array([0, 100]), 100)).all()


@given(st.integers(0, 99))
def test_chosen_candidates_score_as_in_the_whole_matrix(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(3, 7)).astype(np.float32)
    weights = rng.normal(size=(9, 7)).astype(np.float32)
    candidates = rng.integers(-1, 9, (3, 5)).astype(np.int32)
    dots = chosen_dots(vectors, weights, candidates)
    whole = np.take_along_axis(vectors @ weights.T, np.maximum(candidates, 0), 1)
    np.testing.assert_allclose(dots, np.where(candidates < 0, 0, whole), atol=1e-5)


def test_candidates_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="no such candidates"):
        chosen_dots(np.ones((1, 2), np.float32), np.ones((3, 2), np.float32), np.array([[3]]))


MILLION = """
import resource
import numpy as np, torch
import xmtc.neural
from xmtc.core.arrays import csr_of_rows
from xmtc.neural.heads.{module} import {head}
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.optimizer import Optimizer
from xmtc.core.tree import LabelTree

labels, dim = 1_000_000, 256
{make}
optimizer = Optimizer({{"head": (head, 1e-3)}}, TrainingConfig())
for step in range(2):
    relevant = csr_of_rows([[step, 7 * text] for text in range(16)], labels)
    optimizer.set_rates(1.0)
    head.loss(torch.randn(16, dim), relevant).backward()
    optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
FLAT = "head = Chunked(dim, labels, False)"
CLUSTERS = (
    "tree = LabelTree((np.zeros(8192, np.int32), np.arange(labels, dtype=np.int32) % 8192))\n"
    "head = TwoLevel(dim, tree, 256, 32, False)"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "head", "make"),
    [("chunked", "Chunked", FLAT), ("two_level", "TwoLevel", CLUSTERS)],
    ids=["chunked", "clusters"],
)
def test_a_million_labels_train_in_less_than_four_gigabytes(module, head, make):
    code = MILLION.format(module=module, head=head, make=make)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert float(result.stdout) < 4.0


@pytest.mark.parametrize("sigmoid", [None, False, True])
@given(st.integers(0, 100), st.floats(0.01, 30))
def test_a_scorer_of_raw_vectors_scores_like_one_of_standard_ones(sigmoid, seed, spread):
    """sigmoid: of the bottleneck; None: there is none."""
    rng = np.random.default_rng(seed)
    raw = (rng.normal(2.0, spread, (9, 4)) + rng.normal(0, 5, 4)).astype(np.float32)
    standard = Standard.of(raw)
    read = (raw - standard.center) / standard.spread
    assert abs(read.mean()) < 1e-3
    assert abs(read.std() - 1) < 1e-3
    weights, bias = (rng.normal(size=size).astype(np.float32) for size in ((6, 4), 6))
    scorer = DenseScorer(weights, bias)
    if sigmoid is not None:
        narrow = Bottleneck(weights, bias, sigmoid)
        scorer = DenseScorer(rng.normal(size=(6, 6)).astype(np.float32), None, narrow)
    everything = np.tile(np.arange(6, dtype=np.int32), (9, 1))
    found = scorer.of_raw(standard).score(raw, everything)
    np.testing.assert_allclose(found, scorer.score(read, everything), atol=1e-3)
    assert scorer.of_raw(None) is scorer


def test_vectors_that_are_all_the_same_have_a_standard():
    standard = Standard.of(np.full((3, 2), 7.0, np.float32))
    assert (standard.center.tolist(), standard.spread) == ([7.0, 7.0], 1.0)


def test_a_layer_that_changes_at_once_can_be_trained_twice():
    """The first optimizer must not go on changing it with the second."""
    head = Chunked(3, 5, False, chunk=2)
    part = {"head": (head, 0.1)}
    config = TrainingConfig()
    first = Optimizer(part, config)
    first.remove_hooks()
    second = Optimizer(part, config)
    second.set_rates(0.0)
    before = [weights.detach().clone() for weights in head.weights]
    first.set_rates(1.0)
    head.loss(torch.ones(2, 3), csr_of_rows([[0], [1]], 5)).backward()
    assert all((was == now).all() for was, now in zip(before, head.weights, strict=True))
