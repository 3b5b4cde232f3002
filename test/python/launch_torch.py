# RUN: %python %s %fake_cuda %t
"""Kernels on torch tensors: a stand-in for torch on the fake driver."""

import ctypes
import os
import sys
import time
import unittest

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
sys.path[:0] = [INPUTS, os.path.join(INPUTS, "torch_stub")]
import torch
from device_array import DeviceArray
from fake_driver import write_kernel
from launch_test import FOLDER, LaunchTest

import fa_mlir


class LaunchTorch(LaunchTest):
    devices = 2

    def setUp(self):
        super().setUp()
        torch._C.stream, torch._C.asked = 0, []

    def test_allocates_outputs_on_the_device_of_the_inputs(self):
        x = torch.Tensor((5, 16), torch.bfloat16, "cuda:1", strides=(64, 1))
        y = self.kernel(x)
        self.assertEqual((y.shape, y.dtype, y.device), ((5, 8), torch.float32, "cuda:1"))
        launch = self.driver.last_launch()
        self.assertEqual(launch.device, 1)
        self.assertEqual(launch.parameter(0, ctypes.c_uint64), x.data_ptr())
        self.assertEqual(launch.parameter(1, ctypes.c_uint64), y.data_ptr())
        self.assertEqual(launch.parameter(2, ctypes.c_float), 2.5)
        self.assertEqual(launch.parameter(4, ctypes.c_int64), 64)
        self.assertEqual(self.driver.GetCalls(b"cuPointerGetAttribute"), 0, "torch knows the device")

    def test_allocates_what_each_call_asks_for(self):
        """Shapes and devices that follow one another, more than are remembered."""
        for rows in [5, 7, 5, *range(300), 5]:
            for device in ("cuda:0", "cuda:1"):
                x = torch.Tensor((rows, 16), torch.bfloat16, device)
                y = self.kernel(x)
                self.assertEqual((y.shape, y.stride(), y.device), ((rows, 8), (8, 1), device))
                given = torch.Tensor((rows, 8), torch.float32, device, strides=(32, 1))
                self.assertIs(self.kernel(x, y=given), given)

    def test_uses_the_current_stream_of_the_device(self):
        handle = self.driver.library.fakeCreateStream()
        torch._C.stream = handle
        self.kernel(torch.Tensor((5, 16), torch.bfloat16, "cuda:1"))
        self.assertEqual(self.driver.last_launch().stream, 100)
        self.assertEqual(torch._C.asked, [1])
        self.kernel(torch.Tensor((5, 16), torch.bfloat16), stream=0)
        self.assertEqual(self.driver.last_launch().stream, 1)
        self.driver.DestroyStream(ctypes.c_void_p(handle))

    def test_mixes_with_dlpack(self):
        x = torch.Tensor((5, 16), torch.bfloat16)
        y = DeviceArray(self.driver.library.fakeBase(0), "f32", (5, 8))
        self.assertIs(self.kernel(x, y=y), y)
        self.assertEqual(self.driver.last_launch().parameter(1, ctypes.c_uint64),
                         self.driver.library.fakeBase(0))

    def call(self):
        self.kernel(torch.Tensor((5, 16), torch.bfloat16))

    def test_errors(self):
        x = torch.Tensor((5, 16), torch.bfloat16)
        self.expect("argument 'x' has type f16, expected bf16", torch.Tensor((5, 16), torch.float16))
        self.expect("argument 'x' has type an unknown type, expected bf16",
                    torch.Tensor((5, 16), torch.complex64))
        self.expect("argument 'x' has rank 3, expected 2", torch.Tensor((5, 2, 8), torch.bfloat16))
        # Ranks that are wrong by as much in both directions.
        self.expect("argument 'x' has rank 3, expected 2", torch.Tensor((5, 2, 8), torch.bfloat16),
                    y=torch.Tensor((5,), torch.float32))
        self.expect("argument 'x' is on device 'cpu', expected a CUDA device",
                    torch.Tensor((5, 16), torch.bfloat16, "cpu"))
        self.expect("argument 'y' is on device 1, but argument 'x' is on device 0", x,
                    y=torch.Tensor((5, 8), torch.float32, "cuda:1"))
        self.expect("argument 'shift' is a number of type i32, got float", x, shift=0.5)
        self.expect("kernel 'scale' misses argument 'x'", error=TypeError)
        self.expect("output 'y' cannot be allocated: its shape ['rows', 8] does not follow from the "
                    "inputs given", torch.Tensor((), torch.bfloat16))

    def test_outputs_with_unknown_dims_must_be_given(self):
        def edit(manifest):
            manifest["arguments"][1]["shape"] = ["rows", "n"]
        self.kernel = fa_mlir.load(write_kernel(FOLDER, edit), self.runtime)
        x = torch.Tensor((5, 16), torch.bfloat16)
        with self.assertRaisesRegex(TypeError, "output 'y' must be given: no input has its dim 'n'"):
            self.kernel(x)
        self.kernel(x, y=torch.Tensor((5, 3), torch.float32))

    @unittest.skipIf("FA_NOT_TIMED" in os.environ, "instrumented code is not timed")
    def test_a_call_is_cheap(self):
        """30 us are allowed on a GPU, where torch and the driver take their part. Without them it is 1,500 steps of an empty
        loop, about 20 us. Both take turns, and the best of many counts, so that a slow or busy machine does not fail it."""
        x, y = torch.Tensor((5, 16), torch.bfloat16), torch.Tensor((5, 8), torch.float32)
        calls = {"launch of 4 arguments on the fake driver": lambda: self.kernel.launch(x, y, 1.0, 0),
                 "the same with an output that torch's stand-in allocates": lambda: self.kernel(x)}
        for name, call in calls.items():
            best = {"call": 1.0, "step": 1.0}
            for _ in range(50):
                start = time.perf_counter()
                for _ in range(20):
                    call()
                between = time.perf_counter()
                for _ in range(20_000):
                    pass
                best["call"] = min(best["call"], (between - start) / 20)
                best["step"] = min(best["step"], (time.perf_counter() - between) / 20_000)
            steps = best["call"] / best["step"]
            print(f"{name}: {best['call'] * 1e6:.1f} us, {steps:.0f} steps of an empty loop")
            self.assertLess(steps, 1500)

    def test_flags_are_bytes_and_bytes_no_flags(self):
        self.check_flags(*(torch.Tensor((5, 16), dtype, "cuda:0") for dtype in (torch.bool, torch.int8)))


if __name__ == "__main__":
    unittest.main()
