"""Stochastic weight averaging (SWA): the mean of many snapshots is often better than the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The running mean of a net's trainable weights; swapped in where it is to be used."""

    def __init__(self, net: nn.Module) -> None:
        self.net = net
        self.count = 0
        self.mean: dict[str, Tensor] = {}

    def add(self) -> None:
        """The weights as they are now enter the mean."""
        self.count += 1
        for name, weights in trainable(self.net):
            if self.count == 1:
                self.mean[name] = weights.detach().clone()
            else:
                self.mean[name] += (weights.detach() - self.mean[name]) / self.count

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the net has the mean as its weights; without any snapshot, its own."""
        self.apply()
        try:
            yield
        finally:
            self.apply()

    @torch.no_grad()
    def apply(self) -> None:
        """Swap the net's weights and their mean, if there is any."""
        if self.count:
            for name, weights in trainable(self.net):
                mean = self.mean[name]
                self.mean[name] = weights.detach().clone()
                weights.copy_(mean)


def trainable(net: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters that training changes."""
    for name, parameter in net.named_parameters():
        if parameter.requires_grad:
            yield name, parameter
