"""The optimiser: AdamW with a learning rate per part of the net; rows of label vectors apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from xmtc.neural.settings import TrainingConfig

# Found by type: XLNet's norms are not called LayerNorm, so their names would not tell.
NORMS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.BatchNorm1d)


class Optimiser:
    """Dense weights by fused AdamW, sparse rows by SparseAdam, one schedule for both."""

    def __init__(
        self, parts: Mapping[str, tuple[nn.Module, float]], config: TrainingConfig
    ) -> None:
        """parts: name -> (module, its learning rate); a module inside another comes first."""
        groups, rows = _groups(parts, config.decay)
        self.dense = [p for group in groups for p in group["params"]]
        self.rates: list[float] = []
        self.optimisers: list[torch.optim.Optimizer] = []
        if groups:
            self._add(torch.optim.AdamW(groups, lr=0.0, eps=config.epsilon, fused=True))
        if rows:
            self._add(torch.optim.SparseAdam(rows, lr=1.0, eps=config.epsilon))

    def _add(self, optimiser: torch.optim.Optimizer) -> None:
        self.optimisers.append(optimiser)
        self.rates += [group["rate"] for group in optimiser.param_groups]

    def step(self, factor: float, scaler: torch.amp.GradScaler) -> None:
        """One step with the learning rates times `factor`; gradients are gone afterwards."""
        groups = (group for optimiser in self.optimisers for group in optimiser.param_groups)
        for group, rate in zip(groups, self.rates, strict=True):
            group["lr"] = rate * factor
        for optimiser in self.optimisers:
            scaler.step(optimiser)
            optimiser.zero_grad(set_to_none=True)
        scaler.update()

    def state(self) -> dict[str, torch.Tensor]:
        """Everything it remembers, as named tensors."""
        return {
            f"{place}.{number}.{name}": value
            for place, optimiser in enumerate(self.optimisers)
            for number, known in optimiser.state_dict()["state"].items()
            for name, value in _tensors(known)
        }

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Remember what `state` said."""
        for place, optimiser in enumerate(self.optimisers):
            known: dict[int, dict[str, Any]] = {}
            for name, value in state.items():
                where, number, key = name.split(".")
                if int(where) == place:
                    known.setdefault(int(number), {})[key] = _untensored(key, value, optimiser)
            optimiser.load_state_dict(
                {"state": known, "param_groups": optimiser.state_dict()["param_groups"]}
            )


def _groups(
    parts: Mapping[str, tuple[nn.Module, float]], decay: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    seen: set[int] = set()
    groups: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for module, rate in parts.values():
        kinds: dict[str, list[nn.Parameter]] = {"decay": [], "none": [], "rows": []}
        for kind, parameter in _sorted(module):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                kinds[kind].append(parameter)
        for kind in ("decay", "none"):
            if kinds[kind]:
                strength = decay if kind == "decay" else 0.0
                groups.append({"params": kinds[kind], "rate": rate, "weight_decay": strength})
        if kinds["rows"]:
            rows.append({"params": kinds["rows"], "rate": rate})
    return groups, rows


def _sorted(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    for part in module.modules():
        for name, parameter in part.named_parameters(recurse=False):
            if isinstance(part, nn.Embedding) and part.sparse:
                yield "rows", parameter
            else:
                free = isinstance(part, NORMS) or name.endswith("bias")
                yield "none" if free else "decay", parameter


def _tensors(known: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in known.items():
        yield name, value if isinstance(value, torch.Tensor) else torch.tensor(float(value))


def _untensored(key: str, value: torch.Tensor, optimiser: torch.optim.Optimizer) -> Any:
    plain = key == "step" and isinstance(optimiser, torch.optim.SparseAdam)
    return int(value) if plain else value
