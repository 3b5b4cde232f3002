#!/usr/bin/env python3
"""Runs what fagpu.dropout is lowered to, for all threads of a group at once in numpy, and compares each pair with Philox.

The kernel stores a one for each pair that is kept. Its text is straight: scalars, byte permutations, shuffles, stores.
Read `check` for one case: `make_text` writes the kernel, `run` evaluates the lowered text line by line.
"""

import os
import random
import re
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Executor" / "Inputs"))
from gradient_problems import philox, pick_numbers  # noqa: E402

WORD = np.uint64(0xFFFFFFFF)
THREADS = 128


def make_text(rows, columns, kind):
    acc = f"tensor<{rows}x{columns}xf32, #fagpu.acc<4>>"
    bits = acc.replace("f32", "i1")
    halves = acc.replace("f32", "f16")
    chosen = f"%x = arith.select %kept, %one, %zero : {bits}, {acc}"
    if "halves" in kind:
        kind = kind.replace("halves", "")
        chosen = f"""%a = arith.truncf %one : {acc} to {halves}
        %b = arith.truncf %zero : {acc} to {halves}
        %y = arith.select %kept, %a, %b : {bits}, {halves}
        %x = arith.extf %y : {halves} to {acc}"""
    return f"""func.func @k(%out: memref<{rows}x{columns}xf32>, %t: i32, %w0: i32, %w1: i32, %c2: i32, %c3: i32, %i: i32, %j: i32)
        attributes {{fagpu.kernel = "sm_80"}} {{
      fagpu.role @only groups(1) {{
        %zero = arith.constant dense<0.0> : {acc}
        %one = arith.constant dense<1.0> : {acc}
        %c0 = arith.constant 0 : i32
        %kept = fagpu.dropout %t words(%w0, %w1) counter(%c2, %c3) at(%i, %j) {kind} : {bits}
        {chosen}
        fagpu.store %x, %out[%c0, %c0] : {acc} into memref<{rows}x{columns}xf32>
      }}
      return
    }}"""


def permute(low, high, selector):
    """PTX's prmt.b32."""
    result = np.zeros_like(low)
    for place in range(4):
        chosen = selector >> np.uint64(4 * place) & np.uint64(15)
        byte = (low | high << np.uint64(32)) >> np.uint64(8) * (chosen & np.uint64(7)) & np.uint64(255)
        signs = np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0))
        result |= np.where(chosen & np.uint64(8), signs, byte) << np.uint64(8 * place)
    return result


ARITHMETIC = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b, "shli": lambda a, b: a << b, "shrui": lambda a, b: a >> b,
}
COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "ult": np.less, "ule": np.less_equal, "uge": np.greater_equal,
               "ugt": np.greater}


