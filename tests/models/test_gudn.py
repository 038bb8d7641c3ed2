"""GUDN: the losses of the paper and of its code, what guides leave behind, codes, new labels."""

from __future__ import annotations

import base64
import json
import logging
import uuid
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

import xmtc
from quick import preset, quick_settings, tiny_bert, trained, training, training_config
from tiny import tiny_encoder
from xmtc.core.arrays import csr_of_rows
from xmtc.core.config import merged
from xmtc.core.tree import LabelTree
from xmtc.data.planted import planted
from xmtc.labels.label_text import are_codes, label_texts
from xmtc.models import gudn
from xmtc.neural.batches.tokens import cached_tokens, tokenize
from xmtc.neural.devices import Rng
from xmtc.neural.distributed import Share
from xmtc.neural.encoders.frozen import FrozenSource, source_of
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.heads.chunked import Chunked
from xmtc.neural.heads.dense_scorer import DenseScorer
from xmtc.neural.heads.flat import Flat
from xmtc.neural.heads.new_labels import with_nodes
from xmtc.neural.heads.two_level import TwoLevel
from xmtc.neural.settings import GuideConfig, Pretrained, PublishedGuides, PublishedPretrained
from xmtc.neural.training import loop
from xmtc.neural.training.guided_loss import guided as with_guides
from xmtc.neural.training.guided_loss import half_square, mean_square
from xmtc.neural.training.label_texts import (
    OneHot,
    OneHotReader,
    distinct_sets,
    label_text_reader,
    labels_of,
)
from xmtc.neural.training.optimizer import Optimizer
from xmtc.neural.training.task import LabelTask, Net

ENCODER_ONLY = {"feature_weight": 0.0, "link_weight": 0.0}
FEATURE = {"link_weight": 0.0}
TEN_LAYERS = {"pooling": "cls", "published": PublishedPretrained(pooled_layers=10)}
FP32 = {"trainable_layers": 1, "published": PublishedPretrained(frozen_cache="fp32")}


# Oracles 8.8.
def test_the_feature_loss_of_the_paper_is_half_the_width_times_that_of_the_code():
    texts = torch.ones(1, 4)
    labels = torch.zeros(1, 4)
    assert half_square(texts, labels) == 2
    assert mean_square(texts, labels) == 1
    texts = torch.tensor([[1.0, 0], [0, 2]])
    labels = torch.tensor([[0.0, 0], [1, 1]])
    assert half_square(texts, labels) == pytest.approx(0.75)
    assert mean_square(texts, labels) == pytest.approx(0.75)


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 99))
def test_their_ratio_is_that_for_any_width(texts, width, seed):
    rng = np.random.default_rng(seed)
    pair = [torch.from_numpy(rng.normal(size=(texts, width))) for _ in range(2)]
    assert half_square(*pair) == pytest.approx(float(mean_square(*pair)) * width / 2, rel=1e-4)


def test_cross_entropy_is_summed_in_the_paper_and_averaged_in_the_code():
    probabilities = torch.tensor([[0.9, 0.2, 0.5]])
    logits = torch.log(probabilities / (1 - probabilities))
    for mean, expected in ((False, 1.0216512475), (True, 0.3405504158)):
        loss = Flat(2, 3, mean).loss_of(logits, csr_of_rows([[0, 2]], 3))
        assert float(loss) == pytest.approx(expected, abs=1e-6)


DATA = planted(texts=12, labels=6)
LABEL_TEXTS = label_texts(DATA.labels)


def guided(tmp_path, guides=None, encoder=None, head=None, relevant=None, config=None):
    """A task on a tiny encoder without dropout, its head and the encoder."""
    settings = Pretrained(
        tiny_bert(), max_tokens=32, **{"trainable_layers": None, **(encoder or {})}
    )
    guides = GuideConfig(published=PublishedGuides(**(guides or {})))
    with Rng(0).turn():
        made = make_encoder(DATA.texts, settings, guides.needs_pooler)
        head = head or Flat(made.dim, 6, mean=False)
    source = source_of(
        made, cached_tokens(DATA.texts, made.tokenizer, made.cut, tmp_path), tmp_path
    )
    relevant = DATA.relevant if relevant is None else relevant
    net = Net(source.encoder, head, 0.0)
    task = LabelTask(net, source, relevant, config or training_config(), dict)
    reader = label_text_reader(source, made, LABEL_TEXTS, relevant, guides, tmp_path)
    return with_guides(task, reader, guides), head, made


