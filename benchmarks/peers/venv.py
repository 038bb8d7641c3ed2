"""Virtual environments for the peers, made when they are first needed.

They need versions of NumPy and others that xmtc does not, so each lives in
`benchmarks/peers/venvs/NAME`. What computes is pinned; all versions are in a peer's record. To use
environments made elsewhere, set XMTC_PEERS to the folder that holds them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

VENVS = Path(__file__).resolve().parent / "venvs"
OWN = "xmtc"  # no peer: the Python that runs the benchmark
COMPLETE = "complete"  # written last, with the pins: a folder without it was abandoned halfway

# Calls of pip, one after the other, for each peer; Python 3.11.
PINS: dict[str, list[list[str]]] = json.loads(
    (Path(__file__).resolve().parent / "pins.json").read_text(encoding="utf-8")
)


class VenvError(Exception):
    """Why there is no environment, in one sentence."""


def python_of(peer: str) -> Path:
    """The peer's Python; its environment is made first if there is none."""
    if peer == OWN:
        return Path(sys.executable)
    elsewhere = os.environ.get("XMTC_PEERS")
    python = Path(elsewhere or VENVS) / peer / "bin" / "python"
    if elsewhere:
        if not python.is_file():
            raise VenvError(f"XMTC_PEERS is {elsewhere}, but there is no {python}.")
    elif not _is_made(peer):
        make(peer)
    return python


def _is_made(peer: str) -> bool:
    """Whether it is complete, with the pins of now."""
    complete = VENVS / peer / COMPLETE
    return complete.is_file() and json.loads(complete.read_text()) == PINS.get(peer)


def make(peer: str) -> None:
    """Create the environment anew and install what is pinned."""
    if peer not in PINS:
        raise VenvError(f"no peer {peer!r}. Available: {', '.join(PINS)}.")
    folder = VENVS / peer
    print(f"  installing {peer} into {folder}", file=sys.stderr, flush=True)
    # Isolated (-I), so that the standard library's venv is found and not this file.
    _call([sys.executable, "-I", "-m", "venv", "--clear", str(folder)])
    for packages in PINS[peer]:
        _call([str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "-q", *packages])
    (folder / COMPLETE).write_text(json.dumps(PINS[peer]))


def _call(command: list[str]) -> None:
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise VenvError(f"this failed, see above: {' '.join(command)}")
