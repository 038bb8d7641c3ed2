"""Labels that no training text had, added by their text alone: gudn, unguided, and linear_tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, chosen, dataset, say, timed, with_texts
from benchmarks.process import alone
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells
from benchmarks.quality._cells import KS, Job

if TYPE_CHECKING:
    from xmtc import Dataset, Model

GUIDED = "gudn"
UNGUIDED = "gudn, encoder only"
TREE = "linear_tree"
SYSTEMS = {"gudn": GUIDED, "encoder": UNGUIDED, "linear_tree": TREE}
SETTINGS: dict[str, Any] = {
    "data": {"eurlex-ci": 3, "eurlex4k-proxy": 3, "debian-deps": 1},  # epochs of gudn's training
    "systems": list(SYSTEMS),
    "labels": 100,  # held out of training, drawn with seed 7 among those of at least five texts
    "gudn": {
        "encoder": {"max_tokens": 64, "trainable_layers": 2},
        "training": {"validation": 0.0, "precision": PRECISION},
    },
    "remarks": [
        "the labels are taken away from the training texts, which are taught all the same; then "
        "they are added by their names (debian-deps: by the descriptions of the packages)",
        "gudn: defaults but for the settings above; encoder only: as many epochs, no guides; "
        "linear_tree: defaults",
        "what the frozen layers make of the texts is read once for all systems of a data set, in "
        "bf16 where there is (decision 14): who comes first, maybe `quality gudn`, has it in "
        "train_seconds",
        "new R@5, new P@1: test texts that carry a new label, only new labels may be ranked and "
        "only they are true; by_chance: R@5 of five labels drawn blindly",
        "among_all R@5: the same texts, all labels compete for five places",
        "elsewhere: P@k on test texts without a new label, before and after adding",
        "how cautious a new label is (three quarters of a known label's weights) was chosen on "
        "1,500 training and 400 test texts of eurlex-ci with an untaught encoder",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    names = chosen(options.only, list(SETTINGS["data"]), "--only")
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [_row(name, key, options) for name in names for key in keys]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Unseen labels are found, more than by chance and without guides; others hardly lose."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        if GUIDED not in rows:
            continue
        ours = rows[GUIDED]
        times = ours["new R@5"] / ours["by_chance"]
        claims.append(
            Claim(
                f"{name}: R@5 among unseen labels at least 5 times chance (times)",
                times >= 5,
                times,
            )
        )
        for other in (UNGUIDED, TREE):
            if other in rows:
                ahead = ours["new R@5"] - rows[other]["new R@5"]
                claims.append(
                    Claim(
                        f"{name}: R@5 among unseen labels above that of {other} (points)",
                        ahead > 0,
                        ahead,
                    )
                )
        change = min(ours[f"elsewhere after P@{k}"] - ours[f"elsewhere P@{k}"] for k in KS)
        claims.append(
            Claim(
                f"{name}: P@k of texts without them falls by at most 1 point (worst)",
                change >= -1,
                change,
            )
        )
    return claims


def _row(name: str, system: str, options: Options) -> Measurement:
    place, cost = _cells.trained(_job(name, system), options)
    row = {
        "data": name,
        "system": SYSTEMS[system],
        "threads": options.threads,
        **{
            what: cost[what]
            for what in (
                "train_texts",
                "labels",
                "epochs",
                "train_seconds",
                "trained_commit",
                "trained_dirty",
            )
        },
        **_cells.rounded(alone(_measure, place, name, options)),
    }
    say(f"{name}, {SYSTEMS[system]}: R@5 of new labels {row['new R@5']:.1f}")
    return row


def _job(name: str, system: str) -> Job:
    hidden = SETTINGS["labels"]
    if system == "linear_tree":
        return Job("new-linear_tree", "linear_tree", name, {}, hidden=hidden)
    training = {**SETTINGS["gudn"]["training"], "epochs": SETTINGS["data"][name]}
    settings = {**SETTINGS["gudn"], "training": training}
    if system == "encoder":
        settings["guides"] = {"feature_weight": 0.0, "link_weight": 0.0}
    return Job(f"new-{system}", "gudn", name, settings, hidden=hidden, shares_reading=True)


def _measure(place: Path, name: str, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    model = xmtc.load(place)
    train = with_texts(dataset(options, name))
    hidden = train.labels.only(_cells.hidden_labels(train, SETTINGS["labels"]))
    said = {label: hidden.text_of(place) for place, label in enumerate(hidden.names)}
    wider, cost = timed(lambda: xmtc.add_labels(model, texts=said))
    test = _cells.asked(options, name).named_in(wider.labels)
    return {"added": len(said), "add_seconds": cost.seconds, **figures(model, wider, test)}


def figures(model: Model, wider: Model, test: Dataset) -> Measurement:
    """What becomes of the new labels in the wider model, and of texts without them."""
    known = len(model.labels)
    many = len(wider.labels)
    new = np.arange(many) >= known
    truth = test.relevant[:, :many]
    carries = np.asarray(truth[:, known:].sum(axis=1)).ravel() > 0
    mine = test.take(np.flatnonzero(carries))
    others = test.take(np.flatnonzero(~carries))
    only = truth[np.flatnonzero(carries)].tolil()
    only[:, :known] = 0
    alone_ = wider.rank(mine.texts, 5, new)
    among = wider.rank(mine.texts, 5)
    found: Measurement = {
        "test_texts": len(mine),
        "by_chance": 100 * min(1.0, 5 / int(new.sum())),
        "new P@1": _metric(alone_, only, "P@1"),
        "new R@5": _metric(alone_, only, "R@5"),
        "among_all R@5": _metric(among, only, "R@5"),
    }
    for when, each in (("elsewhere", model), ("elsewhere after", wider)):
        ranking = each.rank(others.texts, max(KS))
        found |= {f"{when} P@{k}": _metric(ranking, others.relevant, f"P@{k}") for k in KS}
    return found


def _metric(ranking: Any, relevant: Any, name: str) -> float:
    from xmtc.core.arrays import as_csr
    from xmtc.evaluation.report import evaluate_ranking

    clean = as_csr(relevant)
    clean.eliminate_zeros()
    return float(evaluate_ranking(ranking, clean, ks=(1, 3, 5)).metrics[name])
