"""A damaged folder is refused; a hostile one, with all checksums right, cannot do harm."""

import contextlib
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import xmtc
from xmtc.core import store
from xmtc.core.dataset import Dataset
from xmtc.core.errors import StoreError
from xmtc.data.planted import planted

MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"
LABELS = "labels.jsonl"
TEXTS = ["sign1a alpha sign0b", "", "beta sign3a 😀", "sign2a " * 50]


# --- forging: change what a folder says, and make every checksum right again ----------------------


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def sign(folder, manifest):
    """Write the manifest with the checksums that the folder's files have now."""
    for name in (ARRAYS, LABELS):
        content = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(content), "sha256": sha256(content)}
    write_manifest(folder, manifest)


def write_manifest(folder, manifest, raw=("", "", "")):
    """Sign and write; `raw` is a string in it, and what shall stand for it in either text."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    stand_in, signed, written = raw
    manifest["sha256"] = sha256(canonical.replace(f'"{stand_in}"', signed or '""').encode())
    text = json.dumps(manifest).replace(f'"{stand_in}"', written or '""')
    (folder / MANIFEST).write_text(text)


def manifest_of(folder):
    return json.loads((folder / MANIFEST).read_text())


def forge_arrays(change):
    """A forger that hands all arrays to `change` as a dict."""

    def forge(folder):
        arrays = load_file(folder / ARRAYS)
        change(arrays)
        save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, folder / ARRAYS)
        manifest = manifest_of(folder)
        manifest["arrays"] = {
            name: {"dtype": str(array.dtype), "shape": list(array.shape)}
            for name, array in arrays.items()
        }
        sign(folder, manifest)

    return forge


def forge_array(name, change):
    """A forger that replaces one array by what `change` makes of it."""
    return forge_arrays(lambda arrays: arrays.update({name: change(arrays[name])}))


def forge_manifest(change):
    """A forger that hands the manifest to `change`."""

    def forge(folder):
        manifest = manifest_of(folder)
        change(manifest)
        write_manifest(folder, manifest)

    return forge


def forge_settings(path, value):
    """A forger that sets one setting, however deep: "svm.cost"."""

    def change(manifest):
        group = manifest["settings"]
        *groups, last = path.split(".")
        for name in groups:
            group = group[name]
        group[last] = value

    return forge_manifest(change)


def forge_raw_setting(path, signed, written):
    """A forger of a setting that `json.dumps` cannot or would not write like this."""

    def forge(folder):
        forge_settings(path, "STAND-IN")(folder)
        write_manifest(folder, manifest_of(folder), ("STAND-IN", signed, written))

    return forge


def forge_file(name, change):
    """A forger that replaces the bytes of a file."""

    def forge(folder):
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        sign(folder, manifest_of(folder))

    return forge


def forge_labels(*lines):
    """A forger that replaces the labels; the manifest's count follows."""

    def forge(folder):
        (folder / LABELS).write_bytes(b"".join(line.encode() + b"\n" for line in lines))
        manifest = manifest_of(folder)
        manifest["labels"] = len(lines)
        sign(folder, manifest)

    return forge


def forge_header(change, declared=None, data=lambda content: content):
    """A forger that rewrites the header of the arrays: `change` gives a dict or bytes."""

    def forge(folder):
        content = (folder / ARRAYS).read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        header = change(json.loads(content[8 : 8 + size]))
        header = header if isinstance(header, bytes) else json.dumps(header).encode()
        header += b" " * (-len(header) % 8)
        body = struct.pack("<Q", len(header)) + header + data(content[8 + size :])
        (folder / ARRAYS).write_bytes(body)
        manifest = manifest_of(folder)
        if declared:
            declared(manifest["arrays"])
        sign(folder, manifest)

    return forge


def updated(array, place, value):
    array = array.copy()
    array[place] = value
    return array


# --- the models that are forged -------------------------------------------------------------------


def train_all():
    data = planted(texts=30, labels=5)
    bare = Dataset((), data.relevant, data.labels, data.relevant @ data.relevant.T)
    return {
        "words": xmtc.train("one_vs_all", data, weight_type="float32"),
        "hashed": xmtc.train("one_vs_all", data, text={"published": {"hash_buckets": 64}}),
        "features": xmtc.train("one_vs_all", bare),
        "tree": xmtc.train("linear_tree", data, tree={"arity": 2, "max_leaf": 2}, trees=2),
        "frequent": xmtc.train("most_frequent", data),
    }


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    for name, model in train_all().items():
        xmtc.save(model, folder / name)
    return folder


