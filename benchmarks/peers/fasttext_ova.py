"""fastText, a linear peer; in the environment of `fasttext`.

It reads raw text, texts.json in the task's folder, and not the TF-IDF features of the others.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import fasttext
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, csr_of_pairs, serve

# Of its tutorial on texts with several labels.
SETTINGS = {"epoch": 25, "wordNgrams": 2, "bucket": 200_000, "dim": 50}
RATE = 0.5  # the tutorial's; where labels are many it may end in NaN, then half of it is tried
LEAST_RATE = 0.01  # below which it is not halved again
OVA_UP_TO = 20_000  # labels; a step with one-vs-all costs as much as there are labels
LABEL = "__label__"


class FastText(Adapter):
    """One-vs-all, its loss for several labels; with very many labels hierarchical softmax."""

    version = f"fasttext {metadata.version('fasttext-numpy2-wheel')}"
    rate = RATE

    def settings(self, task: Task) -> dict[str, Any]:
        return {"lr": self.rate, **SETTINGS}

    def load(self, task: Task) -> Any:
        """Its file of labels and words, written before the clock starts."""
        self.rate = RATE
        path = Path(task.folder) / "fasttext.txt"
        relevant = task.matrix("Y")
        with path.open("w", encoding="utf-8") as file:
            for row, text in enumerate(texts_of(task, 0)):
                ids = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
                print(*(f"{LABEL}{label}" for label in ids), words_of(text), file=file)
        return path, "ova" if relevant.shape[1] <= OVA_UP_TO else "hs"

    def fit(self, data: Any, task: Task) -> Any:
        path, loss = data
        try:
            return fasttext.train_supervised(
                str(path),
                loss=loss,
                thread=task.threads,
                seed=task.seed,
                verbose=0,
                lr=self.rate,
                **SETTINGS,
            )
        except RuntimeError as problem:
            if "NaN" not in str(problem) or self.rate < LEAST_RATE:
                raise
            self.rate /= 2
            return self.fit(data, task)

    def save(self, model: Any, place: Path) -> None:
        model.save_model(str(place / "model.bin"))

    def ready(self, place: Path, task: Task) -> Any:
        return fasttext.load_model(str(place / "model.bin"))

    def asked(self, task: Task) -> Any:
        return np.array([words_of(text) for text in texts_of(task, 1)], dtype=object)

    def many(self, asked: Any) -> Any:
        return list(asked)

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        return model.predict(asked, k=task.k, threshold=0.0)

    def scores(self, answer: Any) -> Any:
        rows = [zip(*row, strict=True) for row in zip(*answer, strict=True)]
        return csr_of_pairs(
            [[(int(name[len(LABEL) :]), score) for name, score in row] for row in rows]
        )

    def one(self, row: Any) -> Any:
        return list(row)


def texts_of(task: Task, part: int) -> Sequence[str]:
    """Training texts (0) or texts to rank (1)."""
    texts: list[list[str]] = json.loads((Path(task.folder) / "texts.json").read_text("utf-8"))
    return texts[part]


def words_of(text: str) -> str:
    """One line of lower-case words, signs apart, as its tutorial prepares texts; never a label."""
    line = " ".join(re.sub(r"([.!?,'/()])", r" \1 ", text.lower()).split())
    return line.replace(LABEL, "label")


if __name__ == "__main__":
    serve(FastText())
