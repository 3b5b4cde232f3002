"""Executes all blocks of a forward schedule for sm_80 that a person wrote, and checks what they store.

    execute_schedule.py FA_OPT [--replace OLD NEW] CASE...

A case is SCHEDULE:HEAD_DIM:MASK. Lengths are per batch, and memory past them holds NaN; query heads share key heads.
Outputs and log-sum-exps are compared with float64, and nothing else may have changed.
"""

import numpy as np
from execute_cases import run_cases
from ptx_machine import Block, Kernel, Memory, compile_to_ptx, decode, encode

QUERIES, KEYS, HEADS, KEY_HEADS = 140, 200, 2, 1
QUERY_LENGTHS, KEY_LENGTHS = [140, 70, 3], [200, 40, 131]
BLOCK = 128


def reference(q, k, v, batch, scale, mask):
    """Outputs (queries x heads x head dim) and log-sum-exps (heads x queries) of one batch."""
    queries, keys = QUERY_LENGTHS[batch], KEY_LENGTHS[batch]
    group = HEADS // KEY_HEADS
    q = q[batch, :queries].astype(np.float64)
    k, v = (np.repeat(x[batch, :keys].astype(np.float64), group, 1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) * scale
    if mask == "causal":
        hidden = np.arange(keys)[None] > np.arange(queries)[:, None] + keys - queries
        scores = np.where(hidden, -np.inf, scores)
    maximum = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(maximum), 0, maximum))
    total = weights.sum(-1, keepdims=True)
    output = np.einsum("hqk,khd->qhd", weights / np.where(total == 0, 1, total), v)
    return output, np.where(total == 0, -np.inf, np.log(total) + maximum)[..., 0]


def check(fa_opt, case, fault):
    path, head_dim, mask = case.split(":")
    head_dim = int(head_dim)
    kernel, memory, random = Kernel(fault.put_into(compile_to_ptx(fa_opt, path))), Memory(), np.random.default_rng(11)
    batches = len(QUERY_LENGTHS)
    parameters, inputs = [], []

    def add(values, strides_passed):
        strides = [int(np.prod(values.shape[dim + 1 :])) for dim in range(values.ndim)]
        address, places = memory.add_tensor(values, strides)
        parameters.extend([address, *strides[:strides_passed]])
        return places

    of_keys = (KEYS, KEY_HEADS, KEY_LENGTHS)
    for sequence, heads, lengths in ((QUERIES, HEADS, QUERY_LENGTHS), of_keys, of_keys):
        values = random.standard_normal((batches, sequence, heads, head_dim))
        for batch, length in enumerate(lengths):
            values[batch, length:] = np.nan
        bits = encode(values, "bf16")
        add(bits, 3)
        inputs.append(decode(bits, "bf16"))
    poison = np.full((batches, QUERIES, HEADS, head_dim), 0x7FC0, np.uint16)
    output_places = add(poison, 3)
    lse_places = add(np.full((batches, HEADS, QUERIES), 0x7FC00000, np.uint32), 2)
    add(np.array(QUERY_LENGTHS, np.uint32), 0)
    add(np.array(KEY_LENGTHS, np.uint32), 0)
    blocks, scale = -(-QUERIES // BLOCK), 0.125
    bits_of_scale = int(np.float32(scale).view(np.uint32))
    parameters += [blocks, HEADS, HEADS // KEY_HEADS, bits_of_scale]
    before = memory.bytes.copy()
    for number in range(blocks * HEADS * batches):
        Block(kernel, memory, parameters, number, {}).run()

    stored = decode(memory.read_tensor(output_places, np.uint16), "bf16")
    lse = memory.read_tensor(lse_places, np.float32)
    error = exact = 0.0
    lse_error = 0.0
    may_change = np.zeros(len(before), bool)
    for batch, queries in enumerate(QUERY_LENGTHS):
        output, logarithm = reference(*inputs, batch, scale, mask)
        error += np.sum((stored[batch, :queries] - output) ** 2)
        exact += np.sum(output**2)
        there = np.isfinite(logarithm)
        same = np.array_equal(there, np.isfinite(lse[batch, :, :queries]))
        difference = np.abs(lse[batch, :, :queries] - logarithm)[there].max(initial=0)
        lse_error = max(lse_error, difference if same else np.inf)
        for byte in range(2):
            may_change[output_places[batch, :queries] + byte] = True
        for byte in range(4):
            may_change[lse_places[batch, :, :queries] + byte] = True
    changed = ((before != memory.bytes) & ~may_change).sum()
    error = np.sqrt(error / exact)
    ok = error < 6e-3 and lse_error < 1e-4 and not changed
    name = path.split("/")[-1]
    print(f"{name}: {'ok' if ok else 'failed'} (error {error:.1e}, lse {lse_error:.1e}, {changed} bytes beside them)")
    return ok


if __name__ == "__main__":
    run_cases(check)
