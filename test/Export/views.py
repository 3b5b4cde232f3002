# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/views.mlir -entry=packed -name=packed -o %t
# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/views.mlir -entry=expanded -name=expanded -o %t
# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/views.mlir -entry=memory -name=memory -o %t
# RUN: env FA_PTXAS=none fa-compile %S/../Pipelines/schedule/Inputs/orders.mlir -entry=one_tile -name=head_dims -o %t
# RUN: %python %s %fake_cuda %t
"""A kernel on views of its arguments is launched on their addresses and strides."""

import contextlib
import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import fa_mlir
from compiled import CompiledTest, DeviceArray, kinds_of

TYPES = {"pointer": ctypes.c_uint64, "i64": ctypes.c_int64, "i32": ctypes.c_int32, "f32": ctypes.c_float}


class Views(CompiledTest):
    def launch(self, name, *arguments):
        """The parameters of a launch: (kind, number) each."""
        manifest, loaded = self.load(name)
        with contextlib.closing(loaded) as kernel:
            outputs = {entry["name"]: arguments[number] for number, entry in enumerate(manifest["arguments"])
                       if entry.get("output")}
            inputs = [argument for argument in arguments
                      if not any(argument is output for output in outputs.values())]
            kernel(*inputs, **outputs)
        launch = self.driver.last_launch()
        return [(kind, launch.parameter(index, TYPES[kind])) for index, kind in enumerate(kinds_of(manifest))]

    def check_memory(self, parameters, *expected):
        """Each memory is an address and the strides that the kernel reads."""
        found = [[]]
        for kind, number in parameters:
            if kind == "pointer":
                found.append([number - self.base])
            elif kind == "i64":
                found[-1].append(number)
        for entry in expected:
            self.assertIn(list(entry), [memory[:len(entry)] for memory in found])

    def test_packed(self):
        packed = DeviceArray(self.base, "bf16", (2, 100, 3, 4, 64), (100 * 1024, 1024, 320, 80, 1))
        output = DeviceArray(self.base + (1 << 24), "bf16", (2, 100, 4, 64), (25600, 256, 64, 1))
        parameters = self.launch("packed", packed, output)
        self.check_memory(parameters, *((part * 320 * 2, 100 * 1024, 1024, 80) for part in range(3)))
        self.check_memory(parameters, (1 << 24, 25600, 256, 64))

    def test_expanded(self):
        flat = DeviceArray(self.base, "f16", (2, 100, 768), (80000, 800, 1))
        output = DeviceArray(self.base + (1 << 24), "f16", (2, 60, 2, 128), (60 * 256, 256, 128, 1))
        parameters = self.launch("expanded", flat, 40, 60, output)
        self.check_memory(parameters, (40 * 800 * 2, 80000, 800), (256 * 2, 80000, 800), (512 * 2, 80000, 800))
        with self.assertRaisesRegex(fa_mlir.Error, "a slice of 'qkv' is outside of it"):
            self.launch("expanded", flat, 41, 60, output)
        with self.assertRaisesRegex(fa_mlir.Error, "a slice of 'qkv' is outside of it"):
            self.launch("expanded", flat, -1, 60, output)

    def test_memory(self):
        query = DeviceArray(self.base, "bf16", (2, 2, 2, 70, 64), (17920, 8960, 4480, 64, 1))
        cache = DeviceArray(self.base + (1 << 20), "bf16", (2, 2, 150, 2, 64), (38400, 19200, 128, 64, 1))
        output = DeviceArray(self.base + (1 << 24), "bf16", (2, 70, 4, 64), (17920, 256, 64, 1))
        parameters = self.launch("memory", query, cache, 90, output)
        self.check_memory(parameters, (0, 17920, 4480), (1 << 20, 19200), ((1 << 20) + 38400 * 2, 19200))
        with self.assertRaisesRegex(fa_mlir.Error, "a slice of 'kv' is outside of it"):
            self.launch("memory", query, cache, 151, output)

    def test_head_dims(self):
        """The head dim is contiguous where it stands, and the last one of what the kernel reads."""
        query = DeviceArray(self.base, "f32", (1, 1, 40, 30), (1300, 1300, 1, 42))
        key = DeviceArray(self.base + (1 << 20), "f32", (1, 1, 40, 60), (2400, 2400, 1, 40))
        value = DeviceArray(self.base + (1 << 21), "f32", (1, 1, 40, 60), (2640, 2640, 1, 44))
        output = DeviceArray(self.base + (1 << 24), "f32", (1, 1, 40, 30), (1440, 1440, 1, 48))
        parameters = self.launch("head_dims", query, key, value, output)
        self.check_memory(parameters, (0, 1300, 1300, 42), (1 << 20, 2400, 2400, 40), (1 << 21, 2640, 2640, 44),
                          (1 << 24, 1440, 1440, 48))
        query = DeviceArray(self.base, "f32", (1, 1, 40, 30), (1200, 1200, 30, 1))
        with self.assertRaisesRegex(fa_mlir.Error, "stride"):
            self.launch("head_dims", query, key, value, output)


unittest.main()
