"""What we claim of linear_tree beside its peers; sets and systems that were not run are left out.

A claim of one data set reads `NAME: what is claimed`; `tables.py` makes a row of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from benchmarks.kit import Claim, Measurement

OURS = "xmtc"
RAW = "xmtc, from raw text"
KS = (1, 3, 5)
POINTS_BELOW = 0.2


def check(measurements: list[Measurement]) -> list[Claim]:
    """Points of accuracy, shares and multiples of the best peer's figures."""
    done = [row for row in measurements if "failed" not in row]
    claims: list[Claim] = []
    leads: list[float] = []
    for name in dict.fromkeys(row["data"] for row in done):
        ours, theirs = _sides(done, name, trees=1)
        if ours and theirs:
            ahead = {k: _lead(ours, theirs, k) for k in KS}
            leads += ahead.values()
            claims += _accuracy(name, ahead)
            claims += _costs(name, ours, theirs)
        claims += _raw(name, done)
    if leads:
        share = mean(lead > 0 for lead in leads)
        sentence = "P@1, P@3, P@5 of one tree above the best peer's on most sets (share)"
        claims.append(Claim(sentence, share > 0.5, share))
    return claims + list(_three_trees(done))


def _sides(
    rows: Sequence[Measurement], name: str, trees: int
) -> tuple[Measurement | None, list[Measurement]]:
    """Our row and those of the peers."""
    cells = [row for row in rows if (row["data"], row["trees"]) == (name, trees)]
    ours = next((row for row in cells if row["system"] == OURS), None)
    return ours, [row for row in cells if row["system"] not in {OURS, RAW}]


def _lead(ours: Measurement, theirs: Sequence[Measurement], k: int) -> float:
    return float(ours[f"P@{k}"] - max(row[f"P@{k}"] for row in theirs))


def _accuracy(name: str, ahead: dict[int, float]) -> Iterator[Claim]:
    for k, points in ahead.items():
        sentence = f"{name}: P@{k} at most {POINTS_BELOW} below the best peer's (points ahead)"
        yield Claim(sentence, points >= -POINTS_BELOW, points)


def _costs(name: str, ours: Measurement, theirs: list[Measurement]) -> Iterator[Claim]:
    """Each beside the peer that is best in it."""
    fastest = min(theirs, key=lambda row: float(row["fit_seconds"]))
    share = ours["fit_seconds"] / fastest["fit_seconds"]
    yield Claim(
        f"{name}: trains in at most half of the fastest peer's time, P@5 not below it (share)",
        share <= 0.5 and ours["P@5"] >= fastest["P@5"],
        share,
    )
    times = min(row["rank_seconds"] for row in theirs) / ours["rank_seconds"]
    yield Claim(
        f"{name}: ranks a batch 1.5 times as fast as the fastest peer (times)", times >= 1.5, times
    )
    share = ours["single_p50_ms"] / min(row["single_p50_ms"] for row in theirs)
    yield Claim(
        f"{name}: one text in at most 0.7 of the fastest peer's p50 (share)", share <= 0.7, share
    )
    spread = ours["single_p99_ms"] / ours["single_p50_ms"]
    yield Claim(f"{name}: one text, p99 below 3 times p50 (times)", spread < 3, spread)
    share = ours["model_mb"] / min(row["model_mb"] for row in theirs)
    yield Claim(
        f"{name}: on disk not larger than the smallest peer at any P@5 (share)", share <= 1, share
    )
    equal = [row["model_mb"] for row in theirs if row["P@5"] >= ours["P@5"]]
    if equal:
        share = ours["model_mb"] / min(equal)
        yield Claim(
            f"{name}: on disk not larger than the smallest peer at equal or better P@5 (share)",
            share <= 1,
            share,
        )
    omikuji = [row["peak_mb"] for row in theirs if row["system"].startswith("omikuji")]
    if omikuji:
        share = ours["peak_mb"] / min(omikuji)
        yield Claim(
            f"{name}: peak memory in training not above omikuji's (share)", share <= 1, share
        )


def _raw(name: str, rows: Sequence[Measurement]) -> Iterator[Claim]:
    for row in rows:
        if (row["data"], row["system"]) == (name, RAW):
            middle = row["single_p50_ms"]
            yield Claim(f"{name}: from raw text below 1 ms p50 (ms)", middle < 1, middle)


def _three_trees(rows: Sequence[Measurement]) -> Iterator[Claim]:
    """The mean over the sets that both have, beside the peer that comes closest."""
    for k in KS:
        leads: dict[str, list[float]] = {}
        for name in dict.fromkeys(row["data"] for row in rows):
            ours, theirs = _sides(rows, name, trees=3)
            for row in theirs if ours else []:
                assert ours
                leads.setdefault(row["system"], []).append(ours[f"P@{k}"] - row[f"P@{k}"])
        if leads:
            least = min(map(mean, leads.values()))
            sentence = f"P@{k} of three trees above every peer's, mean over sets (points ahead)"
            yield Claim(sentence, least > 0, least)
