"""What the tests of launches share: the kernel of fake_driver.py on its driver.

    SCRIPT DRIVER FOLDER

The kernel is written to FOLDER.
"""

import ctypes
import os
import sys
import unittest

from fake_driver import FakeDriver, write_kernel

import fa_mlir

DRIVER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
os.makedirs(FOLDER, exist_ok=True)


class LaunchTest(unittest.TestCase):
    devices = 1

    def setUp(self):
        self.driver = FakeDriver(DRIVER)
        self.driver.Reset()
        self.driver.SetDevices(self.devices, 9, 0)
        self.runtime = fa_mlir.Runtime(driver=DRIVER)
        self.kernel = fa_mlir.load(write_kernel(FOLDER), self.runtime)
        self.base = self.driver.library.fakeBase(0)

    def tearDown(self):
        self.kernel.close()
        self.runtime.close()
        self.assertEqual(self.driver.GetLiveObjects(), 0)

    def call(self):
        """A call that is right."""
        raise NotImplementedError

    def expect(self, message, *arguments, error=fa_mlir.ArgumentError, **named):
        """A call is refused with the message, launches nothing, and the next one works."""
        launches = self.driver.GetLaunchCount()
        with self.assertRaises(error) as caught:
            self.kernel(*arguments, **named)
        self.assertEqual(str(caught.exception), message)
        self.assertEqual(self.driver.GetLaunchCount(), launches)
        self.call()
        self.assertEqual(self.driver.GetLaunchCount(), launches + 1, "the next call works")

    def check_flags(self, flags, numbers):
        """Flags pass for i1 and as bytes for i8, integers of 8 bits for i8 alone. Both are tensors of (5, 16)."""
        def edit(dtype):
            def change(manifest):
                manifest["arguments"][0].update(dtype=dtype, alignment=1)
            return change
        for dtype, taken in (("i1", [flags]), ("i8", [flags, numbers])):
            kernel = fa_mlir.load(write_kernel(FOLDER, edit(dtype)), self.runtime)
            for x in taken:
                kernel(x)
                self.assertEqual(self.driver.last_launch().parameter(0, ctypes.c_uint64), x.data_ptr())
            if numbers not in taken:
                with self.assertRaisesRegex(fa_mlir.ArgumentError, "^argument 'x' has type i8, expected i1$"):
                    kernel(numbers)
            kernel.close()
