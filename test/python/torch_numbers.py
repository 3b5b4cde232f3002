"""The seed and the device of tests of torch's interfaces, attention by the definition, and how far results are from others."""

import math
import os
import unittest

import torch

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
# suites_on_device.py sets it.
DEVICE = os.environ.get("FA_TEST_DEVICE", "cpu")
if DEVICE != "cpu":
    torch.set_default_device(DEVICE)
print("seed", SEED)
torch.manual_seed(SEED)


def relative_error(got, expected):
    return float((got.detach().double() - expected.detach().double()).norm() / expected.detach().double().norm().clamp(
        min=1e-30))


def to_numpy(tensor):
    return tensor.detach().cpu().numpy()


def make_inputs(*leading, dtype=torch.float32):
    return [torch.randn(*leading, 2, 8, 4, 16, dtype=dtype) for _ in range(3)]


def expect(query, key, value, mask=None, bias=None, softcap=None):
    """In float64, differentiable. Dims in front of the batch are more of them."""
    scores = torch.einsum("...ihd,...jhd->...hij", query.double(), key.double()) / math.sqrt(query.shape[-1])
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias.double()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.einsum("...hij,...jhd->...ihd", scores.softmax(-1), value.double())


def band(width):
    return (torch.arange(8)[:, None] - torch.arange(8)).abs() < width


class Edges(unittest.TestCase):
    def close(self, got, expected, bound=2e-6):
        self.assertLess(relative_error(got, expected), bound)
