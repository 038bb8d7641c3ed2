"""Stages of a run: made once for a key, made again when the file is gone, damaged or of another."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors import SafetensorError

from xmtc.core import run as run_module
from xmtc.core.arrays import csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import StoreError
from xmtc.core.labels import LabelSpace
from xmtc.core.run import NO_RUN, Run, training_key, trial_run
from xmtc.data.planted import planted


class Maker:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"ids": np.arange(3, dtype=np.int32), "none": np.empty((0, 4), np.float32)}


def test_a_stage_is_made_once(tmp_path):
    make = Maker()
    run = Run.at(tmp_path / "run")
    first, again = (run.stage("index", "key", make) for _ in range(2))
    assert make.calls == 1
    assert first.keys() == again.keys()
    for name, array in first.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        assert (again[name] == array).all()


def test_another_key_is_another_stage(tmp_path):
    make = Maker()
    for key in ("key", "other", "key"):
        Run.at(tmp_path / "run").stage("index", key, make)
    assert make.calls == 2


def test_a_damaged_stage_is_made_again(tmp_path):
    make = Maker()
    run = Run.at(tmp_path / "run")
    run.stage("index", "key", make)
    [path] = (tmp_path / "run").rglob("index-*.safetensors")
    path.write_bytes(path.read_bytes()[:9])
    assert (run.stage("index", "key", make)["ids"] == [0, 1, 2]).all()
    assert make.calls == 2


def test_a_stage_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        Run.at(tmp_path / "run").stage("index", "key", lambda: {"one": np.array(1 / 0)})
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("error", [OSError("No space left"), SafetensorError("No space left")])
def test_a_full_disk_is_a_sentence_and_earlier_stages_stay(tmp_path, monkeypatch, error):
    make = Maker()

    def full(*given):
        raise error

    run = Run.at(tmp_path / "run")
    run.stage("index", "key", make)
    monkeypatch.setattr(run_module, "save_file", full)
    with pytest.raises(StoreError, match=r"the stage matcher .*No space left\. .*free some disk"):
        run.stage("matcher", "key", make)
    run.stage("index", "key", make)
    assert make.calls == 2
    assert not list(tmp_path.rglob("*.partial*"))


def test_a_run_is_unfinished_until_it_is_tidied(tmp_path):
    run = Run.at(tmp_path / "run")
    assert not run.unfinished()
    run.below("head").stage("one", "key", lambda: {"a": np.arange(3)})
    assert run.unfinished()
    run.tidy()
    assert not run.unfinished()


@pytest.mark.parametrize("name", ["cache", "checkpoints"])
def test_tidying_removes_only_what_the_run_wrote(tmp_path, name):
    run = Run.at(tmp_path / "run")
    notes = tmp_path / "run" / "notes" / name / "file"
    notes.parent.mkdir(parents=True)
    notes.write_text("keep")
    run.stage("one", "key", lambda: {"a": np.arange(3)})
    run.tidy()
    assert notes.read_text() == "keep"


@pytest.mark.parametrize("folder", [True, False])
def test_parts_of_a_run_share_its_cache(tmp_path, folder):
    run = Run.at(tmp_path / "run" if folder else None)
    with run.with_cache() as outer:
        with outer.below("inner").with_cache() as inner:
            assert inner.cache == outer.cache
        with Run.at(tmp_path / "other").with_cache() as other:
            assert other.cache != outer.cache
        assert outer.cache.exists()
    assert outer.cache.exists() == folder


def test_a_trial_finds_the_cache_and_adds_nothing_to_it(tmp_path):
    (tmp_path / "states").write_text("known")
    with trial_run(tmp_path) as trial, trial.with_cache() as cached:
        assert (cached.cache / "states").read_text() == "known"
        (cached.cache / "more").write_text("new")
        trial.stage("index", "key", Maker())
    assert [path.name for path in tmp_path.iterdir()] == ["states"]


def test_a_lasting_cache_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XMTC_CACHE", str(tmp_path / "lasting"))
    with Run.at(tmp_path / "run").with_cache() as run:
        assert run.cache == tmp_path / "lasting"
        run.stage("index", "key", Maker())
    run.tidy()
    assert (tmp_path / "lasting").exists()


def test_without_a_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make = Maker()
    for _ in range(2):
        NO_RUN.stage("index", "key", make)
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
    assert training_key({}, other) != training_key({}, data)
    assert training_key({}, data) == training_key({}, planted(texts=10, labels=4))
