"""The folders of published systems are recognised, and their parts read."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from xmtc.core.errors import DataError
from xmtc.data.formats.folders import folder_layout
from xmtc.data.read import read_dataset

TRUTH = sp.csr_matrix(np.array([[1, 0, 1], [0, 1, 0]], np.float32))
FEATURES = sp.csr_matrix(np.array([[0.5, 0], [0, 2]], np.float32))


def attentionxml(folder):
    (folder / "train_raw_texts.txt").write_text("one /SEP/ uno\ntwo\n")
    (folder / "train_labels.txt").write_text("10 9 9\n\n")
    (folder / "test_texts.txt").write_text("three\n")
    (folder / "test_labels.txt").write_text("11\n")
    (folder / "train.txt").write_text("0,1 0:1\n2 1:1\n")
    np.save(folder / "label_group0.npy", np.array([["10"], ["9", "11"]], object))


def xtransformer(folder):
    (folder / "label_map.txt").write_bytes("café\nfox\nolive oil\n".encode("latin-1"))
    (folder / "train_raw_texts.txt").write_text("one\ntwo\n")
    sp.save_npz(folder / "Y.trn.npz", TRUTH)
    sp.save_npz(folder / "X.trn.npz", FEATURES)


def pecos(folder):
    (folder / "output-items.txt").write_text("café\nfox\nolive oil\n")
    (folder / "tfidf-attnxml").mkdir()
    for part in ("trn", "tst"):
        (folder / f"X.{part}.txt").write_text("one\ntwo\n")
        sp.save_npz(folder / f"Y.{part}.npz", TRUTH)
        sp.save_npz(folder / "tfidf-attnxml" / f"X.{part}.npz", FEATURES)


def xbert(folder):
    (folder / "mlc2seq").mkdir()
    (folder / "mlc2seq" / "label_vocab.txt").write_text("7\tcafé\n3\tfox\n1\tolive oil\n")
    for part in ("train", "valid", "test"):
        (folder / "mlc2seq" / f"{part}.txt").write_text("0,2\tone\n1\ttwo\n")
    sp.save_npz(folder / "X.trn.npz", FEATURES)


def aplc(folder):
    (folder / "labels.txt").write_text("olive_oil\nfox\ncafé\n")
    (folder / "train.csv").write_text('id,txt,y\n1,NA,"fox,olive_oil"\n2,two,café\n')
    (folder / "dev.csv").write_text("id,txt,y\n3,three,new\n")


def gudn(folder):
    (folder / "labels.txt").write_text("olive_oil\nfox\n")
    (folder / "train.csv").write_text('text,label\none,"fox,olive_oil"\n')
    (folder / "test.csv").write_text("text,label\nthree,new_label\n")
    (folder / "label_dict.pkl").write_bytes(b"not even a pickle")


def gudn_json(folder):
    (folder / "processed_train.json").write_text('[{"text": "one", "label": ["olive_oil"]}]')


def plain(folder):
    (folder / "trn.jsonl").write_text('{"text": "one", "labels": ["a"]}\n')
    (folder / "dev.csv").write_text("text,labels\nx,a\n")


def xc_split(folder):
    (folder / "tst_X_Xf.txt").write_text("1 2\n0:1\n")
    (folder / "tst_X_Y.txt").write_text("1 2\n0:1\n")


KINDS = {
    attentionxml: ("attentionxml", "train, test"),
    xtransformer: ("xtransformer", "train"),
    pecos: ("pecos", "train, test"),
    xbert: ("xbert", "train, test, validation"),
    aplc: ("aplc", "train, test"),
    gudn: ("gudn", "train, test"),
    gudn_json: ("gudn", "train"),
    plain: ("folder", "train, validation"),
    xc_split: ("xc_split", "test"),
}


@pytest.mark.parametrize("make", KINDS)
def test_a_folder_is_recognised_and_lists_its_parts(tmp_path, make):
    make(tmp_path)
    kind, parts = KINDS[make]
    assert folder_layout(tmp_path).name == kind
    with pytest.raises(DataError, match=re.escape(f"no part 'exam'. Available: {parts}.")):
        read_dataset(tmp_path, split="exam")
    for part in parts.split(", "):
        assert len(read_dataset(tmp_path, split=part, format=kind)) >= 1


def test_attentionxml_reads_text_and_label_lines(tmp_path):
    attentionxml(tmp_path)
    dataset = read_dataset(tmp_path)
    assert dataset.texts == ["one /SEP/ uno", "two"]
    assert dataset.labels.names == ("10", "9")
    assert dataset.relevant.toarray().tolist() == [[1, 1], [0, 0]]
    assert read_dataset(tmp_path, split="test").labels.names == ("11",)


def test_attentionxml_files_of_different_length(tmp_path):
    attentionxml(tmp_path)
    (tmp_path / "train_labels.txt").write_text("1\n")
    with pytest.raises(DataError, match=r"train_labels.txt ends after 1 lines but .*goes on"):
        read_dataset(tmp_path)


@pytest.mark.parametrize("make", [xtransformer, pecos, xbert])
def test_texts_labels_and_features_come_together(tmp_path, make):
    make(tmp_path)
    dataset = read_dataset(tmp_path)
    assert list(dataset.texts) == ["one", "two"]
    assert dataset.labels.names == ("café", "fox", "olive oil")
    assert (dataset.relevant != TRUTH).nnz == 0
    assert (dataset.features != FEATURES).nnz == 0


def test_a_bad_text_drops_its_row_everywhere(tmp_path):
    xtransformer(tmp_path)
    (tmp_path / "train_raw_texts.txt").write_bytes(b"\xff\ntwo\n")
    dataset = read_dataset(tmp_path, skip_bad=True)
    assert list(dataset.texts) == ["two"]
    assert dataset.relevant.toarray().tolist() == [[0, 1, 0]]
    assert dataset.features.toarray().tolist() == [[0, 2]]


def test_label_texts_that_repeat_leave_the_numbers_as_names(tmp_path):
    pecos(tmp_path)
    (tmp_path / "output-items.txt").write_text("fox\nfox\n\n")
    labels = read_dataset(tmp_path).labels
    assert labels.names == ("0", "1", "2")
    assert labels.texts == ("fox", "fox", "")
    (tmp_path / "output-items.txt").write_text("fox\n")
    with pytest.raises(DataError, match=r"describes 1 labels but .* rename it .*label_texts=\{\}"):
        read_dataset(tmp_path)


def test_aplc_keeps_the_order_of_its_label_list(tmp_path):
    aplc(tmp_path)
    train = read_dataset(tmp_path)
    test = read_dataset(tmp_path, split="test")
    assert train.texts == ["NA", "two"]
    assert train.labels.names == ("olive_oil", "fox", "café")
    assert train.relevant.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert test.labels.names == ("olive_oil", "fox", "café", "new")


def test_gudn_label_texts_have_spaces(tmp_path):
    gudn(tmp_path)
    labels = read_dataset(tmp_path, split="test").labels
    assert labels.names == ("olive_oil", "fox", "new_label")
    assert labels.texts == ("olive oil", "fox", "new label")


def test_an_unknown_folder_says_what_was_looked_for(tmp_path):
    (tmp_path / "notes.doc").write_text("hello")
    with pytest.raises(DataError, match=r"mlc2seq/train.txt") as caught:
        read_dataset(tmp_path)
    assert "trn_X_Xf.txt + trn_X_Y.txt" in str(caught.value)


def test_a_matrix_of_pickles_is_refused(tmp_path):
    xtransformer(tmp_path)
    np.savez(tmp_path / "Y.trn.npz", format=np.array([{"a": 1}], object))
    with pytest.raises(DataError, match=r"Y.trn.npz is not a sparse matrix"):
        read_dataset(tmp_path)


def test_a_matrix_with_wild_indices_is_refused(tmp_path):
    xtransformer(tmp_path)
    arrays = {"indices": np.array([0, 99]), "indptr": np.array([0, 1, 2]), "data": np.ones(2)}
    np.savez(tmp_path / "Y.trn.npz", format=b"csr", shape=(2, 3), **arrays)
    with pytest.raises(DataError, match=r"Y.trn.npz is not a sparse matrix"):
        read_dataset(tmp_path)


def test_a_matrix_of_another_length_is_refused(tmp_path):
    xtransformer(tmp_path)
    (tmp_path / "train_raw_texts.txt").write_text("one\n")
    with pytest.raises(DataError, match=r"has 1 lines but .*Y.trn.npz has 2 rows"):
        read_dataset(tmp_path)
