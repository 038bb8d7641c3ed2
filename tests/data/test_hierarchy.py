"""Who stands above whom, read from a table, from JSON and from SKOS."""

from __future__ import annotations

import gzip
import json

import pytest

import xmtc
from xmtc.data.hierarchy import SKOS, read_parents
from xmtc.data.planted import label_name, planted


def test_a_table_has_a_label_and_its_parent_per_line(tmp_path):
    with gzip.open(tmp_path / "p.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeffapple\tfruit\r\npear\tfruit\n\npear\tother\nfruit\tfood\n")
    assert read_parents(tmp_path / "p.tsv.gz") == {
        "apple": "fruit",
        "pear": "fruit",
        "fruit": "food",
    }


@pytest.mark.parametrize(
    "value",
    [
        {"apple": "fruit", "fruit": "food"},
        [
            {"name": "apple", "parents": ["fruit", "x"]},
            {"label": "fruit", "parent": "food"},
            {"name": "y"},
        ],
    ],
    ids=["object", "list"],
)
def test_json_is_an_object_or_a_list(tmp_path, value):
    (tmp_path / "p.json").write_text(json.dumps(value))
    assert read_parents(tmp_path / "p.json") == {"apple": "fruit", "fruit": "food"}


def test_skos_concepts_are_called_by_their_english_label(tmp_path):
    (tmp_path / "t.nt").write_text(
        f'<u:1> <{SKOS}prefLabel> "Apfel"@de .\n'
        f'<u:1> <{SKOS}prefLabel> "apple \\"red\\""@en .\n'
        f"<u:1> <{SKOS}broader> <u:2> .\n"
        f'<u:2> <{SKOS}prefLabel> "fruit"@en .\n'
        f"<u:3> <{SKOS}narrower> <u:2> .\n"
        '<u:2> <u:date> "2020"^^<u:date> .\n# a comment\n'
    )
    assert read_parents(tmp_path / "t.nt") == {'apple "red"': "fruit", "fruit": "u:3"}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.tsv", "only one cell\n", "p.tsv:1"),
        ("p.tsv", "a\tb\n\tc\n", "p.tsv:2"),
        ("p.json", "{", "not JSON"),
        ("p.json", "3", "expected an object or a list"),
        ("p.json", "[4]", "name"),
        ("p.json", '[{"name": "a", "parents": {}}]', "parent of 'a'"),
        ("p.json", '{"a": [["b"]]}', "parent of 'a'"),
        ("p.nt", "garbage\n", "p.nt:1"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(xmtc.DataError, match=words):
        read_parents(tmp_path / name)


def test_escapes_of_n_triples_are_read(tmp_path):
    escaped = r"caf\u00E9 \U0001F41F d\'or\tx\\y \UFFFFFFFF"
    (tmp_path / "t.nt").write_text(
        f'<u:1> <{SKOS}prefLabel> "{escaped}"@en .\n<u:1> <{SKOS}broader> <u:2> .\n'
    )
    assert read_parents(tmp_path / "t.nt") == {"caf\u00e9 \U0001f41f d'or\tx\\y \ufffd": "u:2"}


def test_a_file_that_breaks_off_and_a_parent_that_is_none(tmp_path):
    (tmp_path / "p.json").write_text('{"apple": "fruit", "fruit": null, "pear": 7}')
    assert read_parents(tmp_path / "p.json") == {"apple": "fruit", "pear": "7"}
    (tmp_path / "p.tsv.gz").write_bytes(gzip.compress(b"apple\tfruit\n" * 99)[:-9])
    with pytest.raises(xmtc.DataError, match=r"p\.tsv\.gz:.* cut off"):
        read_parents(tmp_path / "p.tsv.gz")


def test_a_hierarchy_of_other_labels_is_refused(tmp_path):
    (tmp_path / "parents.tsv").write_text("omena\thedelm\u00e4\n", encoding="utf-8")
    with pytest.raises(xmtc.DataError, match=r"none of the 12 labels, .*'label 0000'.* 'omena'"):
        xmtc.train("linear_tree", planted(), parents=str(tmp_path / "parents.tsv"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(xmtc.DataError, match=r"nowhere\.tsv"):
        read_parents(tmp_path / "nowhere.tsv")


def test_a_linear_tree_can_use_a_given_hierarchy(tmp_path):
    rows = [f"{label_name(label)}\tgroup {label % 3}" for label in range(12)]
    (tmp_path / "parents.tsv").write_text("\n".join([*rows, "group 0\ttop", "group 1\ttop"]))
    model = xmtc.train("linear_tree", planted(), parents=str(tmp_path / "parents.tsv"))
    assert model.forests[0].tree.depth == 3
    assert xmtc.evaluate(model, planted(seed=1)).metrics["P@1"] > 95
    xmtc.save(model, tmp_path / "model")
    (tmp_path / "parents.tsv").unlink()  # the finished model does not need it
    assert (
        xmtc.predict(xmtc.load(tmp_path / "model"), ["sign1a sign1b"], k=1)[0][0][0] == "label 0001"
    )
