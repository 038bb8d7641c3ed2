"""Planted data: small sets whose right answer is known, for tests and for trying things."""

from __future__ import annotations

import numpy as np

from xmtc.core.dataset import Dataset

NOISE = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def planted(
    texts: int = 200, labels: int = 12, labels_per_text: int = 2, words: int = 8, seed: int = 0
) -> Dataset:
    """Texts in which each label shows itself by two words of its own, among noise.

    Frequencies fall off like Zipf's law, and every label occurs. Label texts hold one of the words.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, labels + 1)
    rows = [_some(rng, shares, labels_per_text) for _ in range(texts)]
    for label in range(labels):
        rows[label % texts] = sorted({*rows[label % texts], label})
    return Dataset.of(
        [_text(rng, row, words) for row in rows],
        [[label_name(label) for label in row] for row in rows],
        label_texts={label_name(label): f"about sign{label}a" for label in range(labels)},
    )


def label_name(label: int) -> str:
    """What the planted label of this number is called."""
    return f"label {label:04d}"


def _some(rng: np.random.Generator, shares: np.ndarray, most: int) -> list[int]:
    count = int(rng.integers(1, most + 1))
    return sorted(
        rng.choice(
            len(shares), min(count, len(shares)), replace=False, p=shares / shares.sum()
        ).tolist()
    )


def _text(rng: np.random.Generator, row: list[int], words: int) -> str:
    signs = [f"sign{label}{letter}" for label in row for letter in "ab"]
    noise = rng.choice(NOISE, words).tolist()
    return " ".join(rng.permutation(signs + noise))
