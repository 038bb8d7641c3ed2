"""Each single-file format is recognised and read by its rules."""

import gzip
import json
from pathlib import Path

import pytest

from xmtc.core.errors import ConfigError, DataError
from xmtc.data.formats.file_formats import FILE_FORMATS, file_format
from xmtc.data.formats.folders import FOLDERS
from xmtc.data.formats.xc_split import read_filter_pairs
from xmtc.data.read import read_dataset

JSONL = '{"text": "one", "labels": ["b", "a", "b"]}\n{"text": "two", "labels": []}\n'
XC = "2 4 3\n0,2 0:0.5 3:1\n 1:2.5\n"
FASTTEXT = "__label__b __label__a one\ntwo\n"
ANNIF = "one\t<http://x.org/b> <http://x.org/a>\ntwo\t\n"

FILES = {
    "a.jsonl": ("jsonl", JSONL),
    "a.json": ("jsonl", '[{"text": "one", "label": ["a", "b"]},\n {"text": "two", "label": []}]'),
    "a.csv": ("csv", "id,text,labels\n1,one,b;a\n2,two,\n"),
    "b.csv": ("csv", "text;label\none;a,b\ntwo;\n"),
    "a.tsv": ("tsv", 'text\tlabels\none\t["a", "b"]\ntwo\t[]\n'),
    "a.txt": ("fasttext", FASTTEXT),
    "b.tsv": ("annif", ANNIF),
    "b.txt": ("jsonl", JSONL),
}


def write(folder, name, content, packed=False):
    path = folder / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    return path


def rows(dataset):
    names = dataset.labels.names
    labels = [{names[i] for i in dataset.relevant[[row]].indices} for row in range(len(dataset))]
    return list(zip(dataset.texts, labels, strict=True))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_every_format_is_recognised_and_says_the_same(tmp_path, name, packed):
    kind, content = FILES[name]
    path = write(tmp_path, name, content, packed)
    dataset = read_dataset(path)
    assert file_format(path) == kind
    short = {label: label.rpartition("/")[2] for label in dataset.labels.names}
    assert [(text, {short[n] for n in names}) for text, names in rows(dataset)] == [
        ("one", {"a", "b"}),
        ("two", set()),
    ]
    assert dataset.labels.names == tuple(sorted(dataset.labels.names))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("name", FILES)
def test_bom_and_windows_line_ends_change_nothing(tmp_path, name, bom, ending):
    content = FILES[name][1]
    plain = rows(read_dataset(write(tmp_path, name, content)))
    odd = write(tmp_path, name, bom + content.replace("\n", ending))
    assert rows(read_dataset(odd)) == plain


@pytest.mark.parametrize("content", [XC, XC.partition("\n")[2]])
def test_sparse_text_with_and_without_header(tmp_path, content):
    dataset = read_dataset(write(tmp_path, "train.txt", content))
    assert dataset.texts == ()
    assert dataset.relevant.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert dataset.features.toarray().tolist() == [[0.5, 0, 0, 1], [0, 2.5, 0, 0]]
    assert dataset.labels.names == ("0", "1", "2")


def test_counts_widen_a_file_without_header(tmp_path):
    path = write(tmp_path, "train.txt", "0 0:1\n")
    dataset = read_dataset(path, label_count=5, feature_count=7)
    assert (dataset.relevant.shape, dataset.features.shape) == ((1, 5), (1, 7))


@pytest.mark.parametrize("given", ["trn_X_Xf.txt", "trn_X_Y.txt", "."])
def test_split_matrices_sum_repeats_and_take_any_order(tmp_path, given):
    write(tmp_path, "trn_X_Xf.txt", "3 3\n2:1 0:2 2:0.5\n\n1:1\n")
    write(tmp_path, "trn_X_Y.txt", "3 2\n1:1.0 1:1.0\n0:1\n0:0\n")
    dataset = read_dataset(tmp_path / given)
    assert dataset.features.toarray().tolist() == [[2, 0, 1.5], [0, 0, 0], [0, 1, 0]]
    assert dataset.relevant.toarray().tolist() == [[0, 1], [1, 0], [0, 0]]


