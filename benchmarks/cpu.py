"""The processor: its name, and the precision in which neural systems are measured on it."""

from __future__ import annotations

import platform
from pathlib import Path

_FILE = Path("/proc/cpuinfo")


def name() -> str:
    """As the processor calls itself; family and model, because a cloud calls many by one name."""
    found = _field("model name") or platform.processor() or platform.machine()
    family = _field("cpu family")
    model = _field("model")
    return f"{found} (family {family}, model {model})" if family and model else found


def precision() -> str:
    """bf16 where the processor multiplies in it; elsewhere it is emulated, ten times slower and
    more (decision 14)."""
    return "bf16" if "avx512_bf16" in _field("flags").split() else "fp32"


def _field(what: str) -> str:
    """An entry of the first core; empty on systems other than Linux."""
    try:
        lines = _FILE.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == what:
            return value.strip()
    return ""
