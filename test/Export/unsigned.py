# RUN: env FA_PTXAS=none fa-compile %S/Inputs/unsigned.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""Unsigned operations and casts compute what their host function does, or the launch is refused."""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest


class Unsigned(CompiledTest):
    def setUp(self):
        super().setUp()
        self.manifest, self.kernel = self.load("unsigned", sizes=(4, 4, 4, 4, 8, 8, 4))

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def test_values(self):
        for n, m, wide in ((7, 2, 5), (0, -4, -9), (9, 9, 2**31 - 10), (2, 1, -(2**31))):
            with self.subTest(n=n, m=m, wide=wide):
                self.kernel(n, m, wide)
                launch = self.driver.last_launch()
                self.assertEqual(launch.kernel, b"kernel")
                quotient, rest = n // 3, (n - m) % 3
                self.assertEqual(launch.parameter(0, ctypes.c_int32), min(n, 8))
                self.assertEqual(launch.parameter(1, ctypes.c_int32), quotient)
                self.assertEqual(launch.parameter(2, ctypes.c_int32), rest)
                self.assertEqual(launch.parameter(3, ctypes.c_int32), m - int(rest < quotient))
                self.assertEqual(launch.parameter(4, ctypes.c_int64), min(n, 8))
                self.assertEqual(launch.parameter(5, ctypes.c_int64), wide)
                self.assertEqual(launch.parameter(6, ctypes.c_int32), wide + min(n, 8))

    def test_negative_numbers_are_refused(self):
        with self.assertRaisesRegex(fa_mlir.Error, "'n' is negative, but 'arith.minui' reads it as unsigned"):
            self.kernel(-1, -2, 0)
        with self.assertRaisesRegex(fa_mlir.Error, "the result of 'arith.subi' is negative, but 'arith.remui' reads it as unsigned"):
            self.kernel(1, 2, 0)

    def test_lost_bits_are_refused(self):
        for wide in (2**31, -(2**31) - 1):
            with self.subTest(wide=wide), self.assertRaisesRegex(fa_mlir.Error, "'wide' does not fit 32 bits"):
                self.kernel(1, 0, wide)
        # What only a parameter takes is checked where it is passed.
        with self.assertRaises(fa_mlir.Error):
            self.kernel(5, 0, 2**31 - 1)

    def test_sums_that_wrap_are_refused(self):
        for n, m, operation in ((0, -(2**31), "subi"), (2**31 - 1, 2**31 - 1, "addi")):
            with self.subTest(n=n, m=m), self.assertRaisesRegex(
                fa_mlir.Error, f"the result of 'arith.{operation}' does not fit 32 bits"
            ):
                self.kernel(n, m, 5)

    def test_each_number_is_checked_once(self):
        messages = [requirement["message"] for requirement in self.manifest["requirements"]]
        self.assertEqual(len([message for message in messages if "negative" in message]), 2)


unittest.main()
