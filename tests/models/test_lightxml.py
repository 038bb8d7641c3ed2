"""LightXML: candidates, shapes and scores as published; clusters, resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from quick import preset, quick_settings, trained, training, training_config
from xmtc.cli.app import run as cli
from xmtc.core.arrays import csr_of_rows
from xmtc.core.config import merged
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.data.planted import planted
from xmtc.models import ensemble, lightxml
from xmtc.models.holdout import split_validation
from xmtc.neural.heads.candidates import candidates_of, hardest_clusters
from xmtc.neural.heads.flat import Flat
from xmtc.neural.heads.two_level import TwoLevel
from xmtc.neural.training import loop

# The worked example of the specification, 8.5: four clusters of eight labels.
TREE = LabelTree.of([[0] * 4, [0, 0, 1, 1, 1, 2, 2, 3]])
PROBABILITIES = 1 / (1 + np.exp(-np.array([[2, -1, 0.5, 1]], np.float32)))


def built(positives, overflow="extend", pads="masked", beam=2):
    relevant = csr_of_rows([positives], 8)
    clusters = hardest_clusters(PROBABILITIES, TREE.relevant_at(0, relevant), beam)
    return clusters, candidates_of(clusters, TREE.children[1], relevant, overflow, pads)


def test_true_clusters_come_first_then_the_hardest():
    clusters, found = built([3, 5])
    assert clusters.tolist() == [[2, 1]]
    assert found.labels.tolist() == [[5, 6, 2, 3, 4]]
    assert found.relevant.tolist() == [[True, False, False, True, False]]


def test_positives_beyond_the_beam_extend_the_row():
    clusters, found = built([0, 3, 5, 7])
    assert clusters.tolist() == [[0, 3]]
    assert found.labels.tolist() == [[0, 1, 7, 3, 5]]
    assert found.relevant.tolist() == [[True, False, True, True, True]]


def test_the_authors_code_overwrites_the_only_negative_and_drops_the_rest():
    _, found = built([0, 3, 5, 7], overflow="overwrite")
    assert found.labels.tolist() == [[0, 3, 7]]
    assert found.relevant.all()


class Given:
    """A scorer that says what the example says."""

    def __init__(self, scores):
        self.scores = np.array(scores, np.float32)

    def score(self, encoded, candidates):
        return 1 / (1 + np.exp(-self.scores[candidates]))


def test_prediction_multiplies_both_probabilities():
    logits = np.zeros(8)
    logits[[0, 1, 7]] = 1.2, -0.3, 0.4
    ranking = walk(TREE, [Given([2, -1, 0.5, 1]), Given(logits)], np.zeros((1, 1)), k=5, beam=2)
    assert ranking.labels.tolist() == [[0, 7, 1, -1, -1]]
    expected = [0.6769143837, 0.4376757498, 0.3748297877]
    assert ranking.scores[0, :3] == pytest.approx(expected, abs=1e-6)


rows_of_labels = st.lists(st.lists(st.integers(0, 29), max_size=12), min_size=1, max_size=5)


@given(rows_of_labels, st.integers(1, 12), st.integers(0, 1000))
def test_no_positive_is_ever_lost_and_no_candidate_comes_twice(rows, beam, seed):
    rng = np.random.default_rng(seed)
    tree = LabelTree.of([[0] * 10, rng.permutation(np.arange(30) % 10)])
    relevant = csr_of_rows(rows, 30)
    probabilities = rng.random((len(rows), 10)).astype(np.float32) * 0.999
    clusters = hardest_clusters(probabilities, tree.relevant_at(0, relevant), beam)
    found = candidates_of(clusters, tree.children[1], relevant)
    for row, labels in enumerate(found.labels):
        candidates = labels[labels >= 0].tolist()
        assert len(candidates) == len(set(candidates))
        assert set(labels[found.relevant[row]]) == set(rows[row])
    assert (found.counts == (found.labels >= 0)).all()


def test_pads_can_repeat_the_last_candidate_as_the_authors_do():
    relevant = csr_of_rows([[7], [3]], 8)
    clusters = np.array([[3], [1]], np.int32)
    found = candidates_of(clusters, TREE.children[1], relevant, pads="repeat")
    assert found.labels.tolist() == [[7, 7, 7], [2, 3, 4]]
    assert found.relevant[0].all()
    assert found.counts.all()


HIDDEN = 768
BERT = 109_482_240


def parameters(labels, clusters=None, narrow=None):
    """Counted on the meta device, where nothing is allocated."""
    with torch.device("meta"):
        if clusters is None:
            head = Flat(5 * HIDDEN, labels, mean=True)
        else:
            parents = np.arange(labels, dtype=np.int32) % clusters
            tree = LabelTree((np.zeros(clusters, np.int32), parents))
            head = TwoLevel(5 * HIDDEN, tree, narrow, beam=1, mean=True)
    return BERT + sum(p.numel() for p in head.parameters())


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ((3956,), 124_677_236),
        ((13_330,), 160_682_770),
        ((30_938,), 228_315_098),
        ((670_091, 8192, 400), 410_520_512),
        ((501_008, 8192, 500), 393_372_212),
    ],
    ids=["eurlex4k", "amazoncat13k", "wiki10", "amazon670k", "wiki500k"],
)
def test_the_number_of_parameters_is_the_published_one(arguments, count):
    assert parameters(*arguments) == count


def test_the_label_loss_is_that_of_all_candidates_one_by_one():
    torch.manual_seed(0)
    head = TwoLevel(6, TREE, 3, beam=2, mean=False)
    vectors = torch.randn(2, 6)
    relevant = csr_of_rows([[3, 5], [7]], 8)
    logits = head.generator(vectors)
    expected = 0.0
    for row, positives in enumerate([{3, 5}, {7}]):
        target = torch.tensor(
            [float(any(TREE.parents[1][p] == c for p in positives)) for c in range(4)]
        )
        expected += torch.nn.functional.binary_cross_entropy_with_logits(
            logits[row], target, reduction="sum"
        )
        key = torch.sigmoid(logits[row]) + target
        for cluster in key.argsort(descending=True)[:2]:
            for label in np.flatnonzero(TREE.parents[1] == int(cluster)):
                dot = head.labels.weight[label] @ head.bottleneck(vectors[row])
                expected += torch.nn.functional.softplus(-dot if label in positives else dot)
    torch.testing.assert_close(head.loss(vectors, relevant), expected)


def test_the_mean_loss_is_the_published_one():
    torch.manual_seed(0)
    total, mean = (TwoLevel(6, TREE, 3, beam=4, mean=flag) for flag in (False, True))
    mean.load_state_dict(total.state_dict())
    vectors = torch.randn(2, 6)
    relevant = csr_of_rows([[3, 5], [7]], 8)
    true_clusters = TREE.relevant_at(0, relevant)
    logits = total.generator(vectors)
    clusters = total.generator.loss_of(logits, true_clusters)
    labels = total.label_loss(vectors, relevant, logits, true_clusters)
    torch.testing.assert_close(mean.loss(vectors, relevant), clusters / 4 + labels / 8)


IN_CLUSTERS = {"max_flat_labels": 4, "max_leaf": 4, "beam": 2, "label_dim": 16}


def test_half_precision_trains_clusters_too():
    quick = quick_settings("lightxml", **IN_CLUSTERS)
    quick = merged(quick, {"training": {"precision": "fp16", "epochs": 1}})
    assert xmtc.train("lightxml", planted(texts=40), quick).rank(["sign1a"], 2).labels.shape[1] == 2


def test_clusters_find_the_planted_labels(tmp_path):
    quick = quick_settings("lightxml", **IN_CLUSTERS)
    model = xmtc.train("lightxml", planted(), quick)
    assert len(model.tree.parents[0]) == 4
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 95
    xmtc.save(model, tmp_path / "model")
    before, after = (m.rank(planted().texts, 5) for m in (model, xmtc.load(tmp_path / "model")))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


OWN = {"max_tokens": 32, "embedding_dim": 32, "dropout": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder": {"pooling": "cls", "published": {"pooled_layers": 2}}},
        {"encoder": {"trainable_layers": 2}},
        {"encoder": OWN | {"type": "cnn"}},
        {"encoder": OWN | {"type": "bilstm"}},
        {"encoder": {"trainable_layers": 2}, "training": training(token_fraction=0.7)},
        {"encoder": {"int8": True}},
        {"training": training(from_epoch=10, every_steps=3)},
        {"training": {"validation": 0.2, "patience": 20}},
        {"encoder": {"trainable_layers": 2, "published": {"frozen_cache": None}}},
    ],
    ids=["cls", "frozen", "cnn", "bilstm", "sampled", "int8", "averaged", "validated", "no cache"],
)
def test_every_way_to_train_finds_the_planted_labels(changes):
    quick = merged(quick_settings("lightxml"), changes)
    model = xmtc.train("lightxml", planted(), quick)
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90


def test_eight_bits_rank_almost_the_same_and_save_all_bits(tmp_path):
    exact = xmtc.train("lightxml", planted(), quick_settings("lightxml"))
    quick = quick_settings("lightxml")
    quick["encoder"] = {**quick["encoder"], "int8": True}
    coarse = xmtc.train("lightxml", planted(), quick)
    texts = planted(seed=1).texts
    first = exact.rank(texts, 3)
    second = coarse.rank(texts, 3)
    assert (first.labels[:, 0] == second.labels[:, 0]).mean() > 0.97
    assert 0 < np.abs(first.scores - second.scores).max() < 0.2
    weights = [model.to_parts().arrays for model in (exact, coarse)]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
    xmtc.save(coarse, tmp_path / "model")
    assert (xmtc.load(tmp_path / "model").rank(texts, 3).scores == second.scores).all()


def test_a_model_can_be_loaded_in_eight_bits_alone_or_as_a_member(tmp_path, capsys):
    exact = xmtc.train("lightxml", planted(), quick_settings("lightxml"))
    tree = xmtc.train("linear_tree", planted())
    texts = planted(seed=1).texts
    both = ensemble.of([exact, tree])
    for name, model in (("alone", exact), ("both", both), ("tree", tree)):
        xmtc.save(model, tmp_path / name)
    first, second = (xmtc.load(tmp_path / "alone", int8=int8) for int8 in (False, True))
    assert second.config.encoder.int8
    assert 0 < np.abs(first.rank(texts, 3).scores - second.rank(texts, 3).scores).max() < 0.2
    member = xmtc.load(tmp_path / "both", int8=True).members[0]
    assert (member.rank(texts, 3).scores == second.rank(texts, 3).scores).all()
    with pytest.raises(xmtc.ConfigError, match=r"int8=True: is for .* linear_tree has none"):
        xmtc.load(tmp_path / "tree", int8=True)
    assert cli(["predict", str(tmp_path / "alone"), "--int8", "--text", "sign1a sign1b"]) == 0
    assert "label 0001" in capsys.readouterr().out


class Killed(Exception):
    pass


def test_a_killed_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    quick = quick_settings("lightxml", **IN_CLUSTERS)
    others = training(epochs=4, warmup_epochs=1, token_fraction=0.7)
    quick["training"] = merged(quick["training"], others)
    data = planted()
    whole = xmtc.train("lightxml", data, quick).rank(data.texts, 5)
    real = loop.Training._step
    steps = []

    def until_killed(self, *rest):
        real(self, *rest)
        steps.append(1)
        if len(steps) in (3, 9, 30):
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", until_killed)
    for _ in range(3):
        with pytest.raises(Killed):
            trained("lightxml", data, quick, tmp_path / "run")
    again = trained("lightxml", data, quick, tmp_path / "run").rank(data.texts, 5)
    assert (again.scores == whole.scores).all()
    assert len(steps) == 32  # 4 of the head alone, 28 of all in 4 epochs; none twice


def test_output_layers_learn_alone_before_the_encoder_joins():
    """With an encoder that hardly learns, they do all the work."""
    quick = quick_settings("lightxml")
    data = planted()
    found = {}
    for epochs in (0, 30):
        quick["training"] = training(epochs=1, encoder_lr=1e-9, head_lr=5e-3, warmup_epochs=epochs)
        model = xmtc.train("lightxml", data, quick)
        found[epochs] = xmtc.evaluate(model, data).metrics["P@1"]
    assert found[30] > found[0] + 20


def test_presets_are_the_published_settings():  # spec 3.7
    names = [f"lightxml-{data}" for data in ("eurlex4k", "amazoncat", "wiki10", "wiki500k")]
    found = [preset(name) for name in (*names, "lightxml-amazon670k")]
    assert [
        (
            each.training.epochs,
            each.encoder.max_tokens,
            each.training.averaging.from_epoch,
            each.training.averaging.every_steps,
        )
        for each in found
    ] == [
        (20, 512, 10, 200),
        (5, 512, 2, 10_000),
        (30, 512, 10, 300),
        (10, 128, 4, 3_000),
        (15, 128, 4, 3_000),
    ]
    assert [(each.beam, each.label_dim) for each in found[3:]] == [(32, 500), (75, 400)]
    for each in found:
        optimizer = each.training.optimizer
        assert (optimizer.encoder_lr, optimizer.head_lr, optimizer.max_grad_norm) == (
            1e-4,
            1e-4,
            None,
        )
        assert (each.encoder.pooling, each.dropout) == ("cls", 0.5)
        assert each.encoder.published.pooled_layers == 5
        assert (each.encoder.trainable_layers, each.encoder.dropout) == (None, None)
        assert (each.training.schedule.name, each.training.head.warmup_epochs) == ("constant", 0)
        assert (each.training.published.epsilon, each.published.loss) == (1e-6, "mean")
        assert not (each.published.bias_from_frequency or each.published.standardize)


def test_trios_differ_in_their_encoder_or_in_their_clusters():  # spec 3.8 and 3.9
    small = [preset(f"lightxml-{data}-trio") for data in ("eurlex4k", "amazoncat", "wiki10")]
    for trio in small:
        names = [member.encoder.name for member in trio]
        assert names == ["bert-base-uncased", "roberta-base", "xlnet-base-cased"]
    members = [(member.training, member.encoder) for trio in small for member in trio]
    steps = [
        (t.batch_size, t.published.accumulate, t.averaging.every_steps, e.max_tokens)
        for t, e in members
    ]
    assert steps == [
        (16, 1, 200, 512),
        (16, 1, 200, 512),
        (8, 2, 200, 512),
        (16, 1, 10_000, 512),
        (16, 1, 10_000, 512),
        (32, 1, 10_000, 128),
        (16, 1, 300, 512),
        (8, 2, 200, 512),
        (8, 2, 200, 512),
    ]
    assert all(t.batch_tokens == t.batch_size * e.max_tokens for t, e in members)
    for data in ("wiki500k", "amazon670k"):
        trio = preset(f"lightxml-{data}-trio")
        assert [member.training.seed for member in trio] == [6088, 6089, 6090]
        same = {replace(member, training=trio[0].training) for member in trio}
        assert same == {preset(f"lightxml-{data}")}


def test_another_seed_makes_other_clusters():
    clusters = lightxml.Config(**IN_CLUSTERS)
    trees = [
        lightxml.label_tree(planted(), replace(clusters, training=training_config(seed=seed)))
        for seed in (0, 0, 1)
    ]
    parents = [tree.parents[-1].tolist() for tree in trees]
    assert parents[0] == parents[1] != parents[2]


@pytest.mark.slow
def test_the_default_learns_from_the_data_set_that_ships():
    train, test = xmtc.datasets.debian()
    some = train.take(range(0, len(train), 40))
    few = test.take(range(0, len(test), 40))
    model = xmtc.train("lightxml", some, training={"epochs": 3}, encoder={"max_tokens": 48})
    blind = xmtc.train("most_frequent", some)
    floor = xmtc.evaluate(blind, few).metrics["P@1"]
    assert xmtc.evaluate(model, few).metrics["P@1"] > floor + 5


def test_texts_held_out_without_any_label_are_refused():
    bare = xmtc.Dataset.of([f"text {n}" for n in range(40)], [["a"], ["b"], *[[]] * 38])
    with pytest.raises(xmtc.ConfigError, match=r"none of the texts held out carries a label"):
        split_validation(bare, training_config(validation=0.1))
