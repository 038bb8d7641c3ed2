"""The code base keeps to its limits, and the script that measures them sees what it should."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import defaultdict
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "scripts" / "measures.py"
spec = importlib.util.spec_from_file_location("measures", PATH)
measures = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = measures  # dataclasses look their module up by name
spec.loader.exec_module(measures)


@pytest.fixture(scope="module")
def found():
    found = measures.measured()
    found.values |= measures.walks()
    return found


@pytest.mark.parametrize("name", measures.LIMITS)
def test_the_code_base_keeps_to_its_limits(found, name):
    assert found.values[name] <= measures.LIMITS[name], found.places[name][:20]


def noted(source):
    found = measures.Found()
    found.places = defaultdict(list)
    tree = ast.parse(source)
    lengths = measures._look_at_functions(tree, source, "file.py", found)
    measures._look_at_lines(source, "file.py", found)
    return found.places, lengths


def test_words_of_a_dialect_are_found_in_names_comments_and_strings():
    source = "def is_kept():  # judged by strangers\n    return 'The lesson'\nkeptness = 1\n"
    places, _ = noted(source)
    words = [place.split()[1] for place in places[measures.DIALECT_WORDS]]
    assert words == ["kept", "judged", "strangers", "lesson"]


def test_a_helper_counts_as_used_once_when_one_place_calls_it():
    source = "def _a():\n    pass\n\n\ndef b():\n    _a()\n\n\ndef _c():\n    b()\n    _c(_c)\n"
    places, lengths = noted(source)
    assert places[measures.ONCE] == ["file.py:1 _a"]
    assert lengths == [2, 2, 3]


@pytest.mark.parametrize(("line", "is_parallel"), [("a, b = 1, 2", True), ("a, b = b, a", False)])
def test_exchanging_two_values_is_no_parallel_assignment(line, is_parallel):
    assert bool(noted(line + "\n")[0][measures.PARALLEL]) == is_parallel


def test_functions_that_run_are_counted_in_all_threads():
    from xmtc.core.threads import in_threads, set_threads

    set_threads(2)
    alone = measures.functions_run(lambda: in_threads(str, range(4)))
    more = measures.functions_run(lambda: in_threads(lambda _: set_threads(2), range(4)))
    assert more == alone + 1
