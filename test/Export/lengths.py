# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/lengths.mlir -entry=full -name=full -o %t
# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/lengths.mlir -entry=causal -name=causal -o %t
# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/lengths.mlir -entry=documents -name=documents -o %t
# RUN: %python %s %fake_cuda %t
"""Of a function of several kernels those are launched that its number of keys asks for, and no other is prepared."""

import contextlib
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from compiled import CompiledTest, DeviceArray, dense


class Lengths(CompiledTest):
    def load_kernel(self, name):
        return contextlib.closing(self.load(name)[1])

    def launched(self, kernel, keys, *more):
        """The names and grids of what a call launches, on two batch items of 150 queries and two heads."""
        arrays = [DeviceArray(self.base + (number << 24), dtype, shape, dense(shape))
                  for number, (dtype, shape) in enumerate((
                      ("bf16", (2, 150, 2, 64)), ("bf16", (2, keys, 2, 64)), ("bf16", (2, keys, 2, 64)),
                      ("bf16", (2, 150, 2, 64)), ("f32", (2, 2, 150)), *more))]
        before = self.driver.GetLaunchCount()
        kernel(*arrays[:3], *arrays[5:], output=arrays[3], lse=arrays[4])
        launches = [self.driver.library.fakeGetLaunch(i).contents for i in range(before, self.driver.GetLaunchCount())]
        return [(launch.kernel.decode(), launch.grid[0]) for launch in launches]

    def test_two(self):
        with self.load_kernel("full") as kernel:
            for keys in (1, 299, 300, 5000):
                name = "full_kernel" if keys >= 300 else "full_kernel_0"
                self.assertEqual(self.launched(kernel, keys), [(name, 8)])

    def test_what_is_not_launched_is_not_loaded(self):
        with self.load_kernel("full") as kernel:
            self.launched(kernel, 299)
            self.assertEqual(self.driver.GetCalls(b"cuModuleGetFunction"), 1)
            self.launched(kernel, 300)
            self.assertEqual(self.driver.GetCalls(b"cuModuleGetFunction"), 2)

    def test_three_of_other_blocks(self):
        with self.load_kernel("causal") as kernel:
            lengths = ("i32", (2,))
            # Blocks of 64 queries up to 99 keys, of 128 from 100.
            self.assertEqual(self.launched(kernel, 99, lengths)[0][1], 12)
            short, = {self.launched(kernel, keys, lengths)[0] for keys in (1, 99)}
            middle, = {self.launched(kernel, keys, lengths)[0] for keys in (100, 399)}
            long, = {self.launched(kernel, keys, lengths)[0] for keys in (400, 9999)}
            self.assertEqual([grid for _, grid in (short, middle, long)], [12, 8, 8])
            self.assertEqual(len({short[0], middle[0], long[0]}), 3)

    def test_tables(self):
        with self.load_kernel("documents") as kernel:
            found = []
            for keys in (299, 300):
                launches = self.launched(kernel, keys, ("i32", (2, keys)))
                self.assertEqual(["block_table" in name for name, _ in launches], [True, False])
                found += [name for name, _ in launches]
            self.assertEqual(len(set(found)), 4)


unittest.main()
