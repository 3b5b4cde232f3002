# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/captured-bits.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""A captured tensor of i1 takes bytes that are 0 or 1, which integers of 8 bits need not be."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray


class Bits(CompiledTest):
    def launch(self, dtype):
        _, kernel = self.load("captured-bits")
        operands = [DeviceArray(self.base + (number << 24), "f16", (2, 70, 2, 64)) for number in range(4)]
        visible = DeviceArray(self.base + (4 << 24), dtype, (2, 70, 70))
        try:
            kernel(*operands[:3], visible, output=operands[3])
        finally:
            kernel.close()

    def test_flags(self):
        self.launch("i1")
        # The table of key blocks and the attention.
        self.assertEqual(self.driver.GetLaunchCount(), 2)

    def test_integers_are_refused(self):
        for dtype in ("i8", "u8"):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "^argument 'visible' has type i8, expected i1$"):
                self.launch(dtype)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "^argument 'visible' has type i32, expected i1$"):
            self.launch("i32")
        self.assertEqual(self.driver.GetLaunchCount(), 0)


unittest.main()
