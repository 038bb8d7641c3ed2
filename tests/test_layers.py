"""Imports point down only: a room may use the rooms below it, never those next to it or above."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "xmtc"
WORKSHOPS = ["data", "text", "labels", "linear", "neural", "evaluation"]
LINEAR = {"text", "labels", "linear"}
BELOW = {
    "kernels": set(),
    "core": {"kernels"},
    **{room: {"core", "kernels"} for room in WORKSHOPS},
    "models": {"core", "kernels", "planning", *WORKSHOPS},
    "planning": {"core", "kernels", *LINEAR},
    "cli": {"core", "kernels", "models", "planning", *WORKSHOPS},
    "server": {"core", "kernels", "models", "planning", *WORKSHOPS},
}
# The constructor that users call is on the noun; what it does is in data/ (decision 0016).
UPWARD = {
    ("core/dataset.py", "xmtc.data.frames"),
    ("core/dataset.py", "xmtc.data.frames.dataset_of"),
}
# The order inside neural/: a room may use those before it, and its own line.
NEURAL = [
    {"settings", "extra", "devices", "distributed"},
    {"batches"},
    {"encoders"},
    {"heads"},
    {"training"},
]
FILES = [path for path in SOURCE.rglob("*.py") if path.parent != SOURCE]


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write imports in full"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    room = path.relative_to(SOURCE).parts[0]
    for name in imports_of(path):
        if (path.relative_to(SOURCE).as_posix(), name) in UPWARD:
            continue
        parts = name.split(".")
        if parts[0] == "xmtc" and len(parts) > 1 and parts[1] in BELOW:
            assert parts[1] in BELOW[room] | {room}, f"{room} must not import {name}"
        heavy = parts[0] in ("torch", "transformers", "tokenizers")
        assert not heavy or room == "neural", f"{parts[0]} belongs into neural/, not {room}"


@pytest.mark.parametrize(
    "path", list((SOURCE / "neural").rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_rooms_of_neural_have_an_order(path):
    """Imports for type checkers count too."""
    level = _neural_level(path.relative_to(SOURCE / "neural").parts[0].removesuffix(".py"))
    for name in imports_of(path):
        parts = name.split(".")
        if parts[:2] == ["xmtc", "neural"] and len(parts) > 2:
            assert _neural_level(parts[2]) <= level, f"{path.name} must not import {name}"


def _neural_level(room):
    return next((place for place, rooms in enumerate(NEURAL) if room in rooms), 0)
