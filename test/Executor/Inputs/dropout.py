#!/usr/bin/env python3
"""fa.dropout and attention with it against numpy, whose generator is held to Random123's published vectors, for any blocks and splits."""

import argparse
import os
import random
import secrets
import sys

import numpy as np
from gradient_problems import dropout_factors, dropout_numbers, philox, typed
from gradients import Runner

# Salmon et al., Random123 1.14, kat_vectors: philox4x32 10. Counter, key, result.
VECTORS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]
LARGEST = 2**62


def known_answers():
    """The generator that the numbers of pairs are compared with is Random123's."""
    for counter, key, words in VECTORS:
        got = [int(word) for word in philox(counter, key)]
        if got != words:
            return f"counter {counter}: {got}, expected {words}"
    return ""


def places(runner, rng):
    """The factors of 16 x 32 pairs anywhere, for a p that one number is equal to, and for the next larger p."""
    first = [rng.getrandbits(rng.choice([3, 17, 31])) for _ in range(4)]
    first[1] %= 65536
    seed, offset = rng.getrandbits(64) - 2**63, rng.getrandbits(63)
    at = np.ogrid[tuple(slice(n, n + size) for n, size in zip(first, (1, 1, 16, 32)))]
    u = dropout_numbers(seed % 2**64, offset, at)[0, 0] / 2.0**16
    text = f"""func.func @main(%p: f32) -> tensor<16x32xf32> {{
      %b0 = arith.constant {first[0]} : index
      %h0 = arith.constant {first[1]} : index
      %i0 = arith.constant {first[2]} : index
      %j0 = arith.constant {first[3]} : index
      %n = arith.constant {LARGEST} : index
      %seed = arith.constant {seed} : i64
      %offset = arith.constant {offset} : i64
      %f = fa.apply sizes() offsets(%b0, %h0, %i0, %j0) extents(%n, %n)
          pairs(%b, %h, %i, %j) captures(%ps = %p : f32, %s = %seed : i64, %o = %offset : i64) {{
        %x = fa.dropout %ps, %s, %o at(%b, %h, %i, %j)
        fa.yield %x : f32
      }} -> tensor<16x32xf32>
      return %f : tensor<16x32xf32>
    }}"""
    own = u[rng.randrange(16), rng.randrange(32)]
    for p in (own, own + 2.0**-16):
        got, = runner.run(text, [f"f32={float(p)!r}"], 1)
        want = np.where(u < p, 0, 1 / (1 - min(p, 0.9999999)))
        if not np.allclose(got, want, rtol=1e-6):
            return f"{text}\np {p}: factors differ at {np.argwhere(~np.isclose(got, want, rtol=1e-6))[0]}"
    return ""


def distribution(rng):
    """Numbers of 2^20 pairs are uniform, and neighbours along each index are independent."""
    seed, offset = rng.getrandbits(64), rng.getrandbits(63)
    u = dropout_numbers(seed, offset, np.ogrid[:4, :4, :256, :256]) / 2.0**16
    # In standard deviations: a fair generator is beyond 6 once in 10^9.
    most = {"mean": (u.mean() - 0.5 + 2.0**-17) * np.sqrt(12 * u.size)}
    kept = (u >= 0.1) - 0.9
    most["kept"] = kept.mean() * np.sqrt(u.size / 0.09)
    for axis in range(4):
        for distance in (1, 2, 8, 16):
            if distance < u.shape[axis]:
                a, b = np.split(kept, [distance], axis)[1], np.split(kept, [u.shape[axis] - distance], axis)[0]
                most[f"axis {axis}, distance {distance}"] = (a * b).mean() / 0.09 * np.sqrt(a.size)
    return "".join(f"seed {seed}, offset {offset}: {name} is off by {x} deviations\n" for name, x in most.items() if abs(x) > 6)


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
    errors = [known_answers(), distribution(random.Random(seed))]
    for case in range(options.cases):
        errors.append(places(runner, random.Random(seed * 1000 + case)))
        errors.append(attention(runner, random.Random(seed * 1000 + case)))
    errors = [error for error in errors if error]
    print("\n".join(errors))
    print(f"{len(errors)} failed")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
