"""Averaging of weights (SWA): the mean of many moments is often better than the last one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The running mean of a net's learned weights; swapped in where it is to be used."""

    def __init__(self, net: nn.Module) -> None:
        self.net = net
        self.count = 0
        self.mean: dict[str, Tensor] = {}

    def add(self) -> None:
        """The weights as they are now enter the mean."""
        self.count += 1
        for name, weights in learned(self.net):
            if self.count == 1:
                self.mean[name] = weights.detach().clone()
            else:
                self.mean[name] += (weights.detach() - self.mean[name]) / self.count

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the net has the mean as its weights; without any moment, its own."""
        if not self.count:
            yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def keep(self) -> None:
        """The net has the mean from here on."""
        if self.count:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, weights in learned(self.net):
            mine = self.mean[name]
            self.mean[name] = weights.detach().clone()
            weights.copy_(mine)


def learned(net: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters that training changes."""
    for name, parameter in net.named_parameters():
        if parameter.requires_grad:
            yield name, parameter
