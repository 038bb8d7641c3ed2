"""What a writer wrote, the reader reads: for every text and label that the format can hold."""

import gzip
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import as_csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.formats.fasttext import write_fasttext
from xmtc.data.formats.jsonl import write_jsonl
from xmtc.data.formats.parquet import write_parquet
from xmtc.data.formats.table import write_csv
from xmtc.data.formats.xc import write_xc
from xmtc.data.read import read_dataset

ANY = st.characters(exclude_categories=["Cs"])
NO_NUL = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
WORD = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)

quick = settings(max_examples=40, deadline=None)


def rows(texts, labels):
    return st.lists(st.tuples(texts, st.lists(labels, max_size=4, unique=True)), min_size=1)


def dataset_of(pairs) -> Dataset:
    return Dataset.of([text for text, _ in pairs], [names for _, names in pairs])


def there_and_back(dataset: Dataset, name: str, write, **options) -> Dataset:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(dataset, path)
        return read_dataset(path, **options)


def assert_same(one: Dataset, other: Dataset) -> None:
    assert list(one.texts) == list(other.texts)
    assert one.labels.names == other.labels.names
    assert (one.relevant != other.relevant).nnz == 0
    assert set(other.relevant.data) <= {1.0}


@quick
@given(rows(st.text(ANY), st.text(ANY)), st.sampled_from(["a.jsonl", "a.jsonl.gz", "a.json.gz"]))
def test_jsonl_holds_every_text_and_label(pairs, name):
    dataset = dataset_of(pairs)
    assert_same(dataset, there_and_back(dataset, name, write_jsonl))


@quick
@given(rows(st.text(NO_NUL), st.text(ANY)), st.sampled_from(["a.csv", "a.csv.gz", "a.tsv"]))
def test_csv_and_tsv_hold_every_text_and_label_but_nul(pairs, name):
    dataset = dataset_of(pairs)
    assert_same(dataset, there_and_back(dataset, name, write_csv))


@quick
@given(rows(st.text(ANY), st.text(ANY)))
def test_parquet_holds_every_text_and_label(pairs):
    dataset = dataset_of(pairs)
    assert_same(dataset, there_and_back(dataset, "a.parquet", write_parquet))


@quick
@given(rows(st.lists(WORD, min_size=1).map(" ".join), WORD))
def test_fasttext_holds_texts_of_one_line_and_labels_of_one_word(pairs):
    dataset = dataset_of(pairs)
    assert_same(dataset, there_and_back(dataset, "a.txt", write_fasttext, format="fasttext"))


@quick
@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_xc_holds_every_feature_to_the_last_bit(texts, features, labels, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(texts, features)) * (rng.random((texts, features)) < 0.5)
    truth = rng.random((texts, labels)) < 0.3
    space = LabelSpace(tuple(map(str, range(labels))))
    dataset = Dataset((), as_csr(truth), space, as_csr(sp.csr_array(values)))
    again = there_and_back(dataset, "a.txt", write_xc)
    assert_same(dataset, again)
    assert (dataset.features != again.features).nnz == 0
    assert dataset.features.shape == again.features.shape


def test_writing_twice_gives_the_same_packed_bytes(tmp_path):
    dataset = Dataset.of(["a", "b"], [["x"], []])
    write_jsonl(dataset, tmp_path / "one.jsonl.gz")
    write_jsonl(dataset, tmp_path / "two.jsonl.gz")
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()).count(b"\n") == 2


def test_fasttext_labels_with_spaces_need_a_decision(tmp_path):
    dataset = Dataset.of(["oil from olives"], [["olive oil"]])
    with pytest.raises(DataError, match=re.escape('Pass space="_"')):
        write_fasttext(dataset, tmp_path / "a.txt")
    write_fasttext(dataset, tmp_path / "a.txt", space="_")
    assert (tmp_path / "a.txt").read_text() == "__label__olive_oil oil from olives\n"


def test_a_set_of_texts_cannot_be_written_as_features(tmp_path):
    with pytest.raises(DataError, match="texts only"):
        write_xc(Dataset.of(["a"], [["x"]]), tmp_path / "a.txt")
