"""PECOS's C++ TF-IDF, asked by `speed_tfidf`; runs in the environment of the peer `pecos`.

Usage: pecos_tfidf.py CONFIG FILE...; each file holds one text per line. A question names a file
by its number and the threads. Texts are handed over as a list: reading them from a file, which
PECOS can do too, took 2 to 15 % longer.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from pecos.utils.featurization.text.vectorizers import Tfidf  # type: ignore[import-not-found]


def vectorise(texts: list[str], config: dict[str, Any], threads: int) -> dict[str, Any]:
    """Learns from the texts and encodes them, on the clock."""
    cpu = time.process_time()
    start = time.perf_counter()
    model = Tfidf.train(texts, {**config, "threads": threads})
    learned = time.perf_counter()
    features = model.predict(texts, threads=threads)
    end = time.perf_counter()
    return {
        "seconds": end - start,
        "train_seconds": learned - start,
        "cpu_seconds": time.process_time() - cpu,
        "features": features.shape[1],
        "nonzeros": features.nnz,
    }


def main(config: str, *files: str) -> None:
    """Reads the texts, then answers questions until there are no more."""
    settings = json.loads(config)
    corpora = [Path(file).read_text(encoding="utf-8").split("\n")[:-1] for file in files]
    for texts in corpora:
        vectorise(texts[:500], settings, threads=1)
    answer({"libpecos": metadata.version("libpecos"), "texts": [len(texts) for texts in corpora]})
    for line in sys.stdin:
        question = json.loads(line)
        answer(vectorise(corpora[question["file"]], settings, question["threads"]))


def answer(values: dict[str, Any]) -> None:
    """One line of JSON."""
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
