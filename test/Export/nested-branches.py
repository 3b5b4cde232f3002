# RUN: env FA_PTXAS=none fa-compile %S/Inputs/nested_branches.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""Of branches in a branch a call is refused for what it takes, be it the condition or a divisor of the inner one."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest


class NestedBranches(CompiledTest):
    def setUp(self):
        super().setUp()
        _, self.kernel = self.load("nested_branches")

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launched(self, *numbers):
        return self.launches_of(lambda: self.kernel(*numbers))

    def test_taken(self):
        self.assertEqual(self.launched(1, 5, 3), [("first", 1)])
        self.assertEqual(self.launched(1, 20, 500), [("first", 1), ("second", 5)])

    def test_outer_branch_not_taken(self):
        # What makes the divisor reads a negative number as unsigned; the condition leaves 64 bits.
        self.assertEqual(self.launched(0, 11, -1), [("second", 0)])
        self.assertEqual(self.launched(0, 2**40, 5), [("second", 0)])

    def test_refused(self):
        for message, *numbers in (("'d' is negative, but 'arith.divui' reads it as unsigned", 1, 11, -1),
                                  ("divides 11 by 0", 1, 11, 5), ("does not fit 64 bits", 1, 2**40, 5)):
            with self.assertRaisesRegex(fa_mlir.Error, message):
                self.launched(*numbers)


unittest.main()
