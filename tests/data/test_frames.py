"""A table of any library gives the data set that the same lists give, by the rules of files."""

import json

import numpy as np
import pytest

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.read import read_dataset

TEXTS = ["olive oil", "fish", ""]
LABELS = [["food", "trade"], ["food"], []]


def named(data):
    """[(text, its label names), ...]: what a data set says, without its ids."""
    pieces = np.split(data.relevant.indices, data.relevant.indptr[1:-1])
    names = [[data.labels.names[label] for label in piece] for piece in pieces][: len(data)]
    return list(zip(data.texts, names, strict=True))


def tables():
    """The same three rows as every kind of table."""
    import datasets
    import pandas as pd
    import polars as pl

    columns = {"text": TEXTS, "labels": LABELS}
    numbers = {"text": TEXTS, "labels": [[1, 0], [0], []]}
    ids = datasets.ClassLabel(names=["food", "trade"])
    coded = datasets.Features({"text": datasets.Value("string"), "labels": datasets.Sequence(ids)})
    return {
        "pandas": pd.DataFrame(columns),
        "pandas arrays": pd.DataFrame({**columns, "labels": [np.array(r, str) for r in LABELS]}),
        "pandas missing": pd.DataFrame({**columns, "labels": [*LABELS[:2], None]}),
        "pandas nan": pd.DataFrame({**columns, "labels": [*LABELS[:2], float("nan")]}),
        "pandas odd names": pd.DataFrame({**columns, "features": 1, "column_names": 2}),
        "polars": pl.DataFrame(columns),
        "polars missing": pl.DataFrame({**columns, "labels": [*LABELS[:2], None]}),
        "hugging face": datasets.Dataset.from_dict(columns),
        "hugging face classes": datasets.Dataset.from_dict(numbers, features=coded),
        "hugging face missing": datasets.Dataset.from_dict(
            {**numbers, "labels": [[1, 0], [0], None]}, features=coded
        ),
    }


@pytest.fixture(scope="module")
def every_table():
    pytest.importorskip("datasets")
    return tables()


def test_a_table_of_any_library_says_what_the_lists_say(every_table):
    expected = Dataset.of(TEXTS, LABELS)
    for name, table in every_table.items():
        assert named(Dataset.of(table)) == named(expected), name


def test_columns_can_be_named(every_table):
    frame = every_table["pandas"].rename(columns={"text": "body", "labels": "topics"})
    data = Dataset.of(frame, text_column="body", label_column="topics")
    assert named(data) == named(Dataset.of(TEXTS, LABELS))
    with pytest.raises(DataError, match=r"no column 'text' among body, topics. Pass text_column"):
        Dataset.of(frame)
    with pytest.raises(DataError, match=r"no column 'tags' among"):
        Dataset.of(frame, text_column="body", label_column="tags")


def test_one_label_per_text_may_stand_without_a_list():
    import datasets
    import pandas as pd

    expected = [("x", ["b"]), ("y", ["a"]), ("z", [])]
    classes = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "b"])}
    )
    coded = {"text": ["x", "y", "z"], "label": [1, 0, -1]}  # -1 is how they say "not labelled"
    assert named(Dataset.of(datasets.Dataset.from_dict(coded, features=classes))) == expected
    frame = pd.DataFrame({"text": ["x", "y", "z"], "label": ["b", "a", None]})
    assert named(Dataset.of(frame)) == expected
    assert named(Dataset.of(["x", "y"], ["long name", 7])) == [("x", ["long name"]), ("y", ["7"])]


@pytest.mark.parametrize(
    "columns",
    [
        {"title": ["one", "two"], "content": ["more", ""], "tags": [["b", "a"], []]},
        {"abstract": ["one", "two"], "label": ["a;b", "c"]},
        {"text": ["one", "two"], "subject_uris": [[7, 3], 1]},
        {"text": ["one", "two"], "labels": ['["x;y", "z"]', "<u:1> <u:2>"]},
        {"text": ["one", "two"], "labels": [[{"uri": "u:1", "label": "fox"}], None]},
    ],
)
@pytest.mark.parametrize("separator", [None, ";"])
def test_a_frame_and_a_file_with_the_same_columns_are_read_alike(tmp_path, columns, separator):
    pandas = pytest.importorskip("pandas")
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    file = read_dataset(tmp_path / "a.jsonl", label_separator=separator)
    frame = Dataset.of(pandas.DataFrame(columns), label_separator=separator)
    assert named(frame) == named(file)
    assert frame.labels == file.labels
    assert frame.fingerprint == file.fingerprint
