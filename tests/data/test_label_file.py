"""Label texts come from the file next to the data, from a file named, or from a dictionary."""

import gzip
import json

import pytest

from xmtc.core.errors import DataError
from xmtc.data.read import read_dataset

NAMED = '{"text": "x", "labels": ["fox", "owl"]}\n'
NUMBERED = '{"text": "x", "labels": [2, 0]}\n'
OBJECTS = [{"label": "owl", "text": "a bird"}, {"label": "cat"}, {"label": "fox", "text": "red"}]
FILES = {
    "labels.json": json.dumps(OBJECTS, indent=2),
    "labels.jsonl": "\n".join(map(json.dumps, OBJECTS)),
    "labels.tsv": "owl\ta bird\ncat\t\n<fox>\tred\n",
}


def read(folder, data, name=None, content="", **options):
    (folder / "trn.jsonl").write_text(data)
    if name is not None:
        packed = name.endswith(".gz")
        (folder / name).write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    return read_dataset(folder / "trn.jsonl", **options)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", FILES)
def test_names_find_their_texts(tmp_path, name, packed):
    labels = read(tmp_path, NAMED, name + packed, FILES[name]).labels
    assert labels.names == ("fox", "owl")
    assert labels.texts == ("red", "a bird")


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_places_in_the_file(tmp_path, name):
    dataset = read(tmp_path, NUMBERED, name, FILES[name])
    assert dataset.labels.names == ("owl", "cat", "fox")
    assert dataset.labels.texts == ("a bird", "", "red")
    assert dataset.relevant.toarray().tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("name", ["lbl.json.gz", "Yf.txt"])
def test_files_of_the_repository_name_the_labels(tmp_path, name):
    titles = ["owl", "cat", "fox"]
    lines = titles if name == "Yf.txt" else [json.dumps({"uid": "", "title": t}) for t in titles]
    labels = read(tmp_path, NUMBERED, name, "\n".join(lines)).labels
    assert labels.names == labels.texts == ("owl", "cat", "fox")


def test_texts_that_repeat_are_no_names(tmp_path):
    labels = read(tmp_path, NUMBERED, "Yf.txt", "owl\nowl\n\n").labels
    assert labels.names == ("0", "1", "2")
    assert labels.texts == ("owl", "owl", "")


def test_a_label_file_with_numbers_as_names(tmp_path):
    content = '{"label": 2, "text": "owl"}\n{"label": 0, "text": "fox"}\n'
    labels = read(tmp_path, NUMBERED, "labels.jsonl", content).labels
    assert (labels.names, labels.texts) == (("0", "2"), ("fox", "owl"))


def test_a_dictionary_or_a_file_named_wins(tmp_path):
    given = {"fox": "by hand"}
    labels = read(tmp_path, NAMED, "labels.tsv", FILES["labels.tsv"], label_texts=given).labels
    assert labels.texts == ("by hand", "")
    (tmp_path / "other.tsv").write_text("fox\telsewhere\n")
    labels = read(tmp_path, NAMED, label_texts=tmp_path / "other.tsv").labels
    assert labels.texts == ("elsewhere", "")
    assert read(tmp_path, NAMED, label_texts={}).labels.texts is None


def test_latin_1_label_texts(tmp_path):
    (tmp_path / "Yf.txt").write_bytes("café\nb\nc\n".encode("latin-1"))
    assert read(tmp_path, NUMBERED).labels.names == ("café", "b", "c")


def test_a_number_without_a_label_is_found(tmp_path):
    message = r"text 2 has label id 7 but .*Yf.txt describes 3 labels .*If Yf.txt does not belong"
    with pytest.raises(DataError, match=message):
        read(tmp_path, NUMBERED + '{"text": "y", "labels": [7]}\n', "Yf.txt", "a\nb\nc\n")


def test_a_broken_label_file_can_be_left_out(tmp_path):
    with pytest.raises(DataError, match=r"labels.jsonl:1: .*rename it .*label_texts=\{\}"):
        read(tmp_path, NAMED, "labels.jsonl", "oops\n")
    with pytest.raises(DataError, match=r"labels.jsonl:1: [^.]*\. Fix the line\.$"):
        read(tmp_path, NAMED, label_texts=tmp_path / "labels.jsonl")
    with pytest.raises(DataError, match=r"there is no file .*nowhere.tsv"):
        read(tmp_path, NAMED, label_texts=tmp_path / "nowhere.tsv")
    assert len(read(tmp_path, NAMED, label_texts={})) == 1


def test_sparse_text_takes_its_names_from_the_label_file(tmp_path):
    (tmp_path / "Yf.txt").write_text("owl\ncat\n")
    (tmp_path / "train.txt").write_text("1 2 2\n0 0:1\n")
    assert read_dataset(tmp_path / "train.txt").labels.names == ("owl", "cat")
    (tmp_path / "Yf.txt").write_text("owl\n")
    with pytest.raises(DataError, match=r"describes 1 labels but .* If Yf.txt .* move it away"):
        read_dataset(tmp_path / "train.txt")
