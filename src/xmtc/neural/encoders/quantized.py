"""8-bit weights for ranking: a scale for every channel, and one for each input or its tokens."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn

LARGEST = 127
TINY = 1e-6
MAX_FACTOR = 64  # maximum factor that scales a token up, relative to the largest one


def quantized(body: nn.Module) -> Any:
    """A copy whose matrix products are computed with 8-bit numbers; the original stays."""
    body = copy.deepcopy(body)
    for module in list(body.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Linear8(child))
    return body


class Linear8(nn.Module):
    """A linear layer that only reads.

    torch's own halves the range of the inputs for old processors, on which sums of 8-bit products
    overflow. Where they do not, the whole range halves the error. A layer that narrows, the second
    of a feed-forward block, gets tokens of very different size, which are brought to the same
    largest entry before they are rounded (decision 0010).
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weights = linear.weight.detach().float()
        scales = (weights.abs().amax(1).double() / LARGEST).clamp_min(1e-12)
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a planned move inside torch; the version is pinned
            rounded = torch.quantize_per_channel(weights, scales, zeros, 0, torch.qint8)
        bias = None if linear.bias is None else linear.bias.detach().float()
        self.bias = bias if linear.in_features > linear.out_features else None  # by token if set
        self.packed = torch.ops.quantized.linear_prepack(rounded, bias)
        self.halved = not torch.cpu._is_vnni_supported()

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., out)"""
        if self.bias is None:
            return self._product(inputs)
        largest = inputs.amax(-1, keepdim=True)  # any scale is right; this one is fast
        largest = torch.maximum(largest, largest.max().clamp_min(TINY) / MAX_FACTOR)
        return torch.lerp(self.bias, self._product(inputs * largest.reciprocal()), largest)

    def _product(self, inputs: Tensor) -> Tensor:
        found: Tensor = torch.ops.quantized.linear_dynamic(inputs, self.packed, self.halved)
        return found
