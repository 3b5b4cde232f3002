"""Compiles attention with query lengths for sm_80 whose destinations are copied, executes all launches of its manifest as
PTX, and checks what they store.

    execute_copies.py FA_COMPILE [--replace OLD NEW] ELEMENT:QUERIES:KEYS:HEAD_DIM...

A fault may be put into the PTX, by replacing text. Rows past a query length hold what the destination held, bit by bit;
the others are compared with attention in float64.
"""

import numpy as np
from execute_cases import run_cases
from ptx_call import Call, compile_problem
from ptx_machine import decode, encode

BATCH, HEADS, LENGTHS = 2, 3, (0.6, 0.0)
BOUNDS = {"f16": 1e-3, "bf16": 6e-3}
TEXT = """
!t = tensor<?x?x?xHEAD_DIMxELEMENT>
!l = tensor<?x?x?xf32>
func.func @copies(%query: !t, %key: !t, %value: !t, %lengths: tensor<?xi32>, %output_init: !t, %lse_init: !l) -> (!t, !l) {
  %output, %lse = fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output_init, %lse_init : !t, !l)
      query_lengths(%lengths : tensor<?xi32>)
  return %output, %lse : !t, !l
}
"""


def reference(q, k, v):
    scores = np.einsum("bqhd,bkhd->bhqk", *(x.astype(np.float64) for x in (q, k))) / np.sqrt(q.shape[3])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    lse = np.log(total[..., 0]) + scores.max(-1)
    return np.einsum("bhqk,bkhd->bqhd", weights / total, v), lse


def check(compiler, case, fault):
    element, *sizes = case.split(":")
    queries, keys, head_dim = map(int, sizes)
    problem = TEXT.replace("HEAD_DIM", str(head_dim)).replace("ELEMENT", element)
    text, manifest = compile_problem(compiler, problem)
    call, random, inputs = Call(manifest), np.random.default_rng(7), []
    for name, length in (("query", queries), ("key", keys), ("value", keys)):
        bits = encode(random.standard_normal((BATCH, length, HEADS, head_dim)), element)
        call.add(name, bits)
        inputs.append(decode(bits, element))
    lengths = np.array([int(part * queries) for part in LENGTHS], np.uint32)
    call.add("lengths", lengths)
    shapes = {"output": ((BATCH, queries, HEADS, head_dim), np.uint16), "lse": ((BATCH, HEADS, queries), np.uint32)}
    kept, places = {}, {}
    for name, (shape, kind) in shapes.items():
        kept[name] = random.integers(0, np.iinfo(kind).max, shape).astype(kind)
        call.add(name + "_init", kept[name])
        places[name] = call.add(name, np.zeros(shape, kind))
    launches = call.run(fault.put_into(text))

    stored = {name: call.memory.read_tensor(places[name], kind) for name, (_, kind) in shapes.items()}
    is_past = np.arange(queries) >= lengths[:, None]
    by_row = {name: np.moveaxis(bits, 2, 1) if name == "lse" else bits for name, bits in stored.items()}
    by_row_kept = {name: np.moveaxis(bits, 2, 1) if name == "lse" else bits for name, bits in kept.items()}
    ok = all((by_row[name][is_past] == by_row_kept[name][is_past]).all() for name in shapes)
    exact, exact_lse = reference(*inputs)
    written = decode(by_row["output"], element)[~is_past]
    error = np.linalg.norm(written - exact[~is_past]) / np.linalg.norm(exact[~is_past])
    error_lse = np.abs(by_row["lse"].view(np.float32) - np.moveaxis(exact_lse, 2, 1))[~is_past].max()
    ok &= error < BOUNDS[element] and error_lse < 1e-4 and launches == 3
    print(f"{case}: {'ok' if ok else 'failed'} ({is_past.sum()} rows kept, error {error:.1e})")
    return ok


if __name__ == "__main__":
    run_cases(check)
