# RUN: %python %s %fake_cuda %t
"""Kernels on tensors that DLPack's exchange functions describe: what torch 2.10 and later has."""

import ctypes
import os
import sys
import unittest

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
sys.path[:0] = [INPUTS, os.path.join(INPUTS, "torch_stub")]
import torch
from device_array import DeviceArray
from exchange import Exchange

# Before the package looks for it.
EXCHANGE = Exchange(torch.Tensor, torch._C._cuda_getCurrentRawStream)
torch.Tensor.__dlpack_c_exchange_api__ = EXCHANGE.capsule

import fa_mlir
from fa_mlir.tensors import find_exchange
from launch_test import LaunchTest


class LaunchExchange(LaunchTest):
    devices = 2

    def setUp(self):
        super().setUp()
        self.x = torch.Tensor((5, 16), torch.bfloat16, "cuda:1", strides=(64, 1))
        torch._C.stream, torch._C.asked = 0, []
        EXCHANGE.described = 0

    def test_describes_every_tensor(self):
        for call in range(3):
            y = self.kernel(self.x, factor=call)
            launch = self.driver.last_launch()
            self.assertEqual(launch.device, 1)
            self.assertEqual(launch.parameter(0, ctypes.c_uint64), self.x.data_ptr())
            self.assertEqual(launch.parameter(1, ctypes.c_uint64), y.data_ptr())
            self.assertEqual(launch.parameter(2, ctypes.c_float), call)
            self.assertEqual(launch.parameter(4, ctypes.c_int64), 64)
        self.assertEqual(self.driver.GetLaunchCount(), 3)
        self.assertEqual(EXCHANGE.described, 6)
        self.assertEqual(torch._C.asked, [1] * 3)

    def test_uses_the_stream_that_is_asked_for(self):
        handle = self.driver.library.fakeCreateStream()
        torch._C.stream = handle
        for _ in range(2):
            self.kernel(self.x)
            self.assertEqual(self.driver.last_launch().stream, 100)
        self.assertEqual(torch._C.asked, [1, 1])
        for stream in 0, handle:
            self.kernel(self.x, stream=stream)
            self.assertEqual(self.driver.last_launch().stream, 100 if stream else 1)
        self.driver.DestroyStream(ctypes.c_void_p(handle))

    def test_a_capsule_of_another_name_is_no_exchange(self):
        class Other:
            __dlpack_c_exchange_api__ = EXCHANGE.make_capsule(b"of_tomorrow")
        self.assertIsNone(find_exchange(Other))
        self.assertIsNone(find_exchange(int))
        self.assertIsNotNone(find_exchange(torch.Tensor))

    def test_other_tensors_take_the_other_way(self):
        y = DeviceArray(self.driver.library.fakeBase(1), "f32", (5, 8), device=1)
        for _ in range(2):
            self.assertIs(self.kernel(self.x, y=y), y)
            self.assertEqual(self.driver.last_launch().parameter(1, ctypes.c_uint64),
                             self.driver.library.fakeBase(1))

    def call(self):
        self.kernel(self.x)

    def test_errors_are_those_of_the_other_way(self):
        self.call()
        self.expect("argument 'x' has type f16, expected bf16",
                    torch.Tensor((5, 16), torch.float16, "cuda:1"))
        self.expect("argument 'x' has type an unknown type, expected bf16",
                    torch.Tensor((5, 16), torch.complex64, "cuda:1"))
        self.expect("argument 'x' has rank 3, expected 2", torch.Tensor((5, 2, 8), torch.bfloat16, "cuda:1"))
        self.expect("argument 'x' is on device 'cpu', expected a CUDA device",
                    torch.Tensor((5, 16), torch.bfloat16, "cpu"), y=torch.Tensor((5, 8), torch.float32))
        self.expect("argument 'y' is on device 0, but argument 'x' is on device 1", self.x,
                    y=torch.Tensor((5, 8), torch.float32))
        self.expect("argument 'shift' is a number of type i32, got float", self.x, shift=0.5)
        with self.assertRaises(fa_mlir.ArgumentError):
            self.kernel.launch(self.x)

    def test_flags_are_bytes_and_bytes_no_flags(self):
        self.check_flags(*(torch.Tensor((5, 16), dtype, "cuda:1") for dtype in (torch.bool, torch.int8)))


if __name__ == "__main__":
    unittest.main()
