"""What the benchmarks read of the processor."""

from __future__ import annotations

import pytest
from benchmarks import cpu

CORES = (
    "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: A: fast one\nflags\t\t: fpu {}\n"
    "\nprocessor\t: 1\nflags\t: no\n"
)


@pytest.mark.parametrize(
    ("flags", "precision"), [("avx2 avx512_bf16", "bf16"), ("avx2 avx512_bf16x", "fp32")]
)
def test_bf16_is_used_where_the_processor_has_it(tmp_path, monkeypatch, flags, precision):
    monkeypatch.setattr(cpu, "_FILE", tmp_path / "cpuinfo")
    cpu._FILE.write_text(CORES.format(flags))
    assert (cpu.name(), cpu.precision()) == ("A: fast one (family 26, model 2)", precision)


def test_a_system_that_says_nothing_of_its_processor_has_a_name_and_fp32(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu, "_FILE", tmp_path / "none")
    assert cpu.name() and cpu.precision() == "fp32"
