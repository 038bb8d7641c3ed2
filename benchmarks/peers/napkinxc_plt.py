"""napkinXC's PLT, a linear peer; in the environment of `napkinxc`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from napkinxc.models import PLT

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, csr_of_pairs, serve


class Napkinxc(Adapter):
    """Settings as they come. It writes its model while it trains, so `save` only moves it."""

    version = f"napkinxc {metadata.version('napkinxc')}"

    def fit(self, data: Any, task: Task) -> Any:
        place = tempfile.mkdtemp(dir=task.folder)
        plt(place, task).fit(*data)
        return place

    def save(self, model: Any, place: Path) -> None:
        shutil.copytree(model, place, dirs_exist_ok=True)
        shutil.rmtree(model)

    def ready(self, place: Path, task: Task) -> Any:
        model = plt(str(place), task)
        model.load()
        return model

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        return model.predict_proba(asked, top_k=task.k)

    def scores(self, answer: Any) -> Any:
        return csr_of_pairs(answer)


def plt(place: str, task: Task) -> Any:
    """The model that lives in a folder."""
    return PLT(place, ensemble=task.trees, seed=task.seed, threads=task.threads)


if __name__ == "__main__":
    serve(Napkinxc())
