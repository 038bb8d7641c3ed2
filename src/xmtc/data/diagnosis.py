"""Diagnosis: what was found in a data set, for people and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from xmtc.core.arrays import Array, Longs

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # worst first
EXAMPLES = 3  # shown per finding


@dataclass(frozen=True)
class Finding:
    """One thing to know. Texts in examples are counted from 1."""

    kind: str  # "near_duplicates", ...: for programs
    severity: Severity  # error: results will be wrong; warning: fix it if you can
    sentence: str
    count: int
    examples: tuple[str, ...]
    advice: str

    @staticmethod
    def of(
        kind: str,
        severity: Severity,
        sentence: str,
        odd: Sequence[Any],
        advice: str,
        example: Callable[[Any], str] = lambda row: f"text {row + 1}",
    ) -> Finding:
        """A finding with the first few of the odd texts or labels as examples."""
        examples = tuple(example(item) for item in odd[:EXAMPLES])
        return Finding(kind, severity, sentence, len(odd), examples, advice)


@dataclass(frozen=True)
class Spread:
    """How a count is distributed."""

    mean: float
    median: float
    p95: float
    max: int

    @staticmethod
    def of(counts: Array) -> Spread:
        """All zero when there is nothing to count."""
        if not len(counts):
            return Spread(0.0, 0.0, 0.0, 0)
        median, p95 = np.quantile(counts, [0.5, 0.95])
        return Spread(float(np.mean(counts)), float(median), float(p95), int(np.max(counts)))


@dataclass(frozen=True)
class Diagnosis:
    """`findings` come worst first; there are none for a data set in good health."""

    texts: int
    labels: int  # that have at least one text
    words_per_text: Spread | None  # None: there are features and no texts
    labels_per_text: Spread
    texts_per_label: Spread  # of the labels that have texts
    label_counts: Longs  # (labels,) texts per label, for a plot of the long tail
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the label counts as {texts: how many labels have so many}."""
        values = asdict(self)
        texts, labels = np.unique(values.pop("label_counts"), return_counts=True)
        return values | {
            "labels_by_texts": dict(zip(map(str, texts.tolist()), labels.tolist(), strict=True)),
            "findings": [
                asdict(found) | {"examples": list(found.examples)} for found in self.findings
            ],
        }
