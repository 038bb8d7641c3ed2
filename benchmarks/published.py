"""Figures that papers report for their systems, on exactly the data sets they used.

`published.csv` names the table of each figure: X-BERT (Chang et al. 2019), LightXML (Jiang et al.
2021), APLC-XLNet (Ye et al. 2020), GUDN (Wang et al. 2022), the logs of released code, and for
EURLEX57K Chalkidis et al. 2019. A figure that a paper quotes is filed under the paper that prints
it, because papers disagree. Where a table has only gains over another system (X-BERT, Table 4: over
Parabel, in percent of its figure; GUDN, Table 4: over BERT, in points), the columns say so.

Data sets of one name are not one data set: there are three "Eurlex-4K". So figures are given for a
name with its numbers of training and test texts, and for nothing that merely looks alike. GUDN
prints the repository's statistics though its label file is LightXML's; they are filed as printed.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple


class Published(NamedTuple):
    """One row of a published table."""

    source: str  # paper and table
    data: str
    train_texts: int
    test_texts: int
    labels: int  # in training and test texts together
    system: str
    metrics: dict[str, float]  # percent: "P@1", "R@5", ...; or a gain: "P@1 over BERT"


def published(name: str, train_texts: int, test_texts: int) -> list[Published]:
    """Figures for this very data set, in the order of the papers; none if no paper used it.

    Case and signs in the name do not matter: "eurlex4k" is "Eurlex-4K".
    """
    asked = (_plain(name), train_texts, test_texts)
    return [row for row in FIGURES if (_plain(row.data), *row[2:4]) == asked]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _row(values: list[str], names: list[str]) -> Published:
    source, data, train_texts, test_texts, labels, system, *figures = values
    pairs = zip(names, figures, strict=True)
    metrics = {name: float(figure) for name, figure in pairs if figure}
    return Published(source, data, int(train_texts), int(test_texts), int(labels), system, metrics)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    _head, *_rows = csv.reader(_file)
FIGURES = [_row(values, _head[6:]) for values in _rows]
