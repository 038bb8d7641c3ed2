"""Adaptive label clusters: the loss of the paper and of the code, its gradients, its size, its
work; what is finished scores the same, and skipping tails changes nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from xmtc.core.arrays import csr_of_rows
from xmtc.core.errors import ConfigError
from xmtc.neural.heads.adaptive import AdaptiveLabelClusters, Hidden
from xmtc.neural.heads.adaptive_scorer import cluster_sizes
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.optimizer import Optimizer
from xmtc.neural.training.schedule import SCHEDULES

LN = np.log
# The worked example of the specification, 8.4: two labels in the head, three behind a gate.
TOY_HEAD = [0.0, LN(3), LN(4)]
TOY_TAIL = [0.0, -LN(3), LN(9)]
TOY_LABELS = [[1, 4], [0]]


def toy(**others):
    """A layer whose logits are the example's, for vectors of ones."""
    layer = AdaptiveLabelClusters(2, [2, 3], norm_relu=False, **others).double()
    with torch.no_grad():
        layer.head.weight.copy_(torch.tensor(TOY_HEAD)[:, None] / 2)
        layer.tails[0].down.weight.fill_(0.5)
        layer.tails[0].out.weight.copy_(torch.tensor(TOY_TAIL)[:, None])
    return layer, torch.ones(2, 2, dtype=torch.float64)


def test_probabilities_are_those_of_the_example():
    layer, vectors = toy()
    expected = [[0.5, 0.75, 0.4, 0.2, 0.72]] * 2
    np.testing.assert_allclose(layer.probabilities(vectors).detach(), expected)


@pytest.mark.parametrize(
    ("loss", "gate_loss", "expected"),
    [
        ("global", False, 0.5889634338),
        ("document", True, 0.8191434919),
        ("global", True, 0.7165227436),
        ("sum", True, (2.0433024951 + 2.0794415417 + 1.6094379124) / 2),
    ],
    ids=["paper", "code", "global with gates", "sum"],
)
def test_the_loss_is_that_of_the_example(loss, gate_loss, expected):
    layer, vectors = toy(loss=loss, gate_loss=gate_loss)
    assert layer(vectors, TOY_LABELS).item() == pytest.approx(expected, abs=1e-9)


def test_gradients_are_those_of_the_example():
    """A positive's own are -(1 - sigmoid) of its logit and of its gate; p = 0.72 here."""
    from xmtc.neural.heads.adaptive import _TailLoss

    gate = torch.tensor([LN(4)], requires_grad=True)
    logit = torch.tensor([[LN(9)]], requires_grad=True)
    here = torch.zeros(1, dtype=torch.int64)
    _TailLoss.apply(gate, logit, here, here, torch.ones(1, dtype=torch.float64)).backward()
    assert float(logit.grad) == pytest.approx(-0.1)
    assert float(gate.grad) == pytest.approx(-0.2)


def test_a_text_without_labels_trains_the_head_and_closed_gates():
    layer, vectors = toy(loss="document")
    logits = torch.tensor([TOY_HEAD])
    expected = F.binary_cross_entropy_with_logits(logits, torch.zeros_like(logits))
    assert layer(vectors[:1], [[]]).item() == pytest.approx(float(expected))


def naive(layer, vectors, rows):
    """Everything dense, p itself, text by text: only good in double precision."""
    head = layer.sizes[0]
    starts = layer.starts
    logits = layer.head(vectors)
    probabilities = layer.probabilities(vectors)
    totals = []
    terms = []
    for text, labels in enumerate(rows):
        total = torch.zeros((), dtype=torch.float64)
        many = head
        for label in range(head):
            probability = probabilities[text, label]
            total = total - torch.log(probability if label in labels else 1 - probability)
        for tail in range(len(layer.tails)):
            here = range(int(starts[tail + 1]), int(starts[tail + 2]))
            if not set(here) & set(labels):
                gate = torch.sigmoid(logits[text, head + tail])
                total = total - torch.log(1 - gate) * layer.gate_loss
                many += layer.gate_loss
                continue
            many += len(here)
            for label in here:
                probability = probabilities[text, label]
                total = total - torch.log(probability if label in labels else 1 - probability)
        totals.append(total)
        terms.append(many)
    if layer.loss_form == "document":
        return sum(t / n for t, n in zip(totals, terms, strict=True)) / len(rows)
    return sum(totals) / (sum(terms) if layer.loss_form == "global" else len(rows))


