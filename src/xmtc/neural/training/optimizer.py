"""The optimiser: AdamW with a learning rate per part of the net; rows of label vectors apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from xmtc.core.errors import require
from xmtc.neural import distributed, label_shards
from xmtc.neural.settings import TrainingConfig

# Found by type: XLNet's norms are not called LayerNorm, so their names would not tell.
NORMS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.BatchNorm1d)


class Optimiser:
    """Dense weights by fused AdamW, sparse rows by SparseAdam, one schedule for all.

    A module that says `changes_at_once` has its weights changed as soon as their gradient is
    there, which is then let go: a layer of a gigabyte needs no gradient of a gigabyte.
    """

    def __init__(
        self, parts: Mapping[str, tuple[nn.Module, float]], config: TrainingConfig
    ) -> None:
        """parts: name -> (module, its learning rate); a module inside another comes first."""
        kinds = _by_kind(parts, config.optimizer.weight_decay)
        self.dense = [p for group in kinds["dense"] for p in group["params"]]
        self.rows = [p for group in kinds["rows"] for p in group["params"]]
        self.optimisers: list[torch.optim.Optimizer] = []
        self.at_once: list[torch.optim.Optimizer] = []
        if self.dense:
            self.optimisers.append(_adamw(kinds["dense"], config))
        if self.rows:
            self.optimisers.append(
                torch.optim.SparseAdam(kinds["rows"], eps=config.published.epsilon)
            )
        self.hooks: list[Any] = []
        if kinds["at once"]:
            _check_at_once(config)
        for group in kinds["at once"]:
            for parameter in group["params"]:
                own = _adamw([{**group, "params": [parameter]}], config)
                self.at_once.append(own)
                self.hooks.append(parameter.register_post_accumulate_grad_hook(_change_now(own)))

    def set_rates(self, factor: float) -> None:
        """The learning rates of the next step: those of the settings times `factor`."""
        for optimiser in (*self.optimisers, *self.at_once):
            for group in optimiser.param_groups:
                group["lr"] = group["rate"] * factor

    def clip(self, longest: float | None) -> float:
        """The gradient of all dense weights, those of other processes too, gets no longer than
        this; None: any length. Returns how long it was."""
        own = [p for p in self.dense if label_shards.is_own(p)]
        shared = [p for p in self.dense if not label_shards.is_own(p)]
        length = _length(shared)
        if own:
            length = (distributed.total(_length(own) ** 2) + length**2).sqrt()
        if longest is not None:
            nn.utils.clip_grads_with_norm_(self.dense, longest, length)
        return float(length)

    def step(self, scaler: torch.amp.GradScaler) -> None:
        """One step; gradients are gone afterwards."""
        for optimiser in self.optimisers:
            scaler.step(optimiser)
            optimiser.zero_grad(set_to_none=True)
        scaler.update()

    def let_go(self) -> None:
        """Weights that change at once do so no longer: another optimiser may take over."""
        for hook in self.hooks:
            hook.remove()

    def state(self) -> dict[str, torch.Tensor]:
        """Everything it remembers, as named tensors."""
        return {
            f"{place}.{number}.{name}": value
            for place, optimiser in enumerate((*self.optimisers, *self.at_once))
            for number, known in optimiser.state_dict()["state"].items()
            for name, value in _tensors(known)
        }

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Remember what `state` said."""
        for place, optimiser in enumerate((*self.optimisers, *self.at_once)):
            known: dict[int, dict[str, Any]] = {}
            for name, value in state.items():
                where, number, key = name.split(".")
                if int(where) == place:
                    known.setdefault(int(number), {})[key] = _untensored(key, value, optimiser)
            optimiser.load_state_dict(
                {"state": known, "param_groups": optimiser.state_dict()["param_groups"]}
            )


def _check_at_once(config: TrainingConfig) -> None:
    """Weights that change with every batch know nothing of a step of several, nor of its scale."""
    advice = "with so many labels in one layer; or set max_flat_labels=32000 for clusters"
    accumulate = config.published.accumulate
    require(accumulate == 1, "training.published.accumulate", accumulate, f"must be 1 {advice}")
    precision = config.precision
    require(precision != "fp16", "training.precision", precision, f"must be fp32 or bf16 {advice}")


def _length(parameters: list[nn.Parameter]) -> Tensor:
    """Of all their gradients together."""
    return nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])


def _adamw(groups: list[dict[str, Any]], config: TrainingConfig) -> torch.optim.AdamW:
    return torch.optim.AdamW(groups, eps=config.published.epsilon, fused=True)


def _change_now(optimiser: torch.optim.Optimizer) -> Callable[[Tensor], None]:
    def change(parameter: Tensor) -> None:
        distributed.sum_gradients([cast(nn.Parameter, parameter)])
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return change


def _by_kind(
    parts: Mapping[str, tuple[nn.Module, float]], decay: float
) -> dict[str, list[dict[str, Any]]]:
    """Parameter groups: dense ones, those of sparse rows, those that change at once."""
    seen: set[int] = set()
    kinds: dict[str, list[dict[str, Any]]] = {"dense": [], "rows": [], "at once": []}
    for module, rate in parts.values():
        groups: dict[tuple[str, bool], list[nn.Parameter]] = {}
        for kind, decays, parameter in _sorted(module):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                groups.setdefault((kind, decays), []).append(parameter)
        for (kind, decays), members in groups.items():
            strength = {} if kind == "rows" else {"weight_decay": decay if decays else 0.0}
            kinds[kind].append({"params": members, "rate": rate, **strength})
    return kinds


def _sorted(module: nn.Module) -> Iterator[tuple[str, bool, nn.Parameter]]:
    """Each parameter with its kind, and whether it decays."""
    at_once = {
        id(parameter)
        for part in module.modules()
        if getattr(part, "changes_at_once", False)
        for parameter in part.parameters()
    }
    for part in module.modules():
        sparse = isinstance(part, nn.Embedding) and part.sparse
        for name, parameter in part.named_parameters(recurse=False):
            free = isinstance(part, NORMS) or name.endswith("bias") or parameter.ndim == 1
            kind = "rows" if sparse else "at once" if id(parameter) in at_once else "dense"
            yield kind, not free, parameter


def _tensors(known: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in known.items():
        yield name, value if isinstance(value, torch.Tensor) else torch.tensor(float(value))


def _untensored(key: str, value: torch.Tensor, optimiser: torch.optim.Optimizer) -> Any:
    plain = key == "step" and isinstance(optimiser, torch.optim.SparseAdam)
    return int(value) if plain else value
