"""Published figures: plausible, complete, and given for the very same data set only."""

from __future__ import annotations

import pytest
from benchmarks.published import FIGURES, published

EURLEX = ("Eurlex-4K", 15_449, 3_865)
WIKI = ("Wiki-500K", 1_779_881, 769_421)


@pytest.mark.parametrize("row", FIGURES, ids=lambda row: f"{row.source}: {row.system}")
def test_a_row_is_percent_and_falls_with_k(row):
    assert row.system
    assert row.source
    gains = [" over " in name for name in row.metrics]
    assert all(gains) or not any(gains)
    assert all((-100 if gains[0] else 0) < value < 100 for value in row.metrics.values())
    for name, falls in (("P", True), ("R", False)):
        values = [row.metrics[f"{name}@{k}"] for k in (1, 3, 5) if f"{name}@{k}" in row.metrics]
        assert values == sorted(values, reverse=falls)


def test_no_paper_says_two_things_of_one_system():
    assert len({row[:-1] for row in FIGURES}) == len(FIGURES)


# Typed from the papers by hand, one of each table.
@pytest.mark.parametrize(
    ("where", "source", "system", "metric", "value"),
    [
        (("Eurlex-4K", 13_905, 3_865), "X-BERT, Table 3", "X-BERT T=6", "P@1", 86.31),
        (("Wiki-500K", 1_411_760, 676_730), "X-BERT, Table 3", "Parabel T=3", "R@5", 39.75),
        (("Eurlex-4K", 13_905, 3_865), "X-BERT, Table 2", "X-ttention, PIFA", "P@5", 58.59),
        (EURLEX, "LightXML, Table 3", "AttentionXML", "P@1", 87.12),
        (("Amazon-670K", 490_449, 153_025), "LightXML, Table 3", "XML-CNN", "P@5", 27.42),
        (WIKI, "LightXML, Tables", "LightXML, one model", "P@3", 57.22),
        (EURLEX, "APLC-XLNet", "APLC-XLNet", "P@3", 74.56),
        (("Wiki10-31K", 14_146, 6_616), "APLC-XLNet", "AttentionXML (1 tree)", "P@5", 68.76),
        (("Eurlex-4K", 15_539, 3_809), "GUDN, Table 2", "GUDN", "P@5", 65.49),
        (EURLEX, "logs", "X-Transformer, rank average of nine", "P@1", 87.22),
        (("EURLEX57K", 45_000, 6_000), "Chalkidis", "BERT-base", "RP@5", 79.6),
    ],
)
def test_figures_are_those_in_the_papers(where, source, system, metric, value):
    (found,) = [
        row for row in published(*where) if row.source.startswith(source) and row.system == system
    ]
    assert found.metrics[metric] == value


def test_gains_follow_from_the_figures_where_the_paper_agrees_with_itself():
    wiki = {row[0::5]: row.metrics for row in published("Wiki-500K", 1_411_760, 676_730)}
    law = {row[0::5]: row.metrics for row in published("Eurlex-4K", 15_539, 3_809)}
    for name in ("P@1", "P@3", "P@5"):
        for system, same in (("X-BERT", "X-BERT T=6"), ("fastText", "fastText")):
            parabel = wiki["X-BERT, Table 3", "Parabel T=3"][name]
            gain = 100 * (wiki["X-BERT, Table 3", same][name] / parabel - 1)
            printed = wiki["X-BERT, Table 4", system][f"{name} over Parabel"]
            assert printed == pytest.approx(gain, abs=0.006)
        bert = law["GUDN, Table 3", "BERT"][name]
        gain = law["GUDN, Table 3", "BERT, feature guide"][name] - bert
        printed = law["GUDN, Table 4", "BERT, guided by label texts"][f"{name} over BERT"]
        assert printed == pytest.approx(gain, abs=0.006)


def test_a_data_set_that_only_looks_alike_gets_nothing():
    assert published("eurlex4k", *EURLEX[1:]) == published(*EURLEX)
    assert published("eurlex4k-proxy", 15_449, 3_865) == []
    assert published("Eurlex-4K", 15_450, 3_865) == []
    assert published("Eurlex-4K", 15_449, 3_809) == []
