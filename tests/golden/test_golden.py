"""Saved models load and answer as they did when make.py saved them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xmtc
from xmtc.core.store import FORMAT
from xmtc.models.catalog import KINDS

HERE = Path(__file__).parent
SAVED = sorted(path for path in HERE.glob("format*/*") if path.is_dir())


@pytest.mark.parametrize("folder", SAVED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_saved_model_answers_as_it_did(folder):
    expected = json.loads(folder.with_suffix(".json").read_text())
    rows = xmtc.predict(xmtc.load(folder), expected["texts"], k=3)
    assert [[name for name, _ in row] for row in rows] == [
        [name for name, _ in row] for row in expected["answers"]
    ]
    for row, old in zip(rows, expected["answers"], strict=True):
        assert [score for _, score in row] == pytest.approx([score for _, score in old], abs=1e-4)


def test_every_kind_has_a_model_in_the_current_format():
    assert set(KINDS) <= {path.name for path in SAVED if path.parent.name == f"format{FORMAT}"}
