"""PECOS's C++ TF-IDF, asked by `speed_tfidf`; runs in the environment of the peer `pecos`.

Usage: pecos_tfidf.py CONFIG FILE; a line of the file is a text. Texts are handed over as a list:
reading them from a file, which PECOS can do too, took 2 to 15 % longer.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from pecos.utils.featurization.text.vectorizers import Tfidf

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.limits import timed
from benchmarks.peers.runner import answer_questions


def vectorise(texts: list[str], config: dict[str, Any], threads: int) -> dict[str, Any]:
    """Learns from the texts and encodes them, on the clock."""

    def work() -> Any:
        model = Tfidf.train(texts, {**config, "threads": threads})
        return model.predict(texts, threads=threads)

    features, cost = timed(work)
    return {**cost._asdict(), "features": features.shape[1], "nonzeros": features.nnz}


def main(config: str, file: str) -> None:
    """Reads the texts, warms up, then answers questions until there are no more."""
    settings = json.loads(config)
    texts = Path(file).read_text(encoding="utf-8").split("\n")[:-1]
    vectorise(texts[:500], settings, threads=1)
    version = f"libpecos {metadata.version('libpecos')}"
    answer_questions(version, lambda question: vectorise(texts, settings, question["threads"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
