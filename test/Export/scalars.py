# RUN: env FA_PTXAS=none fa-compile %S/Inputs/scalars.mlir -o %t
# RUN: FileCheck %s --input-file=%t/scalars.ptx
# CHECK: .u8 kernel_param_0,
# CHECK-NEXT: .u8 kernel_param_1,
# CHECK-NEXT: .u32 kernel_param_2,
# CHECK-NEXT: .u64 kernel_param_3,
# CHECK-NEXT: .align 2 .b8 kernel_param_4[2],
# CHECK-NEXT: .align 2 .b8 kernel_param_5[2],
# CHECK-NEXT: .f32 kernel_param_6,
# CHECK-NEXT: .f64 kernel_param_7,
# RUN: %python %s %fake_cuda %t
"""Numbers of every type reach a kernel in their types: floats rounded as numpy rounds them, integers that fit."""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
import ml_dtypes
import numpy as np
from compiled import CompiledTest

HALVES = (0.0, -0.0, 0.1, -0.1, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 65504, 65519.99, 65520, 2**-24, 2**-25,
          3 * 2**-26, 1e-41, 3.4e38, float("inf"), float("-inf"))


def bits(number, dtype, as_type):
    with np.errstate(over="ignore"):
        return int(np.array(number, np.float64).astype(dtype).view(as_type))


class Scalars(CompiledTest):
    def setUp(self):
        super().setUp()
        _, self.kernel = self.load("scalars")

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launch(self, flag=0, byte=0, word=0, long=0, half=0.0, brain=0.0, single=0.0, double=0.0):
        self.kernel(flag, byte, word, long, half, brain, single, double)
        return self.driver.last_launch()

    def test_integers(self):
        for flag in (0, 1, True, False):
            launch = self.launch(flag=flag)
            self.assertEqual(launch.parameter(0, ctypes.c_uint8), int(flag))
            self.assertEqual(launch.parameter(9, ctypes.c_int32), int(flag))
        for byte in (-128, -1, 0, 127):
            self.assertEqual(self.launch(byte=byte).parameter(1, ctypes.c_int8), byte)
        launch = self.launch(1, -2, -(2**31), -(2**63))
        self.assertEqual([launch.parameter(0, ctypes.c_uint8), launch.parameter(1, ctypes.c_int8), launch.parameter(2, ctypes.c_int32),
                          launch.parameter(3, ctypes.c_int64)], [1, -2, -(2**31), -(2**63)])

    def test_floats(self):
        for number in HALVES:
            with self.subTest(number=number):
                launch = self.launch(half=number, brain=number, single=number, double=number)
                half = bits(number, np.float16, np.uint16)
                self.assertEqual(launch.parameter(4, ctypes.c_uint16), half)
                self.assertEqual(launch.parameter(5, ctypes.c_uint16), bits(number, ml_dtypes.bfloat16, np.uint16))
                self.assertEqual(launch.parameter(6, ctypes.c_uint32), bits(number, np.float32, np.uint32))
                self.assertEqual(launch.parameter(7, ctypes.c_double), number)
                # What the host computes of it begins with the rounded number.
                rounded = float(np.array(half, np.uint16).view(np.float16))
                self.assertEqual(launch.parameter(8, ctypes.c_float), rounded)
        launch = self.launch(half=float("nan"), brain=float("nan"))
        for index, dtype in ((4, np.float16), (5, ml_dtypes.bfloat16)):
            self.assertTrue(np.isnan(np.array(launch.parameter(index, ctypes.c_uint16), np.uint16).view(dtype)))

    def test_integers_that_do_not_fit(self):
        for name, value, kind, least, greatest in (("flag", 2, "i1", 0, 1), ("flag", -1, "i1", 0, 1), ("byte", 128, "i8", -128, 127),
                                                   ("byte", -129, "i8", -128, 127), ("word", 2**31, "i32", -(2**31), 2**31 - 1)):
            with self.assertRaisesRegex(fa_mlir.ArgumentError,
                                        f"^argument '{name}' is a number of type {kind}, got {value}; expected {least} to {greatest}$"):
                self.launch(**{name: value})
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'flag' is a number of type i1, got float"):
            self.launch(flag=0.5)


unittest.main()
