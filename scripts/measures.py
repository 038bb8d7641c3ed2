"""Measures the code base against its limits and prints one table: `python scripts/measures.py`.

`--list ROOM` names the places in a folder that break a limit, e.g. `--list src/xmtc/linear`.
`--walks` adds how many functions of ours a training and a prediction run (takes half a minute).
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "xmtc"
# Words of a dialect of our own; house_style.md has the field's words for them.
DIALECT = re.compile(
    r"(?<![a-z])(taught|teach(es|ing)?|lessons?|course|judged?|judges|choosing|kept|joined|beside|"
    r"besides|said|chances?|dull|calm|strangers?|foret(ell|old)\w*|mend(s|ed)?|travel(s|led)?|"
    r"company|nobody)(?![a-z])",
    re.IGNORECASE,
)
LONG = "function lines, 95th percentile"
ONCE = "private functions used once, % of functions"
PARALLEL = "parallel assignments per 1,000 lines"
DIALECT_WORDS = "words of a dialect"
LIMITS = {
    LONG: 40,
    "longest file": 500,
    "fmt: skip": 15,
    ONCE: 15,
    PARALLEL: 2,
    "type names twice": 0,
    "file names twice": 0,
    DIALECT_WORDS: 0,
    "lines of src": 23_277,
    "lines of benchmarks": 3_500,
    "lines of tests/benchmarks": 900,
    "functions in `train linear_tree`": 75,
    "functions in `predict` of one text": 40,
}


@dataclass
class Found:
    """What one look at the source gives: a number for each measure, and where it comes from."""

    values: dict[str, float] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    longest: int = 0


def main() -> None:
    """Print the table; exit with 1 when a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="ROOM", help="name the places in this folder or file")
    parser.add_argument("--walks", action="store_true", help="count the functions that run")
    asked = parser.parse_args()
    found = measured()
    if asked.list:
        for name, places in found.places.items():
            for place in places:
                if place.startswith(asked.list.rstrip("/")):
                    print(f"{name}: {place}")
        return
    if asked.walks:
        found.values |= walks()
    broken = False
    for name, value in found.values.items():
        over = value > LIMITS[name]
        broken = broken or over
        print(f"{name:46} {value:>9,.1f}  at most {LIMITS[name]:>7,}{'  <-- over' if over else ''}")
    sys.exit(broken)


def measured() -> Found:
    """Everything that can be read off the source."""
    found = Found()
    types: dict[str, list[str]] = defaultdict(list)
    names: dict[str, list[str]] = defaultdict(list)
    lengths: list[int] = []
    total = 0
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        where = str(path.relative_to(ROOT))
        tree = ast.parse(source)
        lines = source.count("\n")
        total += lines
        found.longest = max(found.longest, lines)
        if lines > LIMITS["longest file"]:
            found.places["longest file"].append(f"{where} ({lines})")
        if path.name != "__init__.py" and "cli" not in path.parts:
            names[path.name].append(where)
        for name in _type_names(tree):
            types[name].append(where)
        lengths += _look_at_functions(tree, source, where, found)
        _look_at_lines(source, where, found)
    for path in _elsewhere():
        where = str(path.relative_to(ROOT))
        found.places[DIALECT_WORDS] += _dialect(path.read_text(encoding="utf-8"), where)
    for key, known in (("type names twice", types), ("file names twice", names)):
        for name, everywhere in sorted(known.items()):
            if len(everywhere) > 1:
                found.places[key] += [f"{each} {name}" for each in everywhere]
        found.values[key] = sum(len(each) > 1 for each in known.values())
    once = len(found.places[ONCE])
    found.values |= {
        LONG: sorted(lengths)[int(0.95 * len(lengths))],
        "longest file": found.longest,
        "fmt: skip": len(found.places["fmt: skip"]),
        ONCE: 100 * once / len(lengths),
        PARALLEL: 1000 * len(found.places[PARALLEL]) / total,
        DIALECT_WORDS: len(found.places[DIALECT_WORDS]),
        "lines of src": total,
        "lines of benchmarks": _lines(ROOT / "benchmarks"),
        "lines of tests/benchmarks": _lines(ROOT / "tests" / "benchmarks"),
    }
    return found


def _look_at_functions(tree: ast.Module, source: str, where: str, found: Found) -> list[int]:
    """The length of each function; long ones and helpers that are used once are noted."""
    words = Counter(re.findall(r"\w+", source))
    lengths = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            lengths.append(length)
            place = f"{where}:{node.lineno} {node.name}"
            if length > LIMITS[LONG]:
                found.places[LONG].append(f"{place} ({length})")
            private = node.name.startswith("_") and not node.name.endswith("__")
            if private and words[node.name] == 2:
                found.places[ONCE].append(place)
        elif isinstance(node, ast.Assign) and _is_parallel(node):
            found.places[PARALLEL].append(f"{where}:{node.lineno}")
    return lengths


def _look_at_lines(source: str, where: str, found: Found) -> None:
    for number, line in enumerate(source.splitlines(), 1):
        if "# fmt: skip" in line:
            found.places["fmt: skip"].append(f"{where}:{number}")
    found.places[DIALECT_WORDS] += _dialect(source, where)


def _dialect(source: str, where: str) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), 1):
        for word in DIALECT.finditer(line):
            yield f"{where}:{number} {word[0]}"


def _elsewhere() -> Iterator[Path]:
    """Tests, docs and benchmarks, but for what lists the words or was recorded."""
    for folder in ("tests", "docs", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*")):
            left_out = path.name == "test_measures.py" or "venvs" in path.parts
            if path.suffix in (".py", ".md", ".toml") and not left_out:
                yield path


def walks() -> dict[str, float]:
    """How many functions of ours run in `xmtc.train("linear_tree", ...)`, and to tag one text.

    Kernels are compiled and do not show. Everything ran once before: imports are not counted.
    """
    import xmtc
    from xmtc.data.planted import planted

    data = planted(texts=300, labels=40)
    xmtc.predict(xmtc.train("linear_tree", data), data.texts[:1])
    fresh = xmtc.train("linear_tree", data)  # its first answer fills what it remembers
    return {
        "functions in `train linear_tree`": functions_run(lambda: xmtc.train("linear_tree", data)),
        "functions in `predict` of one text": functions_run(
            lambda: xmtc.predict(fresh, data.texts[:1])
        ),
    }


def functions_run(work: Callable[[], object]) -> int:
    """How many functions of ours run, in all threads; lambdas and comprehensions do not count."""
    seen: set[tuple[str, int]] = set()
    home = str(SOURCE)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home) and code.co_name[0] != "<":
            seen.add((code.co_filename, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(seen)


def _lines(folder: Path) -> int:
    files = [path for path in folder.rglob("*.py") if "venvs" not in path.parts]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def _is_parallel(node: ast.Assign) -> bool:
    """`a, b = 1, 2`; exchanging two places is none."""
    target, value = node.targets[0], node.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
        return False
    return {ast.unparse(each) for each in target.elts} != {ast.unparse(each) for each in value.elts}


def _type_names(tree: ast.Module) -> Iterator[str]:
    """Classes, and names in CamelCase for types made of others."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name != "Config":
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and re.fullmatch(r"[A-Z]\w*[a-z]\w+", target.id):
                yield target.id


if __name__ == "__main__":
    main()
