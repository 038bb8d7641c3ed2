"""TF-IDF: learning the vocabulary and encoding eurlex57k, beside scikit-learn and PECOS."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kit import (
    Claim,
    Measurement,
    Options,
    Timing,
    dataset,
    in_turns,
    one,
    say,
    summary,
    timed,
)
from benchmarks.peers.ask import Peer

SETTINGS: dict[str, Any] = {
    "data": "eurlex57k trn",
    "xmtc": {"min_df": 2},
    "sklearn": {"sublinear_tf": True, "min_df": 2},  # and dtype float32
    "pecos": {"min_df_cnt": 2, "sublinear_tf": True, "add_one_idf": True},
    "remarks": [
        "xmtc's kernels are compiled beforehand: all systems warm up on 500 texts, untimed",
        "scikit-learn computes in float32 like xmtc; it has one thread only",
        "PECOS is given the texts as a list, which is its fastest way",
        "PECOS cuts at the space character only and does not lowercase: 'texts' gives it the "
        "texts with all white space turned into single spaces, 'words' the words of scikit-learn, "
        "lowercased, joined by spaces; both prepared untimed. Claims are about its better time",
    ],
}
TIMES_SKLEARN_ON_ONE = 6
TIMES_SKLEARN_ON_MORE = 10


class Way(NamedTuple):
    """A system and how it is called."""

    system: str
    threads: int
    given: str = "texts"

    def __str__(self) -> str:
        return f"{self.system} on {self.threads} thread(s), given {self.given}"


def run(options: Options) -> list[Measurement]:
    """Medians over rounds in which everyone takes a turn."""
    texts = dataset(options, "eurlex57k").texts
    sizes: dict[Way, dict[str, int]] = {}
    threads = sorted({1, options.threads})
    say("preparing the texts for PECOS")
    with tempfile.TemporaryDirectory() as folder:
        files = _files_for_pecos(texts, Path(folder))
        with Peer("pecos", "pecos_tfidf.py", json.dumps(SETTINGS["pecos"]), *files) as pecos:
            ways: dict[Way, Callable[[], Timing]] = {}
            for count in threads:
                ways[Way("xmtc", count)] = _xmtc(texts, count, sizes)
            ways[Way("scikit-learn", 1)] = _sklearn(texts, sizes)
            for count in threads:
                for file, given in enumerate(files.values()):
                    ways[Way("PECOS", count, given)] = _pecos(pecos, file, count, given, sizes)
            timings = in_turns(ways, options.repeats)
            version = {"PECOS": f"libpecos {pecos.about['libpecos']}"}
    return [
        {**way._asdict(), **summary(timings[way]), **sizes[way], "version": version.get(way.system)}
        for way in ways
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Ratios of medians of this run."""
    sklearn = one(measurements, system="scikit-learn")
    ours = [row for row in measurements if row["system"] == "xmtc"]
    claims = [_same_words(ours[0], sklearn)]
    for row in ours:
        limit = TIMES_SKLEARN_ON_ONE if row["threads"] == 1 else TIMES_SKLEARN_ON_MORE
        ratio = sklearn["seconds"] / row["seconds"]
        claims.append(
            Claim(
                f"on {row['threads']} thread(s), at least {limit} times as fast as scikit-learn",
                ratio >= limit,
                ratio,
            )
        )
    for row in ours:
        pecos = min(
            other["seconds"]
            for other in measurements
            if (other["system"], other["threads"]) == ("PECOS", row["threads"])
        )
        ratio = pecos / row["seconds"]
        claims.append(
            Claim(
                f"on {row['threads']} thread(s), not slower than PECOS (times as fast)",
                ratio >= 1,
                ratio,
            )
        )
    return claims


def _same_words(ours: Measurement, sklearn: Measurement) -> Claim:
    same = all(ours[key] == sklearn[key] for key in ("features", "nonzeros"))
    ratio = ours["features"] / max(1, sklearn["features"])
    return Claim("xmtc finds exactly as many terms and non-zeros as scikit-learn", same, ratio)


def _xmtc(
    texts: Sequence[str], threads: int, sizes: dict[Way, dict[str, int]]
) -> Callable[[], Timing]:
    from xmtc import set_threads
    from xmtc.text import tfidf

    config = tfidf.TfidfConfig(**SETTINGS["xmtc"])
    tfidf.learn(texts[:500], config)

    def work() -> Timing:
        set_threads(threads)
        (_, features), timing = timed(lambda: tfidf.learn(texts, config))
        sizes[Way("xmtc", threads)] = _sizes(features)
        return timing

    return work


def _sklearn(texts: Sequence[str], sizes: dict[Way, dict[str, int]]) -> Callable[[], Timing]:
    _vectoriser().fit_transform(texts[:500])

    def work() -> Timing:
        vectoriser = _vectoriser()
        features, timing = timed(lambda: vectoriser.fit_transform(texts))
        sizes[Way("scikit-learn", 1)] = _sizes(features)
        return timing

    return work


def _pecos(
    pecos: Peer, file: int, threads: int, given: str, sizes: dict[Way, dict[str, int]]
) -> Callable[[], Timing]:
    def work() -> Timing:
        answer = pecos.ask(file=file, threads=threads)
        way = Way("PECOS", threads, given)
        sizes[way] = {key: answer[key] for key in ("features", "nonzeros")}
        return Timing(answer["seconds"], answer["cpu_seconds"])

    return work


def _files_for_pecos(texts: Sequence[str], folder: Path) -> dict[str, str]:
    """Path -> what it holds: one text per line."""
    words_of = _vectoriser().build_analyzer()
    lines: dict[str, Callable[[str], list[str]]] = {"texts": str.split, "words": words_of}
    files = {}
    for given, cut in lines.items():
        path = folder / f"{given}.txt"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(" ".join(cut(text)) + "\n" for text in texts)
        files[str(path)] = given
    return files


def _vectoriser() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**SETTINGS["sklearn"], dtype=np.float32)


def _sizes(features: Any) -> dict[str, int]:
    return {"features": int(features.shape[1]), "nonzeros": int(features.nnz)}