clusters = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(
    clusters,
    st.sampled_from(["document", "global", "sum"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_loss_and_gradients_are_those_of_a_naive_dense_layer(
    sizes, loss, gate_loss, norm_relu, bias, data
):
    label = st.integers(0, sum(sizes) - 1)
    rows = data.draw(st.lists(st.lists(label, max_size=4), min_size=1, max_size=4))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    layer = AdaptiveLabelClusters(
        8, sizes, loss=loss, gate_loss=gate_loss, norm_relu=norm_relu, bias=bias
    ).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    vectors = torch.randn(len(rows), 8, dtype=torch.float64, requires_grad=True)
    parameters = [vectors, *layer.parameters()]
    found = torch.autograd.grad(layer(vectors, rows), parameters, allow_unused=True)
    expected = torch.autograd.grad(naive(layer, vectors, rows), parameters, allow_unused=True)
    torch.testing.assert_close(layer(vectors, rows), naive(layer, vectors, rows))
    for ours, theirs in zip(found, expected, strict=True):
        theirs = theirs if theirs is not None else torch.zeros(())
        ours = ours if ours is not None else torch.zeros_like(theirs)
        torch.testing.assert_close(ours, theirs.expand_as(ours), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [30.0, 100.0, 1e4])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_sure_gates_and_logits_give_finite_losses(size, signs):
    """In single precision p would be 0 or 1, and its logarithm infinite."""
    layer = AdaptiveLabelClusters(2, [1, 2], norm_relu=False)
    with torch.no_grad():
        layer.head.weight.fill_(signs[0] * size / 2)
        layer.tails[0].down.weight.fill_(0.5)
        layer.tails[0].out.weight.fill_(signs[1] * size)
    vectors = torch.ones(2, 2, requires_grad=True)
    loss = layer(vectors, [[1], [0, 2]])
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(vectors.grad).all()
    for parameter in layer.parameters():
        assert torch.isfinite(parameter.grad).all()
    if signs != (1, 1):
        assert loss > size / 10  # being surely wrong costs as much as one was sure


def parameters(dim, sizes, norm_relu):
    with torch.device("meta"):
        layer = AdaptiveLabelClusters(dim, sizes, norm_relu=norm_relu)
    return sum(parameter.numel() for parameter in layer.parameters())


@pytest.mark.parametrize(
    ("dim", "sizes", "paper", "code"),
    [
        (768, [1978] * 2, 2_574_336, 2_575_104),
        (768, [6665] * 2, 7_973_760, 7_974_528),
        (768, [15469] * 2, 18_115_968, 18_116_736),
        (512, [125252] * 4, 120_472_832, 120_473_728),
        (768, [167000, 167000, 167008], 224_893_440, 224_894_592),
        (384, [167522, 167523, 167521, 167525], 120_746_256, 120_746_928),
        (512, [167522, 167523, 167521, 167525], 161_052_352, 161_053_248),
        (8, [4, 3, 5], 118, 130),
    ],
)
def test_parameters_are_counted_to_the_unit(dim, sizes, paper, code):
    assert parameters(dim, sizes, norm_relu=False) == paper
    assert parameters(dim, sizes, norm_relu=True) == code


def equation_11(texts, dim, sizes, probabilities, q=2):
    """Expected multiply-adds; probabilities: of each tail."""
    behind = sum(
        probability * (size + dim) / q**tail
        for tail, (probability, size) in enumerate(zip(probabilities, sizes[1:], strict=True), 1)
    )
    return texts * dim * (sizes[0] + len(sizes) - 1 + behind)


@pytest.mark.parametrize("every", [1, 4])
def test_the_work_is_that_of_equation_11(every):
    """p: the share of texts that have a label in the tail. Read as the probability that any text of
    the batch has one, as the paper says, it is an upper bound; with every=1 both are 1."""
    texts = 16
    dim = 64
    sizes = [500, 800, 700, 600]
    layer = AdaptiveLabelClusters(dim, sizes)
    rows = [[0, 500, 1300, 2000] if text % every == 0 else [3] for text in range(texts)]
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(texts, dim), rows)
    done = counter.get_total_flops() / 2
    assert done == pytest.approx(equation_11(texts, dim, sizes, [1 / every] * 3), rel=0.1)
    assert done <= equation_11(texts, dim, sizes, [1.0] * 3) * 1.001


def test_a_tail_that_no_text_needs_is_not_computed_and_does_not_change():
    layer = AdaptiveLabelClusters(8, [4, 3, 5])
    optimizer = Optimizer({"head": (layer, 0.1)}, TrainingConfig())
    before = [parameter.detach().clone() for parameter in layer.tails[1].parameters()]
    optimizer.set_rates(1.0)
    layer(torch.randn(3, 8), [[0], [5], []]).backward()
    assert layer.tails[0].out.weight.grad is not None
    assert all(parameter.grad is None for parameter in layer.tails[1].parameters())
    optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
    after = list(layer.tails[1].parameters())
    assert all((was == now).all() for was, now in zip(before, after, strict=True))
    assert torch.isfinite(layer(torch.randn(3, 8), [[11], [], [0]]))


def test_clusters_by_shares_or_by_cuts():
    assert cluster_sizes(3956, (0.5, 0.5)) == (1978, 1978)
    assert cluster_sizes(10, (1 / 3, 1 / 3, 1 / 3)) == (3, 3, 4)
    assert cluster_sizes(501_008, cuts=(167_000, 334_000)) == (167_000, 167_000, 167_008)
    assert cluster_sizes(501_008, (0.25,) * 4) == (125_252,) * 4
    assert cluster_sizes(100, cuts=(60, 100, 200)) == (60, 40)
    assert cluster_sizes(1, (0.1, 0.2, 0.7)) == (1,)
    with pytest.raises(ConfigError, match="no width"):
        AdaptiveLabelClusters(4, [1, 1, 1, 1])


@given(st.integers(1, 1000), st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_clusters_hold_every_label_once(labels, shares):
    sizes = cluster_sizes(labels, [share / sum(shares) for share in shares])
    assert sum(sizes) == labels
    assert min(sizes) > 0
    assert len(sizes) <= len(shares)


def test_at_first_every_text_gets_each_labels_frequency():
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(rng.random(9) < 0.1 + 0.5 / (1 + np.arange(9))) for _ in range(400)]
    relevant = csr_of_rows(rows, 9)
    layer = AdaptiveLabelClusters(8, [3, 3, 3], bias=True)
    layer.start_at_frequency(relevant)
    found = layer.probabilities(torch.randn(2, 8)).detach()
    shares = np.bincount(relevant.indices, minlength=9) / 400
    np.testing.assert_allclose(found, [shares] * 2, atol=0.01)


def finished(sizes, seed, hidden=False, spread=1.0, **others):
    torch.manual_seed(seed)
    layer = AdaptiveLabelClusters(8, sizes, **others)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(std=spread)
    return Hidden(6, layer, 0.0, 1e-4).eval() if hidden else layer


@given(clusters, st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 99))
def test_a_finished_layer_scores_like_the_one_trained(
    sizes, hidden, norm_relu, bias, standardized, seed
):
    layer = finished(sizes, seed, hidden, norm_relu=norm_relu, bias=bias)
    raw = np.random.default_rng(seed).normal(2, 3, (4, 6 if hidden else 8)).astype(np.float32)
    standard = Standard.of(raw) if standardized else None
    read = raw if standard is None else (raw - standard.center) / standard.spread
    vectors = torch.from_numpy(read.astype(np.float32))
    whole = (layer.output if hidden else layer).probabilities(layer(vectors) if hidden else vectors)
    order = np.random.default_rng(seed).permutation(sum(sizes)).astype(np.int32)
    scorer = replace(layer.scorer(), standard=standard, order=order)
    ranking = scorer.rank(raw, sum(sizes))
    expected = np.empty((4, sum(sizes)), np.float32)
    expected[:, order] = whole.detach().numpy()
    found = np.take_along_axis(expected, ranking.labels, 1)
    np.testing.assert_allclose(ranking.scores, found, atol=1e-5)
    assert (np.sort(ranking.labels, axis=1) == np.arange(sum(sizes))).all()


@given(clusters, st.integers(0, 25), st.floats(0.0, 1.0), st.integers(0, 99))
def test_skipping_tails_never_changes_the_answer(sizes, k, share, seed):
    """Sums of halves are exact in any order, so even equal scores must rank alike."""
    rng = np.random.default_rng(seed)
    labels = sum(sizes)
    layer = finished(sizes, seed, norm_relu=False)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter.round() / 2)
    vectors = rng.integers(-2, 3, (6, 8)).astype(np.float32)
    allowed = None if share == 1.0 else rng.random(labels) < share
    scorer = replace(layer.scorer(), order=rng.permutation(labels).astype(np.int32))
    pruned, opened = scorer.rank_and_count(vectors, k, allowed)
    whole, everything = scorer.rank_and_count(vectors, k, allowed, prune=False)
    assert (pruned.labels == whole.labels).all()
    assert (pruned.scores == whole.scores).all()
    assert (opened <= everything).all()
    if allowed is not None:
        assert allowed[pruned.labels[pruned.labels >= 0]].all()
        assert ((pruned.labels >= 0).sum(1) == min(k, allowed.sum())).all()


