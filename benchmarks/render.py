"""The one renderer: tables from rows and a list of columns; claims; where figures come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.catalog import EXPERIMENTS
from benchmarks.experiment import Result, Row, Rows
from benchmarks.record import Record
from xmtc.core.config import read_toml

FIELD = re.compile(r"\{([^}:]+)(?::([^}?]*)(\?)?)?\}")
PAGES = Path(__file__).resolve().parent / "pages.toml"
SYSTEMS = re.compile(r"(?<=--systems )((?!--)[\w-]+(?: (?!--)[\w-]+)*)")  # of a command


class Column(NamedTuple):
    """One column: its head, and a template of a row's figures."""

    head: str
    template: str


def columns_of(name: str) -> list[Column]:
    """A set of columns of pages.toml."""
    return [Column(*column) for column in read_toml(PAGES)["sets"][name]]


def filled(template: str, row: Row) -> str | None:
    """The template with the row's figures; none where one is missing."""
    missing = False

    def replaced(match: re.Match[str]) -> str:
        nonlocal missing
        value = row.get(match[1])
        if value is None or (match[3] and not value):
            missing = True
            return ""
        return formatted(value, match[2] or "")

    text = FIELD.sub(replaced, template)
    return None if missing else text.strip()


def formatted(value: Any, form: str) -> str:
    """A figure in a form: `time`, `text`, `last` (word), one of Python's, or three digits."""
    if form == "text" or (not form and isinstance(value, str)):
        return " ".join(str(value).split()).replace("|", "\\|")[:160]
    if form == "last":
        return str(value).rpartition(" ")[2]
    if form == "time":
        return f"{short(value)} s" if value < 60 else f"{short(value / 60)} min"
    return format(value, form) if form else short(value)


def short(number: float) -> str:
    """Three digits that count."""
    if number >= 1000:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"


def table(columns: Sequence[Column], rows: Rows, merged: bool = False) -> str:
    """A table in Markdown, without empty columns. merged: repeats in the first one are left out."""
    lines = [[filled(column.template, row) or "" for column in columns] for row in rows]
    filled_columns = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    before = ""
    for line in lines:
        first = line[0]
        if merged and first == before:
            line[0] = ""
        before = first
    heads = [columns[place].head for place in filled_columns]
    return markdown(heads, [[line[place] for place in filled_columns] for line in lines])


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    rows = [f"| {' | '.join(row)} |" for row in (heads, *lines)]
    return "\n".join([rows[0], "|" + "---|" * len(heads), *rows[1:]])


def results_table(results: Sequence[Result]) -> str:
    """Claims: a row for each sentence, a column for each subject before its colon."""
    split = [result.sentence.rpartition(": ")[::2] for result in results]
    subjects = list(dict.fromkeys(subject for subject, _ in split))
    lines = []
    for aim in dict.fromkeys(aim for _, aim in split):
        cells = dict.fromkeys(subjects, "")
        for result, (subject, sentence) in zip(results, split, strict=True):
            if sentence == aim:
                cells[subject] = f"{result.figure:.2f} {'holds' if result.holds else '**fails**'}"
        lines.append([aim, *cells.values()])
    return markdown(["claim", *(subject or "all" for subject in subjects)], lines)


def recorded_results(found: Iterable[Record]) -> list[Result]:
    """The claims of records, of each sentence the newest."""
    results: dict[str, Result] = {}
    for record in sorted(found, key=lambda record: str(record["date"]), reverse=True):
        for claim in record["claims"]:
            results.setdefault(claim["sentence"], Result(**claim))
    return list(results.values())


def captions(found: Iterable[Record]) -> str:
    """Where figures come from; commands that differ in their systems only are one."""
    systems: dict[str, list[str]] = {}
    for record in found:
        text = caption(record)
        named = SYSTEMS.search(text)
        known = systems.setdefault(SYSTEMS.sub("{systems}", text), [])
        known += [key for key in named[1].split() if key not in known] if named else []
    return "\n".join(text.replace("{systems}", " ".join(keys)) for text, keys in systems.items())


def caption(record: Record) -> str:
    """Commit, machine, seed and the command that measures again, unless it is archived."""
    machine = record["machine"]
    source = f"commit {record['commit'][:9]}"
    again = f"`{record.get('again', record['command'])}`, {source}"
    if is_archived(record):
        again = f"recorded at {source} with `{record['command'].partition(' --')[0]}` (archived)"
    return f"*{again}, {machine['cores']} cores of {machine['cpu']}, seed {record['seed']}.*"


def is_archived(record: Record) -> bool:
    """Whether its experiment cannot be run any more."""
    return record["benchmark"] not in EXPERIMENTS
