"""Fails unless NAME.npy and o_NAME.npy hold the same in the directory argv[1]."""

import sys

import numpy

for name in sys.argv[2:]:
    before = numpy.load(f"{sys.argv[1]}/{name}.npy")
    after = numpy.load(f"{sys.argv[1]}/o_{name}.npy")
    assert before.dtype == after.dtype, (name, before.dtype, after.dtype)
    assert before.shape == after.shape, (name, before.shape, after.shape)
    assert before.tobytes() == after.tobytes(), name
