"""How far ours are ahead of peers, text by text: what of it could be the choice of test texts.

Reads the rankings that cells of `quality results` leave in the work folder, so those come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kit import (
    BenchmarkError,
    Claim,
    Measurement,
    Options,
    chosen,
    dataset,
    say,
    with_texts,
)
from benchmarks.quality import results
from benchmarks.quality._standing import DATA, standing

SETTINGS: dict[str, Any] = {
    "data": ["eurlex57k"],
    "ours": ["one_vs_all", "xr_transformer", "learned"],
    "systems": list(results.PEERS),
    "resamples": 1000,
    "remarks": [
        "points that ours have more than the peer, and the 95 % interval of that: 1,000 bootstrap "
        "samples of the test texts, the same for both; what another seed would change is not in it",
        "systems whose ranking is not in the work folder are left out; figures: P@5 of both",
    ],
}
SAME = 0.01  # points: a ranking is that of the row on the page


def run(options: Options) -> list[Measurement]:
    """One row per data set, system of ours and peer."""
    names = chosen(options.only, DATA, "--only") if options.only else SETTINGS["data"]
    peers = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [row for name in names for row in _leads(name, peers, options)]


def check(measurements: list[Measurement]) -> list[Claim]:
    """The lower end of each lead is above 0, whoever of the peers it is."""
    claims = []
    for data, system in dict.fromkeys((row["data"], row["system"]) for row in measurements):
        rows = [row for row in measurements if (row["data"], row["system"]) == (data, system)]
        for name in results.MARGINS:
            least = min(row["intervals"][name][0] for row in rows)
            sentence = (
                f"{data}, {system}: the lead in {name} over each of {len(rows)} peers is "
                "above 0 whichever test texts are drawn (its lower end)"
            )
            claims.append(Claim(sentence, least > 0, least))
    return claims


def _leads(name: str, peers: list[str], options: Options) -> list[Measurement]:
    from xmtc import Ranking
    from xmtc.evaluation.comparison import compare_rankings

    train = with_texts(dataset(options, name))
    test = dataset(options, name, "tst").named_in(train.labels)
    found = _kept(name, [*SETTINGS["ours"], *peers], len(test), options)
    ours = [key for key in SETTINGS["ours"] if key in found]
    rankings = {
        key: Ranking(labels, np.zeros(labels.shape, np.float32)) for key, labels in found.items()
    }
    rows: list[Measurement] = []
    for peer in (key for key in found if key in peers):
        pair = {key: rankings[key] for key in (peer, *ours)}
        made = compare_rankings(pair, test, train.trained_on(), resamples=SETTINGS["resamples"])
        _check_same(name, made.metrics)
        reached = {key: round(made.metrics[key]["P@5"], 3) for key in pair}
        rows += [
            _row(name, key, peer, made.versus[key].metrics, [reached[key], reached[peer]])
            for key in ours
        ]
    if not rows:
        raise BenchmarkError(
            f"{options.work} has no rankings of {name} by one of ours and by a peer: run "
            f"`quality {name} one_vs_all --work {options.work}`, and the same for a peer, first."
        )
    return rows


def _row(name: str, key: str, peer: str, leads: Any, figures: list[float]) -> Measurement:
    found = {metric: leads[metric] for metric in results.MARGINS}
    return {
        "data": name,
        "key": key,
        "system": results.SYSTEMS[key].title,
        "against": peer,
        "peer": results.SYSTEMS[peer].title,
        "figures": figures,
        **{metric: round(lead.estimate, 3) for metric, lead in found.items()},
        "intervals": {
            metric: [round(lead.low, 3), round(lead.high, 3)] for metric, lead in found.items()
        },
    }


def _kept(name: str, keys: list[str], texts: int, options: Options) -> dict[str, Any]:
    """The rankings that are there, of all test texts; what is missing is said."""
    found = {
        key: np.load(path)
        for key in keys
        if (path := results.kept_ranking(name, key, options)).exists()
    }
    whole = {key: labels for key, labels in found.items() if len(labels) == texts}
    if missing := [key for key in keys if key not in whole]:
        say(f"{name}: no ranking by {', '.join(missing)}")
    return whole


def _check_same(name: str, metrics: dict[str, dict[str, float]]) -> None:
    """A ranking that is not of the row that the page shows proves nothing about it."""
    cells = standing()
    for key, reached in metrics.items():
        row = cells[name, key][0] if (name, key) in cells else {}
        if abs(row.get("P@5", np.inf) - reached["P@5"]) > SAME:
            raise BenchmarkError(
                f"the ranking of {name} by {key} has P@5 {reached['P@5']:.2f}, and its record "
                f"{row.get('P@5', 'nothing')}: measure it again."
            )
