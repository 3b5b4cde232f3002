# RUN: %python %s
# REQUIRES: cuda
"""The launcher on a device: small PTX kernels, no framework.

One class for each thing a launch has: `Numbers` (parameters, and who assembles PTX), `TensorMaps`, `Counters` (streams,
graphs and threads at once), `Resources` and `Errors`. `DeviceTest` allocates arrays for them.
"""

import os
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
import numpy
from cuda_memory import Array, Cuda
from device_array import DeviceArray

import fa_mlir

KERNELS = os.path.join(HERE, "Inputs/kernels")


def setUpModule():
    global cuda, affine, visit, copy
    cuda = Cuda()
    affine, visit, copy = (fa_mlir.load(os.path.join(KERNELS, name + ".json"))
                           for name in ("affine", "visit", "copy"))


class DeviceTest(unittest.TestCase):
    def setUp(self):
        self.arrays = []
        self.random = numpy.random.default_rng()

    def tearDown(self):
        cuda.synchronize()
        for array in self.arrays:
            array.free()

    def array(self, host):
        self.arrays.append(Array(cuda, host))
        return self.arrays[-1]

    def visits(self, tiles):
        return self.array(numpy.zeros(tiles, numpy.int32))

    def expect_visits(self, array, count):
        numpy.testing.assert_array_equal(array.download(), count)


class Numbers(DeviceTest):
    def check(self, kernel, size=1000):
        x = self.random.standard_normal(size).astype(numpy.float32)
        y = self.array(numpy.full(size, numpy.nan, numpy.float32))
        kernel(self.array(x), 2.0, -3, y=y)
        numpy.testing.assert_array_equal(y.download(), x * 2 - 3)

    def test_default_assembler(self):
        for size in (1, 127, 128, 1000, 100003):
            self.check(affine, size)

    def test_assembled_by_the_driver(self):
        before = os.environ.get("FA_PTXAS")
        os.environ["FA_PTXAS"] = "none"
        try:
            kernel = fa_mlir.load(os.path.join(KERNELS, "affine.json"), fa_mlir.Runtime())
            kernel.prepare()
        finally:
            del os.environ["FA_PTXAS"]
            if before is not None:
                os.environ["FA_PTXAS"] = before
        self.check(kernel)


class TensorMaps(DeviceTest):
    def setUp(self):
        super().setUp()
        if cuda.capability() < (9, 0):
            self.skipTest("tensor maps need sm_90")

    def test_dense(self):
        for batch, rows in ((1, 64), (1, 1), (3, 100), (5, 64), (2, 257)):
            source = self.random.standard_normal((batch, rows, 64)).astype(numpy.float16)
            target = self.array(numpy.full_like(source, numpy.nan))
            copy(self.array(source), target=target)
            numpy.testing.assert_array_equal(target.download(), source)

    def test_strided(self):
        """Every other row of every other item, into a corner of a larger tensor."""
        source = self.random.standard_normal((4, 200, 64)).astype(numpy.float16)
        target = numpy.full((3, 150, 64), 7, numpy.float16)
        to = self.array(target)
        copy(self.array(source).view((2, 100, 64), (2 * 200 * 64, 128, 1)),
             target=to.view((2, 100, 64), (150 * 64, 64, 1)))
        target[:2, :100] = source[::2, ::2]
        numpy.testing.assert_array_equal(to.download(), target)

    def test_changing_shapes(self):
        source = self.random.standard_normal((1, 3000, 64)).astype(numpy.float16)
        whole = self.array(source)
        for rows in range(1, 3000, 7):
            target = numpy.zeros((1, 3000, 64), numpy.float16)
            to = self.array(target)
            copy(whole.view((1, rows, 64), (0, 64, 1)), target=to.view((1, rows, 64), (0, 64, 1)))
            target[:, :rows] = source[:, :rows]
            numpy.testing.assert_array_equal(to.download(), target)
            self.arrays.pop().free()


