"""A bad line is named by file and line number; asked to, the reader skips and counts it."""

import gzip
import json
import logging
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLines
from xmtc.data.formats.xc_split import read_filter_pairs
from xmtc.data.label_file import read_label_file
from xmtc.data.read import read_dataset

GOOD = b'{"text": "fine", "labels": ["a"]}\n'

# name, content, the line that is bad, what the message says of it
BAD_LINES = {
    "invalid JSON": ("a.jsonl", GOOD + b'{"text": \n' + GOOD, 2, "not JSON"),
    "deep JSON": ("a.jsonl", GOOD + b"[" * 100_000 + b"\n" + GOOD, 2, "not JSON"),
    "not an object": ("a.jsonl", GOOD + b"[1, 2]\n" + GOOD, 2, "is not an object"),
    "no text": ("a.jsonl", GOOD + b'{"labels": []}\n' + GOOD, 2, "no column 'text' among labels"),
    "no labels": ("a.jsonl", GOOD + b'{"text": ""}\n' + GOOD, 2, "no column 'labels' among text"),
    "null text": ("a.jsonl", GOOD + b'{"text": null, "labels": []}\n' + GOOD, 2, "not a string"),
    "float label": ("a.jsonl", GOOD + b'{"text": "", "labels": [0.5]}\n' + GOOD, 2, "label '0.5'"),
    "bool label": ("a.jsonl", GOOD + b'{"text": "", "labels": [true]}\n' + GOOD, 2, "'True'"),
    "half a character": (
        "a.jsonl",
        GOOD + b'{"text": "\\ud83d", "labels": []}\n' + GOOD,
        2,
        "half a character",
    ),
    "not UTF-8": ("a.jsonl", GOOD + b'{"text": "gr\xfcn"}\n' + GOOD, 2, "is not UTF-8"),
    "bad item": ("a.json", b'[{"text": "", "label": ""},\n7,\n{"text": "", "label": ""}]', 2, "7"),
    "cut list": ("a.json", b'[{"text": "", "label": "a"},\n{"text": "", "lab', 2, "not JSON"),
    "list without end": ("a.json", b'[{"text": "", "label": "a"},\n', 2, "the list has no end"),
    "short row": ("a.csv", b"text,labels\nx,a\ny\nz,b\n", 3, "1 cells but the header names 2"),
    "long row": ("a.csv", b"text,labels\nx,a\ny,b,c\nz,b\n", 3, "Quote cells"),
    "odd quotes": ("a.csv", b'text,labels\nx,a\n"y" z,b\nz,b\n', 3, 'double the " inside'),
    "csv not UTF-8": ("a.csv", b"text,labels\nx,a\n\xff,b\nz,b\n", 3, "not UTF-8"),
    "printed array": ("a.csv", b"text,labels\nx,a\ny,['a' 'b']\n", 3, "printed array"),
    "label out of range": ("a.txt", b"2 3 2\n0 0:1\n2 0:1\n", 3, "promises 2 labels (0 to 1)"),
    "negative label": ("a.txt", b"2 3 2\n0 0:1\n-1 0:1\n", 3, "ids start at 0"),
    "label not a number": ("a.txt", b"2 3 2\n0 0:1\nx,y 0:1\n", 3, "not numbers"),
    "feature out of range": ("a.txt", b"2 3 2\n0 0:1\n0 3:1\n", 3, "index 3 but there are 3"),
    "not a pair": ("a.txt", b"2 3 2\n0 0:1\n0 1 2\n", 3, "not index:value pairs"),
    "NaN": ("a.txt", b"2 3 2\n0 0:1\n0 1:nan\n", 3, "not a finite number"),
    "too large": ("a.txt", b"2 3 2\n0 0:1\n0 1:1e39\n", 3, "not a finite number"),
    "missing rows": ("a.txt", b"5 3 2\n0 0:1\n1 0:1\n", 1, "promises 5 rows but the file has 2"),
    "annif": ("a.tsv", b"x\t<u:1>\ny\tfox\n", 2, "is not text<TAB><uri>"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_named(tmp_path, case):
    name, content, line, message = BAD_LINES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=re.escape(f"{name}:{line}: ")) as caught:
        read_dataset(tmp_path / name)
    assert message in str(caught.value)
    assert "skip_bad=True" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_can_be_skipped(tmp_path, case):
    name, content, line, message = BAD_LINES[case]
    (tmp_path / name).write_bytes(content)
    bad = BadLines()
    assert len(read_dataset(tmp_path / name, bad=bad)) in (1, 2)
    assert bad.count == 1
    assert message in bad.first[0]
    assert f":{line}:" in bad.first[0]


def test_skipping_logs_one_sentence(tmp_path, caplog):
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"oops\n" * 9)
    with caplog.at_level(logging.WARNING, "xmtc"):
        assert len(read_dataset(tmp_path / "a.jsonl", skip_bad=True)) == 1
    assert len(caplog.records) == 1
    assert "skipped 9 bad lines. First: " in caplog.text


