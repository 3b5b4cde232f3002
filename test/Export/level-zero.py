# RUN: env FA_PTXAS=none fa-compile %S/Inputs/level_zero.mlir -o %t
# RUN: %python %s %fake_cuda %t
"""A kernel that was compiled from level 0 is launched on what its problem's sizes ask for."""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray, dense


class LevelZero(CompiledTest):
    def setUp(self):
        super().setUp()
        self.manifest, self.kernel = self.load("level_zero")

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launch(self, batch, queries, keys, heads, kv_heads):
        self.arrays = [
            DeviceArray(self.base + (number << 24), dtype, shape, dense(shape))
            for number, (dtype, shape) in enumerate((
                ("f16", (batch, queries, heads, 64)), ("f16", (batch, keys, kv_heads, 64)),
                ("f16", (batch, keys, kv_heads, 64)), ("f16", (batch, queries, heads, 64)),
                ("f32", (batch, heads, queries))))]
        self.kernel(*self.arrays[:3], output_2=self.arrays[3], lse=self.arrays[4])
        return self.driver.last_launch()

    def test_grid(self):
        for sizes in ((1, 1, 1, 1, 1), (2, 300, 77, 8, 2), (3, 128, 4096, 6, 6)):
            with self.subTest(sizes=sizes):
                batch, queries, _, heads, _ = sizes
                self.assertEqual(list(self.launch(*sizes).grid), [batch * heads * -(-queries // 128), 1, 1])

    def test_parameters(self):
        launch = self.launch(2, 300, 77, 8, 2)
        self.assertEqual(launch.kernel, b"cross_kernel")
        addresses = {argument["name"]: self.base + (number << 24)
                     for number, argument in enumerate(self.manifest["arguments"])}
        for index, parameter in enumerate(self.manifest["parameters"]):
            (kind, value), = parameter.items()
            if kind == "pointer":
                self.assertEqual(launch.parameter(index, ctypes.c_uint64), addresses[value])
            elif value == "key_cache.stride.1":
                self.assertEqual(launch.parameter(index, ctypes.c_int64), 2 * 64)

    def test_sizes_that_differ(self):
        with self.assertRaisesRegex(fa_mlir.Error, "no multiple"):
            self.launch(1, 16, 16, 3, 2)


unittest.main()
