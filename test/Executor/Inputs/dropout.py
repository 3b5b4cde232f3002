#!/usr/bin/env python3
"""fa.dropout against Random123's published vectors, and attention with dropout against formulas in numpy, for any blocks and splits."""

import argparse
import os
import random
import secrets
import sys

import numpy as np
from gradient_problems import dropout_factors, typed
from gradients import Runner

# Salmon et al., Random123 1.14, kat_vectors: philox4x32 10. Counter, key, result.
VECTORS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]
LARGEST = 2**62


def known_answers(runner):
    """The four words at a place: each is kept with p = u, and dropped with the next larger number."""
    for counter, key, words in VECTORS:
        place = [counter[2] >> 16, counter[2] & 0xFFFF, counter[1], 4 * counter[0]]
        seed = key[1] << 32 | key[0]
        text = f"""func.func @main(%p0: f32, %p1: f32, %p2: f32, %p3: f32) -> tensor<1x4xf32> {{
          %b0 = arith.constant {place[0]} : index
          %h0 = arith.constant {place[1]} : index
          %i0 = arith.constant {place[2]} : index
          %j0 = arith.constant {place[3]} : index
          %n = arith.constant {LARGEST} : index
          %seed = arith.constant {seed - (seed >> 63 << 64)} : i64
          %offset = arith.constant {counter[3]} : i64
          %f = fa.apply sizes() offsets(%b0, %h0, %i0, %j0) extents(%n, %n)
              pairs(%b, %h, %i, %j) captures(%c0 = %p0 : f32, %c1 = %p1 : f32, %c2 = %p2 : f32, %c3 = %p3 : f32, %s = %seed : i64, %o = %offset : i64) {{
            %one = arith.constant 1 : index
            %two = arith.constant 2 : index
            %zero = arith.constant 0 : index
            %low = arith.andi %j, %one : index
            %high = arith.andi %j, %two : index
            %odd = arith.cmpi ne, %low, %zero : index
            %upper = arith.cmpi ne, %high, %zero : index
            %pa = arith.select %odd, %c1, %c0 : f32
            %pb = arith.select %odd, %c3, %c2 : f32
            %p = arith.select %upper, %pb, %pa : f32
            %x = fa.dropout %p, %s, %o at(%b, %h, %i, %j)
            fa.yield %x : f32
          }} -> tensor<1x4xf32>
          return %f : tensor<1x4xf32>
        }}"""
        upper = np.array([word >> 8 for word in words], np.float64) / 2.0**24
        for p, is_kept in ((upper, True), (upper + 2.0**-24, False)):
            got, = runner.run(text, [f"f32={x!r}" for x in p.tolist()], 1)
            want = 1 / (1 - p) if is_kept else np.zeros(4)
            if not np.allclose(got, want, rtol=1e-6):
                return f"counter {counter}: {got}, expected {want}"
    return ""


def attention(runner, rng):
    g = np.random.default_rng(rng.getrandbits(32))
    b, hk, group, n, m, d = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 150), rng.randint(1, 200), 16
    p, seed, offset = float(np.float32(rng.uniform(0, 0.8))), rng.getrandbits(64) - 2**63, rng.getrandbits(63)
    q, k, v = (g.standard_normal(shape).astype(np.float32) for shape in ((b, n, hk * group, d), (b, m, hk, d), (b, m, hk, d)))
    o, row, i64 = typed(q, "f32"), f"tensor<{b}x{hk * group}x{n}xf32>", "tensor<i64>"
    config = f"{{config = #fa.config<query_block = {rng.choice([16, 48, 128])}, key_block = {rng.choice([16, 40, 96])}, " \
             f"key_splits = {rng.choice([1, 3])}>}}" if runner.target == "cpu" else ""
    text = f"""func.func @main(%q: {o}, %k: {typed(k, "f32")}, %v: {typed(v, "f32")}, %seed: {i64}, %offset: {i64}) -> ({o}, {row}) {{
      %o = tensor.empty() : {o}
      %l = tensor.empty() : {row}
      %p = arith.constant {p!r} : f32
      %r:2 = fa.attention ins(%q, %k, %v : {o}, {typed(k, "f32")}, {typed(v, "f32")}) outs(%o, %l : {o}, {row})
          mask causal dropout(%p, %seed, %offset : f32, {i64}, {i64}) {config}
      return %r#0, %r#1 : {o}, {row}
    }}"""
    got, lse = runner.run(text, [q, k, v, np.array(seed), np.array(offset)], 2)
    q, k, v = (array.astype(np.float64) for array in (q, np.repeat(k, group, 2), np.repeat(v, group, 2)))
    at = np.ogrid[:b, :hk * group, :n, :m]
    x = np.where(at[3] <= at[2] + m - n, np.einsum("bihd,bjhd->bhij", q, k) / 4, -np.inf)
    with np.errstate(all="ignore"):
        want_lse = np.log(np.exp(x).sum(-1))
        weights = np.where(np.isfinite(want_lse)[..., None], np.exp(x - want_lse[..., None]), 0)
    factors = dropout_factors(p, seed % 2**64, offset, at)
    want = np.einsum("bhij,bjhe->bihe", weights * factors, v)
    norm = np.linalg.norm(np.einsum("bhij,bjhe->bihe", weights * factors, np.abs(v)))
    error = np.linalg.norm(got - want)
    is_equal = np.allclose(lse, want_lse, atol=1e-5, rtol=0)
    return "" if error <= 2e-6 * norm and is_equal else f"{text}\noutput differs by {error} of {norm}, lse is {'right' if is_equal else 'wrong'}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="fa-run")
    parser.add_argument("--target", default="reference", choices=["reference", "cpu"])
    parser.add_argument("--cases", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbits(32))
    print(f"{options.cases} cases, seed {seed}")
    runner = Runner(options.program, options.target, chip=None)
    errors = [known_answers(runner)]
    for case in range(options.cases):
        errors.append(attention(runner, random.Random(seed * 1000 + case)))
    errors = [error for error in errors if error]
    print("\n".join(errors))
    print(f"{len(errors)} failed")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