def read(encoder, texts):
    tokens = tokenize(texts, encoder.tokenizer, encoder.cut)
    return encoder.layout.batch(tokens, np.arange(len(texts)))


def label_text_of(row):
    return " ".join(LABEL_TEXTS[label] for label in labels_of(DATA.relevant, row))


@pytest.mark.parametrize(
    ("guides", "encoder"),
    [
        ({}, {}),
        ({"features": "pooler"}, TEN_LAYERS),
        ({"feature_weight": 3.0, "link_weight": 0.5, "text_weight": 2.0, "distance": "paper"}, {}),
        (FEATURE, FP32),
        ({"features": "pooler"}, FP32),
    ],
    ids=["mean", "pooler", "weighed, paper", "frozen", "frozen, pooler"],
)
def test_the_loss_is_the_sum_of_three_read_one_by_one(guides, encoder, tmp_path):
    task, head, made = guided(tmp_path, guides, encoder)
    rows = np.array([1, 4, 7])
    weights = task.loss_function.guides.published
    made.eval()
    task.net.eval()
    texts = [DATA.texts[row] for row in rows]
    labels = [label_text_of(row) for row in rows]
    with torch.no_grad():
        found = float(task.loss(Share(rows)))
        vectors = [made(read(made, side)) for side in (texts, labels)]
        features = vectors
        if weights.features == "pooler":
            features = [made.body.pooled(read(made, side)) for side in (texts, labels)]
        own, link = (float(head.loss(each, DATA.relevant[rows])) for each in vectors)
        distance = (features[0] - features[1]).square().sum(1)
        feature = (
            distance.sum() / 6
            if weights.distance == "paper"
            else (distance / features[0].shape[1]).sum()
        )
    expected = (
        weights.text_weight * own
        + weights.link_weight * link
        + weights.feature_weight * float(feature)
    )
    assert found == pytest.approx(expected, rel=1e-4)
    assert task.details["feature_loss"] == pytest.approx(float(feature) / 3, rel=1e-4)


@pytest.mark.parametrize("mean", [False, True])
def test_the_papers_distance_with_a_sum_and_with_a_mean(mean, tmp_path):
    """The loop divides by three texts. Equation 2 is added to a mean as it is; to a sum that
    the paper does not divide, it is divided too."""
    only = {"text_weight": 0.0, "link_weight": 0.0}
    found = []
    for distance in ("mean", "paper"):
        task, _, made = guided(tmp_path, {**only, "distance": distance})
        task.net.head.mean = mean
        made.eval()
        task.net.eval()
        with torch.no_grad():
            found.append(float(task.loss(Share(np.array([1, 4, 7])))))
    half_width = made.dim / 2
    assert found[1] == pytest.approx(found[0] * half_width / (1 if mean else 3), rel=1e-4)


def test_ten_layers_are_as_many_as_the_encoder_has(tmp_path):
    _, _, encoder = guided(tmp_path, encoder=TEN_LAYERS)
    assert encoder.dim == 4 * 32  # three layers and the embeddings


def test_gradients_reach_the_encoder_from_both_sides(tmp_path):
    task, _, encoder = guided(tmp_path, {"text_weight": 0.0, "link_weight": 0.0})
    words = encoder.body.model.get_input_embeddings().weight
    task.loss(Share(np.array([0]))).backward()
    moved = set(words.grad.abs().sum(1).nonzero().flatten().tolist())
    sides = [
        set(read(encoder, [side]).ids.flatten().tolist())
        for side in (DATA.texts[0], label_text_of(0))
    ]
    for one, other in (sides, sides[::-1]):
        assert (one - other) & moved  # words that the other side does not have


def test_a_text_without_labels_is_drawn_nowhere(tmp_path):
    rows = [labels_of(DATA.relevant, row).tolist() for row in range(12)]
    rows[3] = []
    task, _, _ = guided(tmp_path, FEATURE, relevant=csr_of_rows(rows, 6))
    task.net.eval()
    task.loss(Share(np.array([3])))
    assert task.details["feature_loss"] == 0