def test_title_and_content_are_one_text(tmp_path):
    lines = [
        {"uid": "x", "title": "A title", "content": "and more", "target_ind": [7, 3, 7]},
        {"uid": "y", "title": "Alone", "content": "", "target_ind": []},
    ]
    path = write(tmp_path, "trn.json", "\n".join(map(json.dumps, lines)), packed=True)
    assert rows(read_dataset(path)) == [("A title and more", {"3", "7"}), ("Alone", set())]


def test_columns_with_other_names(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"body": "x", "topic": "olive oil"}\n')
    assert rows(read_dataset(path, text_column="body", label_column="topic")) == [
        ("x", {"olive oil"})
    ]


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("a; b ;;c", {"a", "b", "c"}),
        ('"[""a; b"", ""c""]"', {"a; b", "c"}),
        ("\"['a', 'b']\"", {"a", "b"}),
        ("<http://x.org/a> <http://x.org/b>", {"http://x.org/a", "http://x.org/b"}),
        ("[draft", {"[draft"}),
    ],
)
def test_labels_in_a_cell(tmp_path, cell, labels):
    path = write(tmp_path, "a.csv", f"text,labels\nx,{cell}\ny,m;n\n")
    assert rows(read_dataset(path))[0] == ("x", labels)


def test_one_separator_for_the_whole_file(tmp_path):
    path = write(tmp_path, "a.csv", 'text,labels\nx,"cause, agent"\ny,m;n\n')
    assert rows(read_dataset(path)) == [("x", {"cause, agent"}), ("y", {"m", "n"})]
    assert rows(read_dataset(path, label_separator=",")) == [
        ("x", {"cause", "agent"}),
        ("y", {"m;n"}),
    ]
    assert rows(read_dataset(path, label_separator=""))[1] == ("y", {"m;n"})


def test_annif_json_subjects(tmp_path):
    path = write(
        tmp_path, "a.jsonl", '{"text": "x", "subjects": [{"uri": "<u:1>", "label": "fox"}]}'
    )
    assert rows(read_dataset(path)) == [("x", {"fox"})]


def test_cells_of_a_megabyte(tmp_path):
    path = write(tmp_path, "a.csv", f"text,labels\n{'long ' * 200_000},a\n")
    assert len(read_dataset(path).texts[0]) == 1_000_000


def test_every_format_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    names = {*FILE_FORMATS, *(layout.name for layout in FOLDERS)}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_an_explicit_format_wins(tmp_path):
    path = write(tmp_path, "data.weird", "text,labels\nx,a\n")
    with pytest.raises(DataError, match="cannot tell the format"):
        read_dataset(path)
    assert rows(read_dataset(path, format="csv")) == [("x", {"a"})]
    with pytest.raises(ConfigError, match="no file format 'cvs'; did you mean 'csv'"):
        read_dataset(path, format="cvs")


def test_filter_pairs(tmp_path):
    path = write(tmp_path, "filter_labels_test.txt", "0 5\n3 1\n")
    assert read_filter_pairs(path).tolist() == [[0, 5], [3, 1]]
    assert read_filter_pairs(write(tmp_path, "none.txt", "")).shape == (0, 2)
    with pytest.raises(DataError, match=r"bad.txt:2: '1 2 3'"):
        read_filter_pairs(write(tmp_path, "bad.txt", "0 5\n1 2 3\n"))


def test_json_items_longer_than_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("xmtc.data.json_list.CHUNK", 7)
    items = [{"text": "grün " * n, "labels": [n]} for n in range(30)]
    path = write(tmp_path, "a.json", json.dumps(items, ensure_ascii=False, indent=1))
    assert rows(read_dataset(path)) == [(i["text"], {str(i["labels"][0])}) for i in items]
