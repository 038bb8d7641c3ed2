"""Store: a model as a folder that is safe to open, whoever wrote it.

    manifest.json        format, kind, settings, every file's checksum, every array's shape
    arrays.safetensors   all numbers
    labels.jsonl         one label per line: its name and, where it has one, its text

Loading runs no code from the folder. Everything is checked before it is used: a damaged or hostile
folder gives one StoreError.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from xmtc.core.arrays import Array
from xmtc.core.dataset import TrainedOn
from xmtc.core.digest import digest_of_file, digest_of_text
from xmtc.core.errors import StoreError
from xmtc.core.files import drafted, exchange, remove, sync
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.provenance import provenance_from_dict
from xmtc.version import VERSION

FORMAT = 1
MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"
LABELS = "labels.jsonl"
LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}  # what systems leave in folders by themselves
MAX_MANIFEST_BYTES = 16 << 20
MAX_NESTING = 16  # levels of the manifest; xmtc writes six at most
COUNTS = "trained_on.label_counts"


def write(kind: str, parts: Parts, folder: str | Path, overwrite: bool = False) -> None:
    """Write the model to a folder of its own: all of it appears, or nothing."""
    target = Path(folder).absolute()
    check_target(target, overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_draft(kind, parts, target, overwrite)
    except (OSError, ValueError, SafetensorError) as error:
        raise StoreError(f"cannot write a model to {target}: {_reason(error)}.") from error


def read(folder: str | Path) -> tuple[str, Parts]:
    """(kind, parts) of a model folder, after every check that needs no knowledge of the kind."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    try:
        for name, entry in manifest["files"].items():
            _check_file(folder, name, entry)
        arrays = _map_arrays(folder / ARRAYS, manifest["arrays"])
        labels = _read_labels(folder / LABELS)
    except OSError as error:
        raise StoreError(f"cannot read the model in {folder}: {_reason(error)}.") from error
    if len(labels) != manifest["labels"]:
        raise StoreError(f"{folder} has {len(labels)} labels, not {manifest['labels']} as it says.")
    counts = arrays.pop(COUNTS, np.empty(0))
    texts = manifest["texts"]
    fit = counts.dtype == np.int64 and counts.shape == (len(labels),)
    if not fit or (len(counts) and not 0 <= counts.min() <= counts.max() <= texts):
        raise StoreError(f"{folder}: the label counts do not fit {len(labels)} labels and texts.")
    sources = from_untrusted(lambda: tuple(map(provenance_from_dict, manifest.get("sources", []))))
    seen = TrainedOn(texts, counts, sources)
    return manifest["kind"], Parts(manifest["settings"], labels, seen, arrays)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """What the folder says of itself, checked: enough to describe a model without loading it."""
    path = Path(folder) / MANIFEST
    try:
        if not Path(folder).is_dir():
            why = "it is a file" if Path(folder).exists() else "there is no such folder"
            raise StoreError(f"{folder} is not a model folder: {why}.")
        _check_regular(path, f"{folder} is not a model folder: it has no {MANIFEST}.")
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise StoreError(
                f"{path} is above {MAX_MANIFEST_BYTES >> 20} MB, larger than any xmtc writes; "
                "it is not read."
            )
        manifest = _parsed(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read {path}: {_reason(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not readable JSON; the folder is damaged.") from error
    _check_manifest(path, manifest)
    return dict(manifest)


def size_on_disk(folder: str | Path) -> int:
    """Bytes of all the files that belong to the model."""
    files = read_manifest(folder)["files"]
    return sum(int(entry["bytes"]) for entry in files.values())


def check_target(folder: str | Path, overwrite: bool) -> None:
    """Whether a model may be written there; called before training too, to fail early."""
    target = Path(folder).absolute()
    try:
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise StoreError(f"{target} is not a folder. Choose another place for the model.")
        names = {path.name for path in target.iterdir()} if target.exists() else set()
        names -= LITTER
        above = next(path for path in target.parents if path.exists())
        if not (above.is_dir() and os.access(above, os.W_OK)):
            raise StoreError(f"cannot write a model to {target}: {above} cannot be written to.")
    except OSError as error:
        raise StoreError(f"cannot write a model to {target}: {_reason(error)}.") from error
    if names and not overwrite:
        raise StoreError(f"{target} is not empty. Choose another folder, or pass overwrite=True.")
    foreign = sorted(names - {MANIFEST, ARRAYS, LABELS})
    if foreign or (names and MANIFEST not in names):
        raise StoreError(
            f"{target} holds something that is not a model ({', '.join(foreign or names)}); "
            "it will not be replaced."
        )


def _write_draft(kind: str, parts: Parts, target: Path, overwrite: bool) -> None:
    with drafted(target) as draft:
        draft.mkdir()
        arrays = {**parts.arrays, COUNTS: parts.trained_on.label_counts}
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(arrays, draft / ARRAYS)
        mask = os.umask(0)
        os.umask(mask)
        (draft / ARRAYS).chmod(0o666 & ~mask)  # safetensors writes for the owner only
        _write_labels(draft / LABELS, parts.labels)
        _write_manifest(draft, kind, parts, arrays)
        _swap_in(draft, target, overwrite)


def _write_manifest(draft: Path, kind: str, parts: Parts, arrays: Mapping[str, Array]) -> None:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "library": VERSION,
        "texts": parts.trained_on.texts,
        "labels": len(parts.labels),
        "settings": parts.settings,
        "files": {name: _describe_file(draft / name) for name in (ARRAYS, LABELS)},
        "arrays": {
            name: {"dtype": str(array.dtype), "shape": list(array.shape)}
            for name, array in sorted(arrays.items())
        },
    }
    if parts.trained_on.sources:
        manifest["sources"] = [asdict(source) for source in parts.trained_on.sources]
    manifest["sha256"] = _manifest_hash(manifest)
    text = json.dumps(manifest, indent=1, allow_nan=False)
    (draft / MANIFEST).write_text(text, encoding="utf-8")


def _swap_in(draft: Path, target: Path, overwrite: bool) -> None:
    check_target(target, overwrite)  # another process may have written there meanwhile
    sync(draft)
    if not target.exists():
        draft.replace(target)
    elif overwrite and exchange(draft, target):
        pass  # the draft is the old model now, and is removed
    elif overwrite:
        old = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.old")
        target.replace(old)
        try:
            draft.replace(target)
        except BaseException:
            old.replace(target)
            raise
        remove(old)
    else:
        for name in LITTER:
            (target / name).unlink(missing_ok=True)
        target.rmdir()  # empty, or this fails
        draft.replace(target)
    sync(target.parent)


def _write_labels(path: Path, labels: LabelSpace) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for label, name in enumerate(labels.names):
            text = labels.texts[label] if labels.texts else ""
            file.write(json.dumps([name, text] if text else [name], ensure_ascii=True) + "\n")


def _read_labels(path: Path) -> LabelSpace:
    rows = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                row = json.loads(line)
                if not isinstance(row, list) or not 1 <= len(row) <= 2:
                    raise ValueError
                if not all(isinstance(part, str) for part in row):
                    raise ValueError
                rows.append((row[0], row[1] if len(row) > 1 else ""))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}:{len(rows) + 1}: not a label; the folder is damaged.") from error
    texts = tuple(text for _, text in rows)
    return from_untrusted(
        lambda: LabelSpace(tuple(n for n, _ in rows), texts if any(texts) else None)
    )


def _check_manifest(path: Path, manifest: Any) -> None:
    wanted = {"kind": str, "library": str, "texts": int, "labels": int, "settings": dict}
    wanted |= {"files": dict, "arrays": dict, "sha256": str, "format": int}
    if not isinstance(manifest, dict):
        raise StoreError(f"{path} does not describe a model.")
    if not _is_flat(manifest, MAX_NESTING):
        raise StoreError(
            f"{path} is nested deeper than {MAX_NESTING} levels, deeper than any xmtc writes; "
            "it is not read."
        )
    if manifest.get("format") != FORMAT:
        raise StoreError(
            f"{path} has format {manifest.get('format')!r}, this xmtc {VERSION} reads {FORMAT}. "
            "Load it with the version that wrote it, or train again."
        )
    for key, kind in wanted.items():
        if type(manifest.get(key)) is not kind:
            raise StoreError(f"{path}: {key!r} is missing or not a {kind.__name__}.")
    if manifest["sha256"] != _manifest_hash(manifest):
        raise StoreError(f"{path} was changed after it was written; the folder is damaged.")
    if set(manifest["files"]) != {ARRAYS, LABELS}:
        raise StoreError(f"{path} must name exactly {ARRAYS} and {LABELS}.")
    for name, entry in manifest["files"].items():
        if not isinstance(entry, dict) or type(entry.get("bytes")) is not int:
            raise StoreError(f"{path} does not say how large {name} is.")
    if type(manifest.get("sources", [])) is not list:
        raise StoreError(f"{path}: 'sources' is not a list.")
    if not 0 <= manifest["texts"] < 1 << 63:
        raise StoreError(f"{path}: {manifest['texts']} texts are impossible.")


def _check_file(folder: Path, name: str, entry: Any) -> None:
    path = folder / name
    _check_regular(path, f"{folder} lacks its file {name}; the model is incomplete.")
    if _describe_file(path) != entry:
        raise StoreError(f"{path} is not what was saved: its checksum differs. Copy it again.")


def _check_regular(path: Path, missing: str) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise StoreError(missing) from error
    if not stat.S_ISREG(mode):
        raise StoreError(
            f"{path} is a link or a special file; a model folder has plain files only."
        )


def _describe_file(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": digest_of_file(path)}


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return digest_of_text(canonical)


def _map_arrays(path: Path, declared: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays, backed by the file. safetensors checks sizes and offsets; we map the bytes,
    because its own reader copies them."""
    try:
        with safe_open(path, framework="np"):
            pass
    except (SafetensorError, OSError, ValueError) as error:
        raise StoreError(f"{path} is not a valid safetensors file: {error}") from error
    with path.open("rb") as file:
        # Copy-on-write rather than read-only, so that numba needs one version of each kernel.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = 8 + int.from_bytes(mapped[:8], "little")
    try:
        header = _parsed(mapped[8:start])
        header.pop("__metadata__", None)
        if set(header) != set(declared):
            raise StoreError(f"{path} holds other arrays than its manifest says.")
        return {
            name: _view(path, mapped, start, name, entry, declared[name])
            for name, entry in header.items()
        }
    except (ValueError, RecursionError) as error:  # e.g. more dimensions than NumPy has
        raise StoreError(f"{path} holds an impossible array: {error}.") from error


_DTYPES = {
    "F32": "float32",
    "F64": "float64",
    "F16": "float16",
    "BOOL": "bool",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
}


def _view(path: Path, mapped: Any, start: int, name: str, entry: Any, declared: Any) -> Array:
    known = _DTYPES.get(entry["dtype"])
    if known is None or declared != {"dtype": known, "shape": entry["shape"]}:
        raise StoreError(f"{path}: array {name!r} is not as its manifest says.")
    begin, end = entry["data_offsets"]
    dtype = np.dtype(known)
    if (start + begin) % dtype.itemsize:
        raise StoreError(f"{path}: array {name!r} is misaligned.")
    # Not by way of bytes: SciPy copies arrays that seem to be a small part of their base.
    values = np.frombuffer(mapped, dtype, (end - begin) // dtype.itemsize, start + begin)
    array: Array = values.reshape(entry["shape"])
    return array


def _parsed(text: bytes) -> Any:
    """JSON without its loose ends: no NaN, no key twice."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _is_flat(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(part, levels - 1) for part in inner)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