def test_label_texts_are_cut(tmp_path):
    task, _, encoder = guided(tmp_path, {"max_tokens": 8})
    source = task.loss_function.labels.source
    assert source.lengths.max() == 8
    assert encoder.layout.batch(source.tokens, [0]).ids[0, -1] == 3  # its last is [sep]


def test_frozen_layers_read_label_texts_once(tmp_path):
    task, _, _ = guided(tmp_path, {}, {"trainable_layers": 1})
    assert isinstance(task.loss_function.labels.source, FrozenSource)
    assert task.loss_function.labels.source.encoder is task.source.encoder
    assert len(list(tmp_path.glob("states-*.npy"))) == 2


label_rows = st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=9)


@given(label_rows)
def test_texts_share_a_set_exactly_when_they_have_the_same_labels(rows):
    relevant = csr_of_rows(rows, 5)
    set_of, first = distinct_sets(relevant)
    assert len(first) == len({frozenset(row) for row in rows})
    for row, number in enumerate(set_of):
        assert set(labels_of(relevant, first[number])) == set(rows[row])


def test_the_order_of_labels_is_drawn_anew_and_nothing_else_changes(tmp_path):
    side = guided(tmp_path, {"order": "shuffled"})[0].loss_function.labels
    row = int(np.argmax(np.diff(DATA.relevant.indptr)))
    ids = lambda _, batch: tuple(batch.ids[0].tolist())  # noqa: E731
    with Rng(1).turn():
        drawn = {side(np.array([row]), ids) for _ in range(20)}
    assert len(drawn) > 1
    expected = sorted(ids(None, read(side.encoder, [label_text_of(row)])))
    assert {tuple(sorted(each)) for each in drawn} == {tuple(expected)}


def test_candidates_of_the_link_guide_are_the_texts(tmp_path):
    """Both output layers read the label text; which labels they tell apart, the text decides."""
    tree = LabelTree.of([[0, 0, 0], [0, 0, 1, 1, 2, 2]])
    torch.manual_seed(0)
    head = TwoLevel(6, tree, 4, beam=1, mean=False)
    relevant = csr_of_rows([[]], 6)
    text = torch.randn(1, 6)
    label = torch.randn(1, 6)
    best = int(head.generator(text).argmax())
    narrow = head.bottleneck(label)[0]
    logits = [head.labels.weight[name] @ narrow for name in (2 * best, 2 * best + 1)]
    expected = torch.nn.functional.softplus(torch.stack(logits)).sum()
    expected = expected + torch.nn.functional.softplus(head.generator(label)).sum()
    torch.testing.assert_close(head.loss(label, relevant, text), expected)


def test_one_hot_knows_which_labels_but_not_what_they_say():
    torch.manual_seed(0)
    network = OneHot(5, 8, 3)
    reading = network(csr_of_rows([[0, 3], [], [3, 0]], 5))
    assert reading.vectors.shape == (3, 8)
    assert reading.features.shape == (3, 3)
    torch.testing.assert_close(reading.vectors[0], reading.vectors[2])
    assert OneHotReader(network, csr_of_rows([[1]], 5))(np.array([0]), None).vectors.shape == (1, 8)


def settings(**changes):
    return merged(quick_settings("gudn"), changes)


def published(**guides):
    return {"published": guides}


@pytest.mark.parametrize(
    "changes",
    [
        {"guides": published(**FEATURE, labels_as="one_hot", features="pooler")},
        {
            "guides": published(features="pooler", order="shuffled"),
            "encoder": {"pooling": "cls", "published": {"pooled_layers": 2}, "trainable_layers": 2},
        },
        {"max_flat_labels": 4, "max_leaf": 4, "beam": 2, "label_dim": 16},
    ],
    ids=["one-hot", "published, shuffled, frozen", "clusters"],
)
def test_every_way_to_guide_finds_the_planted_labels(changes, tmp_path):
    model = xmtc.train("gudn", planted(), settings(**changes))
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90
    xmtc.save(model, tmp_path / "model")
    before, after = (m.rank(planted().texts, 5) for m in (model, xmtc.load(tmp_path / "model")))
    assert (before.scores == after.scores).all()


SHORT = {"training": {"epochs": 1}}


