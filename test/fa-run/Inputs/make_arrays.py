"""Writes an array of each element type into the directory argv[1]."""

import sys

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
# What ml_dtypes writes for bfloat16: two-byte void elements.
bits = ((ramp / 2).astype(numpy.float32).view(numpy.uint32) >> 16).astype("<u2")
save("bf16", bits.view("V2"))
with open(f"{directory}/f16.npy", "rb") as file:
    data = file.read()
with open(f"{directory}/short.npy", "wb") as file:
    file.write(data[:-1])