def test_shut_gates_are_not_opened():
    layer = finished([20, 20, 20], 0, bias=True)
    with torch.no_grad():
        layer.head.bias[20:] = torch.tensor([-30.0, 30.0])
        layer.head.weight[20:] = 0
    vectors = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    _, opened = layer.scorer().rank_and_count(vectors, 5)
    assert opened.tolist() == [[False, True]] * 5


def test_the_slanted_triangle_falls_from_the_first_step():
    """Specification 8.7."""
    rates = SCHEDULES["linear"](100, 0)
    found = [2e-3 * rates(step) for step in (0, 1, 50, 99, 100)]
    assert found == pytest.approx([2e-3, 1.98e-3, 1e-3, 2e-5, 0.0])
    rates = SCHEDULES["linear"](100, 10)
    found = [2e-3 * rates(step) for step in (0, 1, 5, 10, 50, 55, 99, 100)]
    expected = [0, 2e-4, 1e-3, 2e-3, 1.1111e-3, 1e-3, 2.2222e-5, 0]
    assert found == pytest.approx(expected, abs=1e-7)


def test_looking_for_the_layer_is_all_that_imports_torch():
    code = (
        "import sys, xmtc.neural.heads.adaptive_scorer as c; print('torch' in sys.modules)\n"
        "import xmtc.neural.heads.adaptive; print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("label", [-1, 30])
def test_labels_that_do_not_exist_are_refused(label):
    layer = AdaptiveLabelClusters(8, [10, 20])
    with pytest.raises(ValueError, match="there are 30 labels"):
        layer(torch.zeros(2, 8), [[1], [label]])
