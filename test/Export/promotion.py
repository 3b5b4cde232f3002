# RUN: env FA_PTXAS=none fa-compile %S/Inputs/promotion.mlir -entry=host -name=promotion -o %t
# RUN: %python %s %fake_cuda %t
"""What a copy says of the L2 cache is what its tensor map is encoded with."""

import contextlib
import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from compiled import CompiledTest, DeviceArray, dense


class TensorMap(ctypes.Structure):
    """That of unittests/Runtime/FakeCUDA.h."""

    _fields_ = [("address", ctypes.c_uint64), ("sizes", ctypes.c_uint64 * 5), ("strides", ctypes.c_uint64 * 4),
                ("box", ctypes.c_uint32 * 5), ("type", ctypes.c_uint8), ("rank", ctypes.c_uint8),
                ("swizzle", ctypes.c_uint8), ("promotion", ctypes.c_uint8)]


class Promotion(CompiledTest):
    def test_promotion(self):
        manifest, loaded = self.load("promotion")
        stated = [parameter["l2_promotion"] for parameter in manifest["parameters"]]
        # The store fetches nothing.
        self.assertEqual(stated, [0, 64, 128, 256, 128])
        arrays = [DeviceArray(self.base + (number << 20), "bf16", (64, 64), dense((64, 64))) for number in range(5)]
        with contextlib.closing(loaded) as kernel:
            kernel(*arrays[:-1], **{manifest["arguments"][-1]["name"]: arrays[-1]})
        launch = self.driver.last_launch()
        maps = [TensorMap.from_buffer_copy(bytes(launch.parameters), launch.offsets[index]) for index in range(5)]
        self.assertEqual([each.address for each in maps], [self.base + (number << 20) for number in range(5)])
        # The driver numbers none, 64, 128 and 256 bytes from 0 on.
        self.assertEqual([each.promotion for each in maps], [(0, 64, 128, 256).index(bytes) for bytes in stated])


if __name__ == "__main__":
    unittest.main()
