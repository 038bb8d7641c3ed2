"""plan: before training, what it will take on this machine, and settings that fit a limit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xmtc.api import check_trainable, resolve
from xmtc.core import config as settings
from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, is_number, require
from xmtc.models.catalog import PLANNED, RECIPES
from xmtc.models.ensemble import member_config
from xmtc.planning.cost import Estimate, Spent, one_vs_all_costs, total
from xmtc.planning.tree_cost import linear_tree_costs

# kind -> what gives the estimate of any settings; a kind that is not here cannot be planned
COSTS: dict[str, Callable[[Dataset], Callable[[Any], Estimate]]] = {
    "linear_tree": linear_tree_costs,
    "one_vs_all": one_vs_all_costs,
}
# What may be given up for a limit, what costs least accuracy first.
CHEAPER: list[tuple[str, Any]] = [
    ("negatives", "tfn"),
    ("svm.prune", 0.1),
    ("text.min_df", 2),
    ("trees", 1),
    ("svm.max_iterations", 6),
    ("svm.prune", 0.2),
    ("text.min_df", 5),
    ("svm.max_iterations", 4),
    ("svm.prune", 0.3),
]
UPWARDS = ("svm.prune", "text.min_df")  # cheaper when larger
WORTH = 0.98  # a setting is changed only if what is too much falls below this share of itself


@dataclass(frozen=True)
class Plan:
    """Settings, and what training with them will take on this machine."""

    kind: str
    settings: Any  # the kind's own Config
    seconds: float  # by the clock, if nothing else runs
    cpu_seconds: float  # of all threads together
    peak_bytes: int  # of the whole process, with the data set
    model_bytes: int  # on disk
    changes: tuple[str, ...] = ()  # what was given up for the limits


def plan(
    kind: str,
    dataset: Dataset,
    config: Any = None,
    *,
    memory: float | None = None,
    minutes: float | None = None,
) -> Plan:
    """An estimate for these settings; with limits, for the nearest settings that fit them.

    config: as for `train`. memory: bytes the process may have at its peak. minutes: of training.
    A few classifiers are trained to see how fast this machine is, so this takes a while itself: of
    linear_tree a third to nine tenths of the training's own time, of one_vs_all a second or two.
    """
    limits = {"memory": memory, "minutes": minutes}
    for name, limit in limits.items():
        fit = limit is None or (is_number(limit) and limit > 0)
        require(fit, name, limit, "must be a number above 0, or None for no limit")
    check_trainable(dataset, "plan")
    if kind in RECIPES:
        raise ConfigError(f"{kind} plans by itself as it goes; it has no limit but its minutes.")
    _, chosen = resolve(kind, config)
    estimate = _estimator(kind, dataset)
    made = estimate(chosen)
    for name, value in CHEAPER:
        over = _over(made, limits)
        cheaper = _changed(made.settings, name, value) if over else None
        if cheaper is not None:
            tried = estimate(cheaper)
            helps = [n for n in over if _figures(tried)[n] < WORTH * _figures(made)[n]]
            if helps:
                others = [change for change in made.changes if not change.startswith(f"{name}=")]
                made = replace(tried, changes=(*others, f"{name}={value} for {helps[0]}"))
    if over := _over(made, limits):
        raise ConfigError(
            f"no settings of {kind} fit the limit of {' and '.join(over)}: the least we found is "
            f"{made.peak_bytes / 1e9:.2f} GB and {made.seconds / 60:.2g} minutes, with "
            f"{', '.join(made.changes) or 'the settings as they are'}. Allow as much, or train on "
            "fewer texts."
        )
    return made


def resident_bytes() -> int:
    """Memory that this process has now; where the system does not say, what it had at most."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)


def _estimator(kind: str, dataset: Dataset) -> Callable[[Any], Plan]:
    """Settings -> plan, above the memory that the process has now."""
    before = resident_bytes()
    costs = _costs(kind)(dataset)
    names = sum(len(name.encode(errors="replace")) + 13 for name in dataset.labels.names)

    def estimate(config: Any) -> Plan:
        cost = costs(config)
        peak = before + cost.growth
        size = cost.model_bytes + names
        return Plan(kind, config, cost.spent.seconds, cost.spent.cpu, peak, size)

    return estimate


def _ensemble_costs(dataset: Dataset) -> Callable[[Any], Estimate]:
    """One member after the other; what is trained stays in memory."""

    def estimate(config: Any) -> Estimate:
        members = map(member_config, config.members)
        each = [_costs(kind)(dataset)(member) for kind, member in members]
        size = sum(cost.model_bytes for cost in each)
        growth = size + max(cost.growth for cost in each)
        return Estimate(total(*(cost.spent for cost in each)), growth, size)

    return estimate


def _nothing(dataset: Dataset) -> Callable[[Any], Estimate]:
    return lambda config: Estimate(Spent(), 0, 0)


COSTS |= {"ensemble": _ensemble_costs, "most_frequent": _nothing}


def _costs(kind: str) -> Callable[[Dataset], Callable[[Any], Estimate]]:
    if kind not in COSTS:
        raise ConfigError(
            f"no estimate for {kind}: there are some for {', '.join(PLANNED)}. A neural training "
            "shows the time to its end while it runs; `xmtc train auto --minutes M` keeps a limit."
        )
    return COSTS[kind]


def _figures(made: Plan) -> dict[str, float]:
    return {"memory": made.peak_bytes, "minutes": made.seconds / 60}


def _over(made: Plan, limits: dict[str, float | None]) -> list[str]:
    """Which limits are exceeded."""
    figures = _figures(made)
    return [name for name, limit in limits.items() if limit is not None and figures[name] > limit]


def _changed(config: Any, name: str, value: Any) -> Any:
    """The settings with this one changed; None where that is impossible or not cheaper."""
    now = {setting.name: setting.default for setting in settings.settings_of(config)}.get(name)
    if now is None or now == value:
        return None
    if not isinstance(value, str) and (value > now) != (name in UPWARDS):
        return None
    values = settings.merged(settings.to_dict(config), settings.assignments([f"{name}={value}"]))
    return settings.from_dict(type(config), values)
