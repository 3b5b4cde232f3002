"""Writes an array of each element type into the directory argv[1]."""

import sys

import ml_dtypes
import numpy

directory = sys.argv[1]


def save(name, array):
    numpy.save(f"{directory}/{name}.npy", array)


ramp = numpy.arange(6).reshape(2, 3)
save("f16", (ramp / 2).astype(numpy.float16))
save("f64", numpy.array(0.25))
save("i8", numpy.array([-1, 0, 1], numpy.int8))
save("i1", numpy.array([True, False, True]))
save("i64", numpy.array([1, 2]))
save("fortran", numpy.asfortranarray(ramp.astype(numpy.float32)))
save("complex", ramp.astype(numpy.complex64))
save("bf16", (ramp / 2).astype(ml_dtypes.bfloat16))
with open(f"{directory}/f16.npy", "rb") as file:
    data = file.read()
with open(f"{directory}/short.npy", "wb") as file:
    file.write(data[:-1])
