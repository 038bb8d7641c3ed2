"""Groups texts of similar length into batches, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmtc.core.arrays import Longs

POOL = 50  # more: less padding, less random batches


def shuffled_batches(
    lengths: Longs, max_texts: int, max_tokens: int, seed: Sequence[int], pool: int = POOL
) -> list[Longs]:
    """Every text once, in batches of at most `max_texts` and `max_tokens` with their padding.

    pool: batches' worth of texts that are sorted together; 1 makes batches of any lengths.
    The same seed gives the same batches. A text that is longer than the budget is alone.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(lengths))
    pool *= max_texts
    batches = [
        batch
        for start in range(0, len(order), pool)
        for batch in sorted_batches(lengths, order[start : start + pool], max_texts, max_tokens)
    ]
    return [batches[place] for place in rng.permutation(len(batches))]


def sorted_batches(lengths: Longs, rows: Longs, max_texts: int, max_tokens: int) -> list[Longs]:
    """These rows from short to long, cut where a batch is full."""
    rows = rows[np.argsort(lengths[rows], kind="stable")]
    batches = []
    start = 0
    for place, row in enumerate(rows):
        count = place - start + 1
        if count > 1 and (count > max_texts or count * lengths[row] > max_tokens):
            batches.append(rows[start:place])
            start = place
    return [*batches, rows[start:]] if len(rows) else []


def padding(lengths: Longs, batches: Sequence[Longs]) -> float:
    """The share of all places in the batches that is padding."""
    places = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - float(lengths.sum()) / places if places else 0.0
