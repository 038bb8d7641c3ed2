"""The processor: its name, and the precision in which neural systems are measured on it."""

from __future__ import annotations

import platform
from pathlib import Path

_FILE = Path("/proc/cpuinfo")


def name() -> str:
    """As the processor calls itself; family and model, because a cloud calls many by one name."""
    about = _first_core()
    found = about.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in about and "model" in about:
        found += f" (family {about['cpu family']}, model {about['model']})"
    return found


def precision() -> str:
    """bf16 where the processor multiplies in it; elsewhere it is emulated, ten times slower and
    more (decision 14)."""
    return "bf16" if "avx512_bf16" in _first_core().get("flags", "").split() else "fp32"


def _first_core() -> dict[str, str]:
    """The entries of the first core; empty on systems other than Linux."""
    text = _FILE.read_text(encoding="utf-8") if _FILE.exists() else ""
    pairs = [line.partition(":") for line in text.partition("\n\n")[0].splitlines()]
    return {key.strip(): value.strip() for key, _, value in pairs}