# --- damage: checksums as they were ---------------------------------------------------------------


def copied(originals, name, tmp_path_factory):
    return Path(shutil.copytree(originals / name, tmp_path_factory.mktemp("copy") / name))


@pytest.mark.parametrize("name", ["words", "frequent"])
@pytest.mark.parametrize("file", [MANIFEST, ARRAYS, LABELS])
def test_a_flipped_bit_anywhere_is_noticed(originals, tmp_path_factory, name, file):
    folder = copied(originals, name, tmp_path_factory)
    content = (folder / file).read_bytes()
    unflipped = manifest_of(folder)
    for place in range(0, len(content), max(1, len(content) // 400)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        (folder / file).write_bytes(flipped)
        try:
            store.read(folder)
        except StoreError:
            continue
        assert file == MANIFEST  # where 1e-05 may become 1E-05
        assert manifest_of(folder) == unflipped


@pytest.mark.parametrize("name", ["words", "frequent"])
@pytest.mark.parametrize("file", [MANIFEST, ARRAYS, LABELS])
def test_a_file_that_is_cut_short_or_grew_is_noticed(originals, tmp_path_factory, name, file):
    folder = copied(originals, name, tmp_path_factory)
    content = (folder / file).read_bytes()
    lengths = {*range(0, len(content), max(1, len(content) // 100)), *range(12), len(content) - 1}
    for length in lengths:
        (folder / file).write_bytes(content[:length])
        with pytest.raises(StoreError):
            store.read(folder)
    (folder / file).write_bytes(content + b"x")
    with pytest.raises(StoreError):
        store.read(folder)


@pytest.mark.parametrize("file", [MANIFEST, ARRAYS, LABELS])
def test_a_file_that_is_gone_or_from_another_model_is_noticed(originals, tmp_path_factory, file):
    folder = copied(originals, "words", tmp_path_factory)
    other = "hashed" if file == ARRAYS else "frequent"
    if file != LABELS:  # the labels of both are the same
        shutil.copy(originals / other / file, folder / file)
        with pytest.raises(StoreError):
            xmtc.load(folder)
    (folder / file).unlink()
    with pytest.raises(StoreError):
        store.read(folder)


def test_swapped_files_are_noticed(originals, tmp_path_factory):
    folder = copied(originals, "words", tmp_path_factory)
    (folder / ARRAYS).rename(folder / "x")
    (folder / LABELS).rename(folder / ARRAYS)
    (folder / "x").rename(folder / LABELS)
    with pytest.raises(StoreError):
        store.read(folder)


def test_a_folder_that_cannot_be_read_is_one_clear_error(originals, tmp_path, monkeypatch):
    for folder in (tmp_path / "nowhere", tmp_path, originals / "words" / MANIFEST):
        with pytest.raises(StoreError):
            store.read(folder)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    for door in ("open", "read_bytes", "is_dir"):
        with monkeypatch.context() as locked, pytest.raises(StoreError, match="Permission denied"):
            locked.setattr(Path, door, refuse)
            store.read(originals / "words")


# --- hostile: everything is signed ----------------------------------------------------------------

FLOATS = ("encoder.idf", "forest.biases", "forest.entry_value")
OFFSETS = ("encoder.term_starts",)
IDS = ("encoder.columns", "forest.parents0")
COUNTS = ("row_counts", "row_step", "entry_counts", "entry_sibling")
WORDS = (
    *FLOATS,
    *OFFSETS,
    *IDS,
    *(f"forest.{name}" for name in COUNTS),
    "encoder.terms",
    "trained_on.label_counts",
)
HUGE = (1 << 63) - 1


def array_attacks():
    for name in WORDS:
        yield f"{name} gone", forge_arrays(lambda arrays, name=name: arrays.pop(name))
        yield f"{name} empty", forge_array(name, lambda a: a[:0])
        yield f"{name} shorter", forge_array(name, lambda a: a[:-1])
        yield f"{name} longer", forge_array(name, lambda a: np.concatenate([a, a]))
        yield f"{name} two-dimensional", forge_array(name, lambda a: a[None])
        yield f"{name} of no dimension", forge_array(name, lambda a: a[0].reshape(()))
        yield f"{name} as float64", forge_array(name, lambda a: a.astype(np.float64))
        yield f"{name} as int8", forge_array(name, lambda a: a.astype(np.int8))
        yield f"{name} as bool", forge_array(name, lambda a: a.astype(bool))
        yield f"{name} as uint64", forge_array(name, lambda a: a.astype(np.uint64))
    for name in FLOATS:
        for value in (np.nan, np.inf, -np.inf, 3e38, -3e38):
            yield f"{name} with {value}", forge_array(name, lambda a, v=value: updated(a, 0, v))
            yield f"{name} ends in {value}", forge_array(name, lambda a, v=value: updated(a, -1, v))
    yield "negative idf", forge_array("encoder.idf", lambda a: -a)
    for name in OFFSETS:
        for value in (-1, 1, HUGE, -HUGE - 1):
            yield f"{name} from {value}", forge_array(name, lambda a, v=value: updated(a, 0, v))
        for value in (-1, HUGE, -HUGE - 1):
            yield f"{name} to {value}", forge_array(name, lambda a, v=value: updated(a, -1, v))
            yield f"{name} over {value}", forge_array(name, lambda a, v=value: updated(a, 3, v))
        wrap = [HUGE, -HUGE - 1, -1]  # each step seems to climb, when differences overflow
        yield (
            f"{name} around the world",
            forge_array(name, lambda a, w=wrap: updated(a, slice(1, 4), w)),
        )
        yield f"{name} backwards", forge_array(name, lambda a: a[::-1])
    for name in IDS:
        for value in (-2, 1 << 20, (1 << 31) - 1, -(1 << 31)):
            yield f"{name} with {value}", forge_array(name, lambda a, v=value: updated(a, 2, v))
    for value in (5, 255):
        yield (
            f"weights of label {value}",
            forge_array("forest.entry_sibling", lambda a, v=value: updated(a, 0, v)),
        )
    for value in (-1, 1 << 20, -(1 << 31), (1 << 31) - 1):
        yield (
            f"{value} rows of weights",
            forge_array("forest.row_counts", lambda a, v=value: updated(a, 0, v)),
        )
    yield "more weights in a row", forge_array("forest.entry_counts", lambda a: a + 1)
    yield "features that stand still", forge_array("forest.row_step", lambda a: a * 0)
    yield "features beyond the last", forge_array("forest.row_step", lambda a: a + 100)
    yield "one column for two terms", forge_array("encoder.columns", lambda a: updated(a, 0, 1))
    yield "a term without a column", forge_array("encoder.columns", lambda a: updated(a, 0, -1))
    yield "terms without letters", forge_array("encoder.term_starts", lambda a: updated(a, 1, 0))
    yield "a count below 0", forge_array("trained_on.label_counts", lambda a: updated(a, 0, -1))
    yield (
        "a count above the texts",
        forge_array("trained_on.label_counts", lambda a: updated(a, 0, 31)),
    )


SETTINGS = {
    "text.published.hash_buckets": [1 << 30, 64, -1, 0, 1 << 64, "many", 1.5, [], {}, True],
    "text.ngram_range": [
        [1, 10**9],
        [0, 1],
        [1, -1],
        [1, 17],
        HUGE,
        [1, 10**400],
        None,
        "x",
        {"a": 1},
    ],
    "text.published.min_word_length": [0, -1, 10**30, -(10**30), "1e3"],
    "text.min_df": [-1, 0, 0.5, None],
    "text.max_df": [0, -1, 2, "nan", "inf"],
    "text.analyzer": ["", "words", 1, None, ["word"], "x" * 100_000],
    "text.lowercase": [2, "maybe", None, []],
    "svm.cost": [0, -1, "nan", "inf", None],
    "seed": [1 << 64, -(1 << 64), 0.5],
    "svm.prune": [-1, "nan"],
    "text.unknown": [1],
    "unknown": [1, None, {}],
    "text": [None, 1, [], "word", {"analyzer": {"analyzer": "word"}}],
    "\ud800": [1],
    "__class__": ["x"],
}


def setting_attacks():
    for path, values in SETTINGS.items():
        for place, value in enumerate(values):
            yield (
                f"setting {path} #{place}".encode("ascii", "replace").decode(),
                forge_settings(path, value),
            )
    for depth in (17, 300, 900, 950, 980):
        nested = "[" * depth + "]" * depth
        yield f"settings nested {depth} deep", forge_raw_setting("text", nested, nested)
    yield "an infinite setting", forge_raw_setting("svm.cost", "Infinity", "1e999")
    yield "an infinite share", forge_raw_setting("text.max_df", "Infinity", "1e999")
    yield "settings are a list", forge_manifest(lambda m: m.update(settings=[]))


def label_attacks():
    five = [f'["{letter}"]' for letter in "abcde"]
    yield "a label twice", forge_labels(*five[:4], '["a"]')
    yield "a label that is a number", forge_labels(*five[:4], "[1]")
    yield "a label that is null", forge_labels(*five[:4], "[null]")
    yield "a label that is no list", forge_labels(*five[:4], '"e"')
    yield "a label that is an object", forge_labels(*five[:4], '{"0": "e"}')
    yield "a label of no name", forge_labels(*five[:4], "[]")
    yield "a label of three parts", forge_labels(*five[:4], '["e", "f", "g"]')
    yield "a label text that is a number", forge_labels(*five[:4], '["e", 1]')
    yield "a deep label", forge_labels(*five[:4], "[" * 100_000)
    yield "an empty line", forge_labels(*five[:4], "")
    yield "no labels", forge_labels()
    yield "four labels", forge_labels(*five[:4])
    yield "six labels", forge_labels(*five, '["f"]')
    yield "many labels", forge_labels(*(f'["{i}"]' for i in range(100_000)))
    yield "labels not in UTF-8", forge_file(LABELS, lambda content: b'["\xff"]\n' + content)
    yield "labels in UTF-16", forge_file(LABELS, lambda c: c.decode().encode("utf-16"))
    yield "another label count", forge_manifest(lambda m: m.update(labels=6))


def manifest_attacks():
    for value in (0, 2, -1, "1", None, 1.0, True, [1]):
        yield f"format {value!r}", forge_manifest(lambda m, v=value: m.update(format=v))
    for key in ("kind", "library", "texts", "labels", "settings", "files", "arrays"):
        yield f"no {key}", forge_manifest(lambda m, key=key: m.pop(key))
        yield f"{key} null", forge_manifest(lambda m, key=key: m.update({key: None}))
    for kind in ("", "os", "../one_vs_all", "xmtc.api", "One_vs_all", "linear_tree2"):
        yield f"kind {kind!r}", forge_manifest(lambda m, kind=kind: m.update(kind=kind))
    yield "kind of another model", forge_manifest(lambda m: m.update(kind="most_frequent"))
    for sources in (None, {}, "x", [3], [{"path": 3}], [{"run": "rm"}], [{"texts": []}]):
        yield f"sources {sources!r}", forge_manifest(lambda m, s=sources: m.update(sources=s))
    for texts in (-1, 10**400, 1 << 63, 1.5, True):
        yield f"{texts!s:.20} texts", forge_manifest(lambda m, texts=texts: m.update(texts=texts))
    for name in ("../x", "/etc/passwd", "a/b", "", ".", "manifest.json", "extra"):
        entry = {"bytes": 0, "sha256": sha256(b"")}
        yield f"file {name!r}", forge_manifest(lambda m, n=name, e=entry: m["files"].update({n: e}))
    for entry in (None, [], {}, {"bytes": -1, "sha256": ""}, {"bytes": "9"}, "x"):
        yield (
            f"file entry {entry}",
            forge_manifest(lambda m, entry=entry: m["files"].update({ARRAYS: entry})),
        )
    for entry in (None, [], {}, {"dtype": "float32"}, {"dtype": "O", "shape": [1]}):
        yield (
            f"array entry {entry}",
            forge_manifest(lambda m, entry=entry: m["arrays"].update({"forest.biases": entry})),
        )
    yield "no JSON", lambda folder: (folder / MANIFEST).write_bytes(b"\x80\x04K\x01.")
    yield "a list", lambda folder: (folder / MANIFEST).write_text("[]")
    yield "an open bracket", lambda folder: (folder / MANIFEST).write_text("[" * 1_000_000)
    yield "nested objects", lambda folder: (folder / MANIFEST).write_text('{"a":' * 100_000)
    yield (
        "a key twice",
        lambda folder: (folder / MANIFEST).write_text(
            (folder / MANIFEST).read_text().replace('"kind"', '"kind": "x", "kind"', 1)
        ),
    )
    yield "17 MB", lambda folder: (folder / MANIFEST).write_bytes(b" " * (17 << 20))


def header_attacks():
    bias = "forest.biases"

    def entry(**changes):
        return lambda header: {**header, bias: {**header[bias], **changes}}

    def told(**changes):
        return lambda arrays: arrays[bias].update(changes)

    for shape in ([1 << 62], [1 << 32, 1 << 32], [-1], [5, 0], [0, 1 << 63], [5, 1 << 64], [1.5]):
        yield f"shape {shape}", forge_header(entry(shape=shape), told(shape=shape))
    yield (
        "a hundred dimensions",
        forge_header(entry(shape=[1] * 100 + [5]), told(shape=[1] * 100 + [5])),
    )
    for offsets in ([0, 1 << 62], [-4, 16], [20, 0], [0, 20], [0], [0, 20, 40], [1 << 63, 1 << 63]):
        yield f"offsets {offsets}", forge_header(entry(data_offsets=offsets))
    for dtype in ("BF16", "F8_E4M3", "F4", "O", "", "C64", None):
        yield f"type {dtype}", forge_header(entry(dtype=dtype), told(dtype=""))
    halves = {"dtype": "BF16", "shape": [10]}
    yield "a type NumPy lacks", forge_header(entry(**halves), told(dtype="", shape=[10]))
    yield "an array the manifest lacks", forge_manifest(lambda m: m["arrays"].pop(bias))
    yield (
        "an array more in the manifest",
        forge_manifest(lambda m: m["arrays"].update(x={"dtype": "float32", "shape": [0]})),
    )
    yield "a header twice as deep", forge_header(lambda h: b'{"a":' * 100_000)
    yield "a header of garbage", forge_header(lambda h: b"\xff" * 64)
    yield "a header that is a list", forge_header(lambda h: b"[]")
    yield (
        "an array twice",
        forge_header(
            lambda h: json.dumps(h)[:-1].encode() + b"," + json.dumps({bias: h[bias]})[1:].encode()
        ),
    )
    yield "metadata of an odd kind", forge_header(lambda h: {**h, "__metadata__": [1]})
    yield "a hole", forge_header(lambda h: h, data=lambda content: content + bytes(64))
    for size in (0, 7, 8, 1 << 40, (1 << 64) - 1):
        yield (
            f"a header of {size} bytes",
            forge_file(ARRAYS, lambda content, size=size: struct.pack("<Q", size) + content[8:]),
        )
    yield "no bytes", forge_file(ARRAYS, lambda content: b"")

    def odd(content):
        size = struct.unpack("<Q", content[:8])[0]
        return struct.pack("<Q", size + 1) + content[8 : 8 + size] + b" " + content[8 + size :]

    yield "arrays at odd places", forge_file(ARRAYS, odd)


def folder_attacks():
    for name in (MANIFEST, ARRAYS, LABELS):

        def link(folder, name=name):
            (folder / name).rename(folder.parent / f"{folder.name} {name}")
            (folder / name).symlink_to(folder.parent / f"{folder.name} {name}")

        def inner_link(folder, name=name):
            (folder / name).rename(folder / f"real {name}")
            (folder / name).symlink_to(f"real {name}")

        def fifo(folder, name=name):
            (folder / name).unlink()
            os.mkfifo(folder / name)

        def directory(folder, name=name):
            (folder / name).unlink()
            (folder / name).mkdir()

        def device(folder, name=name):
            (folder / name).unlink()
            (folder / name).symlink_to("/dev/zero")

        yield f"{name} is a link", link
        yield f"{name} is a link inside", inner_link
        yield f"{name} is a pipe", fifo
        yield f"{name} is a folder", directory
        yield f"{name} is an endless device", device


REFUSED = {
    f"words: {name}": ("words", forge)
    for attacks in (
        array_attacks,
        setting_attacks,
        label_attacks,
        manifest_attacks,
        header_attacks,
        folder_attacks,
    )
    for name, forge in attacks()
}
REFUSED["words: no cost left"] = ("words", forge_settings("svm.cost", 1e-300))
REFUSED["words: terms of zeros"] = ("words", forge_array("encoder.terms", lambda a: a * 0))
for _name, _forge in (*label_attacks(), *manifest_attacks(), *folder_attacks()):
    if _name != "kind of another model":
        REFUSED[f"frequent: {_name}"] = ("frequent", _forge)
for _name, _forge in {
    "unknown setting": forge_settings("text", {}),
    "kind of another model": forge_manifest(lambda m: m.update(kind="one_vs_all")),
    "fewer counts": forge_array("trained_on.label_counts", lambda a: a[:-1]),
    "negative counts": forge_array("trained_on.label_counts", lambda a: -a),
    "real counts": forge_array("trained_on.label_counts", lambda a: a.astype(np.float64)),
    "impossible counts": forge_array("trained_on.label_counts", lambda a: a + HUGE // 2),
}.items():
    REFUSED[f"frequent: {_name}"] = ("frequent", _forge)
for _value in (-1, 0, 1, 1 << 31, HUGE, -HUGE - 1):
    REFUSED[f"features: {_value} features"] = (
        "features",
        forge_array("encoder.feature_count", lambda a, v=_value: updated(a, 0, v)),
    )
for _value in (1 << 30, 32, 65, None, 0):
    REFUSED[f"hashed: {_value} buckets"] = (
        "hashed",
        forge_settings("text.published.hash_buckets", _value),
    )

# Odd, but nothing that could harm: these must load and rank.
RANKED = {
    "words: an array too many": ("words", forge_arrays(lambda a: a.update(x=np.ones(3)))),
    "words: terms not in UTF-8": ("words", forge_array("encoder.terms", lambda a: a | 0x80)),
    "words: only long words": ("words", forge_settings("text.published.min_word_length", HUGE)),
    "words: four words at once": ("words", forge_settings("text.ngram_range", [1, 4])),
    "words: characters": ("words", forge_settings("text.analyzer", "char")),
    "words: large weights": ("words", forge_array("forest.entry_value", lambda a: a * 1e14)),
    "words: large, rows not scaled": (
        "words",
        lambda folder: [
            forge_array("forest.entry_value", lambda a: a * 1e14)(folder),
            forge_settings("text.published.norm", None)(folder),
        ],
    ),
    "words: one label only": ("words", forge_array("forest.entry_sibling", lambda a: a * 0)),
    "words: hardly any cost": ("words", forge_settings("svm.cost", 1e-9)),
    "words: as it was": ("words", forge_manifest(lambda m: None)),
    "hashed: as it was": ("hashed", forge_manifest(lambda m: None)),
    "features: as it was": ("features", forge_manifest(lambda m: None)),
    "frequent: as it was": ("frequent", forge_manifest(lambda m: None)),
    "frequent: no texts, no counts": (
        "frequent",
        lambda folder: [
            forge_array("trained_on.label_counts", lambda a: a * 0)(folder),
            forge_manifest(lambda m: m.update(texts=0))(folder),
        ],
    ),
    "frequent: all there is": (
        "frequent",
        lambda folder: [
            forge_array("trained_on.label_counts", lambda a: a * 0 + HUGE)(folder),
            forge_manifest(lambda m: m.update(texts=HUGE))(folder),
        ],
    ),
}

LOADER = """
import json, sys
import numpy as np, scipy.sparse as sp
import xmtc

def verdict(folder, texts):
    try:
        model = xmtc.load(folder)
    except xmtc.StoreError as error:
        return "refused" if str(error) else "refused without a word"
    width = getattr(getattr(model, "encoder", None), "feature_count", 3)
    given = sp.csr_array(np.eye(2, width, dtype=np.float32))
    for inputs in ([given] if folder.endswith("features") else [texts, given]):
        ranking = model.rank(inputs, 4)
        assert np.isfinite(ranking.scores).all(), ranking.scores
        assert (ranking.labels >= 0).all() and (ranking.labels < len(model.labels)).all()
        ranking.named(model.labels)
    return "ranked"

for line in sys.stdin:
    folder, texts = json.loads(line)
    try:
        outcome = verdict(folder, texts)
    except BaseException as error:
        outcome = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(outcome), flush=True)
"""


@pytest.fixture(scope="module")
def verdicts(originals, tmp_path_factory):
    """What a process of its own does with every forged folder; it may die, we may not."""
    stage = tmp_path_factory.mktemp("forged")
    folders = {}
    for number, (name, (original, forge)) in enumerate((REFUSED | RANKED).items()):
        folder = Path(shutil.copytree(originals / original, stage / f"{number}" / original))
        forge(folder)
        folders[name] = str(folder)
    orders = "".join(json.dumps([folder, TEXTS]) + "\n" for folder in folders.values())
    loader = subprocess.run(
        [sys.executable, "-c", LOADER],
        input=orders,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = [json.loads(line) for line in loader.stdout.splitlines()]
    found += [f"the process died: {loader.returncode} {loader.stderr}"] * (
        len(folders) - len(found)
    )
    return dict(zip(folders, found, strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_folder_is_refused(verdicts, name):
    assert verdicts[name] == "refused"


@pytest.mark.parametrize("name", RANKED)
def test_an_odd_folder_still_ranks(verdicts, name):
    assert verdicts[name] == "ranked"


def test_describing_a_hostile_folder_is_safe_too(originals, tmp_path):
    for number, (name, forge) in enumerate(manifest_attacks()):
        folder = Path(shutil.copytree(originals / "words", tmp_path / f"{number}"))
        forge(folder)
        try:
            assert store.size_on_disk(folder) is not None, name
            assert isinstance(store.read_manifest(folder)["settings"], dict)
        except StoreError:
            pass


def extremes(dtype):
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, 1, -1, 1e14, -1e14, 3e38]
    info = np.iinfo(dtype)
    return [v for v in (0, 1, 2, 5, 29, -1, -2, info.max, info.min) if info.min <= v <= info.max]


@settings(max_examples=250)
@given(st.sampled_from(["words", "hashed", "tree", "frequent"]), st.data())
def test_no_forged_array_makes_a_model_that_answers_nonsense(
    originals, tmp_path_factory, name, data
):
    folder = copied(originals, name, tmp_path_factory)

    def change(arrays):
        for _ in range(data.draw(st.integers(1, 3))):
            chosen = data.draw(st.sampled_from(sorted(arrays)))
            array = arrays[chosen].copy()
            action = data.draw(st.sampled_from(["set", "sort", "roll", "cut", "swap"]))
            place = data.draw(st.integers(0, max(0, array.size - 1)))
            if action == "set" and array.size:
                array.reshape(-1)[place] = data.draw(st.sampled_from(extremes(array.dtype)))
            elif action == "cut":
                array = array[:place]
            elif action == "swap":
                other = data.draw(st.sampled_from(sorted(arrays)))
                arrays[other], array = array, arrays[other]
            else:
                array = np.sort(array) if action == "sort" else np.roll(array, place)
            arrays[chosen] = array

    forge_arrays(change)(folder)
    try:
        model = xmtc.load(folder)
    except StoreError:
        return
    ranking = model.rank(TEXTS, 4)
    assert np.isfinite(ranking.scores).all()
    assert ((ranking.labels >= 0) & (ranking.labels < len(model.labels))).all()


@settings(max_examples=100)
@given(st.binary(max_size=300), st.sampled_from([MANIFEST, ARRAYS, LABELS]), st.data())
def test_no_file_of_random_bytes_is_a_model(originals, tmp_path_factory, content, file, data):
    folder = copied(originals, "frequent", tmp_path_factory)
    if file == MANIFEST:
        (folder / file).write_bytes(content)
    else:
        original = (folder / file).read_bytes()
        place = data.draw(st.integers(0, len(original)))
        forge_file(file, lambda _: original[:place] + content + original[place:])(folder)
    with contextlib.suppress(StoreError):
        assert len(xmtc.load(folder).rank(TEXTS, 4)) == len(TEXTS)
