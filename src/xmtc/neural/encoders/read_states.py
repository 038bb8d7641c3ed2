"""Token states of raw texts, a batch at a time: all of them together would be too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from xmtc.core.arrays import Longs
from xmtc.neural.batches.grouping import sorted_batches
from xmtc.neural.batches.token_states import TokenStates
from xmtc.neural.batches.tokens import tokenize
from xmtc.neural.devices import device, threads_for
from xmtc.neural.encoders.text_encoder import RANKING_TOKENS, TextEncoder


def states_of(
    encoders: Sequence[TextEncoder], texts: Sequence[str]
) -> Iterator[tuple[Longs, TokenStates]]:
    """(which texts, their states by each encoder), texts of like length together.

    The encoders have the same words.
    """
    first = encoders[0]
    tokens = tokenize(texts, first.tokenizer, first.cut)
    lengths = tokens.lengths + first.layout.extra
    for rows in sorted_batches(lengths, np.arange(len(texts)), len(texts), RANKING_TOKENS):
        batch = first.layout.batch(tokens, rows).to(device())
        products = float(lengths[rows].sum()) * first.products_per_token
        with torch.inference_mode(), threads_for(products):
            found = tuple(each.states(batch).float().cpu().numpy() for each in encoders)
        yield rows, TokenStates(found, batch.mask.bool().cpu().numpy())
