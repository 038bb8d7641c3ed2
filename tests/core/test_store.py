"""A model folder is written whole or not at all, and is read without copies and without code."""

import json
import mmap
import os
import re
import subprocess
import sys
import threading
import tokenize
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xmtc
from xmtc.core import store
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import StoreError
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.data.planted import planted

SOURCE = Path(xmtc.__file__).parent


def parts_of(names=("a", "b"), texts=None, arrays=None, settings=None):
    labels = LabelSpace(tuple(names), texts)
    counts = np.ones(len(labels), np.int64)
    return Parts(settings or {}, labels, TrainedOn(3, counts), arrays or {})


def written(folder, **about):
    store.write("most_frequent", parts_of(**about), folder)
    return folder


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and isinstance(array.obj, mmap.mmap)


DTYPES = [
    "float32",
    "float64",
    "float16",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
ARRAYS = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=4), st.binary()),
    max_size=5,
)


@given(ARRAYS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arrays_of_every_type_and_shape_come_back_as_they_were(tmp_path_factory, described):
    arrays = {}
    for name, (dtype, shape, content) in described.items():
        size = int(np.prod(shape, dtype=int))
        values = np.resize(np.frombuffer(content or b"\0", np.uint8), size)
        arrays[name] = values.astype(dtype).reshape(shape or [1])
    folder = tmp_path_factory.mktemp("arrays") / "model"
    _, parts = store.read(written(folder, arrays=arrays))
    assert set(parts.arrays) == set(arrays)
    for name, array in arrays.items():
        assert parts.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(parts.arrays[name], array)
        assert parts.arrays[name].flags.aligned


@given(st.lists(st.tuples(st.text(), st.text()), unique_by=lambda label: label[0]))
@settings(max_examples=60)
def test_labels_with_any_characters_come_back_as_they_were(tmp_path_factory, labels):
    names = tuple(name for name, _ in labels)
    texts = tuple(text for _, text in labels)
    folder = tmp_path_factory.mktemp("labels") / "model"
    _, parts = store.read(written(folder, names=names, texts=texts))
    assert parts.labels.names == names
    assert parts.labels.texts == (texts if any(texts) else None)


def test_awkward_label_names_come_back_as_they_were(tmp_path):
    names = (
        "",
        " ",
        "a\nb",
        "a\r\nb",
        "\x85",
        "\u2028",
        "\u2029",
        "\0",
        "\ufeff",
        "\udc80",
        "😀",
        '"',
        "\\",
        "\\u0041",
        "null",
        "[]",
        "é",
        "e\u0301",
        "x" * 10**6,
    )
    _, parts = store.read(written(tmp_path / "model", names=names))
    assert parts.labels.names == names


def test_a_hundred_thousand_labels_come_back_in_order(tmp_path):
    names = tuple(f"label {i}" for i in range(100_000))
    _, parts = store.read(written(tmp_path / "model", names=names))
    assert parts.labels.names == names
    assert store.read_manifest(tmp_path / "model")["labels"] == 100_000


def test_a_model_without_labels_or_arrays_is_a_model(tmp_path):
    kind, parts = store.read(written(tmp_path / "model", names=()))
    assert (kind, len(parts.labels), parts.arrays) == ("most_frequent", 0, {})


def test_the_manifest_tells_what_the_folder_holds(tmp_path):
    arrays = {"w": np.zeros((2, 3), np.float32)}
    folder = written(tmp_path / "model", arrays=arrays, settings={"name": "é\udc80", "deep": {}})
    manifest = json.loads((folder / "manifest.json").read_text())
    assert names_in(folder) == ["arrays.safetensors", "labels.jsonl", "manifest.json"]
    assert (manifest["format"], manifest["kind"]) == (1, "most_frequent")
    assert manifest["library"] == xmtc.__version__
    assert manifest["settings"] == {"name": "é\udc80", "deep": {}}
    assert manifest["arrays"]["w"] == {"dtype": "float32", "shape": [2, 3]}
    for name in ("arrays.safetensors", "labels.jsonl"):
        entry = manifest["files"][name]
        assert entry["bytes"] == (folder / name).stat().st_size
        assert len(entry["sha256"]) == 64
    assert store.size_on_disk(folder) == sum(e["bytes"] for e in manifest["files"].values())


@pytest.mark.parametrize("kind", ["most_frequent", "one_vs_all"])
def test_a_loaded_model_ranks_like_the_saved_one_even_when_saved_over_itself(kind, tmp_path):
    data = planted(texts=40, labels=5)
    model = xmtc.train(kind, data)
    before = model.rank(data.texts, 5)
    xmtc.save(model, tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    xmtc.save(loaded, tmp_path / "model", overwrite=True)
    for after in (loaded, xmtc.load(tmp_path / "model")):
        ranking = after.rank(data.texts, 5)
        np.testing.assert_array_equal(ranking.labels, before.labels)
        np.testing.assert_array_equal(ranking.scores, before.scores)


def test_a_loaded_model_reads_its_numbers_from_the_file(tmp_path):
    xmtc.save(xmtc.train("one_vs_all", planted(texts=40, labels=5)), tmp_path / "model")
    model = xmtc.load(tmp_path / "model")
    forest = model.forest
    for array in (forest.entry_value, forest.entry_sibling, forest.biases):
        assert is_mapped(array)
    for array in (model.encoder.idf, model.encoder.terms, model.encoder.columns):
        assert is_mapped(array)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_loading_takes_no_memory_of_its_own_for_the_numbers(tmp_path):
    def private_megabytes():
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024

    written(tmp_path / "model", arrays={"w": np.ones(16 << 20, np.float32)})
    before = private_megabytes()
    _, parts = store.read(tmp_path / "model")
    assert parts.arrays["w"].sum(dtype=np.float64) == 16 << 20
    assert private_megabytes() - before < 32  # of 64


def test_writing_into_a_mapped_array_does_not_change_the_folder(tmp_path):
    written(tmp_path / "model", arrays={"w": np.zeros(4, np.float32)})
    _, parts = store.read(tmp_path / "model")
    parts.arrays["w"][:] = 7
    _, again = store.read(tmp_path / "model")
    assert (again.arrays["w"] == 0).all()


@pytest.mark.parametrize("place", ["plain", "with spaces/and more", "größe/模型 😀", "deep/er/est"])
def test_any_path_will_do(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    for folder in (place, f"./{place}2", f"{place}3/", str(tmp_path / f"{place}4")):
        written(folder)
        assert store.read(folder)[1].labels.names == ("a", "b")
        assert store.read(tmp_path / folder)[1].labels.names == ("a", "b")


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "model").mkdir()
    written(tmp_path / "model")
    assert store.read(tmp_path / "model")[0] == "most_frequent"
    assert names_in(tmp_path) == ["model"]


def test_a_folder_in_use_is_replaced_only_when_asked(tmp_path):
    written(tmp_path / "model", names=("old",))
    with pytest.raises(StoreError, match="not empty"):
        store.write("most_frequent", parts_of(names=("new",)), tmp_path / "model")
    assert store.read(tmp_path / "model")[1].labels.names == ("old",)
    store.write("most_frequent", parts_of(names=("new",)), tmp_path / "model", overwrite=True)
    assert store.read(tmp_path / "model")[1].labels.names == ("new",)
    assert names_in(tmp_path) == ["model"]


@pytest.mark.parametrize("litter", [".DS_Store", "Thumbs.db", "desktop.ini"])
def test_what_systems_leave_in_folders_counts_as_nothing(tmp_path, litter):
    (tmp_path / "model").mkdir()
    for name, overwrite in (("first", False), ("second", True)):
        (tmp_path / "model" / litter).write_text("icons")
        store.write("most_frequent", parts_of(names=(name,)), tmp_path / "model", overwrite)
        assert store.read(tmp_path / "model")[1].labels.names == (name,)
    assert litter not in names_in(tmp_path / "model")
    (tmp_path / "model" / litter).write_text("icons")
    with pytest.raises(StoreError, match="not empty"):
        store.write("most_frequent", parts_of(), tmp_path / "model")


def test_a_file_is_no_model_folder(tmp_path):
    (tmp_path / "trn.jsonl").write_text("{}")
    with pytest.raises(StoreError, match="is not a model folder: it is a file"):
        store.read(tmp_path / "trn.jsonl")


@pytest.mark.parametrize(
    "files", [["thesis.txt"], ["manifest.json", "thesis.txt"], ["labels.jsonl"]]
)
def test_what_is_not_a_model_is_never_replaced(tmp_path, files):
    folder = tmp_path / "precious"
    folder.mkdir()
    for name in files:
        (folder / name).write_text("years of work")
    with pytest.raises(StoreError, match="not a model"):
        store.write("most_frequent", parts_of(), folder, overwrite=True)
    assert names_in(folder) == sorted(files)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_or_a_link_is_never_replaced(tmp_path, overwrite):
    (tmp_path / "file").write_text("hello")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link", "dangling"):
        with pytest.raises(StoreError, match="not a folder"):
            store.write("most_frequent", parts_of(), tmp_path / name, overwrite)
    assert (tmp_path / "file").read_text() == "hello"
    assert names_in(tmp_path / "elsewhere") == []
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("folder", ["file/model", "x" * 300, "nul\0byte", "/proc/version/model"])
def test_an_impossible_target_is_one_clear_error(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        store.write("most_frequent", parts_of(), folder)
    with pytest.raises(StoreError):
        store.read(folder)
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}])
def test_settings_that_json_cannot_hold_leave_nothing_behind(tmp_path, bad):
    with pytest.raises((StoreError, TypeError)):
        written(tmp_path / "model", settings={"bad": bad})
    assert names_in(tmp_path) == []


