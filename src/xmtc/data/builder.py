"""Collects texts and labels row by row and makes a Dataset of them at the end."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from xmtc.core.arrays import Csr, Ints, csr
from xmtc.core.dataset import Dataset
from xmtc.core.labels import LabelSpace

Name = str | int  # a label as a file gives it: its name, or its number


class IdRows:
    """Rows of ids in two flat arrays: 4 bytes per id instead of a list per row."""

    def __init__(self) -> None:
        self.ids = array("i")
        self.ends = array("q", [0])

    def add(self, ids: Iterable[int]) -> None:
        """Append one row."""
        self.ids.extend(ids)
        self.ends.append(len(self.ids))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def relevant(self, labels: int, new_id: Ints | None = None) -> Csr:
        """(rows, labels) with a 1 for each id, renumbered if asked; repeats count once.

        The matrix is made from the memory of the rows, so this is the last thing to ask of them.
        """
        ids = np.frombuffer(self.ids, np.int32) if self.ids else np.empty(0, np.int32)
        if new_id is not None and len(ids):
            np.take(new_id, ids, out=ids, mode="clip")  # in place; "clip" needs no buffer
        ends = np.frombuffer(self.ends, np.int64)
        return ones(csr(np.ones(len(ids), np.float32), ids, ends, labels))


class DatasetBuilder:
    """Texts with labels by name. Ids follow the sorted names, so reading twice gives the same."""

    def __init__(self, rows: Iterable[tuple[str, Sequence[Name]]]) -> None:
        self.texts: list[str] = []
        self.rows = IdRows()
        self.seen: dict[Name, int] = {}
        seen = self.seen
        ids = self.rows.ids
        ends = self.rows.ends
        for text, names in rows:
            for name in names:
                ids.append(seen.setdefault(name, len(seen)))
            ends.append(len(ids))
            self.texts.append(text)

    def numbered(self) -> bool:
        """Whether all labels came as numbers."""
        return bool(self.seen) and all(isinstance(name, int) for name in self.seen)

    def named(self, first: Sequence[str] = ()) -> Dataset:
        """Labels in the order of `first`; those it lacks follow, sorted by name."""
        ids_of_name = {name: position for position, name in enumerate(dict.fromkeys(first))}
        for name in sorted({str(name) for name in self.seen} - ids_of_name.keys()):
            ids_of_name[name] = len(ids_of_name)
        new_id = np.array([ids_of_name[str(name)] for name in self.seen], np.int32)
        relevant = self.rows.relevant(len(ids_of_name), new_id)
        return Dataset(self.texts, relevant, LabelSpace(tuple(ids_of_name)))

    def by_number(self, labels: LabelSpace) -> Dataset:
        """The numbers that the file gave are the ids of `labels`."""
        new_id = np.array(list(self.seen), np.int32)
        return Dataset(self.texts, self.rows.relevant(len(labels), new_id), labels)


def ones(matrix: Csr) -> Csr:
    """The same entries, sorted, each once and with value 1; changes the matrix it is given."""
    matrix.sum_duplicates()
    matrix.data = np.ones(len(matrix.data), np.float32)
    return matrix
