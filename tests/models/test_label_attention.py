"""label_attention: attention is what loops say; levels, resuming and saving change nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import xmtc
from quick import preset, quick_settings, trained, training
from xmtc.core.arrays import csr_of_rows
from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.ranking import Ranking
from xmtc.core.tree import LabelTree
from xmtc.data.planted import planted
from xmtc.models import label_attention
from xmtc.neural.batches.token_states import TokenStates
from xmtc.neural.heads import attention_head as heads
from xmtc.neural.heads.candidates import candidates_of

DEEP = {"max_flat_labels": 3, "levels": 2, "arity": 2, "max_leaf": 3, "beam": 3}


def toy(nodes=7, dim=6, texts=3, length=5, seed=0):
    torch.manual_seed(seed)
    head = heads.AttentionHead(dim, nodes, (4, 3), mean=False, sparse=False).eval()
    states = torch.randn(texts, length, dim)
    mask = (torch.arange(length) < torch.tensor([[5], [3], [1]])[:texts]).long()
    return head, states, mask


@torch.no_grad()
def naive(head, states, mask):
    """(texts, nodes) logits, one text, one label and one word after the other."""
    found = np.zeros((len(states), head.nodes.num_embeddings))
    for text in range(len(states)):
        words = [states[text, place] for place in range(states.shape[1]) if mask[text, place]]
        for node, looks in enumerate(head.nodes.weight):
            cares = torch.stack([word @ looks for word in words]).softmax(0)
            seen = sum(care * word for care, word in zip(cares, words, strict=True))
            for layer in head.layers[:-1]:
                seen = torch.relu(layer(seen))
            found[text, node] = head.layers[-1](seen)
    return found


def test_logits_of_all_of_some_and_of_the_finished_scorer_are_those_of_loops(monkeypatch):
    head, states, mask = toy()
    with torch.no_grad():
        expected = naive(head, states, mask)
        np.testing.assert_allclose(head.of_all(states, mask), expected, atol=1e-5)
        some = torch.tensor([[0, 3], [6, 2], [1, 1]])
        found = head.of_some(states, mask, some)
        np.testing.assert_allclose(found, np.take_along_axis(expected, some.numpy(), 1), atol=1e-5)
        monkeypatch.setattr(heads, "CHUNK", 2)
        np.testing.assert_allclose(head.of_all(states, mask), expected, atol=1e-5)
    encoded = TokenStates((states.numpy(),), mask.bool().numpy())
    everything = np.tile(np.arange(7, dtype=np.int32), (3, 1))
    scores = head.scorer(0).score(encoded, everything)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-expected)), atol=1e-5)
    one = head.scorer(0).score(encoded[1:2], everything[:1])
    np.testing.assert_allclose(one, scores[1:2], atol=1e-6)


def test_chunks_give_the_gradients_of_the_whole(monkeypatch):
    head, states, mask = toy()
    relevant = csr_of_rows([[0, 4], [], [6]], 7)
    head.loss(states, mask, relevant, None).backward()
    whole = [p.grad.clone() for p in head.parameters()]
    head.zero_grad()
    monkeypatch.setattr(heads, "CHUNK", 3)
    head.loss(states, mask, relevant, None).backward()
    for before, parameter in zip(whole, head.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, before)


def test_the_loss_of_candidates_is_that_of_their_logits():
    head, states, mask = toy(nodes=8)
    tree = LabelTree.of([[0] * 4, [0, 0, 1, 1, 1, 2, 2, 3]])
    rows = [[3, 5], [0], [7]]
    relevant = csr_of_rows(rows, 8)
    opened = np.array([[2, 1], [0, 3], [3, -1]], np.int32)
    found = candidates_of(opened, tree.children[1], relevant)
    logits = naive(head, states, mask)
    expected = 0.0
    for text, labels in enumerate([[5, 6, 2, 3, 4], [0, 1, 7], [7]]):
        for label in labels:
            sign = 1 if label in rows[text] else -1
            expected += np.log1p(np.exp(-sign * logits[text, label]))
    assert float(head.loss(states, mask, relevant, found).detach()) == pytest.approx(expected, 1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_opened_nodes_are_the_true_ones_then_the_likeliest(seed, beam):
    rng = np.random.default_rng(seed)
    labels = np.array([rng.permutation(9)[:beam] for _ in range(4)], np.int32)
    ranking = Ranking(labels, -np.sort(-rng.random((4, beam)).astype(np.float32), axis=1))
    rows = [np.flatnonzero(rng.random(9) < 0.3).tolist() for _ in range(4)]
    opened = label_attention.opened_nodes(ranking, csr_of_rows(rows, 9), beam)
    for row, ranked, true in zip(opened.tolist(), labels.tolist(), rows, strict=True):
        chosen = [node for node in row if node >= 0]
        assert len(set(chosen)) == len(chosen)
        assert set(chosen) <= {*ranked, *true}
        assert len(set(chosen) & set(true)) == min(beam, len(true))
        seen = [node for node in ranked if node in true]
        assert set(seen[:beam]) <= set(chosen)
        rest = [node for node in ranked if node not in true]
        assert [node for node in chosen if node not in true] == rest[: beam - len(true)] * (
            beam > len(true)
        )


def test_a_bilstm_learns_far_more_than_frequencies():
    fresh = planted(seed=1)
    tuned = quick_settings("label_attention")
    tuned["encoder"] = {**tuned["encoder"], "type": "bilstm"}
    found = xmtc.evaluate(xmtc.train("label_attention", planted(), tuned), fresh).metrics
    floor = xmtc.evaluate(xmtc.train("most_frequent", planted()), fresh).metrics
    assert found["P@1"] > floor["P@1"] + 40
    assert found["P@1"] > 95


def test_levels_over_a_tree_learn_too_and_come_back_from_disk(tmp_path):
    model = xmtc.train("label_attention", planted(), quick_settings("label_attention", **DEEP))
    assert model.tree.depth == len(model.encoders) == len(model.scorers) == 3
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90
    xmtc.save(model, tmp_path / "model")
    again = xmtc.load(tmp_path / "model")
    assert all((a == b).all() for a, b in zip(again.tree.parents, model.tree.parents, strict=True))
    before, after = (each.rank(planted().texts, 5) for each in (model, again))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


def test_what_labels_share_begins_with_what_the_level_above_learned(monkeypatch):
    from xmtc.neural.training import loop

    seen = []

    def fit(task, *_):
        layers = task.net.head.layers
        seen.append([layer.weight.detach().clone() for layer in layers])
        with torch.no_grad():
            for layer in layers:
                layer.weight += 1

    monkeypatch.setattr(loop, "fit", fit)
    config = {**quick_settings("label_attention"), **DEEP}
    xmtc.train("label_attention", planted(texts=60, labels=12), config)
    assert all(torch.equal(two, one + 1) for one, two in zip(*seen[:2], strict=True))


def test_scores_are_products_down_the_tree():
    model = xmtc.train(
        "label_attention",
        planted(texts=60),
        quick_settings("label_attention", **DEEP, training={"epochs": 2}),
    )
    texts = planted(texts=60).texts[:4]
    ranking = model.rank(texts, k=3)
    from xmtc.neural.encoders.read_states import states_of

    for rows, states in states_of(model.encoders, texts):
        for place, row in enumerate(rows):
            for label, score in zip(ranking.labels[row], ranking.scores[row], strict=True):
                node = int(label)
                product = 1.0
                for level in (2, 1, 0):
                    one = states[place : place + 1]
                    asked = np.array([[node]], np.int32)
                    product *= float(model.scorers[level].score(one, asked)[0, 0])
                    node = int(model.tree.parents[level][node])
                assert score == pytest.approx(product, rel=1e-4)


def test_a_killed_training_goes_on_to_the_same_answer(tmp_path, monkeypatch):
    data = planted(texts=40, labels=6)
    tuned = quick_settings("label_attention", max_flat_labels=3, max_leaf=3, training={"epochs": 3})
    plain = xmtc.train("label_attention", data, tuned).rank(data.texts, 3)
    from xmtc.neural.training import loop

    true_step = loop.Training._step
    steps = []

    def dying(self, group, advance):
        steps.append(1)
        if len(steps) == 8:  # in the second level
            raise KeyboardInterrupt
        true_step(self, group, advance)

    monkeypatch.setattr(loop.Training, "_step", dying)
    with pytest.raises(KeyboardInterrupt):
        trained("label_attention", data, tuned, tmp_path)
    again = trained("label_attention", data, tuned, tmp_path).rank(data.texts, 3)
    assert (again.labels == plain.labels).all()
    assert (again.scores == plain.scores).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"encoder": {"type": "pretrained", "max_chunks": 2}}, "attend to all words at once"),
        ({"encoder": "xml_cnn"}, "Available: bilstm, cnn, pretrained"),
        ({"training": training(warmup_epochs=2)}, "no setting 'training.head'"),
        ({"training": training(shard_labels=True)}, "not work with label_attention"),
        ({"arity": 6}, "power of 2"),
        ({"hidden_dims": ()}, "one to eight sizes"),
    ],
)
def test_settings_that_cannot_be_say_why(wrong, message):
    with pytest.raises(ConfigError, match=message):
        xmtc.train("label_attention", planted(texts=4), wrong)


def test_presets_are_the_papers():
    data_sets = ("eurlex4k", "wiki10", "amazoncat", "wiki500k", "amazon670k", "amazon3m")
    found = [preset(f"attentionxml-{data}") for data in data_sets]
    assert [
        (
            each.encoder.embedding_dim,
            each.hidden_dims,
            each.training.epochs,
            each.training.averaging.from_epoch,
            each.training.batch_size,
        )
        for each in found
    ] == [
        (256, (256,), 30, 10, 40),
        (256, (256,), 30, 4, 40),
        (512, (512, 256), 10, 2, 200),
        (512, (512, 256), 5, 1, 200),
        (512, (512, 256), 10, 2, 200),
        (512, (512, 256), 5, 1, 200),
    ]
    assert [(each.levels, each.arity, each.max_leaf, each.beam) for each in found[3:]] == [
        (1, 8, 64, 15),
        (3, 8, 8, 160),
        (3, 8, 8, 160),
    ]
    assert [each.max_flat_labels for each in found[:3]] == [None] * 3
    assert max(each.max_flat_labels for each in found[3:]) < 10**4
    for each in found:
        training = each.training
        assert (training.optimizer.encoder_lr, training.optimizer.max_grad_norm) == (1e-3, 5.0)
        assert (training.metric, training.published.validate_every) == ("nDCG@5", 100)
        assert (each.encoder.TYPE, each.encoder.vocabulary_size) == ("bilstm", 500_000)
    for data in ("wiki500k", "amazon670k"):
        seeds = [each.training.seed for each in preset(f"attentionxml-{data}-trio")]
        assert seeds == [0, 1, 2]


def test_a_folder_whose_attention_does_not_fit_is_refused(tmp_path):
    model = xmtc.train(
        "label_attention",
        planted(texts=40, labels=6),
        quick_settings("label_attention", training={"epochs": 1}),
    )
    parts = model.to_parts()
    parts.arrays["level0.nodes"] = parts.arrays["level0.nodes"][:-1]
    with pytest.raises(StoreError, match=r"level0\.nodes"):
        label_attention.LabelAttention.from_parts(parts)
