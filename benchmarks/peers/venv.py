"""Virtual environments for the peers: `python benchmarks/peers/venv.py pecos` makes one.

They need versions of NumPy and others that xmtc does not, so each lives in
`benchmarks/peers/venvs/NAME`. To use environments made elsewhere, set XMTC_PEERS to the folder
that holds them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

VENVS = Path(__file__).resolve().parent / "venvs"
OWN = "xmtc"  # no peer: the Python that runs the benchmark
COMPLETE = "complete"  # written last: a folder without it was abandoned halfway

# What pip installs, one call after the other. Python 3.11.
PINS: dict[str, list[list[str]]] = {
    "pecos": [
        ["torch==2.13.0"],
        ["numpy==1.26.4", "scipy==1.13.1", "transformers==4.49.0", "scikit-learn", "sentencepiece"],
        ["--no-deps", "libpecos==1.2.8"],  # it would ask for other versions of the above
    ],
    "trainer": [["torch==2.13.0"], ["transformers==5.22.2", "accelerate==1.15.0", "scipy"]],
    "omikuji": [["omikuji==0.5.2", "numpy", "scipy"]],
    "napkinxc": [["napkinxc==0.7.2"]],
    "libmultilabel": [["libmultilabel==0.10.0", "liblinear-multicore==2.50.0"]],
    "fasttext": [["fasttext-numpy2-wheel==0.9.2", "numpy", "scipy"]],
}


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
    elif not (VENVS / peer / COMPLETE).is_file():
        make(peer)
    return python


def make(peer: str) -> None:
    """Create the environment anew and install what is pinned."""
    if peer not in PINS:
        raise VenvError(f"no peer {peer!r}; there are: {', '.join(PINS)}.")
    folder = VENVS / peer
    print(f"  installing {peer} into {folder}", file=sys.stderr, flush=True)
    # Isolated (-I), so that the standard library's venv is found and not this file.
    _call([sys.executable, "-I", "-m", "venv", "--clear", str(folder)])
    for packages in PINS[peer]:
        _call([str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "-q", *packages])
    (folder / COMPLETE).touch()


def _call(command: list[str]) -> None:
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise VenvError(f"this failed, see above: {' '.join(command)}")


if __name__ == "__main__":
    try:
        for name in sys.argv[1:] or PINS:
            print(python_of(name))
    except VenvError as problem:
        sys.exit(f"Error: {problem}")
