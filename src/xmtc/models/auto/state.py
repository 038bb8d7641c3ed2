"""What a search for the best model needs: what it has done already, what models answered, and how
fast neural kinds learn on this machine."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core import store
from xmtc.core.arrays import Allowed, Inputs, Longs
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.files import written
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.run import Run, trial_run
from xmtc.models import catalog, ensemble
from xmtc.models.xr_transformer import model as xr_transformer
from xmtc.planning.cost import timed


@dataclass(frozen=True)
class Remembered:
    """A model whose rankings of some texts are at hand, so that they are read once."""

    kind: str
    labels: LabelSpace
    trained_on: TrainedOn
    ranking: Ranking
    place: dict[str, int]  # of each text in the ranking

    @staticmethod
    def of(model: Model, texts: Sequence[str]) -> Remembered:
        """Rankings as long as an ensemble wants them."""
        ranking = model.rank(texts, min(len(model.labels), ensemble.Config().depth))
        place = {text: row for row, text in enumerate(texts)}
        return Remembered(model.kind, model.labels, model.trained_on, ranking, place)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of texts that were ranked before."""
        rows = [self.place[text] for text in inputs]
        return Ranking(self.ranking.labels[rows], self.ranking.scores[rows]).top(k)

    def to_parts(self) -> Parts:
        """It is never saved."""
        raise StoreError("what was remembered of a model is no model.")


@dataclass
class Memory:
    """What a search has done already; in the run's folder, if there is one."""

    folder: Path | None
    said: dict[str, Any]
    started: float = field(default_factory=time.monotonic)

    @staticmethod
    def of(key: str, run: Run) -> Memory:
        """That of an unfinished search with this key, else an empty one."""
        if run.checkpoints is None:
            return Memory(None, {"seconds": 0.0})
        folder = run.checkpoints / "search"
        said = _said(folder / "memory.json")
        if said.get("key", key) != key:
            raise ConfigError(
                f"{run.folder} holds an unfinished search with other settings or other data, or of "
                "another version of xmtc. Start it with the same command to finish it, or delete "
                "the folder."
            )
        said = {"key": key, "seconds": 0.0, **said}
        folder.mkdir(parents=True, exist_ok=True)
        return Memory(folder, said)

    def seconds(self) -> float:
        """Spent so far, also before it was killed."""
        return float(self.said["seconds"]) + time.monotonic() - self.started

    def has(self, name: str) -> bool:
        """Whether this member is finished."""
        return f"seconds of {name}" in self.said

    def member(self, name: str, make: Callable[[], Model]) -> tuple[Model, float]:
        """The finished member, and the seconds that it took."""
        if self.folder is not None and self.has(name):
            kind, parts = store.read(self.folder / name.replace(" ", "_"))
            return catalog.class_of(kind).from_parts(parts), self.said[f"seconds of {name}"]
        model, spent = timed(make)
        if self.folder is not None:
            place = self.folder / name.replace(" ", "_")
            store.write(model.kind, model.to_parts(), place, overwrite=True)
        self.note(f"seconds of {name}", spent.seconds)
        return model, spent.seconds

    def number(self, name: str, find: Callable[[], float]) -> float:
        """Something that was measured or decided once for the whole search."""
        if name not in self.said:
            self.note(name, find())
        return float(self.said[name])

    def note(self, name: str, value: float | str) -> None:
        """Remember this, and how much time was spent."""
        self.said[name] = value
        self.said["seconds"] = self.seconds()
        self.started = time.monotonic()
        if self.folder is not None:
            with written(self.folder / "memory.json") as draft:
                draft.write_text(json.dumps(self.said), encoding="utf-8")


def parts_of(dataset: Dataset, config: Any) -> tuple[Longs, Dataset]:
    """The positions of the texts that are taught, and the texts by which models are compared.

    config: of the search.
    """
    given = dataset.validation
    if given is None:
        share = min(config.validation, config.most_validation / len(dataset))
        rows, drawn = dataset.split_rows(share, config.seed)
        return rows, dataset.take(drawn)
    if len(given) > config.most_validation:
        given = given.split(config.most_validation / len(given), config.seed)[1]
    return np.arange(len(dataset)), given


def learning_speed(
    some: Dataset, module: Any, config: Any, cache: Path
) -> tuple[float, float, float]:
    """Seconds of a neural kind: of any training; per text before the first epoch, and in each.

    cache: what is kept there was read before, as it will be when all texts are taught.
    """
    few = some.take(range(min(8, len(some))))

    def seconds(texts: Dataset, epochs: int) -> float:
        with trial_run(cache) as run:
            return timed(lambda: module.train(texts, with_epochs(config, epochs), run))[1].seconds

    seconds(few, 1)  # what is imported and compiled first is not counted
    least = seconds(few, 1)
    one = seconds(some, 1)
    two = seconds(some, 2)
    epoch = max(two - one, (one - least) / 3)  # reading is not dearer than learning
    once = max(0.0, one - least - epoch)
    return least, once / len(some), max(epoch, 1e-9) / len(some)


def reading_speed(some: Dataset, config: xr_transformer.Config) -> float:
    """Seconds in which an encoder that is not taught reads a text; `some` has more than eight."""
    from xmtc.neural.devices import Rng

    few = some.take(range(8))

    def seconds(texts: Dataset) -> float:
        with tempfile.TemporaryDirectory(prefix="xmtc-") as folder:
            how = (texts, config, Path(folder), Rng(0), True)
            return timed(lambda: xr_transformer.read(*how))[1].seconds

    seconds(few)  # what is imported and compiled first is not counted
    return max(1e-9, seconds(some) - seconds(few)) / (len(some) - len(few))


def cut_to(config: Any, tokens: int) -> Any:
    """The settings of a neural kind that reads no more tokens of a text."""
    most = min(config.encoder.max_tokens, tokens)
    return replace(config, encoder=replace(config.encoder, max_tokens=most))


def with_epochs(config: Any, epochs: int) -> Any:
    """The settings of a neural kind with as many epochs, and all texts taught."""
    training = replace(config.training, epochs=epochs, validation=None, averaging=None)
    return replace(config, training=training)


def _said(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