def run(text, arguments, shape):
    """The memory after all threads have run; numbers are words of 32 bits, or of 64 where the text says so."""
    memory = np.full(shape, np.nan)
    values = {f"%arg{i + 1}": np.full(THREADS, value, np.uint64) for i, value in enumerate(arguments)}
    values["%arg0"] = np.zeros(THREADS, np.uint64)
    lane = np.arange(THREADS)

    def cut(value, line):
        return value if line.endswith("i64") else value & WORD

    for line in map(str.strip, text.splitlines()):
        results, _, rest = line.partition(" = ")
        name, operands = rest.split(" ")[0], re.findall(r"%[\w-]+(?:#\d+)?", rest)
        find = [values[operand] for operand in operands if operand in values]
        if line.startswith("llvm.inline_asm"):
            offset = int(re.search(r"\[\$0 \+ (\d+)\]", line)[1]) // 4
            place, first, second = (values[operand] for operand in re.findall(r"%[\w-]+", line.split("~{memory}")[1])[:3])
            flat = memory.reshape(-1)
            flat[place.astype(int) + offset], flat[place.astype(int) + offset + 1] = first, second
        elif not line.startswith("%") or "llvm.mlir.addressof" in rest or "llvm.ptrtoint" in rest:
            continue
        elif name == "nvvm.read.ptx.sreg.tid.x":
            values[results] = lane.astype(np.uint64)
        elif name == "arith.constant":
            number = rest.split(" ")[1]
            is_float = rest.endswith("f32")
            word = 0 if number == "false" else float(number) if is_float else int(number)
            values[results] = np.full(THREADS, word if is_float else word % 2**64, float if is_float else np.uint64)
            if not is_float:
                values[results] = cut(values[results], line)
        elif name == "arith.mului_extended":
            low, high = results.split(", ")
            product = find[0] * find[1]
            values[low], values[high] = product & WORD, product >> np.uint64(32)
        elif name == "nvvm.convert.f32x2.to.f16x2":
            high, low = (half.astype(np.float16).view(np.uint16).astype(np.uint64) for half in find)
            values[results] = high << np.uint64(16) | low
        elif name == "llvm.bitcast":
            values[results] = find[0]
        elif name == "llvm.extractelement":
            values[results] = find[0] >> np.uint64(16) * find[1] & np.uint64(0xFFFF)
        elif name == "arith.extf":
            values[results] = find[0].astype(np.uint16).view(np.float16).astype(float)
        elif name == "arith.trunci":
            values[results] = find[0] & np.uint64(1)
        elif name == "arith.cmpi" and " slt," in rest:
            values[results] = np.less(*(word.astype(np.uint32).view(np.int32) for word in find))
        elif name == "arith.cmpi":
            values[results] = COMPARISONS[rest.split(" ")[1].rstrip(",")](*find)
        elif name == "arith.select":
            values[results] = np.where(find[0], find[1], find[2])
        elif name == "arith.extsi":
            values[results] = find[0].astype(np.uint32).astype(np.int32).astype(np.int64).astype(np.uint64)
        elif name == "llvm.getelementptr":
            values[results] = find[0] + find[1]
        elif "prmt.b32" in rest:
            values[results] = permute(*find)
        elif "and.b32 $0, $1" in rest:
            values[results] = find[0] & np.uint64(int(re.search(r"\$1, (\d+);", rest)[1]))
        elif name == "nvvm.shfl.sync":
            assert "bfly" in rest
            values[results] = find[1][lane ^ find[2].astype(int)]
        else:
            values[results] = cut(ARITHMETIC[name.removeprefix("arith.")](*find), line)
    return memory


def check(rng, rows, columns, kind):
    text = make_text(rows, columns, kind)
    done = subprocess.run(["fa-opt", "-fagpu-plan-resources", "-convert-fagpu-to-nvvm"], input=text, capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    words = [rng.getrandbits(32) for _ in range(4)]
    unit = 16 if "whole" in kind else 1
    query, key = (rng.getrandbits(27) * unit for _ in range(2))
    for threshold in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x10000, rng.getrandbits(16)):
        found = run(done.stdout, [threshold, *words, query, key], (rows, columns))
        i, j = np.ogrid[query:query + rows, key:key + columns]
        if "keys_are_rows" in kind:
            j, i = np.ogrid[key:key + rows, query:query + columns]
        i, j = np.broadcast_arrays(i, j)
        drawn = philox((j & ~9, i & ~9, np.full_like(i, words[2]), np.full_like(i, words[3])), words[:2])
        number = pick_numbers(drawn, i, j)
        if not np.array_equal(found, number >= threshold):
            return f"{kind}, {rows}x{columns}, threshold {threshold}: {np.argwhere(found != (number >= threshold))[:4].tolist()} differ"
    return ""


def main():
    seed = int(os.environ.get("FA_TEST_SEED") or secrets.randbits(32))
    rng = random.Random(seed)
    # Sizes whose draws fill no words, too.
    kinds = ("whole", "whole keys_are_rows", "", "keys_are_rows")
    cases = [(rows, columns, kind) for kind in (*kinds, *(f"{kind} halves" for kind in kinds))
             for rows, columns in (((64, 8), (64, 80), (128, 32)) if kind.startswith("whole") else ((64, 16),))]
    errors = [error for error in (check(rng, *case) for case in cases) if error]
    print(f"{len(cases)} cases, seed {seed}", *errors, f"{len(errors)} failed", sep="\n")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
