"""The seed and the device of tests of torch's interfaces, and how far their results are from others."""

import os

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
