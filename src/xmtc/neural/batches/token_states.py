"""Token states of some texts: what label-wise attention reads."""

from __future__ import annotations

from dataclasses import dataclass

from xmtc.core.arrays import Array, Floats


@dataclass(frozen=True)
class TokenStates:
    """The states of each token by one or several encoders. Slices like an array."""

    states: tuple[Floats, ...]  # (texts, length, dim) of each encoder
    mask: Array  # (texts, length), True for tokens

    @property
    def shape(self) -> tuple[int, ...]:
        """(texts, length)"""
        return self.mask.shape

    def __getitem__(self, rows: slice) -> TokenStates:
        return TokenStates(tuple(each[rows] for each in self.states), self.mask[rows])
