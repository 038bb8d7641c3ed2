"""8-bit weights for ranking: torch's dynamic quantisation, a scale of its own for every channel."""

from __future__ import annotations

import warnings
from typing import Any

from torch import nn


def quantised(body: nn.Module) -> Any:
    """A copy whose matrix products are computed with 8-bit numbers; the original stays."""
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch means to move it; the version is pinned
        quantise: Any = quantize_dynamic
        return quantise(body, {nn.Linear: per_channel_dynamic_qconfig})
