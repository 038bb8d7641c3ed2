"""8-bit matrix products: as near to the exact ones as 8 bits allow."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from xmtc.neural.encoders.quantized import LARGEST, quantized  # noqa: E402


@pytest.mark.parametrize("seed", range(5))
def test_the_error_stays_within_half_a_step_of_weights_and_inputs(seed):
    torch.manual_seed(seed)
    exact = nn.Linear(24, 7, bias=bool(seed % 2))
    inputs = torch.randn(5, 24) * 10.0 ** torch.randint(-2, 3, (1,))
    rounded = quantized(nn.Sequential(exact))[0]
    steps = LARGEST if rounded.halved else 255
    of_inputs = (inputs.max().clamp_min(0) - inputs.min().clamp_max(0)) / steps
    of_weights = exact.weight.abs().amax(1) / LARGEST
    most = of_inputs / 2 * exact.weight.abs().sum(1) + of_weights / 2 * (
        inputs.abs().sum(1, keepdim=True) + 24 * of_inputs
    )
    with torch.no_grad():
        assert ((rounded(inputs) - exact(inputs)).abs() <= 1.01 * most + 1e-6).all()


def test_every_linear_layer_is_rounded_and_the_original_stays():
    body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.GELU(), nn.Linear(4, 2)))
    rounded = quantized(body)
    assert not any(isinstance(module, nn.Linear) for module in rounded.modules())
    assert sum(isinstance(module, nn.Linear) for module in body.modules()) == 2
    rows = torch.zeros(1, 4)
    assert torch.allclose(rounded(rows), body(rows), atol=0.01)


def test_a_narrowing_layer_rounds_small_tokens_by_their_own_scale():
    torch.manual_seed(0)
    exact = nn.Linear(64, 8)
    inputs = nn.functional.gelu(torch.randn(6, 64)) * torch.tensor([[0.1], [1.0], [4.0]] * 2)
    with torch.no_grad():
        error = (quantized(nn.Sequential(exact))(inputs) - exact(inputs)).abs().amax(1)
    step = inputs.amax(1) * exact.weight.abs().sum(1).max() / LARGEST
    assert (error <= 2 * step).all()  # with one scale for all, the first is off by more


@pytest.mark.parametrize("shape", [(4, 64), (2, 3, 64)])
def test_tokens_of_zeros_and_below_give_the_bias_and_its_products(shape):
    exact = nn.Linear(64, 8)
    rounded = quantized(nn.Sequential(exact))
    with torch.no_grad():
        assert torch.allclose(rounded(torch.zeros(shape)), exact(torch.zeros(shape)), atol=1e-5)
        below = -torch.rand(shape)
        assert torch.allclose(rounded(below), exact(below), atol=0.05)
        mixed = torch.cat([below, -below])  # those below 0 do not spoil the others
        assert torch.allclose(rounded(mixed), exact(mixed), atol=1.0)
        assert torch.allclose(rounded(mixed)[-1], exact(mixed)[-1], atol=0.5)
