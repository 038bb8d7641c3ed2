"""The data set that ships is there, whole, and says what its README says."""

from __future__ import annotations

import re

import pytest

import xmtc
from xmtc.datasets import FOLDER


@pytest.fixture(scope="module")
def debian():
    return xmtc.datasets.debian()


def test_the_counts_are_those_of_its_readme(debian):
    train, test = debian
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for count in (len(train), len(test), len(train.labels)):
        assert f"{count:,}" in readme
    assert re.search(r"[Ll]icence", readme)


def test_no_text_is_in_both_parts(debian):
    folded = [{" ".join(text.lower().split()) for text in part.texts} for part in debian]
    assert not folded[0] & folded[1]


def test_every_text_has_labels_and_every_label_a_text_of_its_own(debian):
    for part in debian:
        assert (part.relevant.sum(axis=1) > 0).all()
        assert part.labels.texts is not None
        assert sum(map(bool, part.labels.texts)) > 0.99 * len(part.labels)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "floor"), [("linear_tree", 51.5), ("one_vs_all", 52.0)])
def test_models_learn_it_as_well_as_they_did(debian, kind, floor):
    train, test = debian
    assert xmtc.evaluate(xmtc.train(kind, train), test).metrics["P@1"] > floor
