# RUN: env FA_PTXAS=none fa-compile %S/Inputs/branches.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""Of a host function with branches a call is refused for what the branches that it takes compute, and for nothing else."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray


class Branches(CompiledTest):
    def setUp(self):
        super().setUp()
        _, self.kernel = self.load("branches")

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launched(self, way, n, d):
        """The kernels of a call and the number that each is passed."""
        return self.launches_of(lambda: self.kernel(way, n, d, DeviceArray(self.base, "f32", (10,))))

    def expect(self, message, *numbers):
        before = self.driver.GetLaunchCount()
        with self.assertRaisesRegex(fa_mlir.Error, message):
            self.launched(*numbers)
        self.assertEqual(self.driver.GetLaunchCount(), before)

    def test_branches(self):
        self.assertEqual(self.launched(1, 6, 2), [("first", 4)])
        self.assertEqual(self.launched(2, 2, 5), [("first", 1), ("second", 3)])
        self.assertEqual(self.launched(0, 5, 1), [("third", 5)])

    def test_what_is_not_taken_is_not_refused(self):
        # A division by 0, and a slice behind the end.
        self.assertEqual(self.launched(0, 7, 0), [("third", 7)])
        self.assertEqual(self.launched(0, 60000, 0), [("third", 60000)])
        # A negative number that is read as unsigned.
        self.assertEqual(self.launched(0, 5, -3), [("third", 5)])
        # A quotient of the inner branch alone: by 0, and one that is large.
        self.assertEqual(self.launched(1, 0, 7), [("first", 1)])
        self.assertEqual(self.launched(1, 2, 100), [("first", 1)])
        # A size of a workspace that leaves 64 bits; no workspace is made.
        self.assertEqual(self.launched(1, 6, 2**40), [("first", 1)])
        calls = self.driver.GetCalls(b"cuMemAllocFromPoolAsync")
        self.assertEqual(self.launched(1, 5, 5), [("first", 2)])
        self.assertEqual(self.driver.GetCalls(b"cuMemAllocFromPoolAsync"), calls)
        self.assertEqual(self.launched(0, 5, 5), [("third", 5)])
        self.assertEqual(self.driver.GetCalls(b"cuMemAllocFromPoolAsync"), calls + 1)

    def test_what_is_taken_is_refused(self):
        self.expect("divides 7 by 0", 1, 7, 0)
        self.expect("'n' is negative, but 'arith.divui' reads it as unsigned", 1, -7, 1)
        self.expect("'d' is negative, but 'arith.divui' reads it as unsigned", 1, 6, -1)
        self.expect("a slice of 'm' is outside of it", 1, 7, 1)
        self.expect("divides 7 by 0", 2, 0, 7)
        self.expect("the quotient is large", 2, 2, 100)
        self.expect("does not fit 64 bits", 0, 5, 2**40)
        self.expect("needs a grid of -1 blocks", 0, -1, 1)
        self.expect("needs a grid of 70000 blocks", 0, 70000, 1)


unittest.main()
