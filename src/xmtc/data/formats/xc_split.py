"""The Extreme Classification Repository's split matrices, and pairs to leave out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xmtc.core.arrays import Csr, Ints
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import ones
from xmtc.data.formats.sparse_pairs import SparseRows
from xmtc.data.formats.xc import data_rows, xc_header
from xmtc.data.label_space import labels_by_number
from xmtc.data.lines import decode, first_lines, read_lines, require_regular
from xmtc.data.options import ReadOptions

ENDINGS = ("_X_Xf.txt", "_X_Y.txt")  # features, labels


def split_files(path: Path) -> list[Path]:
    """Features and labels of the pair that this file belongs to, such as `trn_X_Xf.txt`."""
    for ending in ENDINGS:
        stem, found, packed = path.name.rpartition(ending)
        if found and packed in ("", ".gz"):
            plain = [path.with_name(stem + part) for part in ENDINGS]
            gzipped = [file.with_name(f"{file.name}.gz") for file in plain]
            pairs = zip(plain, gzipped, strict=True)
            return [gz if gz.is_file() and not file.is_file() else file for file, gz in pairs]
    return []


def read_split(path: Path, options: ReadOptions) -> Dataset:
    """Two matrices, one of features and one of labels, each `rows columns` and then pairs."""
    pair = split_files(path)
    if not pair or not all(file.is_file() for file in pair):
        raise DataError(
            f"{path}: expected two files, trn_X_Xf.txt and trn_X_Y.txt (or tst_...). Put both into "
            "one folder."
        )
    features, bad_features = _matrix(pair[0], options.feature_count, options.bad)
    truth, bad_labels = _matrix(pair[1], options.label_count, options.bad)
    if features.shape[0] != truth.shape[0]:
        raise DataError(
            f"{pair[0]} has {features.shape[0]} rows but {pair[1]} has {truth.shape[0]}. "
            "They must come from the same download."
        )
    truth.eliminate_zeros()
    space = labels_by_number(path, truth.shape[1], options)
    dataset = Dataset((), ones(truth), space, features)
    dropped = bad_features | bad_labels
    return dataset.take([row for row in range(len(dataset)) if row not in dropped])


def _matrix(path: Path, columns: int | None, bad: BadLines) -> tuple[Csr, set[int]]:
    """The matrix, with an empty row for each bad line, and the numbers of those rows."""
    header = xc_header(path, 2)
    if not header:
        seen = excerpt("".join(first_lines(path, 1)))
        raise DataError(f"{path}:1: {seen} is not a header of two numbers, rows and columns.")
    rows = SparseRows(columns or header[1])
    dropped: set[int] = set()
    for number, line in data_rows(path, header[0], bad):
        try:
            rows.add_pairs(decode(line))
        except BadLine as problem:
            bad.add(path, number, problem)
            dropped.add(len(rows))
            rows.add(())
    return rows.matrix(), dropped


def read_filter_pairs(path: str | Path) -> Ints:
    """(pairs, 2): text and label numbers to leave out when scoring (`filter_labels_test.txt`)."""
    path = Path(path)
    pairs = []
    strict = BadLines(strict=True, advice="Each line is a text number and a label number.")
    require_regular(path)
    for number, line in read_lines(path, strict) if path.stat().st_size else ():
        words = line.split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            pairs.append((int(words[0]), int(words[1])))
        elif words:
            strict.add(path, number, f"{excerpt(line.decode('utf-8', 'replace').strip())}.")
    return np.array(pairs, np.int32).reshape(-1, 2)
