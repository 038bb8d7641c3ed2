"""How far ours are ahead of peers, text by text: what of it could be chance.

Reads the rankings that cells of `quality results` leave in the work folder, so those come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, chosen, dataset, with_texts
from benchmarks.quality import results
from benchmarks.quality._standing import DATA, standing

SETTINGS: dict[str, Any] = {
    "data": ["eurlex57k"],
    "ours": ["one_vs_all", "learned"],
    "systems": list(results.PEERS),
    "resamples": 1000,
    "remarks": [
        "points that ours have more than the peer, and the 95 % interval of that: 1,000 bootstrap "
        "samples of the test texts, the same for both",
        "peers whose ranking is not in the work folder are left out",
    ],
}
SAME = 0.01  # points: a ranking is that of the row on the page


def run(options: Options) -> list[Measurement]:
    """One row per data set, system of ours and peer."""
    names = [name for name in DATA if name in (options.only or SETTINGS["data"])]
    peers = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [row for name in names for row in _leads(name, peers, options)]


def check(measurements: list[Measurement]) -> list[Claim]:
    """The lower end of each lead is above 0, whoever the peer is."""
    claims = []
    for data, system in dict.fromkeys((row["data"], row["system"]) for row in measurements):
        rows = [row for row in measurements if (row["data"], row["system"]) == (data, system)]
        for name in results.MARGINS:
            least = min(row["intervals"][name][0] for row in rows)
            sentence = f"{data}, {system}: the lead in {name} is no chance (its lower end)"
            claims.append(Claim(sentence, least > 0, least))
    return claims


def _leads(name: str, peers: list[str], options: Options) -> list[Measurement]:
    from xmtc import Ranking
    from xmtc.evaluation.comparison import compare_rankings

    found = {key: kept for key in (*SETTINGS["ours"], *peers)
             if (kept := _kept(name, key, options)) is not None}  # fmt: skip
    if missing := [key for key in SETTINGS["ours"] if key not in found]:
        raise BenchmarkError(
            f"{options.work} has no ranking of {name} by {missing[0]}: "
            f"run `quality {name} {missing[0]} --work {options.work}` first."
        )
    train = with_texts(dataset(options, name))
    test = dataset(options, name, "tst").named_in(train.labels)
    rankings = {key: Ranking(labels, np.zeros(labels.shape, np.float32))
                for key, labels in found.items()}  # fmt: skip
    rows = []
    for peer in (key for key in found if key in peers):
        pair = {key: rankings[key] for key in (peer, *SETTINGS["ours"])}
        made = compare_rankings(pair, test, train.trained_on(), resamples=SETTINGS["resamples"])
        for key in pair:
            _check_same(name, key, made.metrics[key])
        rows += [_row(name, key, peer, made.versus[key].metrics) for key in SETTINGS["ours"]]
    return rows


def _row(name: str, key: str, peer: str, leads: Any) -> Measurement:
    found = {metric: leads[metric] for metric in results.MARGINS}
    return {"data": name, "key": key, "system": results.SYSTEMS[key].title,
            "peer": results.SYSTEMS[peer].title,
            **{metric: round(lead.estimate, 3) for metric, lead in found.items()},
            "intervals": {metric: [round(lead.low, 3), round(lead.high, 3)]
                          for metric, lead in found.items()}}  # fmt: skip


def _kept(name: str, key: str, options: Options) -> Any:
    path = results.kept_ranking(name, key, options)
    return np.load(path) if path.exists() else None


def _check_same(name: str, key: str, metrics: dict[str, float]) -> None:
    """A ranking that is not of the row that the page shows proves nothing about it."""
    shown = standing().get((name, key), ({}, {}))[0].get("P@5", -1.0)
    if abs(shown - metrics["P@5"]) > SAME:
        raise BenchmarkError(
            f"the ranking of {name} by {key} has P@5 {metrics['P@5']:.2f}, its record {shown:.2f}: "
            "measure it again."
        )
