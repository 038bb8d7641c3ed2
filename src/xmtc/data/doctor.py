"""Examines a data set before training: what is wrong with it, and what to do about it."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from xmtc.core.arrays import Array, Longs
from xmtc.core.dataset import Dataset
from xmtc.data.bad_lines import EXCERPT, excerpt
from xmtc.data.diagnosis import SEVERITIES, Diagnosis, Finding, Spread
from xmtc.data.duplicates import Repeats, find_repeats


def examine(dataset: Dataset, test: Dataset | None = None) -> Diagnosis:
    """Everything that is odd about a data set, and about its test set when there is one."""
    size = len(dataset.texts)
    counts = dataset.trained_on().label_counts
    test = None if test is None else test.named_in(dataset.labels)
    repeats = find_repeats(dataset.texts, test.texts if test else ())
    own = Repeats(repeats.words[:size], repeats.exact[:size], repeats.near[:size])
    names = test.labels.names if test else dataset.labels.names
    findings = [*_about_texts(dataset, own), *_about_labels(dataset, counts, names)]
    if test:
        findings += _about_test(test, counts, repeats.exact[size:], repeats.near[size:])
    found = [finding for finding in findings if finding.count]
    return Diagnosis(
        texts=len(dataset),
        labels=int((counts > 0).sum()),
        words_per_text=Spread.of(own.words) if size else None,
        labels_per_text=Spread.of(np.diff(dataset.relevant.indptr)),
        texts_per_label=Spread.of(counts[counts > 0]),
        label_counts=counts,
        findings=tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))),
    )


def _about_texts(dataset: Dataset, repeats: Repeats) -> Iterator[Finding]:
    texts = dataset.texts
    empty = _rows(repeats.words == 0)
    yield Finding.of(
        "empty_texts",
        "warning",
        f"{_many(empty, 'text has', 'texts have')} no words.",
        empty,
        "Drop them, or look for a column that was not read.",
    )
    unlabelled = _rows(np.diff(dataset.relevant.indptr) == 0)
    if dataset.relevant.nnz:
        yield Finding.of(
            "texts_without_labels",
            "warning",
            f"{_many(unlabelled, 'text has', 'texts have')} no labels.",
            unlabelled,
            "Drop them if they were never labelled; keep them if no label fits.",
        )
    else:
        yield Finding(
            "no_labels",
            "error",
            "No text has a label; training refuses such data.",
            len(unlabelled),
            (),
            "Look for a column that was not read: pass label_column=... when reading.",
        )
    exact = _rows(repeats.exact >= 0)
    yield Finding.of(
        "exact_duplicates",
        "warning",
        f"{_many(exact, 'text has', 'texts have')} the same words as an earlier text.",
        exact,
        "Drop all but one of each and merge their labels, or repeated texts count several times.",
        lambda row: f"text {row + 1} repeats text {repeats.exact[row] + 1}: {_snippet(texts[row])}",
    )
    near = _rows(repeats.near >= 0)
    yield Finding.of(
        "near_duplicates",
        "note",
        f"{_many(near, 'text is', 'texts are')} nearly the same as an earlier text: 90 % or more "
        "of the three-word runs are shared.",
        near,
        "Keep them together when you split off validation data, or scores will be too high.",
        lambda row: f"text {row + 1} is like text {repeats.near[row] + 1}: {_snippet(texts[row])}",
    )


def _about_labels(dataset: Dataset, counts: Longs, all_names: Sequence[str]) -> Iterator[Finding]:
    """all_names: of the labels of the test set too."""
    names = dataset.labels.names
    rare = _rows(counts == 1)
    yield Finding.of(
        "labels_seen_once",
        "note",
        f"{_many(rare, 'label has', 'labels have')} one text only "
        f"({_percent(len(rare), int((counts > 0).sum()))} of the labels).",
        rare,
        "Expect to miss most of them; label texts or more data help here.",
        lambda label: names[label],
    )
    nameless = [label for label, name in enumerate(names) if not name.strip()]
    rows = _rows(np.diff(dataset.relevant[:, nameless].indptr))
    yield Finding.of(
        "empty_label_names",
        "warning",
        f"{_many(rows, 'text has', 'texts have')} a label without a name.",
        rows,
        "Look for an empty field or a separator too many where labels are listed.",
    )
    by_form: dict[str, list[str]] = defaultdict(list)
    for name in all_names:
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        by_form["".join(plain.split())].append(name)
    groups = [group for group in by_form.values() if len(group) > 1]
    yield Finding.of(
        "alike_label_names",
        "warning",
        f"{_many(groups, 'group', 'groups')} of label names differ only in case, spaces or "
        "Unicode form.",
        groups,
        "Merge each group, or the model has to guess which spelling was meant.",
        lambda group: " = ".join(map(repr, group)),
    )
    known = set(names)
    unsplit = [
        name
        for name in names
        for mark in (";", "|")
        if mark in name and any(part.strip() in known for part in name.split(mark))
    ]
    yield Finding.of(
        "unsplit_label_names",
        "warning",
        f"{_many(unsplit, 'label name looks', 'label names look')} like several labels in one.",
        unsplit,
        "If so, write them as a list, or pass label_separator=... when reading.",
        repr,
    )


def _about_test(test: Dataset, counts: Longs, exact: Longs, near: Longs) -> Iterator[Finding]:
    """exact, near: (test texts,) the training text that is repeated, or -1."""
    texts = test.texts
    leaks = _rows(exact >= 0)
    yield Finding.of(
        "exact_leaks",
        "error",
        f"{_many(leaks, 'test text has', 'test texts have')} the same words as a training text "
        f"({_percent(len(leaks), len(texts))} of the test texts).",
        leaks,
        "Remove them from the training data, or the test score is too high.",
        lambda row: f"test {row + 1} is text {exact[row] + 1}: {_snippet(texts[row])}",
    )
    alike = _rows(near >= 0)
    yield Finding.of(
        "near_leaks",
        "warning",
        f"{_many(alike, 'test text is', 'test texts are')} nearly the same as a training text "
        f"({_percent(len(alike), len(texts))} of the test texts).",
        alike,
        "Split so that near copies stay on one side, or report scores without them too.",
        lambda row: f"test {row + 1} is like text {near[row] + 1}: {_snippet(texts[row])}",
    )
    positives = test.trained_on().label_counts
    seen = np.pad(counts, (0, len(positives) - len(counts))) > 0
    unseen = _rows((positives > 0) & ~seen)
    share = _percent(int(positives[unseen].sum()), int(positives.sum()))
    yield Finding.of(
        "unseen_test_labels",
        "warning",
        f"{_many(unseen, 'test label has', 'test labels have')} no training text, so {share} of "
        "the relevant labels of the test texts cannot be found.",
        unseen,
        "They count as misses. Check that both files spell labels alike.",
        lambda label: test.labels.names[label],
    )


def _rows(odd: Array) -> list[int]:
    return [int(row) for row in np.flatnonzero(odd)]


def _many(things: Sequence[object], one: str, more: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else more}"


def _percent(part: int, whole: int) -> str:
    value = 100 * part / max(1, whole)
    return f"{value:.0f} %" if value >= 10 else f"{value:.2f} %"


def _snippet(text: str) -> str:
    return excerpt(" ".join(text[: 4 * EXCERPT].split()))