class Crash(BaseException):
    """The process is interrupted, here and now."""


def crash(*args, **kwargs):
    raise Crash


def fail(*args, **kwargs):
    raise OSError(28, "No space left on device")


def fail_in_rust(*args, **kwargs):
    raise store.SafetensorError("I/O error: No space left on device")


def only_for(suffix, act, original):
    """Let `original` go ahead unless its path is the draft (or the old model)."""
    return lambda path, *rest: act() if path.name.endswith(suffix) else original(path, *rest)


BREAKS = {
    "numbers": lambda m, act: m.setattr(store, "save_file", act),
    "labels": lambda m, act: m.setattr(store, "_write_labels", act),
    "manifest": lambda m, act: m.setattr(store, "_write_manifest", act),
    "flush": lambda m, act: m.setattr(os, "fsync", act),
    "rename": lambda m, act: without_exchange(m, only_for(".partial", act, Path.replace)),
    "any rename": lambda m, act: without_exchange(m, act),
}


def without_exchange(monkeypatch, replace):
    monkeypatch.setattr(store, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "replace", replace)


@pytest.mark.parametrize("act", [crash, fail, fail_in_rust])
@pytest.mark.parametrize("moment", BREAKS)
def test_a_failure_at_any_moment_leaves_no_trace(tmp_path, monkeypatch, moment, act):
    with monkeypatch.context() as broken, pytest.raises(Crash if act is crash else StoreError):
        BREAKS[moment](broken, act)
        written(tmp_path / "model")
    assert names_in(tmp_path) == []
    written(tmp_path / "model")


