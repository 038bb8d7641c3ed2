"""The warning about a processor that lacks the precision asked for."""

from __future__ import annotations

import pytest
import torch

from xmtc.neural import devices

PLAIN = {"architecture": "x86_64", "avx2": True}


@pytest.fixture
def says(monkeypatch, caplog):
    """What is logged on a processor with these abilities, asked twice."""

    def asked(precision: str, able: dict[str, object]) -> list[str]:
        devices._warn_if_imitated.cache_clear()
        caplog.clear()
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
        monkeypatch.setattr(devices, "device", lambda: torch.device("cpu"))
        for _ in range(2):
            with devices.in_precision(precision):
                pass
        return [record.message for record in caplog.records]

    yield asked
    devices._warn_if_imitated.cache_clear()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_precision_that_is_imitated_is_warned_of_once(says, precision):
    (warning,) = says(precision, PLAIN)
    assert precision in warning and 'training.precision to "fp32"' in warning


def test_there_is_no_warning_where_the_processor_has_it_or_is_not_known(says):
    assert not says("fp32", PLAIN)
    assert not says("bf16", {**PLAIN, "avx512_bf16": True})
    assert not says("fp16", {**PLAIN, "amx_fp16": True})
    assert not says("bf16", {"architecture": "aarch64"})
