"""TokenLayout: where an encoder wants its special tokens, its padding and its CLS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xmtc.core.arrays import Longs
from xmtc.neural.batches.tokens import Tokens


@dataclass(frozen=True)
class Batch:
    """Pieces of texts as an encoder reads them; places beyond a piece's end are masked."""

    ids: Tensor  # (pieces, length)
    mask: Tensor  # (pieces, length), 1 for tokens
    types: Tensor  # (pieces, length) segment ids
    cls: Tensor  # (pieces,) where the CLS token is
    owner: Tensor | None  # (pieces,) the text of each piece; None: each text has one
    texts: int
    states: Tensor | None = None  # (pieces, length, width) what the frozen layers made of it

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        moved: dict[str, Any] = {
            name: value.to(device) if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
        }
        return Batch(**moved)


@dataclass(frozen=True)
class TokenLayout:
    """`before` and `after` are ids around the text, each with its segment id."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    before_types: tuple[int, ...] = ()
    after_types: tuple[int, ...] = ()
    text_type: int = 0
    pad: int = 0
    pad_type: int = 0
    pad_left: bool = False
    cls: int = 0  # from the front of the piece, or from its end where negative

    @property
    def extra(self) -> int:
        """How many places the special tokens take."""
        return len(self.before) + len(self.after)

    @staticmethod
    def of(tokenizer: Any) -> TokenLayout:
        """What a Hugging Face tokenizer does, found out by letting it do it."""
        plain, whole = (
            tokenizer("the", add_special_tokens=special, return_token_type_ids=True)
            for special in (False, True)
        )
        ids = whole["input_ids"]
        types = whole["token_type_ids"]
        text = plain["input_ids"]
        start = next(place for place in range(len(ids)) if ids[place : place + len(text)] == text)
        end = start + len(text)
        place = ids.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in ids else 0
        return TokenLayout(
            tuple(ids[:start]),
            tuple(ids[end:]),
            tuple(types[:start]),
            tuple(types[end:]),
            types[start],
            tokenizer.pad_token_id or 0,
            tokenizer.pad_token_type_id,
            tokenizer.padding_side == "left",
            place if place < start else place - len(ids),
        )

    def batch(self, tokens: Tokens, rows: Longs | list[int]) -> Batch:
        """The pieces of these texts, one after the other."""
        counts = tokens.piece_counts[rows]
        pieces = [p for row in rows for p in range(tokens.first[row], tokens.first[row + 1])]
        spans = [tokens.ids[tokens.starts[p] : tokens.starts[p + 1]] for p in pieces]
        owner = None if (counts == 1).all() else np.repeat(np.arange(len(rows)), counts)
        lengths = np.array([len(span) for span in spans], np.int64) + self.extra
        shape = (len(spans), int(lengths.max(initial=1)))
        ids = np.full(shape, self.pad, np.int64)
        types = np.full(shape, self.pad_type, np.int64)
        mask = np.zeros(shape, np.int64)
        starts = shape[1] - lengths if self.pad_left else np.zeros_like(lengths)
        for row, (span, start, length) in enumerate(zip(spans, starts, lengths, strict=True)):
            place = slice(start, start + length)
            ids[row, place] = np.concatenate([self.before, span, self.after])
            types[row, place] = [
                *self.before_types,
                *[self.text_type] * len(span),
                *self.after_types,
            ]
            mask[row, place] = 1
        cls = starts + self.cls + (lengths if self.cls < 0 else 0)
        made = {"ids": ids, "mask": mask, "types": types, "cls": cls, "owner": owner}
        tensors: dict[str, Any] = {
            name: None if array is None else torch.from_numpy(array) for name, array in made.items()
        }
        return Batch(**tensors, texts=len(rows))


def thinned(batch: Batch, fraction: float) -> Batch:
    """About this fraction of each piece's tokens, drawn at random, in their order; CLS always."""
    if fraction >= 1:
        return batch
    lengths = batch.mask.sum(1)
    keep = (lengths * fraction).round().clamp(min=1).long()
    order = torch.rand(batch.mask.shape, device=batch.mask.device)
    order = order.masked_fill(batch.mask == 0, -1.0)
    rows = torch.arange(len(keep), device=keep.device)
    order[rows, batch.cls] = 2.0
    drawn = order.argsort(dim=1, descending=True)[:, : int(keep.max())]
    real = torch.arange(drawn.shape[1], device=keep.device) < keep.unsqueeze(1)
    left = bool((batch.mask[:, 0] == 0).any())  # padding stays on its side
    drawn = drawn.masked_fill(~real, -1 if left else batch.mask.shape[1]).sort(dim=1).values
    return _picked(batch, drawn)


def _picked(batch: Batch, places: Tensor) -> Batch:
    """The tokens at these places of each piece; a place outside the piece is padding."""
    length = batch.mask.shape[1]
    mask = ((places >= 0) & (places < length)).to(batch.mask.dtype)
    at = places.clamp(0, length - 1)
    cls = (places == batch.cls.unsqueeze(1)).long().argmax(1)
    states = batch.states
    if states is not None:
        states = states.gather(1, at.unsqueeze(2).expand(-1, -1, states.shape[2]))
        states = states * mask.unsqueeze(2)
    return replace(
        batch,
        ids=batch.ids.gather(1, at),
        types=batch.types.gather(1, at),
        mask=mask,
        cls=cls,
        states=states,
    )
