"""Planted data: small sets whose right answer is known, for tests and for trying things."""

from __future__ import annotations

import numpy as np

from xmtc.core.dataset import Dataset
from xmtc.data.frames import dataset_of

NOISE = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def planted(
    texts: int = 200, labels: int = 12, labels_per_text: int = 2, words: int = 8, seed: int = 0
) -> Dataset:
    """Texts in which each label shows by two words of its own, among noise words.

    Frequencies fall off like Zipf's law, and every label occurs. Label texts hold one of the words.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, labels + 1)
    shares /= shares.sum()
    rows = []
    for _ in range(texts):
        count = min(int(rng.integers(1, labels_per_text + 1)), labels)
        rows.append(sorted(rng.choice(labels, count, replace=False, p=shares).tolist()))
    for label in range(labels):
        rows[label % texts] = sorted({*rows[label % texts], label})
    planted_texts = []
    for row in rows:
        signs = [f"sign{label}{letter}" for label in row for letter in "ab"]
        noise = rng.choice(NOISE, words).tolist()
        planted_texts.append(" ".join(rng.permutation(signs + noise)))
    return dataset_of(
        planted_texts,
        [[label_name(label) for label in row] for row in rows],
        label_texts={label_name(label): f"about sign{label}a" for label in range(labels)},
    )


def label_name(label: int) -> str:
    """What the planted label of this number is called."""
    return f"label {label:04d}"
