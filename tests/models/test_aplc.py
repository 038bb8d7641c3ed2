"""aplc: labels by frequency and back, three learning rates, presets, XLNet, hostile folders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import xmtc
from quick import preset, quick_settings, trained, training, training_config
from tiny import tiny_xlnet
from xmtc.core.arrays import csr_of_rows
from xmtc.core.config import from_dict, merged, to_dict
from xmtc.core.errors import ConfigError, StoreError
from xmtc.data.planted import planted
from xmtc.models import aplc
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.heads.adaptive import AdaptiveLabelClusters, Hidden
from xmtc.neural.settings import Pretrained
from xmtc.neural.training import loop
from xmtc.neural.training.optimizer import Optimizer
from xmtc.neural.training.task import LabelTask, Net

CNN = {"encoder": {"type": "cnn", "embedding_dim": 16, "max_tokens": 32}}


def quick(**changes):
    return merged(quick_settings("aplc"), changes)


def test_labels_are_sorted_by_frequency_and_mapped_back():
    relevant = csr_of_rows([[1, 3], [3], [1, 3], [0], []], 5)
    order = aplc.by_frequency(relevant)
    assert order.tolist() == [3, 1, 0, 2, 4]  # equals by number
    ranked = aplc._by_rank(relevant, order)
    assert [ranked[[row]].indices.tolist() for row in range(5)] == [[0, 1], [0], [0, 1], [2], []]
    assert ranked.has_sorted_indices


@pytest.mark.parametrize(
    "changes",
    [
        {"clusters": (0.3, 0.3, 0.4), "published": {"loss": "document"}},
        {"published": {"cuts": (4, 8), "loss": "global"}},
        {"published": {"norm_relu": False, "gate_loss": False, "loss": "global"}},
        {"hidden": {"dim": 24, "lr": 1e-2}, "dropout": 0.1},
        {"clusters": (1.0,)},
        {
            "published": {"bias_from_frequency": False, "standardize": False},
            "training": training(warmup_epochs=0),
        },
    ],
    ids=["three clusters", "cuts", "paper", "hidden", "one cluster", "random biases"],
)
def test_every_way_to_train_finds_the_planted_labels(changes, tmp_path):
    model = xmtc.train("aplc", planted(), quick(**changes))
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 90
    xmtc.save(model, tmp_path / "model")
    before, after = (m.rank(planted().texts, 5) for m in (model, xmtc.load(tmp_path / "model")))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()


def test_most_tails_are_skipped_when_few_labels_are_asked():
    model = xmtc.train("aplc", planted(), quick())
    assert model.tails_skipped(planted(seed=1).texts, 1) > 0.3
    assert model.tails_skipped(planted(seed=1).texts, 12) == 0


def test_encoder_hidden_and_output_layer_learn_at_rates_of_their_own():
    config = training_config(encoder_lr=5e-5, head_lr=2e-3, warmup=0.0)
    head = Hidden(4, AdaptiveLabelClusters(6, [3, 2]), 0.0, rate=1e-4)
    task = LabelTask(Net(torch.nn.Linear(2, 4), head, 0.0), None, None, config, dict)
    optimizer = Optimizer(task.parts, config)
    optimizer.set_rates(0.5)
    rates = {
        id(p): group["lr"]
        for o in optimizer.optimizers
        for group in o.param_groups
        for p in group["params"]
    }
    assert {rates[id(p)] for p in task.net.encoder.parameters()} == {2.5e-5}
    assert {rates[id(p)] for p in head.hidden.parameters()} == {5e-5}
    assert {rates[id(p)] for p in head.output.parameters()} == {1e-3}
    assert len(rates) == len(list(task.net.parameters()))


class Killed(Exception):
    pass


def test_a_killed_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    """Also while a tail was never visited: the optimizer knows nothing of it then."""
    settings = quick(
        **CNN,
        training=training(epochs=2, warmup_epochs=1, batch_size=4),
        clusters=(0.5, 0.3, 0.2),
        hidden={"dim": 16},
    )
    data = planted(texts=24)
    whole = xmtc.train("aplc", data, settings).rank(data.texts, 5)
    real = loop.Training._step
    steps = []

    def until_killed(self, *rest):
        real(self, *rest)
        steps.append(1)
        if len(steps) in (1, 5):
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", until_killed)
    for _ in range(2):
        with pytest.raises(Killed):
            trained("aplc", data, settings, tmp_path / "run")
    again = trained("aplc", data, settings, tmp_path / "run").rank(data.texts, 5)
    assert (again.scores == whole.scores).all()


DATA_SETS = ("eurlex4k", "amazoncat", "wiki10", "wiki500k", "amazon670k")
CODE = {"amazoncat", "wiki500k", "amazon670k"}  # where the released code differs from the paper


def test_presets_are_the_published_settings():  # spec 4.3 and 4.7
    paper = [preset(f"aplc-{data}") for data in DATA_SETS]
    code = [preset(f"aplc-{data}-code" if data in CODE else f"aplc-{data}") for data in DATA_SETS]
    assert [
        (p.encoder.max_tokens, p.training.batch_size, p.training.epochs, p.hidden.dim)
        for p in paper
    ] == [
        (512, 12, 8, 768),
        (256, 48, 8, 768),
        (512, 12, 6, 768),
        (128, 96, 15, 512),
        (128, 28, 20, 384),
    ]
    assert [
        (p.encoder.max_tokens, p.training.batch_size, p.training.epochs, p.hidden.dim) for p in code
    ] == [
        (512, 12, 8, 768),
        (192, 48, 8, 768),
        (512, 12, 6, 768),
        (256, 64, 12, 768),
        (128, 32, 25, 512),
    ]
    labels = (3956, 13_330, 30_938, 501_008, 670_091)
    assert [p.sizes(count) for p, count in zip(code, labels, strict=True)] == [
        (1978,) * 2,
        (6665,) * 2,
        (15_469,) * 2,
        (167_000, 167_000, 167_008),
        (167_522, 167_523, 167_521, 167_525),
    ]
    assert preset("aplc-wiki500k").sizes(501_008) == (125_252,) * 4
    for found in (*paper, *code):
        slow = found == preset("aplc-wiki10")
        optimizer = found.training.optimizer
        rates = (optimizer.encoder_lr, found.hidden.lr, optimizer.head_lr)
        assert rates == ((1e-5, 1e-4, 1e-3) if slow else (5e-5, 1e-4, 2e-3))
        published = found.published
        assert (published.loss, published.gate_loss, published.norm_relu) == (
            "document",
            True,
            True,
        )
        assert (found.training.schedule.name, found.training.schedule.warmup) == ("linear", 0)
        assert (optimizer.weight_decay, found.dropout, found.narrowing) == (0, 0.1, 2)
        assert (found.encoder.name, found.encoder.pooling) == ("xlnet-base-cased", "cls")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clusters": (0.5, 0.6)}, "add up to 1"),
        ({"published": {"cuts": (5, 5)}}, "increasing"),
        ({"training": training(shard_labels=True)}, "not work with aplc"),
        ({"narrowing": 0.5}, "narrowing"),
        ({**CNN, "clusters": (0.2,) * 5, "narrowing": 9.0}, "fewer clusters"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        xmtc.train("aplc", planted(), settings)


@pytest.fixture(scope="module")
def xlnet(tmp_path_factory):
    texts = [text.capitalize() for text in planted().texts]
    return tiny_xlnet(tmp_path_factory.mktemp("xlnet"), [*texts, *planted().texts], pieces=300)


def test_xlnet_is_read_as_it_was_made_to_be(xlnet):
    """x <sep> <cls>, padded on the left, segment ids 0 and 2; cased; the vector is that of CLS."""
    texts = ["sign0a alpha beta gamma delta", "Sign3b", ""]
    encoder = make_encoder([], Pretrained(xlnet, max_tokens=64, pooling="cls")).eval()
    tokenizer = AutoTokenizer.from_pretrained(xlnet)
    model = AutoModel.from_pretrained(xlnet).eval()
    assert encoder.layout.pad_left
    assert encoder.layout.after == (tokenizer.sep_token_id, tokenizer.cls_token_id)
    assert (encoder.layout.text_type, encoder.layout.after_types) == (0, (0, 2))
    together = encoder.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad():
            expected = model(**inputs).last_hidden_state[0, -1]
        np.testing.assert_allclose(vector, expected, atol=1e-5)
        np.testing.assert_allclose(encoder.encode([text])[0], vector, atol=1e-5)
    upper, lower = encoder.encode(["Sign3b", "sign3b"])
    assert np.abs(upper - lower).max() > 1e-3


def test_xlnet_trains_and_can_be_copied(xlnet, tmp_path):
    """With the published vector, loss and schedule; rates for an encoder that knows nothing."""
    data = planted()
    changes = {
        "encoder": {"name": xlnet, "max_tokens": 32},
        "training": training(
            epochs=5,
            batch_size=16,
            encoder_lr=3e-3,
            head_lr=2e-2,
            warmup_epochs=20,
            validation=None,
        ),
        "hidden": None,
        "published": {"standardize": True},
    }
    config = from_dict(aplc.Config, merged(to_dict(preset("aplc-eurlex4k")), changes))
    model = aplc.train(data, config)
    fresh = planted(seed=1)
    floor = xmtc.evaluate(xmtc.train("most_frequent", data), fresh).metrics["P@1"]
    assert xmtc.evaluate(model, fresh).metrics["P@1"] > floor + 10
    xmtc.save(model, tmp_path / "model")
    texts = fresh.texts[:20]
    before, after = (m.rank(texts, 5) for m in (model, xmtc.load(tmp_path / "model")))
    assert (before.labels == after.labels).all()
    assert (before.scores == after.scores).all()
    alone = xmtc.Ranking.stack([model.rank([text], 5) for text in texts])
    np.testing.assert_allclose(alone.scores, before.scores, atol=1e-5)


def _twice(array):
    array[0] = array[1]


def _zero(array):
    array[:] = 0


def _nan(array):
    array.flat[0] = np.nan


@pytest.fixture(scope="module")
def parts():
    settings = quick(**CNN, training=training(epochs=1, warmup_epochs=0), hidden={"dim": 8})
    return xmtc.train("aplc", planted(texts=30), settings).to_parts()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("order", _twice),
        ("spread", _zero),
        ("head.weights", _nan),
        ("tail0.gain", _nan),
        ("tail0.bias", None),
        ("center", None),
        ("hidden.bias", None),
        ("order", None),
        ("tail0.down", lambda a: a[:, :-1]),
        ("tail0.weights", lambda a: a[1:]),
        ("head.weights", lambda a: a.astype(np.float64)),
        ("order", lambda a: a + 1),
    ],
)
def test_a_damaged_folder_is_refused(parts, name, damage):
    """damage: changes a copy of the array, or gives another; None: the array is gone."""
    arrays = {key: value.copy() for key, value in parts.arrays.items()}
    if damage is None:
        del arrays[name]
    else:
        changed = damage(arrays[name])
        arrays[name] = arrays[name] if changed is None else changed
    with pytest.raises(StoreError):
        aplc.Aplc.from_parts(replace(parts, arrays=arrays))


@pytest.mark.parametrize(
    "settings",
    [
        {"clusters": [0.2] * 5},
        {"published": {"cuts": [2]}},
        {"narrowing": 1000.0},
        {"hidden": {"dim": 1 << 16}},
        {"published": {"norm_relu": "perhaps"}},
        {"clusters": []},
    ],
)
def test_settings_that_do_not_fit_the_arrays_are_refused(parts, settings):
    with pytest.raises(StoreError):
        aplc.Aplc.from_parts(replace(parts, settings={**parts.settings, **settings}))
