# RUN: env FA_PTXAS=none fa-compile %S/Inputs/host.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""What a manifest computes is what its host function computes."""

import ctypes
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../python/Inputs"))
from device_array import DeviceArray
from fake_driver import FakeDriver

import fa_mlir

DRIVER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)


class HostValues(unittest.TestCase):
    def setUp(self):
        self.driver = FakeDriver(DRIVER)
        self.driver.Reset()
        path = os.path.join(FOLDER, "host.json")
        with open(path) as file:
            manifest = json.load(file)
        # The fake driver's machine code names the kernel and the sizes of its parameters.
        manifest["chip"], manifest["images"] = "sm_90a", {"cubin": "host.fake"}
        with open(os.path.join(FOLDER, "host.fake"), "w") as file:
            file.write("fake-kernel: kernel 128 0 8 8 8 4 4 4 4 4 4 4 8 4 4 8\n")
        with open(os.path.join(FOLDER, "fake.json"), "w") as file:
            json.dump(manifest, file)
        self.runtime = fa_mlir.Runtime(driver=DRIVER)
        self.kernel = fa_mlir.load(os.path.join(FOLDER, "fake.json"), self.runtime)
        self.base = self.driver.library.fakeBase(0)

    def tearDown(self):
        self.kernel.close()
        self.runtime.close()

    def launch(self, rows, n, x):
        self.kernel(DeviceArray(self.base, "f32", (rows, 8), (40, 1)), DeviceArray(self.base + 65536, "i32", (2, 3)), n, x)
        return self.driver.last_launch()

    def test_values(self):
        for rows, n, x in ((1, 0, 1.0), (6, 9, -2.5), (7, 3, 0.25), (8, 3, 0.2), (8, 3, float("nan")), (100, 1, 3.0), (100000, -5, 1e10)):
            with self.subTest(rows=rows):
                launch = self.launch(rows, n, x)
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
