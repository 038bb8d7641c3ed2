"""TF-IDF: learning the vocabulary and encoding the training texts, by us and others."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.experiment import Options, Row, System
from benchmarks.limits import timed
from benchmarks.peers.client import Peer

WARM_UP = 500  # texts that every system encodes beforehand
SKLEARN = {"sublinear_tf": True, "min_df": 2}  # and dtype float32
PECOS = {"min_df_cnt": 2, "sublinear_tf": True, "add_one_idf": True}


@dataclass(frozen=True)
class XmtcTfidf(System):
    """Ours."""

    threads: int

    def measure(self, name: str, options: Options) -> Row:
        import xmtc
        from xmtc.text import tfidf

        texts = data.training(name, options).texts
        config = tfidf.TfidfConfig(min_df=2)
        xmtc.set_threads(self.threads)
        return measured(lambda part: tfidf.learn(part, config)[1], texts)


@dataclass(frozen=True)
class SklearnTfidf(System):
    """scikit-learn, which has one thread."""

    def measure(self, name: str, options: Options) -> Row:
        texts = data.training(name, options).texts
        return measured(lambda part: vectorizer().fit_transform(part), texts)


@dataclass(frozen=True)
class PecosTfidf(System):
    """PECOS, given the texts with single spaces, or the words of scikit-learn."""

    threads: int
    words: bool = False

    def measure(self, name: str, options: Options) -> Row:
        split = vectorizer().build_analyzer() if self.words else str.split
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "texts.txt"
            with path.open("w", encoding="utf-8", newline="\n") as file:
                for text in data.training(name, options).texts:
                    file.write(" ".join(split(text)) + "\n")
            with Peer("pecos", "pecos_tfidf.py", json.dumps(PECOS), str(path)) as peer:
                return {**peer.about, **peer.ask(threads=self.threads)}


def measured(encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Row:
    """The figures of encoding all texts, after a few."""
    encode(texts[:WARM_UP])
    features, cost = timed(lambda: encode(texts))
    return {**cost._asdict(), "features": features.shape[1], "nonzeros": features.nnz}


def vectorizer() -> Any:
    """scikit-learn's, in float32 like ours."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**SKLEARN, dtype=np.float32)
