# RUN: env FA_PTXAS=none fa-compile %S/Inputs/gradients.mlir -o %t --chip=sm_90a
# RUN: %python %s %fake_cuda %t
"""Gradients of attention are a manifest of several launches, with memory between them."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray, dense

DIM, ROWS = 64, 64
OF_QUERIES, OF_KEYS = ["batch", "queries", "heads", DIM], ["batch", "keys", "kv_heads", DIM]
SHAPES = {"query": OF_QUERIES, "key": OF_KEYS, "value": OF_KEYS, "output": OF_QUERIES, "lse": ["batch", "heads", "queries"],
          "output_gradient": OF_QUERIES, "query_gradient": OF_QUERIES, "key_gradient": OF_KEYS, "value_gradient": OF_KEYS}


class Gradients(CompiledTest):
    def setUp(self):
        super().setUp()
        self.manifest, self.kernel = self.load("gradients")

    def tearDown(self):
        self.kernel.close()
        super().tearDown()

    def launch(self, **sizes):
        """The kernels of a call and how many blocks each has."""
        shapes = [[sizes.get(size, size) for size in shape] for shape in SHAPES.values()]
        arrays = [DeviceArray(self.base + (number << 24), "f32" if name == "lse" else "bf16", shape, dense(shape))
                  for number, (name, shape) in enumerate(zip(SHAPES, shapes))]
        before = self.driver.GetLaunchCount()
        self.kernel(*arrays[:6], **dict(zip(list(SHAPES)[6:], arrays[6:])))
        launches = [self.driver.library.fakeGetLaunch(i).contents for i in range(before, self.driver.GetLaunchCount())]
        return {launch.kernel.decode(): list(launch.grid) for launch in launches}

    def workspaces(self, **sizes):
        """Bytes of each workspace."""
        values = {f"{name}.dim.{dim}": sizes.get(size, size) for name, shape in SHAPES.items() for dim, size in enumerate(shape)}
        get = lambda operand: values[operand] if isinstance(operand, str) else operand
        compute = {"mul": lambda a, b: a * b, "max": max, "min": min, "ceildiv": lambda a, b: -(-a // b)}
        for value in self.manifest["values"]:
            operands = value["operands"]
            if value["op"] in compute and all(not isinstance(operand, str) or operand in values for operand in operands):
                values[value["name"]] = compute[value["op"]](*map(get, operands))
        return [get(workspace["bytes"]) for workspace in self.manifest["workspaces"]]

    def test_arguments(self):
        self.assertEqual({argument["name"]: argument["shape"] for argument in self.manifest["arguments"]}, SHAPES)
        self.assertEqual([argument["name"] for argument in self.manifest["arguments"] if argument.get("output")], list(SHAPES)[6:])

    def test_workspaces(self):
        """Two numbers of each row, and the sums of the gradient of queries, of whole blocks."""
        for batch, queries, heads in ((1, 1, 1), (2, 300, 8), (3, 128, 6)):
            rows = batch * heads * ROWS * -(-queries // ROWS)
            self.assertEqual(self.workspaces(batch=batch, queries=queries, heads=heads, keys=77, kv_heads=heads),
                             [4 * rows, 4 * rows, 4 * rows * DIM])

    def test_launches(self):
        self.assertEqual(self.launch(batch=2, queries=300, heads=4, keys=130, kv_heads=4), {
            "gradients_rows": [2 * 4 * 5, 1, 1], "gradients_all": [2 * 4 * 2, 1, 1], "gradients_sums": [2 * 4 * 5, 1, 1]})
        # Two query heads on a key head.
        self.assertEqual(self.launch(batch=2, queries=300, heads=4, keys=130, kv_heads=2), {
            "gradients_rows": [2 * 4 * 5, 1, 1], "gradients_all_0": [2 * 2 * 2, 1, 1], "gradients_sums": [2 * 4 * 5, 1, 1]})

    def test_sizes_that_differ(self):
        with self.assertRaisesRegex(fa_mlir.Error, "no multiple"):
            self.launch(batch=1, queries=16, heads=3, keys=16, kv_heads=2)
        with self.assertRaisesRegex(fa_mlir.Error, "key heads and 0 query heads"):
            self.launch(batch=1, queries=16, heads=0, keys=16, kv_heads=2)


unittest.main()
