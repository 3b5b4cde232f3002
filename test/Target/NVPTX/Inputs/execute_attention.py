"""Derives a schedule for sm_80 from a problem, executes some of its blocks as PTX, and checks what they store.

    execute_attention.py FA_OPT [--replace OLD NEW] CASE...

A fault may be put into the PTX, by replacing text. A case is ELEMENT:OUTPUT:HEAD_DIM:VALUE_DIM:PITCH[:MASK], where keys_by_96
is no mask but the size of key blocks, and capped caps scores and hides one key, which is NaN. Rows of all tensors are PITCH elements, or a multiple of it, apart (0: one after
the other). Of each problem the first, the middle and the last block are executed; the result is compared with attention
in float64, and nothing else may have changed.
"""

import re
import subprocess
import tempfile

import numpy as np
from execute_cases import run_cases
from ptx_machine import Block, Kernel, Memory, compile_to_ptx, decode, encode

BATCH, QUERIES, KEYS, HEADS, KEY_HEADS = 2, 150, 170, 4, 2
PREFIXES = [40, 7]
CAP, HIDDEN_KEY = 2.0, 37
LEFT, RIGHT = 33, 5
QUERY_BLOCKS = {"window": 64}
BOUNDS = {"f16": 1e-3, "bf16": 6e-3}
PROBLEM = """
!q = tensor<{batch}x{queries}x{heads}x{head_dim}x{element}>
!k = tensor<{batch}x{keys}x{key_heads}x{head_dim}x{element}>
!v = tensor<{batch}x{keys}x{key_heads}x{value_dim}x{element}>
!o = tensor<{batch}x{queries}x{heads}x{value_dim}x{output}>
func.func @attention(%q: !q, %k: !k, %v: !v) -> !o {{
  %prefix = arith.constant dense<{prefixes}> : tensor<{batch}xi32>
  %cap = arith.constant {cap} : f32
  %left = arith.constant {left} : index
  %right = arith.constant {right} : index
  %init = tensor.empty() : !o
  %o = fa.attention ins(%q, %k, %v : !q, !k, !v) outs(%init : !o) {mask}
  return %o : !o
}}
"""
MASKS = {"full": "", "causal": "mask causal", "prefix": f"mask prefix(%prefix : tensor<{BATCH}xi32>)",
         "window": "mask window(%left, %right) "
                   "{config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>}",
         "capped": """score softcap(%cap) mask(%b, %h, %i, %j) {
    %hidden = arith.constant HIDDEN : index
    %seen = arith.cmpi ne, %j, %hidden : index
    fa.yield %seen : i1
  }""".replace("HIDDEN", str(HIDDEN_KEY)),
         "keys_by_96": "{config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warps>>}"}


def compile_problem(fa_opt, **fields):
    """The PTX of the one kernel, how many blocks it is launched with, and the numbers behind its tensors."""
    text = PROBLEM.format(
        batch=BATCH, queries=QUERIES, keys=KEYS, heads=HEADS, key_heads=KEY_HEADS, prefixes=PREFIXES, cap=CAP,
        left=LEFT, right=RIGHT, **fields
    )
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as schedule:
        derive = [fa_opt, "--fa-to-schedule=chip=sm_80"]
        schedule.write(subprocess.run(derive, input=text, capture_output=True, text=True, check=True).stdout)
        schedule.flush()
        # Constants, whose names say what they are.
        grid, arguments = re.search(r"fagpu.launch @\w+ grid\(%c(\d+)\w*\) \((.*?)\)", open(schedule.name).read()).groups()
        numbers = [int(number) for number in re.findall(r"%c(\d+)_i32", arguments)]
        return compile_to_ptx(fa_opt, schedule.name), int(grid), numbers


def visible(mask):
    """Which keys each query of each batch sees."""
    query, key = np.arange(QUERIES)[:, None] + (KEYS - QUERIES), np.arange(KEYS)[None]
    causal = key <= query
    if mask == "prefix":
        return np.stack([causal | (key < prefix) for prefix in PREFIXES])
    if mask == "window":
        return np.stack([(key >= query - LEFT) & (key <= query + RIGHT)] * BATCH)
    if mask == "capped":
        return np.stack([np.broadcast_to(key != HIDDEN_KEY, causal.shape)] * BATCH)
    return np.stack([causal if mask == "causal" else np.ones_like(causal)] * BATCH)


def reference(q, k, v, mask):
    k, v = (np.repeat(x.astype(np.float64), HEADS // KEY_HEADS, 2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[3])
    if mask == "capped":
        scores = CAP * np.tanh(scores / CAP)
    scores = np.where(visible(mask)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)


def check(fa_opt, case, fault):
    element, output, head_dim, value_dim, pitch, mask = (case.split(":") + ["causal"])[:6]
    head_dim, value_dim, pitch = int(head_dim), int(value_dim), int(pitch)
    text, grid, launched_with = compile_problem(
        fa_opt, element=element, output=output, head_dim=head_dim, value_dim=value_dim, mask=MASKS[mask]
    )
    kernel, memory, random = Kernel(fault.put_into(text)), Memory(), np.random.default_rng(7)

    def add(bits):
        _, sequence, heads, columns = bits.shape
        row = -(-columns // pitch) * pitch if pitch else columns
        strides = (sequence * heads * row, heads * row, row, 1)
        address, places = memory.add_tensor(bits, strides)
        parameters.extend([address, *strides[:3]])
        return places

    parameters, inputs = [], []
    of_queries, of_keys = (QUERIES, HEADS, head_dim), (KEYS, KEY_HEADS, head_dim)
    for sequence, heads, columns in (of_queries, of_keys, (KEYS, KEY_HEADS, value_dim)):
        numbers = random.standard_normal((BATCH, sequence, heads, columns))
        if mask == "capped" and len(inputs) == 1:
            numbers[:, HIDDEN_KEY] = np.nan
        bits = encode(numbers, element)
        add(bits)
        inputs.append(decode(bits, element))
    poison = np.full((BATCH, QUERIES, HEADS, value_dim), 0xFFFF if output != "f32" else 0xFFFFFFFF, np.uint32)
    places = add(poison if output == "f32" else poison.astype(np.uint16))
    parameters.extend(launched_with)
    tables = {name: memory.add_tensor(table, (1,))[0] for name, table in kernel.tables.items()}
    before = memory.bytes.copy()
    numbers = sorted({0, grid // 2, grid - 1})
    for number in numbers:
        Block(kernel, memory, parameters, number, tables).run()

    stored = memory.read_tensor(places, np.float32 if output == "f32" else np.uint16)
    stored = stored if output == "f32" else decode(stored, output)
    written = ~np.isnan(stored).any(-1)
    exact = reference(*inputs, mask)[written]
    error = np.linalg.norm(stored[written] - exact) / np.linalg.norm(exact)
    changed = before != memory.bytes
    for byte in range(4 if output == "f32" else 2):
        changed[(places + byte)[written]] = False
    # Heads of a batch whose rows a block of queries has stored: all of them.
    rows = QUERY_BLOCKS.get(mask, 128)
    tiles = [written[:, first:first + rows] for first in range(0, QUERIES, rows)]
    whole = sum(tile.all(1).sum() for tile in tiles) == sum(tile.any(1).sum() for tile in tiles) == len(numbers)
    ok = whole and error < BOUNDS[element] and not changed.any()
    state = "ok" if ok else "failed"
    print(f"{case}: {state} ({written.sum()} rows, error {error:.1e}, {changed.sum()} bytes beside them)")
    return ok


if __name__ == "__main__":
    run_cases(check)
