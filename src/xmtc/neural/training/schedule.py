"""Schedules: what the learning rates are multiplied by, step by step."""

from __future__ import annotations

from collections.abc import Callable

Schedule = Callable[[int], float]  # steps already taken -> factor


def linear(total: int, warmup: int = 0) -> Schedule:
    """Climbs for `warmup` steps, then falls to 0 at `total`: the slanted triangle of APLC-XLNet."""

    def factor(step: int) -> float:
        if step < warmup:
            return step / warmup
        return max(0.0, (total - step) / max(1, total - warmup))

    return factor


def constant(total: int, warmup: int = 0) -> Schedule:
    """Climbs for `warmup` steps, then stays."""
    return lambda step: step / warmup if step < warmup else 1.0


# On a plateau, validations without improvement, the loop reduces the rates.
SCHEDULES = {"linear": linear, "constant": constant, "plateau": constant}
PATIENCE = 10  # validations without improvement before learning rates are reduced
REDUCTION = 0.1  # factor of each reduction
MINIMUM = 0.01  # factor of all reductions together
