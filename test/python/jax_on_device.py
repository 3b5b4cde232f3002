"""fa_mlir.jax.attention on a GPU, against the definition in float64: results, gradients, jit.

    python test/python/jax_on_device.py

A gradient that the compiler has no GPU form for counts as "no form", by name. The last
line has the counts.
"""

import importlib.util
import os
import sys
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["FA_TEST_PLATFORM"] = "cuda"

import jax
import jax.numpy as jnp
import numpy

spec = importlib.util.spec_from_file_location("jax_attention", Path(__file__).with_name("jax_attention.py"))
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

import fa_mlir
from fa_mlir.jax import attention

BOUNDS = {"bfloat16": 6e-3, "float16": 1e-3, "float32": 2e-6}
COUNTS = {"passed": 0, "failed": 0, "no form": 0}


def find_error(got, expected):
    got, expected = (numpy.asarray(array, "float64") for array in (got, expected))
    return numpy.linalg.norm(got - expected) / max(numpy.linalg.norm(expected), 1e-30)


def check(name, dtype, make_options, sizes):
    inputs = reference.make_inputs(dtype=dtype, **sizes)
    options = make_options(sizes)
    call = jax.jit(lambda *operands: attention(*operands, return_lse=True, **options))
    (got, lse), pull = jax.vjp(call, *inputs)
    (expected, expected_lse), pull_expected = jax.vjp(lambda *operands: reference.expect(*operands, **options), *inputs)
    errors = {"output": find_error(got, expected), "lse": find_error(lse, expected_lse)}
    assert errors["output"] < BOUNDS[dtype] and errors["lse"] < 1e-3, errors
    weights = [reference.draw(*array.shape) for array in (got, lse)]
    found = pull(tuple(weight.astype(array.dtype) for weight, array in zip(weights, (got, lse))))
    right = pull_expected(tuple(weight.astype(got.dtype if i == 0 else "float32").astype("float64")
                                for i, weight in enumerate(weights)))
    for place, one, other in zip(("query", "key", "value"), found, right):
        # Those of the reference are rounded to the type of the operands.
        assert find_error(one, other) < 3 * BOUNDS[dtype] + (dtype != "float32") * 4e-3, (place, find_error(one, other))


def main():
    print(f"seed {reference.SEED}, jax {jax.__version__}, {jax.devices()}, torch {'torch' in sys.modules}")
    size = dict(batch=2, queries=100, keys=140, heads=4, key_heads=2, head_dim=64)
    cases = {"full": lambda sizes: {}, "causal": lambda sizes: {"causal": "bottom_right"},
             "window, softcap": lambda sizes: {"causal": "bottom_right", "window": (33, 0), "softcap": 2.0},
             "lengths": lambda sizes: {"key_lengths": jnp.array([140, 77], "int32")},
             "score": lambda sizes: {"score": lambda s, b, h, i, j: s + 0.01 * (i - j)},
             "mask": lambda sizes: {"mask": lambda b, h, i, j: (i + j) % 3 > 0}}
    for dtype in BOUNDS:
        for name, make_options in cases.items():
            try:
                check(name, dtype, make_options, size)
                COUNTS["passed"] += 1
            except Exception as error:
                is_refused = isinstance(error, fa_mlir.UnsupportedError) or "which is not supported" in str(error)
                COUNTS["no form" if is_refused else "failed"] += 1
                print(f"{'no form' if is_refused else 'FAILED'}: {dtype}, {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    before = fa_mlir.stats()["compilations"]
    for length in 64, 200, 333:
        inputs = reference.make_inputs(1, length, length, 4, 2, 64, "bfloat16")
        jax.jit(lambda *operands: attention(*operands, causal="bottom_right"))(*inputs).block_until_ready()
    assert fa_mlir.stats()["compilations"] == before, "lengths compiled kernels"
    print(f"{COUNTS['no form']} without a GPU form\n{COUNTS['passed']} passed, {COUNTS['failed']} failed")
    return COUNTS["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
