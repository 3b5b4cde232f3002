# RUN: env FA_PTXAS=none fa-compile %S/Inputs/host.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""What a manifest computes is what its host function computes."""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray


class HostValues(CompiledTest):
    def setUp(self):
        super().setUp()
        _, self.kernel = self.load("host", sizes=(8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 8, 4, 4, 8))

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launch(self, rows, n, x):
        self.kernel(DeviceArray(self.base, "f32", (rows, 8), (40, 1)), DeviceArray(self.base + 65536, "i32", (2, 3)), n, x)
        return self.driver.last_launch()

    def test_values(self):
        for rows, n, x in ((1, 0, 1.0), (6, 9, -2.5), (7, 3, 0.25), (8, 3, 0.2), (8, 3, float("nan")), (100, 1, 3.0), (100000, -5, 1e10)):
            with self.subTest(rows=rows):
                launch = self.launch(rows, n, x)
                self.assertEqual(launch.kernel, b"kernel")
                quotient, rest = divmod(rows, 7)
                product = (quotient + 8) * rest
                count = self.kernel_multiprocessors()
                self.assertEqual(list(launch.grid), [min(-(-rows // 7), count), 1, 1])
                self.assertEqual(launch.parameter(0, ctypes.c_uint64), self.base)
                self.assertEqual(launch.parameter(1, ctypes.c_int64), 40)
                self.assertEqual(launch.parameter(2, ctypes.c_uint64), self.base + 65536)
                small, odd = rows < 7, rest != 0
                expected = [quotient, rest, product - rows, rows if small or odd else 7, int(small and odd), max(n, rest), n]
                self.assertEqual([launch.parameter(i, ctypes.c_int32) for i in range(3, 10)], expected)
                self.assertEqual(launch.parameter(10, ctypes.c_int64), product)
                if x == x:
                    self.assertEqual(launch.parameter(11, ctypes.c_float), ctypes.c_float(x / 2).value)
                y = x / 2 if 0.25 <= x < 1 else n - x / 2 if -2.5 < x <= 3 else n
                self.assertEqual(launch.parameter(12, ctypes.c_float), ctypes.c_float(y).value)

    def kernel_multiprocessors(self):
        """Of the fake device: a grid that nothing else bounds."""
        return list(self.launch(10**9, 0, 0.0).grid)[0]

    def test_requirement(self):
        with self.assertRaisesRegex(fa_mlir.Error, "there are no rows"):
            self.launch(0, 0, 1.0)


unittest.main()