def test_a_finished_model_is_as_large_as_an_unguided_one():
    guides = [{"features": "pooler"}, {"labels_as": "one_hot"}, ENCODER_ONLY]
    models = [
        xmtc.train("gudn", DATA, settings(**SHORT, guides=published(**each))) for each in guides
    ]
    models.append(xmtc.train("lightxml", DATA, merged(quick_settings("lightxml"), SHORT)))
    shapes = [
        {name: array.shape for name, array in model.to_parts().arrays.items()} for model in models
    ]
    for shape in shapes[:-1]:
        assert shape.pop("mean_text") == (32,)  # for adding labels; ranking does not read these
        assert shape.pop("trained_labels") == (1,)
        assert shape == shapes[-1]


def test_without_guides_it_is_lightxml():
    ours = xmtc.train("gudn", DATA, settings(**SHORT, guides=published(**ENCODER_ONLY)))
    plain = xmtc.train("lightxml", DATA, merged(quick_settings("lightxml"), SHORT))
    assert (ours.rank(DATA.texts, 5).scores == plain.rank(DATA.texts, 5).scores).all()


def test_the_log_has_the_feature_loss_of_each_step(tmp_path):
    xmtc.train("gudn", DATA, settings(training={"epochs": 2}), run=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    assert all({"feature_loss", "link_loss", "text_loss"} <= line.keys() for line in steps)
    parts = [sum(line[f"{name}_loss"] for name in ("text", "link", "feature")) for line in steps]
    assert parts == pytest.approx([line["loss"] for line in steps], rel=1e-4)


def test_an_encoder_without_a_pooler_says_what_to_do(tmp_path):
    encoder = {"name": tiny_encoder(tmp_path / "distilbert", "distilbert")}
    with pytest.raises(xmtc.ConfigError, match=r"guides\.published\.features"):
        xmtc.train("gudn", DATA, settings(encoder=encoder, guides=published(features="pooler")))


NAMES = st.text("abcdefghij", min_size=4, max_size=12).filter(lambda n: set(n) & set("aei"))


@given(st.lists(NAMES, min_size=4, max_size=20, unique=True))
def test_words_are_no_codes_and_numbers_are(names):
    assert not are_codes(names)
    for form in ("{}", "label {}", "D{:06d}", "Q{}", "C{:03d}.{}"):
        assert are_codes([form.format(number, 7) for number in range(len(names))])


def test_names_of_other_scripts_and_short_ones_are_no_codes():
    assert not are_codes(["漁業", "貿易", "農業", "魚"])
    assert not are_codes(["рыба", "масло", "торговля"])
    assert not are_codes(["fish", "oil", "17", "trade"])
    assert are_codes(["0ad", "x17", "b2", "trade"])
    assert not are_codes(["python3", "libc6", "covid19", "trade"])


@pytest.mark.parametrize("form", ["asin", "md5", "uuid", "base64"])
def test_identifiers_are_codes_although_some_spell_something(form):
    rng = np.random.default_rng(0)
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    make = {
        "asin": lambda: "B00" + "".join(rng.choice(list(alphabet), 7)),
        "md5": lambda: rng.bytes(16).hex(),
        "uuid": lambda: str(uuid.UUID(bytes=rng.bytes(16))),
        "base64": lambda: base64.b64encode(rng.bytes(12)).decode(),
    }[form]
    assert are_codes([make() for _ in range(200)])


def test_codes_are_warned_of_and_trained_all_the_same(caplog):
    coded = xmtc.Dataset.of(DATA.texts, [[f"C{row % 3}"] for row in range(len(DATA))])
    with caplog.at_level(logging.WARNING, "xmtc"):
        model = xmtc.train("gudn", coded, settings(**SHORT))
        assert "look like codes: 'C0', 'C1', 'C2'" in caplog.text
        assert len(model.labels) == 3
        caplog.clear()
        named = replace(
            coded, labels=coded.labels.with_texts({"C0": "olive oil", "C1": "fish", "C2": "trade"})
        )
        xmtc.train("gudn", named, settings(**SHORT))
        xmtc.train("gudn", coded, settings(**SHORT, guides=published(**ENCODER_ONLY)))
        assert not caplog.text


def test_label_texts_are_a_description_their_name_or_both_with_spaces():
    space = xmtc.LabelSpace(("ec_law", "fish"), ("law of the EC", ""))
    assert label_texts(space) == ["law of the EC", "fish"]
    assert label_texts(space, "name") == ["ec law", "fish"]
    assert label_texts(space, "name", "keep") == ["ec_law", "fish"]
    assert label_texts(space, "both") == ["ec law law of the EC", "fish"]


def test_presets_are_the_published_settings():  # spec 5
    for data, epochs in (("eurlex4k", 40), ("wiki10", 40), ("amazoncat", 20), ("wiki500k", 20)):
        found = preset(f"gudn-{data}")
        how = found.training
        guides = found.guides.published
        optimizer = how.optimizer
        assert (how.epochs, how.seed, how.published.epsilon) == (epochs, 19950919, 1e-6)
        assert (optimizer.encoder_lr, optimizer.head_lr) == (5e-5, 5e-5)
        assert (optimizer.weight_decay, optimizer.max_grad_norm) == (0, None)
        assert (how.schedule.name, how.schedule.warmup) == ("linear", 0)
        assert how.batch_size * how.published.accumulate == 32
        encoder = found.encoder
        assert (encoder.published.pooled_layers, encoder.pooling, found.dropout) == (10, "cls", 0.5)
        assert (encoder.trainable_layers, encoder.dropout) == (None, None)
        assert (guides.features, guides.distance) == ("pooler", "mean")
        assert (guides.max_tokens, encoder.max_tokens, found.published.loss) == (512, 512, "mean")
    assert (preset("gudn-wiki500k").beam, preset("gudn-wiki500k").label_dim) == (10, 3_000)
    written = preset("gudn-eurlex4k-equations")
    guides = written.guides.published
    assert (written.published.loss, guides.distance, guides.features) == ("sum", "paper", "concat")


# Each label text holds one sign of the label, and so do texts: what is unseen can be ranked.
@pytest.fixture(
    scope="module",
    params=[{}, {"max_flat_labels": 4, "max_leaf": 4, "beam": 5}],
    ids=["plain", "clusters"],
)
def partly(request):
    """A model that never saw labels 10 and 11, the rarest."""
    data = planted(texts=150)
    trained = np.arange(12) < 10
    seen = xmtc.Dataset(data.texts, data.relevant[:, trained], data.labels.only(trained))
    return xmtc.train("gudn", seen, settings(**request.param))


TEXTS = {"ten": "sign1a sign2a", "eleven": "sign3a"}


def test_a_new_label_needs_no_more_than_its_text(partly, tmp_path):
    wider = xmtc.add_labels(partly, texts=TEXTS)
    assert wider.labels.names[-2:] == ("ten", "eleven")
    assert wider.labels.text_of(10) == "sign1a sign2a"
    assert wider.trained_on.label_counts[-2:].tolist() == [0, 0]
    texts = ["sign1a sign1b sign2a sign2b alpha", "sign3a sign3b beta"]
    found = xmtc.predict(wider, texts, k=1, only=list(TEXTS))
    assert [row[0][0] for row in found] == ["ten", "eleven"]
    xmtc.save(wider, tmp_path / "wider")
    again = xmtc.load(tmp_path / "wider")
    assert (again.rank(texts, 5).scores == wider.rank(texts, 5).scores).all()


def test_known_labels_score_as_before_when_others_are_added(partly):
    wider = xmtc.add_labels(partly, texts=TEXTS)
    texts = planted(seed=1).texts
    before = partly.rank(texts, 5)
    after = wider.rank(texts, 5, np.arange(12) < 10)
    assert (before.labels == after.labels).all()
    assert np.allclose(before.scores, after.scores, atol=1e-6)


def test_labels_added_one_by_one_are_as_strong_as_those_added_at_once(partly, tmp_path):
    at_once = xmtc.add_labels(partly, texts=TEXTS)
    one_by_one = partly
    for name, text in TEXTS.items():
        xmtc.save(xmtc.add_labels(one_by_one, texts={name: text}), tmp_path / name)
        one_by_one = xmtc.load(tmp_path / name)
    texts = planted(seed=1).texts
    assert np.allclose(at_once.rank(texts, 5).scores, one_by_one.rank(texts, 5).scores, atol=1e-6)


def test_examples_of_a_new_label_stand_for_it(partly):
    examples = xmtc.Dataset.of(["sign4a sign4b", "sign4b alpha"], [["four"], ["four"]])
    wider = xmtc.add_labels(partly, examples, {"three": "sign3a"})
    assert wider.trained_on.label_counts[-2:].tolist() == [2, 0]
    found = xmtc.predict(wider, ["sign4a sign4b beta"], k=1, only=["four", "three"])
    assert found[0][0][0] == "four"


def test_other_changes_are_refused(partly):
    with pytest.raises(xmtc.ConfigError, match="models cannot be changed"):
        xmtc.remove_labels(partly, [partly.labels.names[0]])


@given(st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_a_new_node_finds_an_average_text_as_likely_as_known_ones_do(count, with_bias, seed):
    rng = np.random.default_rng(seed)
    weights, bias, new, usual, middle = (
        rng.normal(size=shape).astype(np.float32) for shape in ((7, 5), 7, (count, 5), 5, 5)
    )
    scorer = DenseScorer(weights, bias if with_bias else None)
    wider = with_nodes(scorer, 7, new, usual, middle)
    everything = np.arange(7 + count, dtype=np.int32)[None]
    odds = logit(wider.score(middle[None], everything)[0].astype(np.float64))
    assert (wider.weights[:7] == weights).all()
    assert odds[7:] == pytest.approx(np.full(count, odds[:7].mean()), abs=1e-3)
    if with_bias:  # nearer to what stands for it: likelier
        steps = middle + np.outer([0.0, 1.0, 2.0], new[0] - usual).astype(np.float32)
        rising = wider.score(steps, np.array([[7]] * 3, np.int32))[:, 0]
        assert (np.diff(rising) > 0).all()


def test_many_labels_learn_chunk_by_chunk_from_both_sides_what_they_learn_at_once(tmp_path):
    """Chunks change as soon as their gradient is there: that of text and label text together."""
    found = []
    for kind in (lambda dim: Flat(dim, 6, False), lambda dim: Chunked(dim, 6, False, chunk=4)):
        with Rng(0).turn():
            head = kind(32)
        head.start_at_frequency(np.arange(1, 7), 12)
        task, _, _ = guided(tmp_path, head=head, config=training_config(head_lr=0.1))
        task.net.eval()
        optimizer = Optimizer(task.parts, task.config)
        optimizer.set_rates(1.0)
        task.loss(Share(np.arange(5))).backward()
        optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
        found.append(head.scorers()[0])
    assert np.abs(found[0].weights).max() > 0.05
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-4)
    np.testing.assert_allclose(found[0].bias, found[1].bias, atol=1e-4)


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    "guides", [{"order": "shuffled"}, {"labels_as": "one_hot"}], ids=["shuffled", "one-hot"]
)
def test_a_killed_training_ends_as_if_it_had_not_been(guides, tmp_path, monkeypatch):
    quick = settings(guides=published(**guides), training=training(epochs=3, batch_size=4))
    whole = xmtc.train("gudn", DATA, quick).rank(DATA.texts, 5)
    real = loop.Training._step
    steps = []

    def until_killed(self, *rest):
        real(self, *rest)
        steps.append(1)
        if len(steps) == 4:
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", until_killed)
    with pytest.raises(Killed):
        trained("gudn", DATA, quick, tmp_path)
    again = trained("gudn", DATA, quick, tmp_path).rank(DATA.texts, 5)
    assert (again.scores == whole.scores).all()


def test_a_folder_that_is_damaged_is_refused(partly):
    parts = partly.to_parts()
    for name, array in (
        ("mean_text", np.zeros(3, np.float32)),
        ("mean_text", None),
        ("level0.bias", np.full_like(parts.arrays["level0.bias"], np.nan)),
        ("level0.weights", parts.arrays["level0.weights"][1:]),
    ):
        arrays = {key: value for key, value in parts.arrays.items() if key != name}
        if array is not None:
            arrays[name] = array
        with pytest.raises(xmtc.StoreError):
            gudn.Gudn.from_parts(replace(parts, arrays=arrays))
    with pytest.raises(xmtc.StoreError):
        gudn.Gudn.from_parts(replace(parts, settings={**parts.settings, "dropout": 7}))
