"""X-BERT: the worked figures of the specification, each stage alone, and stages in a run."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import xmtc
from quick import tiny_bert, training
from tiny import tiny_encoder
from xmtc.core.arrays import as_csr, csr_of_rows
from xmtc.core.config import from_dict, merged, without_effect
from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.ranking import Ranking
from xmtc.core.run import Run
from xmtc.core.tree import LabelTree
from xmtc.data.planted import planted
from xmtc.linear.forest import chunk_of, forest_of
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.models import ensemble, presets, xbert
from xmtc.models.ensemble import member_config
from xmtc.models.xbert import index, match
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.encoders.word_encoders import LAYOUT, Xttention, word_tokenizer
from xmtc.neural.heads.flat import Flat, hinge, squared_hinge
from xmtc.neural.training import loop
from xmtc.text import tfidf

SMALL = {
    "encoder": {"type": "cnn", "embedding_dim": 8, "max_tokens": 32, "dropout": 0.0},
    "training": training(epochs=4, encoder_lr=1e-2, head_lr=2e-2, warmup_epochs=0),
    "index": {"published": {"depth": 2}},
}
LINEAR = {"encoder": None}


def config(**changes):
    from xmtc.api import resolve

    return resolve("xbert", merged(SMALL, changes))[1]


def clusters(vectors, encoder, **published):
    """Settings of four clusters of labels with these vectors."""
    found = {"type": vectors, "published": {"depth": 2, **published}}
    return found if vectors == "pifa" else {**found, "encoder": encoder}


def published(name):
    return from_dict(xbert.Config, presets.load(name).settings)


# The worked figures of the specification, 8.6.
MARGINS = torch.tensor([[2, 0.5, -0.2, -1.5]])
TARGETS = torch.tensor([[1.0, 1, 0, 0]])


def test_losses_are_those_of_the_specification():
    assert float(squared_hinge(MARGINS, TARGETS)) / 4 == pytest.approx(0.2225)
    assert float(hinge(MARGINS, TARGETS)) / 4 == pytest.approx((0.5 + 0.8) / 4)
    head = Flat(1, 4, mean=True, loss="squared_hinge")
    found = head.loss_of(MARGINS, csr_of_rows([[0, 1]], 4))
    assert float(found) == pytest.approx(0.2225)


def test_a_label_scores_its_own_probability_times_its_clusters():
    margins = np.array([[2, 1, 0.5, 0, -1]], np.float32)
    expected = [1, 1, 0.7788007831, 0.3678794412, 0.0183156389]
    assert match.probabilities(margins, "squared_hinge")[0] == pytest.approx(expected)
    empty = np.empty(0, np.int32)
    above = chunk_of(empty, empty, empty, np.zeros(1, np.float32))
    label = chunk_of(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([0.2]), np.zeros(1))
    ranker = forest_of(LabelTree.of([[0], [0]]), [above, label], 1)
    opened = Ranking(np.zeros((1, 1), np.int32), match.probabilities(margins[:, 2:3], "hinge"))
    ranking = ranker.rank(as_csr(np.ones((1, 1))), 1, opened=opened)
    assert ranking.scores[0, 0] == pytest.approx(0.4667320289)


def test_an_output_layer_begins_at_the_clusters_frequency():
    head = Flat(3, 2, mean=True, loss="squared_hinge")
    head.start_at_frequency(np.array([25, 75]), 100)
    margins = head(torch.randn(1, 3)).detach().numpy()[0]
    assert margins == pytest.approx([-0.5, 0.5], abs=0.02)  # 2p - 1 is the best constant


# X-ttention
def batch_of(lengths, words=9):
    ids = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.arange(length) % (words - 3) + 3
        mask[row, :length] = 1
    return Batch(ids, mask, torch.zeros_like(ids), torch.zeros(len(lengths)), None, len(lengths))


def test_xttention_weighs_words_as_written():
    torch.manual_seed(0)
    body = Xttention(9, 8, dropout=0.0, views=3, hidden=5).eval()
    batch = batch_of([4])
    with torch.no_grad():
        states = body.reader(batch, 1)[0][0].double().numpy()  # (words, 16)
        found = body.pooled(batch)[0].numpy()
    first, second, third = (
        (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for layer in (body.look, body.weigh, body.hidden)
    )
    inner = np.tanh(first[0] @ states.T + first[1][:, None])  # (350, words)
    rows = second[0] @ inner + second[1][:, None]  # (views, words)
    rows = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    expected = np.maximum(0, third[0] @ (rows @ states).ravel() + third[1])
    assert first[0].shape == (350, 16)
    assert found == pytest.approx(expected, abs=1e-5)


def test_padding_has_no_weight_in_xttention():
    torch.manual_seed(0)
    body = Xttention(9, 8, dropout=0.0, views=3, hidden=5).eval()
    with torch.no_grad():
        alone = body.pooled(batch_of([4]))
        padded = body.pooled(batch_of([4, 11]))
    torch.testing.assert_close(padded[:1], alone)


def test_numbers_are_one_word_and_rare_words_are_unknown():
    texts = ["in 1984 it cost 3.50 euro", "in 2024 it cost 1,000,000 euro", "a zebra"]
    tokenizer = word_tokenizer(texts, 3 + 5, numbers_alike=True)
    known = tokenizer.get_vocab()
    assert len(known) == 8
    ids = tokenizer.encode("in 77 it cost 5.5 zebra").ids
    assert ids[1] == ids[4] == known["0"]
    assert ids[-1] == known["[unknown]"]
    assert LAYOUT.extra == 1  # so that 301 tokens are 300 words


# The index
def one_without_texts():
    data = planted(texts=40, labels=5)
    labels = data.labels.extended_by(["sign0a sign0b"])
    return data.named_in(labels)


@pytest.mark.parametrize("vectors", ["pifa", "pifa_neural", "text"])
def test_every_label_has_a_vector_and_a_cluster(vectors):
    data = one_without_texts()
    words, features = tfidf.learn(data.texts, tfidf.TfidfConfig())
    layers = 3 if vectors == "text" else 1
    encoder = {"name": tiny_bert(), "max_tokens": 32, "published": {"pooled_layers": layers}}
    how = config(index=clusters(vectors, encoder)).index
    found = index.label_vectors(data, words, features, how)
    assert found.shape == (6, {"pifa": features.shape[1], "pifa_neural": 32, "text": 96}[vectors])
    assert (np.diff(found.indptr) > 0).all()
    tree = index.index_labels(data, words, features, how)
    assert sorted(np.bincount(tree.parents[-1]).tolist()) == [1, 1, 2, 2]
    assert len(index.clusters_of(tree).parents[0]) == 4


def test_only_label_vectors_that_need_an_encoder_have_one():
    with pytest.raises(ConfigError, match=r"no setting 'index\.encoder'"):
        config(index={"encoder": {"name": "minilm"}})
    with pytest.raises(ConfigError, match=r"index\.encoder\.type='cnn'.*Available: pretrained"):
        config(index={"type": "text", "encoder": {"type": "cnn"}})


def test_settings_without_effect_are_reported():
    def reported(**changes):
        found = without_effect(from_dict(xbert.Config, changes))
        return [sentence.split()[0] for sentence in found]

    assert reported() == []
    assert reported(encoder=None, dropout=0.2) == ["dropout"]
    assert reported(encoder=None, published={"loss": "bce"}) == ["published.loss"]
    assert reported(vector_weight=None, published={"unit_length": True}) == [
        "published.unit_length"
    ]
    assert reported(path_exponent=1, published={"score": "label"}) == ["path_exponent"]
    wrong = {"type": "text", "published": {"weigh_texts": False, "max_terms": 9}}
    assert reported(index=wrong) == ["index.published.max_terms", "index.published.weigh_texts"]


def test_euclidean_clusters_do_not_stop_by_cosines():
    with pytest.raises(ConfigError, match=r"index\.published\.stop.*Euclidean"):
        config(index={"published": {"stop": "gain", "centres": "mean"}})


def test_euclidean_clusters_read_vectors_as_they_are():
    data = planted(texts=40, labels=6)
    words, features = tfidf.learn(data.texts, tfidf.TfidfConfig())
    lengths = {}
    for centres in ("unit", "mean"):
        encoder = {"name": tiny_bert(), "max_tokens": 32}
        how = config(index=clusters("text", encoder, centres=centres)).index
        found = index.label_vectors(data, words, features, how).toarray()
        lengths[centres] = np.linalg.norm(found, axis=1)
    assert lengths["unit"] == pytest.approx(np.ones(6))
    assert (lengths["mean"] > 2).all()


# All stages
def test_with_a_linear_matcher_it_is_the_whole_tree_of_classifiers():
    data = planted(labels=20)
    exact = {"tolerance": 1e-4, "max_iterations": 1000}  # classifiers are trained in another order
    how = config(
        **LINEAR,
        index={"published": {"depth": 3}},
        svm=exact,
        path_exponent=1.0,
        negatives="tfn",
        weight_type="float32",
    )
    model = xbert.train(data, how)
    words, features = tfidf.learn(data.texts, how.text)
    tree = index.index_labels(data, words, features, how.index)
    whole = train_forest(features, data.relevant, tree, ForestConfig(how.svm))
    expected = whole.rank(features, 5, how.beam)
    found = model.rank(data.texts, 5)
    assert [len(level) for level in tree.parents] == [2, 4, 8, 20]
    assert np.allclose(found.scores, expected.scores, atol=1e-3)
    assert (found.labels[:, 0] == expected.labels[:, 0]).mean() > 0.98


@pytest.mark.parametrize(
    "changes",
    [
        {"vector_weight": None, "negatives": "tfn"},
        {"negatives": "man", "published": {"loss": "hinge"}},
        {"published": {"score": "label", "loss": "bce", "unit_length": True}},
        {"training": training(validation=0.2, warmup_epochs=2)},
        {"encoder": {"type": "xttention", "hidden_dim": 32, "views": 4}},
    ],
    ids=["x-bert", "man", "x-transformer", "validated", "x-ttention"],
)
def test_every_way_finds_the_planted_labels_and_survives_the_disk(changes, tmp_path):
    data = planted(texts=120)
    model = xbert.train(data, config(**changes))
    assert xmtc.evaluate(model, data).metrics["P@1"] > 90
    assert xmtc.evaluate(model, data).metrics["R@5"] > 80
    xmtc.save(model, tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    for ranked in ("rank", "match"):
        before, after = (getattr(each, ranked)(data.texts, 3) for each in (model, loaded))
        assert (before.labels == after.labels).all()
        assert (before.scores == after.scores).all()


def test_a_matcher_leads_to_allowed_labels_only():
    data = planted(texts=60)
    model = xbert.train(data, config(beam=1))
    allowed = np.zeros(12, bool)
    allowed[model.tree.parents[-1] == 3] = True
    ranking = model.rank(data.texts, 2, allowed)
    assert allowed[ranking.labels].all()
    assert (model.match(data.texts, 4, allowed).labels[:, 0] == 3).all()


def test_few_clusters_are_the_first_of_many():
    data = planted(labels=60)
    model = xbert.train(data, config(**LINEAR, index={"published": {"depth": 4}}))
    many = model.match(data.texts, 10)
    for k in (1, 3):
        assert (model.match(data.texts, k).labels == many.labels[:, :k]).all()


def test_metrics_on_held_out_texts_are_those_of_clusters():
    with pytest.raises(ConfigError, match=r"nDCG@5.*P@1, P@3, P@5, P@1-10"):
        xbert.train(planted(), config(training={"validation": 0.2, "metric": "nDCG@5"}))


class Killed(Exception):
    pass


def counted(monkeypatch, place, name):
    """A list that gets longer with each call."""
    real = getattr(place, name)
    calls = []

    def call(*given):
        calls.append(name)
        return real(*given)

    monkeypatch.setattr(place, name, call)
    return calls


def test_a_training_that_dies_in_ranking_goes_on_there(tmp_path, monkeypatch):
    data = planted(texts=80)
    how = config(training={"validation": 0.2})
    whole = xbert.train(data, how).rank(data.texts, 5)
    steps = counted(monkeypatch, loop.Training, "_step")
    indexed = counted(monkeypatch, xbert, "index_labels")

    def dies(*given):
        raise Killed

    run = Run.at(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(xbert, "train_leaves", dies)
        with pytest.raises(Killed):
            xbert.train(data, how, run)
    done = len(steps)
    again = xbert.train(data, how, run)
    by_label = replace(how.published, score="label")
    other = xbert.train(data, replace(how, beam=1, published=by_label), run)
    xbert.train(data, replace(how, svm=replace(how.svm, cost=2.0)), run)
    assert done > 0
    assert len(steps) == done  # nothing was matched again, not for another ranker either
    assert len(indexed) == 1
    assert (again.rank(data.texts, 5).scores == whole.scores).all()
    assert other.config.beam == 1
    lines = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
    figures = [line["figures"] for line in lines if line.get("stage") == "matcher"]
    assert set(figures[0]) == {"P@1", "P@3", "P@5", "P@1-10"}


def test_a_ranker_that_reads_vectors_may_come_after_one_that_does_not(tmp_path, monkeypatch):
    data = planted(texts=60)
    how = config()
    steps = counted(monkeypatch, loop.Training, "_step")
    run = Run.at(tmp_path / "run")
    words_only = config(vector_weight=None, negatives="tfn")
    xbert.train(data, words_only, run)
    done = len(steps)
    after = xbert.train(data, how, run)
    assert len(steps) == done > 0
    expected = xbert.train(data, how).rank(data.texts, 5)
    assert (after.rank(data.texts, 5).scores == expected.scores).all()


def test_a_training_that_dies_in_matching_still_has_its_index(tmp_path, monkeypatch):
    data = planted(texts=60)
    how = config()
    indexed = counted(monkeypatch, xbert, "index_labels")
    run = Run.at(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(match, "train_neural", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            xbert.train(data, how, run)
    xbert.train(data, how, run)
    assert len(indexed) == 1
    run.tidy()
    assert not list((tmp_path / "run").rglob("*.safetensors"))


@pytest.mark.parametrize("names", [xbert.INDEX_SETTINGS, xbert.MATCHER_SETTINGS])
def test_a_stage_knows_the_encoder_that_made_it(names, tmp_path):
    data = planted(texts=10)
    place = tiny_encoder(tmp_path / "bert", seed=0)
    encoder = {"type": "pretrained", "name": place}
    how = config(encoder=encoder, index=clusters("text", {"name": place}))
    keys = [xbert._key(data, how, names) for _ in range(2)]
    tiny_encoder(tmp_path / "bert", seed=1)
    assert keys[0] == keys[1] != xbert._key(data, how, names)


def test_the_best_epoch_has_the_highest_mean_of_cluster_precisions():
    matched = Ranking(np.array([[0, 1, 2], [2, 1, 0]], np.int32), np.array([[3.0, 2, 1]] * 2))
    found = match.cluster_metrics(matched, csr_of_rows([[0, 1], [1]], 3))
    each = [50, 75, 50] + [100 * 1.5 / k for k in range(4, 11)]
    assert found["P@1-10"] == pytest.approx(np.mean(each))
    assert found["P@3"] == pytest.approx(50)
    assert xbert.Config().training.metric == "P@1-10"


def test_a_folder_whose_parts_do_not_fit_is_refused():
    parts = xbert.train(planted(texts=40, labels=6), config(**LINEAR)).to_parts()
    for name, array in (
        ("ranker.parents0", np.zeros(3, np.int32)),
        ("matcher.depth", np.zeros(1, np.int32)),
        ("ranker.parents1", np.full(6, 9, np.int32)),
    ):
        with pytest.raises(StoreError):
            xbert.XBert.from_parts(replace(parts, arrays={**parts.arrays, name: array}))


# Presets and ensembles
DATA_SETS = ("eurlex4k", "wiki10", "amazoncat", "wiki500k")


def test_presets_are_the_published_settings():
    bert = [published(f"xbert-{data}") for data in DATA_SETS]
    assert [each.training.epochs for each in bert] == [20, 15, 5, 12]
    assert [each.training.optimizer.encoder_lr for each in bert] == [5e-5, 5e-5, 5e-5, 8e-5]
    steps = [each.training.published.validate_every for each in bert]
    assert steps == [400, 150, 10_000, 15_000]
    assert [each.training.batch_size for each in bert] == [32, 32, 36, 36]
    assert [each.training.schedule.warmup for each in bert] == [0.1, 0.1, 0.1, 0.2]
    for each in bert:
        assert (each.encoder.max_tokens, each.encoder.pooling) == (512, "pooler")
        how = each.published
        assert (how.loss, how.score) == ("squared_hinge", "path")
        assert (each.negatives, each.weight_type) == ("tfn", "float32")
        assert (each.vector_weight, each.beam, each.path_exponent) == (None, 10, 1.0)
        assert (each.svm.prune, each.svm.max_iterations) == (0.1, 100)
        assert each.training.validation == 0.1
        assert each.index.published.centres == "mean"


def test_xttention_presets_are_the_published_settings():
    found = [published(f"xttention-{data}") for data in DATA_SETS]
    assert [each.training.epochs for each in found] == [12, 20, 6, 9]
    assert [each.training.batch_size for each in found] == [128, 128, 256, 256]
    encoder = found[0].encoder
    assert (encoder.TYPE, encoder.max_tokens, encoder.vocabulary_size) == ("xttention", 301, 80_003)
    assert (encoder.embedding_dim, encoder.views, encoder.hidden_dim) == (512, 30, 2000)
    assert {each.training.schedule.name for each in found} == {"plateau"}


def members_of(name):
    members = [member_config(member) for member in presets.load(name).settings["members"]]
    assert {kind for kind, _ in members} == {"xbert"}
    return [config for _, config in members]


@pytest.mark.parametrize("data", DATA_SETS)
def test_the_six_are_two_kinds_of_label_vectors_times_three_seeds(data):
    six = members_of(f"xbert-{data}-six")
    pairs = [(kind, seed) for kind in ("text", "pifa") for seed in range(3)]
    assert [(each.index.TYPE, each.index.published.seed) for each in six] == pairs
    assert [each.index.published.centres for each in six] == ["mean"] * 3 + ["unit"] * 3
    alone = published(f"xbert-{data}")
    assert {replace(each, index=alone.index) for each in six} == {alone}


@pytest.mark.parametrize("data", DATA_SETS)
def test_the_nine_are_three_encoders_times_three_kinds_of_label_vectors(data):
    nine = members_of(f"x-transformer-{data}")
    assert len({(each.encoder.name, each.index.TYPE) for each in nine}) == 9
    assert {each.index.TYPE for each in nine} == {"pifa", "pifa_neural", "text"}
    assert {(each.encoder.name, each.encoder.pooling) for each in nine} == {
        ("bert-large-cased-whole-word-masking", "pooler"),
        ("roberta-large", "pooler"),
        ("xlnet-large-cased", "cls"),
    }
    for each in nine:
        how = each.published
        assert (each.negatives, how.score, how.unit_length) == ("both", "label", True)
        assert each.weight_type == "float32"
        assert (each.vector_weight, each.svm.prune) == (1.0, 0.01)


def test_other_seeds_make_other_clusters_and_their_average_answers():
    data = planted(texts=120)
    base = "xbert encoder=none index.published.depth=2"
    made = ensemble.Config(
        members=tuple(f"{base} index.published.seed={seed}" for seed in range(3))
    )
    together = ensemble.train(data, made)
    clusters = {tuple(member.tree.parents[-1]) for member in together.members}
    assert len(clusters) == 3
    assert xmtc.evaluate(together, data).metrics["P@1"] > 95


@pytest.mark.slow
def test_the_default_learns_from_the_data_set_that_ships():
    train, test = xmtc.datasets.debian()
    some = train.take(range(0, len(train), 80))
    few = test.take(range(0, len(test), 80))
    model = xmtc.train("xbert", some, training={"epochs": 1}, encoder={"max_tokens": 48})
    floor = xmtc.evaluate(xmtc.train("most_frequent", some), few).metrics["P@1"]
    assert xmtc.evaluate(model, few).metrics["P@1"] > floor + 5
