"""How fast neural kinds read and learn on this machine, measured on a few texts."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from xmtc.core.dataset import Dataset
from xmtc.core.run import trial_run
from xmtc.models import xr_transformer
from xmtc.planning.cost import timed


class LearningSpeed(NamedTuple):
    """Seconds of fine-tuning: of any training; per text before the first epoch, and in each."""

    start: float
    reading: float
    epoch: float


def learning_speed(sample: Dataset, module: Any, config: Any, cache: Path) -> LearningSpeed:
    """Of a neural kind, from four short trainings.

    cache: of the search, with all texts read; so it will be in the training itself.
    """
    few = sample.take(range(min(8, len(sample))))

    def seconds(texts: Dataset, epochs: int) -> float:
        with trial_run(cache) as run:
            return timed(lambda: module.train(texts, with_epochs(config, epochs), run))[1].seconds

    seconds(few, 1)  # imports and compilation do not count
    start = seconds(few, 1)
    one = seconds(sample, 1)
    two = seconds(sample, 2)
    epoch = max(two - one, (one - start) / 3)  # reading takes no longer than learning
    reading = max(0.0, one - start - epoch)
    return LearningSpeed(start, reading / len(sample), max(epoch, 1e-9) / len(sample))


def reading_speed(sample: Dataset, config: xr_transformer.Config) -> float:
    """Seconds per text of an encoder without fine-tuning. The sample has more than eight texts."""
    from xmtc.neural.devices import Rng

    few = sample.take(range(8))

    def seconds(texts: Dataset) -> float:
        with tempfile.TemporaryDirectory(prefix="xmtc-") as folder:
            given = (texts, config, Path(folder), Rng(0), True)
            return timed(lambda: xr_transformer.read(*given))[1].seconds

    seconds(few)  # imports and compilation do not count
    return max(1e-9, seconds(sample) - seconds(few)) / (len(sample) - len(few))


def truncated(config: Any, max_tokens: int) -> Any:
    """The settings of a neural kind that reads at most `max_tokens` of a text."""
    tokens = min(config.encoder.max_tokens, max_tokens)
    return replace(config, encoder=replace(config.encoder, max_tokens=tokens))


def with_epochs(config: Any, epochs: int) -> Any:
    """The settings of a neural kind with this many epochs, trained on all texts."""
    training = replace(config.training, epochs=epochs, validation=None)
    if training.averaging is not None:
        training = replace(training, averaging=None)
    return replace(config, training=training)
