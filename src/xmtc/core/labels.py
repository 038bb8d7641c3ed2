"""LabelSpace: the names of the labels, in the order of their ids, and their label texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmtc.core.arrays import Array
from xmtc.core.errors import DataError


@dataclass(frozen=True, repr=False)
class LabelSpace:
    """Label `i` is called `names[i]` and may be described by `texts[i]`."""

    names: tuple[str, ...]
    texts: tuple[str, ...] | None = None  # "" where a label has no text of its own

    def __post_init__(self) -> None:
        if self.texts is not None and len(self.texts) != len(self.names):
            raise DataError(
                f"{len(self.texts)} label texts for {len(self.names)} labels. "
                'Give one text per label; use "" where there is none.'
            )
        if len(self.id_of) != len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise DataError(f"the label name {twice!r} occurs twice. Rename one.")

    @cached_property
    def id_of(self) -> dict[str, int]:
        """Name -> id."""
        return {name: position for position, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        first = ", ".join(map(repr, self.names[:3]))
        return f"LabelSpace({len(self):,} labels: {first}{', ...' if len(self) > 3 else ''})"

    def text_of(self, label: int) -> str:
        """The label text, or the label's name where it has none."""
        return (self.texts and self.texts[label]) or self.names[label]

    def extended_by(self, names: Iterable[str]) -> LabelSpace:
        """The same ids, with the names that were missing appended in the order given."""
        new = tuple(dict.fromkeys(name for name in names if name not in self.id_of))
        texts = None if self.texts is None else self.texts + ("",) * len(new)
        return LabelSpace(self.names + new, texts) if new else self

    def only(self, mask: Array) -> LabelSpace:
        """The labels where `mask` is True, in their order."""
        places = np.flatnonzero(mask)
        texts = None if self.texts is None else tuple(self.texts[place] for place in places)
        return LabelSpace(tuple(self.names[place] for place in places), texts)

    def with_texts(self, texts: dict[str, str]) -> LabelSpace:
        """The same names, described by the texts given for them."""
        return LabelSpace(self.names, tuple(texts.get(name, "") for name in self.names))
