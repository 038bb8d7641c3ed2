"""The optimizer: AdamW with a learning rate per part of the net, SparseAdam for sparse rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from xmtc.core.errors import require
from xmtc.neural import distributed
from xmtc.neural.distributed import ShardedParameter
from xmtc.neural.settings import FineTuning

# Found by type: XLNet's norms are not called LayerNorm, so their names would not tell.
NORMS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.BatchNorm1d)


class Optimizer:
    """Dense weights by fused AdamW, sparse rows by SparseAdam, one schedule for all.

    A module with `steps_in_backward` has its weights changed as soon as their gradient is there,
    which is then freed: a layer of a gigabyte needs no gradient of a gigabyte.
    """

    def __init__(self, parts: Mapping[str, tuple[nn.Module, float]], config: FineTuning) -> None:
        """parts: name -> (module, its learning rate); a module inside another comes first."""
        groups = _parameter_groups(parts, config.optimizer.weight_decay)
        self.dense = [p for group in groups["dense"] for p in group["params"]]
        self.sparse = [p for group in groups["sparse"] for p in group["params"]]
        self.optimizers: list[torch.optim.Optimizer] = []
        self.in_backward: list[torch.optim.Optimizer] = []
        if self.dense:
            self.optimizers.append(_adamw(groups["dense"], config))
        if self.sparse:
            epsilon = config.published.epsilon
            self.optimizers.append(torch.optim.SparseAdam(groups["sparse"], eps=epsilon))
        self.hooks: list[Any] = []
        if groups["in_backward"]:
            # In the backward pass, nothing is known of a step's other batches and of its scale.
            advice = "with this many labels in one layer; or set max_flat_labels=32000 for clusters"
            batches = config.published.accumulate
            precision = config.precision
            require(batches == 1, "training.published.accumulate", batches, f"must be 1 {advice}")
            advice = f"must be fp32 or bf16 {advice}"
            require(precision != "fp16", "training.precision", precision, advice)
        for group in groups["in_backward"]:
            for parameter in group["params"]:
                own = _adamw([{**group, "params": [parameter]}], config)
                self.in_backward.append(own)
                self.hooks.append(parameter.register_post_accumulate_grad_hook(_step_of(own)))

    def set_rates(self, factor: float) -> None:
        """The learning rates of the next step: those of the settings times `factor`."""
        for optimizer in (*self.optimizers, *self.in_backward):
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * factor

    def clip(self, max_norm: float | None) -> float:
        """Clip the gradient of all dense weights, those of other processes included; returns its
        norm before."""
        own = [p for p in self.dense if isinstance(p, ShardedParameter)]
        norm = _norm([p for p in self.dense if not isinstance(p, ShardedParameter)])
        if own:
            norm = (distributed.add_up(_norm(own) ** 2) + norm**2).sqrt()
        if max_norm is not None:
            nn.utils.clip_grads_with_norm_(self.dense, max_norm, norm)
        return float(norm)

    def step(self, scaler: torch.amp.GradScaler) -> None:
        """One step; gradients are freed afterwards."""
        for optimizer in self.optimizers:
            scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        scaler.update()

    def remove_hooks(self) -> None:
        """No more steps in the backward pass: another optimizer may take over."""
        for hook in self.hooks:
            hook.remove()

    def state(self) -> dict[str, Tensor]:
        """The state of all optimizers, as named tensors."""
        return {
            f"{place}.{number}.{name}": value
            if isinstance(value, Tensor)
            else torch.tensor(float(value))
            for place, optimizer in enumerate((*self.optimizers, *self.in_backward))
            for number, values in optimizer.state_dict()["state"].items()
            for name, value in values.items()
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a `state`."""
        for place, optimizer in enumerate((*self.optimizers, *self.in_backward)):
            states: dict[int, dict[str, Any]] = {}
            for name, value in state.items():
                where, number, key = name.split(".")
                if int(where) == place:
                    is_count = key == "step" and isinstance(optimizer, torch.optim.SparseAdam)
                    states.setdefault(int(number), {})[key] = int(value) if is_count else value
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": states, "param_groups": groups})


def _norm(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Of all their gradients together."""
    return nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])


def _adamw(groups: list[dict[str, Any]], config: FineTuning) -> torch.optim.AdamW:
    return torch.optim.AdamW(groups, eps=config.published.epsilon, fused=True)


def _step_of(optimizer: torch.optim.Optimizer) -> Callable[[Tensor], None]:
    def step(parameter: Tensor) -> None:
        distributed.sum_gradients([cast(nn.Parameter, parameter)])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def _parameter_groups(
    parts: Mapping[str, tuple[nn.Module, float]], weight_decay: float
) -> dict[str, list[dict[str, Any]]]:
    """Groups of dense parameters, of those with sparse rows, of those that step in backward."""
    seen: set[int] = set()
    kinds: dict[str, list[dict[str, Any]]] = {"dense": [], "sparse": [], "in_backward": []}
    for module, rate in parts.values():
        groups: dict[tuple[str, bool], list[nn.Parameter]] = {}
        for kind, decays, parameter in _sorted(module):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                groups.setdefault((kind, decays), []).append(parameter)
        for (kind, decays), members in groups.items():
            decay = {} if kind == "sparse" else {"weight_decay": weight_decay if decays else 0.0}
            kinds[kind].append({"params": members, "rate": rate, **decay})
    return kinds


def _sorted(module: nn.Module) -> Iterator[tuple[str, bool, nn.Parameter]]:
    """Each parameter with its kind, and whether it decays."""
    in_backward = {
        id(parameter)
        for part in module.modules()
        if getattr(part, "steps_in_backward", False)
        for parameter in part.parameters()
    }
    for part in module.modules():
        sparse = isinstance(part, nn.Embedding) and part.sparse
        for name, parameter in part.named_parameters(recurse=False):
            no_decay = isinstance(part, NORMS) or name.endswith("bias") or parameter.ndim == 1
            dense = "in_backward" if id(parameter) in in_backward else "dense"
            yield "sparse" if sparse else dense, not no_decay, parameter
