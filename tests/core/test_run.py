"""Stages of a run: made once for a key, made again when the file is gone, damaged or of another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors import SafetensorError

from xmtc.core import run
from xmtc.core.arrays import csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import StoreError
from xmtc.core.labels import LabelSpace
from xmtc.data.planted import planted


class Maker:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"ids": np.arange(3, dtype=np.int32), "none": np.empty((0, 4), np.float32)}


def test_a_stage_is_made_once(tmp_path):
    make = Maker()
    with run.kept_in(tmp_path / "run"):
        first, again = (run.stage("index", "key", make) for _ in range(2))
    assert make.calls == 1
    assert first.keys() == again.keys()
    for name, array in first.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        assert (again[name] == array).all()


def test_another_key_is_another_stage(tmp_path):
    make = Maker()
    with run.kept_in(tmp_path / "run"):
        for key in ("key", "other", "key"):
            run.stage("index", key, make)
    assert make.calls == 2


def test_a_damaged_stage_is_made_again(tmp_path):
    make = Maker()
    with run.kept_in(tmp_path / "run"):
        run.stage("index", "key", make)
        [path] = (tmp_path / "run").rglob("index-*.safetensors")
        path.write_bytes(path.read_bytes()[:9])
        assert (run.stage("index", "key", make)["ids"] == [0, 1, 2]).all()
    assert make.calls == 2


def test_what_dies_while_it_is_made_leaves_nothing(tmp_path):
    with run.kept_in(tmp_path / "run"), pytest.raises(ZeroDivisionError):
        run.stage("index", "key", lambda: {"one": np.array(1 / 0)})
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("error", [OSError("No space left"), SafetensorError("No space left")])
def test_a_full_disk_is_a_sentence_and_keeps_the_stages_before(tmp_path, monkeypatch, error):
    make = Maker()

    def full(*given):
        raise error

    with run.kept_in(tmp_path / "run"):
        run.stage("index", "key", make)
        monkeypatch.setattr(run, "save_file", full)
        with pytest.raises(StoreError, match=r"the stage matcher .*No space left\. .*make room"):
            run.stage("matcher", "key", make)
        run.stage("index", "key", make)
    assert make.calls == 2
    assert not list(tmp_path.rglob("*.partial"))


def test_a_run_is_unfinished_until_it_is_tidied(tmp_path):
    assert not run.unfinished(tmp_path / "nowhere")
    (tmp_path / "inner" / run.CHECKPOINTS).mkdir(parents=True)
    assert not run.unfinished(tmp_path)
    with run.kept_in(tmp_path / "inner"):
        run.stage("one", "key", lambda: {"a": np.arange(3)})
    assert run.unfinished(tmp_path)
    run.tidy(tmp_path)
    assert not run.unfinished(tmp_path)


@pytest.mark.parametrize("kept", [True, False])
def test_a_training_inside_another_uses_its_cache(tmp_path, kept):
    with run.kept_in(tmp_path / "run" if kept else None), run.cache() as outer:
        with run.below("inner"), run.cache() as inner:
            assert inner == outer
        with run.kept_in(tmp_path / "other"), run.cache() as other:
            assert other != outer
        with run.tried_out(), run.cache() as passing:
            assert passing != outer
        with ThreadPoolExecutor(1) as threads:  # one of no concern to it
            assert kept or threads.submit(cache_of_its_own).result() != outer
        assert outer.exists()
    assert outer.exists() == kept


def cache_of_its_own():
    with run.cache() as place:
        return place


def test_without_a_run_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make = Maker()
    for _ in range(2):
        run.stage("index", "key", make)
    assert make.calls == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["names", "texts", "more"])
def test_other_labels_are_another_training(change):
    data = planted(texts=10, labels=4)
    changed = {
        "names": LabelSpace(tuple(f"new {name}" for name in data.labels.names)),
        "texts": LabelSpace(data.labels.names, tuple("abcd")),
        "more": LabelSpace((*data.labels.names, "another")),
    }[change]
    wider = csr(data.relevant.data, data.relevant.indices, data.relevant.indptr, len(changed))
    other = Dataset(data.texts, wider, changed)
    assert run.key_of({}, other) != run.key_of({}, data)
    assert run.key_of({}, data) == run.key_of({}, planted(texts=10, labels=4))
