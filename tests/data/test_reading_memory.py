"""Reading needs less than three times the memory of the texts, however they are stored."""

import csv
import gzip
import json
import tracemalloc

import pytest

from xmtc.core import progress
from xmtc.core.errors import DataError, MissingExtra
from xmtc.data.formats.parquet import write_parquet
from xmtc.data.read import read_dataset

TEXTS = 10_000
WORDS = "council regulation on the common market in olive oil and other matters "


def rows():
    for number in range(TEXTS):
        yield f"{number} {WORDS * 8}", [f"label {number % 997}", f"label {number % 13}"]


def write(path):
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w", newline="") as file:
        if ".jsonl" in path.name:
            file.writelines(json.dumps({"text": t, "labels": n}) + "\n" for t, n in rows())
        elif path.name == "a.json":
            json.dump([{"text": t, "label": n} for t, n in rows()], file)
        else:
            csv.writer(file).writerows([("text", "labels"), *((t, ";".join(n)) for t, n in rows())])


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.csv.gz"])
def test_reading_streams(tmp_path, name):
    write(tmp_path / name)
    assert peak(tmp_path / name) < 3


def test_reading_parquet_streams(tmp_path):
    write(tmp_path / "a.jsonl")
    write_parquet(read_dataset(tmp_path / "a.jsonl"), tmp_path / "a.parquet")
    assert peak(tmp_path / "a.parquet") < 3


def peak(path) -> float:
    """The most memory that reading took, in sizes of the texts."""
    tracemalloc.start()
    dataset = read_dataset(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(dataset) == TEXTS
    return most / sum(map(len, dataset.texts))


def test_the_progress_bar_counts_bytes(tmp_path, monkeypatch):
    seen = []

    class Bar:
        def __init__(self, title, total):
            seen.append((title, total))

        def advance(self, amount):
            seen.append(amount)

        def close(self):
            pass

    monkeypatch.setattr(progress, "_Bar", Bar)
    monkeypatch.setattr(progress, "_asked", [True])
    write(tmp_path / "a.jsonl.gz")
    size = (tmp_path / "a.jsonl.gz").stat().st_size
    read_dataset(tmp_path / "a.jsonl.gz")
    assert seen[0] == ("reading a.jsonl.gz", size)
    assert sum(seen[1:]) == size


@pytest.mark.parametrize("ending", ["", "\noops"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json", "train_labels.txt"])
def test_no_progress_bar_is_left_over(tmp_path, monkeypatch, name, ending):
    monkeypatch.setattr(progress, "DELAY", -1)
    monkeypatch.setattr(progress, "_asked", [True])
    write(tmp_path / name)
    (tmp_path / "train_texts.txt").write_bytes((tmp_path / name).read_bytes())
    with (tmp_path / name).open("a") as file:
        file.write(ending)
    path = tmp_path if name == "train_labels.txt" else tmp_path / name
    try:
        read_dataset(path)
    except DataError:
        assert not progress._live
    assert not progress._live


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"pip install 'xmtc\[parquet\]'"):
        read_dataset(tmp_path / "a.parquet")
