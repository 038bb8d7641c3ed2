"""What neural models share around a training: texts only, and held-out texts to judge by."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xmtc.core.arrays import Inputs
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, require
from xmtc.core.interfaces import Model
from xmtc.evaluation.report import evaluate_ranking

if TYPE_CHECKING:
    from xmtc.neural.settings import TrainingConfig

METRICS = ("P@1", "P@3", "P@5", "nDCG@5")


def require_texts(inputs: Inputs, kind: str) -> None:
    """Raise when these are no texts."""
    if hasattr(inputs, "shape"):
        raise DataError(f"{kind} reads texts, not a feature matrix; use linear_tree for that.")


def split_validation(
    dataset: Dataset, training: TrainingConfig, metrics: Sequence[str] = METRICS
) -> tuple[Dataset, Dataset | None]:
    """What is taught, and what to choose by; None: nothing. metrics: by which it may be judged.

    Validation data that was given is taken as it is; else some of the texts are held out.
    """
    given = dataset.validation
    waits = training.schedule.name == "plateau" and not training.validation and given is None
    advice = (
        "waits for validations, and there are none: set training.validation=0.1, or give texts to "
        "choose by (validation=..., --validation FILE)"
    )
    require(not waits, "training.schedule.name", training.schedule.name, advice)
    if given is None and (not training.validation or len(dataset) < 2):
        return dataset, None
    require(
        training.metric in metrics,
        "training.metric",
        training.metric,
        f"is not measured on held-out texts here; take {', '.join(metrics)}",
    )
    if given is not None:
        return dataset, given
    assert training.validation is not None
    learned, held_out = dataset.split(training.validation, training.seed)
    require(
        held_out.relevant.nnz > 0,
        "training.validation",
        training.validation,
        "none of the texts held out carries a label; hold out more, or none",
    )
    return learned, held_out


def without_validation(dataset: Dataset, setting: str) -> Dataset:
    """The data without validation data, which is said to be of no use with this setting."""
    if dataset.validation is None:
        return dataset
    logging.getLogger("xmtc").warning(
        "with %s nothing is chosen by validation data: it is not used.", setting
    )
    return replace(dataset, validation=None)


def metrics_of(model: Model, held_out: Dataset | None) -> dict[str, float]:
    """Figures on the held-out texts; empty when there are none."""
    if held_out is None:
        return {}
    found = evaluate_ranking(model.rank(held_out.texts, 5), held_out.relevant).metrics
    return {name: found[name] for name in METRICS}
