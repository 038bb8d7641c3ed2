"""Doctor: looks a data set over before anybody trains on it, and says what to do."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from xmtc.core.arrays import Array, Longs
from xmtc.core.dataset import Dataset
from xmtc.data.diagnosis import SEVERITIES, Diagnosis, Finding, Spread
from xmtc.data.duplicates import find_repeats

SNIPPET = 60  # characters of a text in an example


def examine(dataset: Dataset, test: Dataset | None = None) -> Diagnosis:
    """Everything that is odd about a data set, and about its test set when there is one."""
    own = len(dataset.texts)
    counts = dataset.trained_on().label_counts
    test = None if test is None else test.named_in(dataset.labels)
    repeats = find_repeats(dataset.texts, test.texts if test else ())
    findings = [
        empty_texts(repeats.words[:own]),
        texts_without_labels(dataset),
        exact_duplicates(dataset.texts, repeats.exact[:own]),
        near_duplicates(dataset.texts, repeats.near[:own]),
        labels_seen_once(dataset.labels.names, counts),
        empty_label_names(dataset),
        alike_label_names(test.labels.names if test else dataset.labels.names),
        joined_label_names(dataset.labels.names),
    ]
    if test:
        findings += [
            exact_leaks(test.texts, repeats.exact[own:]),
            near_leaks(test.texts, repeats.near[own:]),
            unseen_test_labels(counts, test),
        ]
    return _diagnosis(dataset, counts, repeats.words[:own], findings)


def empty_texts(words: Longs) -> Finding:
    """words: (texts,) how many each text has."""
    rows = _rows(words == 0)
    return Finding.of(
        "empty_texts",
        "warning",
        f"{_many(rows, 'text has', 'texts have')} no words.",
        len(rows),
        (f"text {row + 1}" for row in rows),
        "Drop them, or look for a column that was not read.",
    )


def texts_without_labels(dataset: Dataset) -> Finding:
    """Training texts for which nothing is relevant."""
    rows = _rows(np.diff(dataset.relevant.indptr) == 0)
    if rows and not dataset.relevant.nnz:
        return Finding.of(
            "no_labels",
            "error",
            "No text has a label; training refuses such data.",
            len(rows),
            (),
            "Look for a column that was not read: pass label_column=... when reading.",
        )
    return Finding.of(
        "texts_without_labels",
        "warning",
        f"{_many(rows, 'text has', 'texts have')} no labels.",
        len(rows),
        (f"text {row + 1}" for row in rows),
        "Drop them if they were never labelled; keep them if no label fits.",
    )


def exact_duplicates(texts: Sequence[str], exact: Longs) -> Finding:
    """exact: (texts,) the first text with the same words, or -1."""
    rows = _rows(exact >= 0)
    return Finding.of(
        "exact_duplicates",
        "warning",
        f"{_many(rows, 'text has', 'texts have')} the same words as an earlier text.",
        len(rows),
        (f"text {row + 1} repeats text {exact[row] + 1}: {_snippet(texts[row])}" for row in rows),
        "Keep one of each and join their labels, or repeated texts count several times.",
    )


def near_duplicates(texts: Sequence[str], near: Longs) -> Finding:
    """near: (texts,) an earlier text that is almost the same, or -1."""
    rows = _rows(near >= 0)
    return Finding.of(
        "near_duplicates",
        "note",
        f"{_many(rows, 'text is', 'texts are')} nearly the same as an earlier text: 90 % or more "
        "of the three-word runs are shared.",
        len(rows),
        (f"text {row + 1} is like text {near[row] + 1}: {_snippet(texts[row])}" for row in rows),
        "Keep them together when you split off validation data, or scores will flatter.",
    )


def exact_leaks(texts: Sequence[str], exact: Longs) -> Finding:
    """exact: (test texts,) the training text with the same words, or -1."""
    rows = _rows(exact >= 0)
    return Finding.of(
        "exact_leaks",
        "error",
        f"{_many(rows, 'test text has', 'test texts have')} the same words as a training text "
        f"({_percent(len(rows), len(texts))} of the test texts).",
        len(rows),
        (f"test {row + 1} is text {exact[row] + 1}: {_snippet(texts[row])}" for row in rows),
        "Remove them from the training data, or the test score is too good.",
    )


def near_leaks(texts: Sequence[str], near: Longs) -> Finding:
    """near: (test texts,) a training text that is almost the same, or -1."""
    rows = _rows(near >= 0)
    return Finding.of(
        "near_leaks",
        "warning",
        f"{_many(rows, 'test text is', 'test texts are')} nearly the same as a training text "
        f"({_percent(len(rows), len(texts))} of the test texts).",
        len(rows),
        (f"test {row + 1} is like text {near[row] + 1}: {_snippet(texts[row])}" for row in rows),
        "Split so that near copies stay on one side, or report scores without them too.",
    )


def labels_seen_once(names: Sequence[str], counts: Longs) -> Finding:
    """counts: (labels,) training texts per label."""
    labels = _rows(counts == 1)
    return Finding.of(
        "labels_seen_once",
        "note",
        f"{_many(labels, 'label has', 'labels have')} one text only "
        f"({_percent(len(labels), int((counts > 0).sum()))} of the labels).",
        len(labels),
        (names[label] for label in labels),
        "Expect to miss most of them; label texts or more data help here.",
    )


def unseen_test_labels(counts: Longs, test: Dataset) -> Finding:
    """counts: (labels,) training texts per label; the ids of `test` go on after them."""
    positives = test.trained_on().label_counts
    seen = np.pad(counts, (0, len(positives) - len(counts))) > 0
    labels = _rows((positives > 0) & ~seen)
    lost = _percent(int(positives[labels].sum()), int(positives.sum()))
    return Finding.of(
        "unseen_test_labels",
        "warning",
        f"{_many(labels, 'test label has', 'test labels have')} no training text, so {lost} of "
        "what should be found in the test texts is out of reach.",
        len(labels),
        (test.labels.names[label] for label in labels),
        "They count as misses. Check that both files spell labels alike.",
    )


def empty_label_names(dataset: Dataset) -> Finding:
    """Labels whose name is "" or spaces: probably an empty field, and no label at all."""
    empty = [label for label, name in enumerate(dataset.labels.names) if not name.strip()]
    rows = _rows(np.diff(dataset.relevant[:, empty].indptr))
    return Finding.of(
        "empty_label_names",
        "warning",
        f"{_many(rows, 'text has', 'texts have')} a label without a name.",
        len(rows),
        (f"text {row + 1}" for row in rows),
        "Look for an empty field or a separator too many where labels are listed.",
    )


def alike_label_names(names: Iterable[str]) -> Finding:
    """Names that are one when case, spaces and the Unicode form are ignored."""
    by_form: dict[str, list[str]] = defaultdict(list)
    for name in names:
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        by_form["".join(plain.split())].append(name)
    groups = [group for group in by_form.values() if len(group) > 1]
    return Finding.of(
        "alike_label_names",
        "warning",
        f"{_many(groups, 'group', 'groups')} of label names differ only in case, spaces or "
        "Unicode form.",
        len(groups),
        (" = ".join(map(repr, group)) for group in groups),
        "Merge each group, or the model has to guess which spelling was meant.",
    )


def joined_label_names(names: Sequence[str]) -> Finding:
    """Names like "trade; fish" whose parts are labels too: probably several labels in one."""
    known = set(names)
    joined = [
        name
        for name in names
        for mark in (";", "|")
        if mark in name and any(part.strip() in known for part in name.split(mark))
    ]
    return Finding.of(
        "joined_label_names",
        "warning",
        f"{_many(joined, 'label name looks', 'label names look')} like several labels in one.",
        len(joined),
        map(repr, joined),
        "If so, write them as a list, or pass label_separator=... when reading.",
    )


def _diagnosis(
    dataset: Dataset, counts: Longs, words: Longs, findings: Iterable[Finding]
) -> Diagnosis:
    found = [finding for finding in findings if finding.count]
    return Diagnosis(
        texts=len(dataset),
        labels=int((counts > 0).sum()),
        words_per_text=Spread.of(words) if len(words) else None,
        labels_per_text=Spread.of(np.diff(dataset.relevant.indptr)),
        texts_per_label=Spread.of(counts[counts > 0]),
        label_counts=counts,
        findings=tuple(sorted(found, key=lambda one: SEVERITIES.index(one.severity))),
    )


def _rows(odd: Array) -> list[int]:
    return [int(row) for row in np.flatnonzero(odd)]


def _many(things: Sequence[object], one: str, more: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else more}"


def _percent(part: int, whole: int) -> str:
    value = 100 * part / max(1, whole)
    return f"{value:.0f} %" if value >= 10 else f"{value:.2f} %"


def _snippet(text: str) -> str:
    short = " ".join(text[: 4 * SNIPPET].split())
    return repr(short if len(short) <= SNIPPET else short[:SNIPPET] + "…")
