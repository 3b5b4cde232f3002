# RUN: %python %s %fake_cuda %t
"""Kernels on tensors with __dlpack__, and no torch.

`LaunchTest` (Inputs/launch_test.py) makes a kernel on the fake driver. First what a launch passes, then streams, then
errors in the order in which a caller meets them: of arguments, of calls, of the driver, of loading.
"""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from device_array import DeviceArray
from launch_test import DRIVER, FOLDER, LaunchTest

import fa_mlir
from fa_mlir.runtime import find_capability


class LaunchDLPack(LaunchTest):
    def tensors(self, rows=5):
        return (DeviceArray(self.base, "bf16", (rows, 16), (64, 1)),
                DeviceArray(self.base + 4096, "f32", (rows, 8)))

    def test_passes_addresses_shapes_strides_and_numbers(self):
        x, y = self.tensors()
        self.assertIs(self.kernel(x, 1.5, 7, y=y), y)
        launch = self.driver.last_launch()
        self.assertEqual(launch.kernel, b"scale")
        self.assertEqual(list(launch.grid), [5, 1, 1])
        self.assertEqual(list(launch.block), [128, 1, 1])
        self.assertEqual(launch.stream, 1, "the legacy default stream")
        self.assertEqual(launch.parameter(0, ctypes.c_uint64), self.base)
        self.assertEqual(launch.parameter(1, ctypes.c_uint64), self.base + 4096)
        self.assertEqual(launch.parameter(2, ctypes.c_float), 1.5)
        self.assertEqual(launch.parameter(3, ctypes.c_int32), 7)
        self.assertEqual(launch.parameter(4, ctypes.c_int64), 64)
        self.assertEqual(x.streams, [1], "what DLPack calls that stream")

    def test_capability(self):
        """The driver's word, where no torch is loaded."""
        self.assertEqual(find_capability(0, DRIVER), (9, 0))
        with self.assertRaisesRegex(fa_mlir.Error, "no device 77"):
            find_capability(77, DRIVER)
        with self.assertRaisesRegex(fa_mlir.Error, "cannot open '/no/driver': No such file"):
            find_capability(0, "/no/driver")

    def test_defaults_and_names(self):
        x, y = self.tensors()
        self.kernel(x, y=y, shift=-3)
        launch = self.driver.last_launch()
        self.assertEqual(launch.parameter(2, ctypes.c_float), 2.5)
        self.assertEqual(launch.parameter(3, ctypes.c_int32), -3)

    def test_byte_offset_and_dense_strides(self):
        x = DeviceArray(self.base, "bf16", (5, 16), offset=32)
        self.kernel(x, y=self.tensors()[1])
        launch = self.driver.last_launch()
        self.assertEqual(launch.parameter(0, ctypes.c_uint64), self.base + 32)
        self.assertEqual(launch.parameter(4, ctypes.c_int64), 16)

    def test_streams(self):
        x, y = self.tensors()
        handle = self.driver.library.fakeCreateStream()

        class TorchLike:
            cuda_stream = handle

        class Protocol:
            def __cuda_stream__(self):
                return 0, handle

        for stream in (handle, TorchLike(), Protocol()):
            self.kernel(x, y=y, stream=stream)
            self.assertEqual(self.driver.last_launch().stream, 100)
        self.assertEqual(x.streams, [handle] * 3)
        with self.assertRaisesRegex(TypeError, "expected a stream .*, got str"):
            self.kernel(x, y=y, stream="fast")
        self.driver.DestroyStream(ctypes.c_void_p(handle))

    def call(self):
        x, y = self.tensors()
        self.kernel(x, y=y)

    def test_errors_of_arguments(self):
        x, y = self.tensors()
        base = self.base
        self.expect("argument 'x' has type f16, expected bf16",
                    DeviceArray(base, "f16", (5, 16)), y=y)
        self.expect("argument 'x' has type an unknown type, expected bf16",
                    DeviceArray(base, "complex", (5, 16)), y=y)
        self.expect("argument 'x' has rank 3, expected 2", DeviceArray(base, "bf16", (5, 1, 16)), y=y)
        self.expect("argument 'x' has rank 7, expected 2", DeviceArray(base, "bf16", (1,) * 7), y=y)
        self.expect("argument 'y' has dim 0 (rows) of size 4, expected 5, as dim 0 of argument 'x'",
                    x, y=DeviceArray(base, "f32", (4, 8)))
        self.expect("argument 'x' has stride 2 in dim 1, expected 1: strides (64, 2)",
                    DeviceArray(base, "bf16", (5, 16), (64, 2)), y=y)
        self.expect(f"argument 'x' is at address {hex(base + 2)}, which is no multiple of 16 bytes",
                    DeviceArray(base + 2, "bf16", (5, 16)), y=y)
        self.expect("argument 'x' is on a device of DLPack type 1, expected CUDA (2)",
                    DeviceArray(4096, "bf16", (5, 16), device_type=1), y=y)
        self.expect("there is no device 3; the driver has 1, the first is 0",
                    DeviceArray(base, "bf16", (5, 16), device=3),
                    y=DeviceArray(base, "f32", (5, 8), device=3))
        self.expect("argument 'x' is a tensor, got list, which has no __dlpack__", [1, 2], y=y)
        self.expect("argument 'factor' is a number of type f32, got str", x, "two", y=y)
        self.expect("argument 'shift' is a number of type i32, got float", x, shift=1.5, y=y)
        self.expect("argument 'shift' is a number of type i32, got 4294967296; expected -2147483648 to 2147483647",
                    x, shift=1 << 32, y=y)
        self.expect("argument 'shift' has the value 36893488147419103232, which does not fit 64 bits",
                    x, shift=1 << 65, y=y)

    def test_errors_of_calls(self):
        x, y = self.tensors()
        self.expect("kernel 'scale' takes 3 inputs, got 4", x, 1, 2, 3, error=TypeError)
        self.expect("kernel 'scale' has no argument 'z'; there are x, y, factor, shift", x, z=1,
                    error=TypeError)
        self.expect("kernel 'scale' got argument 'x' twice", x, x=x, error=TypeError)
        self.expect("kernel 'scale' misses argument 'x'", y=y, error=TypeError)
        self.expect("output 'y' is not given, and torch is not loaded to allocate it", x,
                    error=TypeError)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "takes 4 arguments, got 1"):
            self.kernel.launch(x)

    def test_errors_of_the_driver(self):
        x, y = self.tensors()
        self.driver.Fail(b"cuModuleLoadDataEx", 2, 0, 1)
        with self.assertRaises(fa_mlir.OutOfMemoryError) as caught:
            self.kernel(x, y=y)
        self.assertIsInstance(caught.exception, MemoryError)
        self.assertEqual(caught.exception.kind, "out of memory")
        self.kernel(x, y=y)
        self.driver.Fail(b"cuLaunchKernel", 701, 0, 1)
        with self.assertRaises(fa_mlir.Error) as caught:
            self.kernel(x, y=y)
        self.assertEqual(caught.exception.kind, "launch limit")

    def test_errors_of_loading(self):
        with self.assertRaises(fa_mlir.Error) as caught:
            fa_mlir.load(os.path.join(FOLDER, "none.json"), self.runtime)
        self.assertEqual(caught.exception.kind, "invalid manifest")
        self.assertIn("none.json': No such file", str(caught.exception))
        with self.assertRaises(fa_mlir.Error) as caught:
            fa_mlir.Runtime(driver="/nowhere/libcuda.so.1")
        self.assertEqual(caught.exception.kind, "no driver")
        with self.assertRaisesRegex(ImportError, "cannot open '/nowhere/lib.so': No such file or directory; build the target"):
            fa_mlir.Runtime(library="/nowhere/lib.so")

    def test_workspace(self):
        self.assertEqual(self.runtime.workspace_size(), 0, "no kernel with a counter was launched")
        self.assertLess(fa_mlir.WORKSPACE_LIMIT, 1 << 20)


if __name__ == "__main__":
    unittest.main()
