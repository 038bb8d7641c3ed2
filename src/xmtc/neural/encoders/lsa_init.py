"""Initial word vectors: words that occur in the same texts lie near each other.

It is latent semantic analysis of the training texts: a stand-in for pretrained vectors (GloVe),
which take hundreds of megabytes and lack the words of a special field.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from xmtc.core.arrays import Csr, as_csr, row_of_each_entry, unit_rows
from xmtc.neural.batches.tokens import Tokens

ITERATIONS = 4  # of the randomized SVD
OVERSAMPLING = 8  # directions beyond those used, which make these exact
MIN_NORM = 1e-6  # a shorter vector tells nothing of its word


def place_words(table: Tensor, tokens: Tokens) -> None:
    """Of (words, width), each word of these texts gets a vector of mean square 1; others stay."""
    words, width = table.shape
    weights = weights_of(tokens, words)
    if not weights.nnz:
        return
    entries = torch.from_numpy(np.stack([row_of_each_entry(weights), weights.indices]))
    matrix = torch.sparse_coo_tensor(
        entries, torch.from_numpy(weights.data), weights.shape, check_invariants=False
    )
    rank = min(width + OVERSAMPLING, *weights.shape)
    _, strengths, directions = torch.svd_lowrank(matrix, rank, niter=ITERATIONS)
    found = (directions * strengths.sqrt())[:, :width]
    lengths = found.norm(dim=1)
    occurs = torch.from_numpy(np.bincount(weights.indices, minlength=words) > 0)
    known = occurs & (lengths > MIN_NORM)
    vectors = found[known] * (width**0.5 / lengths[known]).unsqueeze(1)
    with torch.no_grad():
        table[known] = 0
        table[known, : found.shape[1]] = vectors


def weights_of(tokens: Tokens, words: int) -> Csr:
    """(pieces, words) TF-IDF, rows of length 1."""
    pieces = len(tokens.starts) - 1
    ones = np.ones(len(tokens.ids), np.float32)
    counts = as_csr(sp.csr_array((ones, tokens.ids, tokens.starts), shape=(pieces, words)))
    counts.sum_duplicates()
    rarity = np.log((1 + pieces) / np.bincount(counts.indices, minlength=words).clip(1))
    counts.data = ((1 + np.log(counts.data)) * rarity[counts.indices]).astype(np.float32)
    return unit_rows(counts)
