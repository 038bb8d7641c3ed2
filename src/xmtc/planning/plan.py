"""A plan: before training, what it will take on this machine, and settings that fit a limit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xmtc.core import config as settings
from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, is_number, require
from xmtc.planning.cost import Estimate

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

    @property
    def figures(self) -> dict[str, float]:
        """What limits are about."""
        return {"memory": self.peak_bytes, "minutes": self.seconds / 60}

    def exceeded(self, limits: dict[str, float]) -> list[str]:
        """The names of the limits that the plan exceeds."""
        return [name for name, limit in limits.items() if self.figures[name] > limit]


def within(
    kind: str,
    dataset: Dataset,
    config: Any,
    costs: Callable[[Any], Estimate],
    memory: float | None,
    minutes: float | None,
) -> Plan:
    """The plan for these settings, or for the nearest ones that fit the limits.

    costs: settings -> estimate of what they add to what the process has now.
    """
    limits: dict[str, float] = {}
    for name, limit in (("memory", memory), ("minutes", minutes)):
        fits = limit is None or (is_number(limit) and limit > 0)
        require(fits, name, limit, "must be a number above 0, or None for no limit")
        if limit is not None:
            limits[name] = limit
    before = resident_bytes()
    names = sum(len(name.encode(errors="replace")) + 13 for name in dataset.labels.names)

    def plan_of(config: Any) -> Plan:
        cost = costs(config)
        peak = before + cost.growth
        size = cost.model_bytes + names
        return Plan(kind, config, cost.spent.seconds, cost.spent.cpu, peak, size)

    found = plan_of(config)
    for name, value in CHEAPER:
        exceeded = found.exceeded(limits)
        cheaper = _changed(found.settings, name, value) if exceeded else None
        if cheaper is not None:
            tried = plan_of(cheaper)
            if helps := [n for n in exceeded if tried.figures[n] < WORTH * found.figures[n]]:
                others = [change for change in found.changes if not change.startswith(f"{name}=")]
                found = replace(tried, changes=(*others, f"{name}={value} for {helps[0]}"))
    if exceeded := found.exceeded(limits):
        raise ConfigError(
            f"no settings of {kind} fit the limit of {' and '.join(exceeded)}: the least found is "
            f"{found.peak_bytes / 1e9:.2f} GB and {found.seconds / 60:.2g} minutes, with "
            f"{', '.join(found.changes) or 'the settings as they are'}. Allow as much, or train on "
            "fewer texts."
        )
    return found


def resident_bytes() -> int:
    """Memory that this process has now; where the system does not say, its peak."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def _changed(config: Any, name: str, value: Any) -> Any:
    """The settings with this one changed; None where that is impossible or not cheaper."""
    now = {setting.name: setting.default for setting in settings.settings_of(config)}.get(name)
    if now is None or now == value:
        return None
    if not isinstance(value, str) and (value > now) != (name in UPWARDS):
        return None
    values = settings.merged(settings.to_dict(config), settings.assignments([f"{name}={value}"]))
    return settings.from_dict(type(config), values)
