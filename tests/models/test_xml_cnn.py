"""XML-CNN: windows, dynamic max pooling and padding are what plain loops say they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import xmtc
from quick import preset, quick_settings
from xmtc.core.config import settings_of
from xmtc.data.planted import planted
from xmtc.models import xml_cnn
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.encoders.word_encoders import WINDOWS, DynamicPoolingCnn

LENGTHS = [1, 2, 5, 11]


def batch_of(rows):
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return Batch(ids, mask, torch.zeros_like(ids), torch.zeros(len(rows)), None, len(rows))


def naive(body, row):
    """One text, one window and one part after the other."""
    words = body.words.weight[torch.tensor(row)]
    words = torch.cat([words, torch.zeros(32, words.shape[1])])
    starts = range(0, len(row), body.stride)
    parts = []
    for size, window in zip(WINDOWS, body.windows, strict=True):
        seen = [
            torch.relu((window.weight * words[at : at + size].T).sum((1, 2)) + window.bias)
            for at in starts
        ]
        best = torch.zeros(len(window.bias), body.pools)
        for place, signs in enumerate(seen):
            part = place * body.pools // len(seen)
            best[:, part] = torch.maximum(best[:, part], signs)
        parts.append(best)
    return torch.relu(body.hidden(torch.cat(parts).flatten()))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("pools", [1, 3, 7])
def test_every_text_gets_what_loops_over_windows_and_parts_say(stride, pools):
    torch.manual_seed(0)
    body = DynamicPoolingCnn(20, 8, 0.0, filters=5, pools=pools, hidden=6, stride=stride).eval()
    rng = np.random.default_rng(0)
    rows = [rng.integers(2, 20, length).tolist() for length in LENGTHS]
    with torch.no_grad():
        together = body.pooled(batch_of(rows))
        expected = torch.stack([naive(body, row) for row in rows])
    torch.testing.assert_close(together, expected, atol=1e-5, rtol=1e-5)


def test_it_learns_far_more_than_frequencies():
    fresh = planted(seed=1)
    model = xmtc.train("xml_cnn", planted(), quick_settings("xml_cnn"))
    floor = xmtc.train("most_frequent", planted())
    found, known = (xmtc.evaluate(each, fresh).metrics for each in (model, floor))
    assert found["P@1"] > known["P@1"] + 40
    assert found["P@1"] > 95


def test_there_are_no_clusters_and_no_settings_of_them():
    names = {row.name for row in settings_of(xml_cnn.Config())}
    assert not names & {"max_flat_labels", "max_leaf", "beam", "label_dim"}
    assert not names & {f"published.{name}" for name in ("negatives", "pad_candidates")}


def test_the_published_settings_train():
    encoder = preset("xml-cnn").encoder
    assert (encoder.embedding_dim, encoder.hidden_dim, encoder.published.stride) == (300, 512, 2)
    optimizer = preset("xml-cnn").training.optimizer
    assert (optimizer.encoder_lr, optimizer.head_lr, optimizer.weight_decay) == (1e-3, 1e-3, 0)
    model = xmtc.train(
        "xml_cnn", planted(texts=20, labels=4), preset("xml-cnn"), training={"epochs": 1}
    )
    assert model.encode(["alpha"]).shape == (1, 512)