class Counters(DeviceTest):
    """Each launch visits each tile once, whatever runs beside it."""

    def test_streams_at_once(self):
        streams = [cuda.stream() for _ in range(8)]
        arrays = [self.visits(1000) for _ in streams]
        for _ in range(20):
            for stream, array in zip(streams, arrays):
                visit(visits=array, stream=stream)
        for array in arrays:
            self.expect_visits(array, 20)
        for stream in streams:
            cuda.destroy_stream(stream)

    def test_more_streams_than_own_a_counter(self):
        array = self.visits(50)
        for _ in range(5500):
            stream = cuda.stream()
            visit(visits=array, delay=100, stream=stream)
            cuda.destroy_stream(stream)
        self.expect_visits(array, 5500)
        self.assertLessEqual(visit.runtime.workspace_size(), fa_mlir.WORKSPACE_LIMIT)

    def test_graph_with_branches_beside_launches(self):
        main, side, other = cuda.stream(), cuda.stream(), cuda.stream()
        arrays = [self.visits(500) for _ in range(4)]
        with cuda.capture(main) as instances:
            visit(visits=arrays[0], stream=main)
            cuda.fork(main, side)
            visit(visits=arrays[1], stream=main)
            visit(visits=arrays[2], stream=side)
            cuda.fork(side, main)
        for _ in range(30):
            cuda.replay(instances[0], main)
            visit(visits=arrays[3], stream=other)
        for array in arrays:
            self.expect_visits(array, 30)
        cuda.destroy_instance(instances[0])
        visit(visits=arrays[3], stream=main)
        self.expect_visits(arrays[3], 31)
        for stream in (main, side, other):
            cuda.destroy_stream(stream)

    def test_the_first_launch_may_be_captured(self):
        kernel = fa_mlir.load(os.path.join(KERNELS, "visit.json"), fa_mlir.Runtime())
        stream, array = cuda.stream(), self.visits(100)
        with cuda.capture(stream) as instances:
            kernel(visits=array, stream=stream)
            kernel(visits=array, stream=stream)
        for _ in range(3):
            cuda.replay(instances[0], stream)
        self.expect_visits(array, 6)
        cuda.destroy_instance(instances[0])
        cuda.destroy_stream(stream)

    def test_threads(self):
        """New threads have no current context."""
        arrays = [self.visits(200) for _ in range(4)]
        streams = [cuda.stream() for _ in arrays]
        errors = []

        def work(stream, array):
            try:
                for _ in range(100):
                    visit(visits=array, delay=100, stream=stream)
            except Exception as error:  # noqa: BLE001 a thread's error would be lost
                errors.append(error)

        threads = [threading.Thread(target=work, args=pair) for pair in zip(streams, arrays)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for array in arrays:
            self.expect_visits(array, 100)
        for stream in streams:
            cuda.destroy_stream(stream)


class Resources(DeviceTest):
    def test_many_launches_take_no_memory(self):
        array = self.visits(10000)
        visit(visits=array, delay=0)
        cuda.synchronize()
        free = cuda.free_bytes()
        for i in range(10000):
            tiles = 1 + i * 7919 % 10000
            visit(visits=array.view((tiles,), (1,)), delay=0)
        cuda.synchronize()
        self.assertEqual(cuda.free_bytes(), free)
        count = sum(array.download().astype(numpy.int64))
        self.assertEqual(count, 10000 + sum(1 + i * 7919 % 10000 for i in range(10000)))


class Errors(DeviceTest):
    def expect(self, message, kernel, *inputs, **named):
        with self.assertRaisesRegex(fa_mlir.Error, message):
            kernel(*inputs, **named)
        array = self.visits(100)
        visit(visits=array)
        self.expect_visits(array, 1)

    def test_arguments(self):
        x = self.array(numpy.zeros(1000, numpy.float32))
        host = DeviceArray(x.host.ctypes.data, "f32", (1000,), device_type=1)
        self.expect("argument 'x' is on a device of DLPack type 1, expected CUDA", affine, host, y=x)
        self.expect("argument 'y' has dim 0 .n. of size 500, expected 1000", affine, x,
                    y=x.view((500,), (1,)))
        self.expect("has type i32, expected f32", affine, self.visits(1000), y=x)
        self.expect("has stride 2 in dim 0, expected 1", affine, x.view((500,), (2,)),
                    y=x.view((500,), (1,)))

    def test_tensor_maps(self):
        if cuda.capability() < (9, 0):
            self.skipTest("tensor maps need sm_90")
        source = self.array(numpy.zeros(100000, numpy.float16))
        target = source.view((1, 64, 64), (4096, 64, 1))
        self.expect("is at address 0x.*, which is no multiple of 16 bytes", copy,
                    source.view((1, 64, 64), (4096, 64, 1), offset=4), target=target)
        self.expect("has a stride of 136 bytes, expected a multiple of 16", copy,
                    source.view((1, 64, 64), (4096, 68, 1)), target=target)

    def test_grid(self):
        # The address is never used.
        x = self.array(numpy.zeros(4, numpy.float32)).view((1 << 39,), (1,))
        self.expect("needs a grid of 4294967296 blocks in dim 0; .* allows 0 to 2147483647",
                    affine, x, y=x)


if __name__ == "__main__":
    unittest.main()
