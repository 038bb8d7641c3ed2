"""Text vectors are read once, whoever else reads them at the same time."""

from __future__ import annotations

import numpy as np

from xmtc.data.planted import planted
from xmtc.neural.batches.tokens import tokenize
from xmtc.neural.encoders import vectors
from xmtc.neural.encoders.frozen import TokenSource
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.settings import CnnEncoder


def test_vectors_that_another_process_wrote_meanwhile_are_taken(tmp_path, monkeypatch):
    texts = planted(texts=9).texts
    encoder = make_encoder(texts, CnnEncoder(max_tokens=16)).eval()
    source = TokenSource(encoder, tokenize(texts, encoder.tokenizer, encoder.cut))
    expected = vectors._read(source, np.arange(9))
    real = vectors.allocate

    def overtaken(*arguments):
        for part in tmp_path.glob("vectors-*-0.npy"):
            np.save(part.with_name(part.name.replace("-0.npy", ".npy")), expected)
            part.unlink()
        return real(*arguments)

    monkeypatch.setattr(vectors, "allocate", overtaken)
    assert (vectors.text_vectors(source, tmp_path) == expected).all()
    assert len(list(tmp_path.glob("vectors-*.npy"))) == 1
