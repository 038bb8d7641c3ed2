"""Validation data of neural kinds: given, or held out from the training texts."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from xmtc.core.arrays import Inputs
from xmtc.core.config import changed
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, require

if TYPE_CHECKING:
    from xmtc.neural.settings import FineTuning


def require_texts(inputs: Inputs, kind: str) -> None:
    """Raise when the inputs are a feature matrix."""
    if hasattr(inputs, "shape"):
        raise DataError(f"{kind}: expected texts, got a feature matrix; linear_tree takes those.")


def split_validation(dataset: Dataset, training: FineTuning) -> tuple[Dataset, Dataset | None]:
    """The training texts and the validation texts; None where there are none."""
    given = dataset.validation
    if given is None and training.validation is None:
        schedule = training.schedule.name
        expected = (
            "needs validation data: set training.validation=0.1, or give some "
            "(validation=..., --validation FILE)"
        )
        require(schedule != "plateau", "training.schedule.name", schedule, expected)
        for name in changed(training, "metric", "patience", "published.validate_every"):
            warn_without_validation(f"training.{name}")
        return dataset, None
    if given is None and len(dataset) < 2:
        return dataset, None
    if given is not None:
        return dataset, given
    assert training.validation is not None
    train, held_out = dataset.split(training.validation, training.seed)
    expected = "none of the texts held out carries a label; hold out more, or none"
    require(held_out.relevant.nnz > 0, "training.validation", training.validation, expected)
    return train, held_out


def warn_without_validation(setting: str) -> None:
    """Warn of a setting that was changed and needs validation data, where there is none."""
    sentence = "%s has no effect: there is no validation data."
    logging.getLogger("xmtc").warning(sentence, setting)


def without_validation(dataset: Dataset, setting: str) -> Dataset:
    """The data without validation data, and a warning that this setting makes no use of it."""
    if dataset.validation is None:
        return dataset
    logging.getLogger("xmtc").warning("%s does not use validation data: it is ignored.", setting)
    return replace(dataset, validation=None)
