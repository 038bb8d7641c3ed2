"""The state of a search, in the run's folder: what is measured, decided and trained so far."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from xmtc.core import store
from xmtc.core.errors import ConfigError
from xmtc.core.files import written
from xmtc.core.interfaces import Model
from xmtc.core.run import Run
from xmtc.models import catalog
from xmtc.planning.cost import timed


@dataclass
class Candidate:
    """One of the models that a search may try; None: not known yet."""

    seconds: float | None = None  # of its training, which is finished
    fits: bool | None = None  # whether there is time for it
    epochs: int | None = None  # of fine-tuning that there is time for
    why_not: str = ""  # it is not tried


@dataclass
class SearchState:
    """All that a search that was killed needs in order to go on."""

    key: str  # the fingerprint of its settings and data
    seconds: float = 0.0  # spent when it was saved
    max_tokens: int | None = None  # of a text that there is time for
    seconds_per_text: float | None = None  # reading time of the encoder
    one_vs_all_seconds: float | None = None
    candidates: dict[str, Candidate] = field(default_factory=dict)

    def of(self, name: str) -> Candidate:
        """The candidate with this name."""
        return self.candidates.setdefault(name, Candidate())


class SavedSearch:
    """The state of a search and the models it has trained, in the run's folder if there is one."""

    def __init__(self, key: str, run: Run) -> None:
        self.folder = None if run.checkpoints is None else run.checkpoints / "search"
        self.state = SearchState(key)
        self.saved_at = time.monotonic()
        if self.folder is not None:
            found = _read(self.folder / "state.json")
            if found is not None and found.key != key:
                raise ConfigError(
                    f"{run.folder} holds an unfinished search with other settings or other data, "
                    "or of another version of xmtc. Start it with the same command to finish it, "
                    "or delete the folder."
                )
            self.state = found or self.state
            self.folder.mkdir(parents=True, exist_ok=True)

    def seconds(self) -> float:
        """Spent so far, also before it was killed."""
        return self.state.seconds + time.monotonic() - self.saved_at

    def save(self) -> None:
        """Write the state, with the time that was spent."""
        self.state.seconds = self.seconds()
        self.saved_at = time.monotonic()
        if self.folder is not None:
            with written(self.folder / "state.json") as draft:
                draft.write_text(json.dumps(asdict(self.state)), encoding="utf-8")

    def trained(self, name: str, make: Callable[[], Model]) -> tuple[Model, float]:
        """The model with this name, trained now unless it is saved, and its training time."""
        candidate = self.state.of(name)
        path = None if self.folder is None else self.folder / name.replace(" ", "_")
        if path is not None and candidate.seconds is not None:
            kind, parts = store.read(path)
            return catalog.class_of(kind).from_parts(parts), candidate.seconds
        model, spent = timed(make)
        if path is not None:
            store.write(model.kind, model.to_parts(), path, overwrite=True)
        candidate.seconds = spent.seconds
        self.save()
        return model, spent.seconds


def _read(path: Path) -> SearchState | None:
    """The state in this file; None where there is none. One that fits no state has no key."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    try:
        candidates = values.pop("candidates")
        known = {name: Candidate(**each) for name, each in candidates.items()}
        return SearchState(**values, candidates=known)
    except (AttributeError, KeyError, TypeError):
        return SearchState(key="")
