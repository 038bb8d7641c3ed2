"""Where the comparison of all systems stands: the row that counts of each data set and system.

Rows of other benchmarks' records count too.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.kit import Measurement
from benchmarks.quality import auto, lightxml, linear_tree, xbert, xr_transformer
from benchmarks.quality._cells import KS, defaults
from benchmarks.record import RESULTS, Record, records
from xmtc.models.auto.search import LINEAR
from xmtc.text.tfidf import TfidfConfig

DATA = ("eurlex4k-proxy", "eurlex57k", "debian-deps", "wordnet-isa", "rust-prs", "yso-finna-en")
FIRST = DATA[0]  # where every system is compared
OWN = "quality_results"
# One neural model each; the best two of the first data set are shown on others.
SINGLES = ("lightxml", "xr_transformer", "xbert-1", "aplc", "gudn", "label_attention", "xml_cnn")
MOST_MINUTES = {"auto": 60.0}  # that the page allows; the others have half as many
# Systems that learn for as many minutes as they are given; xbert is not one.
TIMED = (*(key for key in SINGLES if key != "xbert-1"), "learned", "auto", "xrt", "xrt-published")
TEXT: dict[str, Any] = {}  # settings of the features that linear peers are given: our defaults
# Our defaults until 19 November 2026: rows of before name only settings that differ from them.
TEXT_THEN = {
    "analyzer": "word",
    "min_ngram": 1,
    "max_ngram": 1,
    "min_word": 2,
    "lowercase": True,
    "min_df": 1,
    "max_df": 1.0,
    "max_features": None,
    "hash_buckets": None,
    "sublinear": True,
    "unit_length": True,
}
# Settings since 17 November 2026, and what they are by default: as if they were not there. lightxml
# of before and after, taught 800 texts of eurlex-ci, ranks its test texts alike.
NEWER = {"head_last_epochs": 0, "head_last_rate": 1e-3}
Cell = tuple[str, str]  # data set and system
Cells = dict[Cell, tuple[Measurement, Record]]

_PECOS = {lightxml.PEER: "xrt", lightxml.PEER_PUBLISHED: "xrt-published"}
_TREE = {lightxml.TREE: "linear_tree"}
# What other benchmarks call a system -> what it is called here.
NAMES: dict[str, dict[str, str]] = {
    "quality_lightxml": {
        **_TREE,
        **_PECOS,
        lightxml.NEURAL: "lightxml",
        lightxml.LEARNED: "learned",
    },
    "quality_xr_transformer": {**_TREE, **_PECOS, xr_transformer.TAUGHT: "xr_transformer"},
    "quality_xbert": {
        xbert.PARABEL_3: "parabel",
        xbert.ONE: "one_vs_all",
        xbert.XR: "xr_transformer",
        xbert.SYSTEMS["xbert-1"]: "xbert-1",
        xbert.SYSTEMS["xbert-6"]: "xbert-6",
    },
    "quality_aplc": _TREE,  # its aplc reads fewer tokens than the default
    "quality_auto": {**_TREE, auto.AUTO: "auto"},
    "quality_one_vs_all": {"xmtc": "one_vs_all", "scikit-learn": "sklearn"},
}


def peer_key(contender: str, trees: int) -> str:
    """`pecos`, `pecos-3`."""
    key = "linear_tree" if contender == "xmtc" else contender
    return f"{key}-{trees}" if trees > 1 else key


def standing(results: Path = RESULTS) -> Cells:
    """The row of each cell that counts most, see `_worth`."""
    found = every_row(results)
    return {cell: max(rows, key=partial(_worth, cell[1])) for cell, rows in found.items()}


def every_row(results: Path = RESULTS) -> dict[Cell, list[tuple[Measurement, Record]]]:
    """All rows of each cell."""
    found: dict[Cell, list[tuple[Measurement, Record]]] = {}
    for file in (OWN, "quality_linear_tree", *NAMES):
        for record in records(file, results):
            for row in record["measurements"]:
                data = row.get("data", FIRST)
                key = _key(file, row)
                if key and data in DATA and not row.get("trained_dirty"):
                    found.setdefault((data, key), []).append((row, record))
    return found


def same_defaults(row: Measurement) -> bool:
    """Whether the row's models have the default settings of today, as far as it says which; auto
    has also tried the models of today."""
    given: dict[str, Any] = row.get("defaults", {})
    tried = {each["name"] for each in row.get("tried", [])}
    if tried and not tried >= set(LINEAR):
        return False
    return bool(given) and all(
        _that_matter(_today(kind), row) == _that_matter(value, row) for kind, value in given.items()
    )


def _that_matter(settings: dict[str, Any], row: Measurement) -> dict[str, Any]:
    """Without settings that are newer than some records and do nothing unless they are set, and
    without those of xr_transformer, also inside auto, that only matter where labels are few."""
    few = row.get("labels", 0) <= _today("xr_transformer")["max_flat_labels"]
    out = () if few else ("max_flat_labels",)
    return {
        name: _that_matter(value, row) if isinstance(value, dict) else value
        for name, value in settings.items()
        if name not in out and NEWER.get(name) != value
    }


def same_features(key: str, row: Measurement) -> bool:
    """Whether a peer was given what our systems read; others, and those that read text, were."""
    if key not in GIVEN_FEATURES:
        return True
    given = row.get("text", linear_tree.SETTINGS["text"])
    return {**TEXT_THEN, **given} == asdict(TfidfConfig(**TEXT))


def best_two(cells: Cells) -> list[str]:
    """The best single neural systems on the first data set; none before all were measured."""
    rows = {key: cells[FIRST, key][0] for key in SINGLES if (FIRST, key) in cells}
    if len(rows) < len(SINGLES):
        return []
    done = [key for key in rows if "failed" not in rows[key]]
    return sorted(done, key=lambda key: -_mean(rows[key]))[:2]


def _mean(row: Measurement) -> float:
    return mean(float(row[f"P@{k}"]) for k in KS)


def _worth(
    key: str, cell: tuple[Measurement, Record]
) -> tuple[bool, bool, bool, bool, float, bool, str]:
    """What counts first: today's settings, no failure, our features, two threads, more minutes of
    those that the page allows, then a row that says how long a text takes, then the newest."""
    row, record = cell
    minutes = float(row.get("minutes", 0)) if key in TIMED else 0.0
    minutes = minutes if minutes <= MOST_MINUTES.get(key, 30.0) else 0.0
    return (
        same_defaults(row),
        "failed" not in row,
        same_features(key, row),
        row.get("threads", 2) > 1,
        minutes,
        "single_p50_ms" in row,
        record["date"],
    )


@cache
def _today(kind: str) -> dict[str, Any]:
    return defaults(kind)


def _key(file: str, row: Measurement) -> str | None:
    if file == OWN:
        return str(row["key"])
    if file == "quality_linear_tree":
        return _TREES.get((row["system"], row.get("trees")))
    return NAMES[file].get(row["system"])


_TREES: dict[tuple[str, Any], str] = {
    (contender.name, trees): peer_key(key, trees)
    for key, contender in linear_tree.CONTENDERS.items()
    for trees in contender.trees
}
# Peers that do not read texts, so are given features.
GIVEN_FEATURES = {key for (system, _), key in _TREES.items() if system not in ("xmtc", "fastText")}


def measured(cells: Cells, data: str) -> list[tuple[str, Measurement, Record]]:
    """The rows of one data set: best P@5 first, what failed last."""
    rows = [(key, *cell) for (name, key), cell in cells.items() if name == data]
    return sorted(rows, key=lambda row: -row[1].get("P@5", 0.0))