@pytest.mark.parametrize("act", [crash, fail])
@pytest.mark.parametrize("moment", BREAKS)
def test_a_failure_while_overwriting_keeps_the_old_model(tmp_path, monkeypatch, moment, act):
    written(tmp_path / "model", names=("old",))
    with monkeypatch.context() as broken, pytest.raises(Crash if act is crash else StoreError):
        BREAKS[moment](broken, act)
        store.write("most_frequent", parts_of(names=("new",)), tmp_path / "model", overwrite=True)
    assert store.read(tmp_path / "model")[1].labels.names == ("old",)
    assert names_in(tmp_path) == ["model"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_old_model_is_replaced_and_leaves_nothing(tmp_path, monkeypatch, can_exchange):
    written(tmp_path / "model", names=("old",))
    if not can_exchange:
        monkeypatch.setattr(store, "exchange", lambda *_: False)
    store.write("most_frequent", parts_of(names=("new",)), tmp_path / "model", overwrite=True)
    assert store.read(tmp_path / "model")[1].labels.names == ("new",)
    assert names_in(tmp_path) == ["model"]


def test_of_many_that_write_to_one_new_folder_exactly_one_wins(tmp_path):
    ready = threading.Barrier(8)
    outcomes = {}

    def save(writer):
        ready.wait()
        try:
            written(tmp_path / "model", names=tuple(f"{writer} {i}" for i in range(300)))
            outcomes[writer] = "won"
        except StoreError:
            outcomes[writer] = "lost"

    threads = [threading.Thread(target=save, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [writer for writer, outcome in outcomes.items() if outcome == "won"]
    assert len(outcomes) == 8
    assert len(winners) == 1
    assert store.read(tmp_path / "model")[1].labels.names[0] == f"{winners[0]} 0"
    assert names_in(tmp_path) == ["model"]


OVERWRITER = """
import sys, numpy as np
from xmtc.core import store
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import StoreError
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
names = tuple(f"{sys.argv[2]} {i}" for i in range(200))
parts = Parts({}, LabelSpace(names), TrainedOn(9, np.ones(200, np.int64)), {})
done = 0
for _ in range(60):
    try:
        store.write("most_frequent", parts, sys.argv[1], overwrite=True)
        done += 1
    except StoreError:
        pass
assert done
"""


def test_processes_that_overwrite_one_folder_leave_one_whole_model(tmp_path):
    written(tmp_path / "model")
    command = [sys.executable, "-c", OVERWRITER, str(tmp_path / "model")]
    writers = [subprocess.Popen([*command, name]) for name in ("x", "y")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    names = store.read(tmp_path / "model")[1].labels.names
    assert names in [tuple(f"{who} {i}" for i in range(200)) for who in "xy"]
    assert names_in(tmp_path) == ["model"]


FORBIDDEN = (
    r"pickle",
    r"joblib",
    r"torch\.load",
    r"(?<![\w.])eval\(",
    r"(?<![\w.])exec\(",
    r"allow_pickle",
    r"yaml\.load",
    r"marshal\.",
    r"shelve",
    r"__import__\(",
)


def test_no_source_file_can_run_code_from_data():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 40
    for path in files:
        with tokenize.open(path) as file:
            tokens = list(tokenize.generate_tokens(file.readline))
        code = "".join(token.string for token in tokens if token.type != tokenize.COMMENT)
        assert [word for word in FORBIDDEN if re.search(word, code)] == [], path


def test_a_saved_model_can_be_read_by_whoever_the_umask_allows(tmp_path):
    before = os.umask(0o022)
    try:
        xmtc.save(xmtc.train("most_frequent", planted()), tmp_path / "model")
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode)[-3:] for path in (tmp_path / "model").iterdir()} == {"644"}