def test_only_the_first_few_reasons_are_stored(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"oops\n" * 9)
    bad = BadLines(keep=3)
    read_dataset(tmp_path / "a.jsonl", bad=bad)
    assert (bad.count, len(bad.first)) == (9, 3)
    assert str(BadLines()) == "no bad lines"


@pytest.mark.parametrize("cut", [8, 20, 400])
def test_a_cut_gzip_file_gives_what_it_has(tmp_path, cut):
    lines = [json.dumps({"text": str(n) * 20, "labels": [str(n)]}) for n in range(5000)]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[:-cut])
    with pytest.raises(DataError, match="cut off or damaged"):
        read_dataset(path)
    bad = BadLines()
    dataset = read_dataset(path, bad=bad)
    assert len(dataset) > 4000
    assert bad.count == 1


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt", "a.tsv", "a.jsonl.gz"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_nothing_is_not_a_data_set(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=r"is empty|no texts|no column"):
        read_dataset(tmp_path / name)


def test_all_lines_bad_is_an_error_even_when_skipping(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"oops\n")
    with pytest.raises(DataError, match="All lines are bad"):
        read_dataset(tmp_path / "a.jsonl", skip_bad=True)


def test_a_missing_column_says_what_there_is(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(DataError, match=r"no column 'text' among a, b, c. Pass text_column=..."):
        read_dataset(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"no column 'd' among a, b, c. Pass label_column=..."):
        read_dataset(tmp_path / "a.csv", text_column="a", label_column="d")


def test_a_misspelt_path_gets_a_hint(tmp_path):
    (tmp_path / "trn.jsonl.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"did you mean 'trn.jsonl.gz'"):
        read_dataset(tmp_path / "trn.jsonl")
    with pytest.raises(DataError, match="is not there or empty"):
        read_dataset(tmp_path / "nowhere" / "trn.jsonl")


@pytest.mark.parametrize("name", ["pipe", "a.jsonl", "a.csv", "a.parquet"])
def test_a_pipe_is_refused_at_once_where_a_file_is_read_twice(tmp_path, name):
    os.mkfifo(tmp_path / name)  # without a writer: opening it waits forever
    with pytest.raises(DataError, match=f"{name} is not a regular file .* Write it to a file"):
        read_dataset(tmp_path / name)
    with pytest.raises(DataError, match="not a regular file"):
        read_filter_pairs(tmp_path / name)
    with pytest.raises(DataError, match="not a regular file"):
        read_label_file(tmp_path / name)


def test_a_file_that_is_no_parquet(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no, not really")
    with pytest.raises(DataError, match="not a Parquet file"):
        read_dataset(tmp_path / "a.parquet")


def test_one_wrong_digit_does_not_name_a_thousand_million_labels(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"2000000000 0:1\n")
    with pytest.raises(DataError, match="too large to be the number of a label"):
        read_dataset(tmp_path / "a.txt")


def test_a_bad_row_of_one_split_matrix_leaves_the_other(tmp_path):
    (tmp_path / "trn_X_Xf.txt").write_bytes(b"3 2\n0:1\noops\n1:3\n")
    (tmp_path / "trn_X_Y.txt").write_bytes(b"3 2\n0:1\n1:1\n1:1\n")
    dataset = read_dataset(tmp_path, skip_bad=True)
    assert dataset.features.toarray().tolist() == [[1, 0], [0, 3]]
    assert dataset.relevant.toarray().tolist() == [[1, 0], [0, 1]]


NAMES = ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.txt", "a.jsonl.gz", "a.parquet", "trn_X_Y.txt"]
SHAPED = st.text('[]{}",:;\t\n\r 0129-.eEn<>\\_labtex\ufeffé', max_size=60).map(str.encode)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), SHAPED | st.binary(max_size=60), st.booleans(), st.booleans())
@example("a.txt", b"1 1 99999999999999\n0 0:1", False, False)
@example("a.json", b"[1e999999, [[[", False, False)
@example("a.csv", b"text,labels\n\r\n,[\\", False, False)
def test_any_bytes_give_a_data_set_or_a_data_error(name, content, packed, skip_bad):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(content) if packed else content)
        try:
            assert len(read_dataset(path, skip_bad=skip_bad)) > 0
        except DataError as error:
            assert name in str(error) or "trn_X" in str(error)


def test_a_label_beyond_the_header_says_what_to_fix(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1 2 2\n7 0:1\n")
    with pytest.raises(
        DataError, match=r"Fix the header's third number \(in Python, label_count=8"
    ):
        read_dataset(tmp_path / "a.txt")
