"""Compiles a mask of documents for sm_80, executes all launches of its manifest as PTX, and checks what they store.

    execute_launches.py FA_COMPILE [--replace OLD NEW] MASK:QUERIES:KEYS:DOCUMENT...

A fault may be put into the PTX, by replacing text. Documents have about DOCUMENT tokens, and ids in no order; the mask is
full or causal beside them. All blocks of all launches run, on values that the manifest computes from the arguments and on
a workspace that holds a pattern at first; the result is compared with attention in float64.
"""

import numpy as np
from execute_cases import run_cases
from ptx_call import Call, compile_problem
from ptx_machine import decode, encode

BATCH, HEADS, HEAD_DIM = 2, 2, 64
TEXT = """
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
      mask MASK documents(%ids : memref<?x?xi32>)
  return
}
"""


def make_documents(random, length, size):
    rows = []
    for _ in range(BATCH):
        ids, name = [], 50
        while len(ids) < length:
            name = (name * 7 + 3) % 101
            ids += [name] * int(random.integers(size // 2, size * 3 // 2))
        rows.append(ids[:length])
    return np.array(rows, np.uint32)


def reference(q, k, v, ids, mask):
    query, key = np.arange(q.shape[1]), np.arange(k.shape[1])
    visible = ids[:, query][:, :, None] == ids[:, key][:, None]
    if mask == "causal":
        visible &= key[None, None] <= query[None, :, None] + len(key) - len(query)
    scores = np.einsum("bqhd,bkhd->bhqk", *(x.astype(np.float64) for x in (q, k))) / np.sqrt(HEAD_DIM)
    scores = np.where(visible[:, None], scores, -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e30))
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights / np.where(total == 0, 1, total), v)


def check(compiler, case, fault):
    mask, *sizes = case.split(":")
    queries, keys, size = map(int, sizes)
    text, manifest = compile_problem(compiler, TEXT.replace("MASK", "" if mask == "full" else mask))
    call, random, inputs = Call(manifest), np.random.default_rng(7), []
    for name, length in (("query", queries), ("key", keys), ("value", keys)):
        bits = encode(random.standard_normal((BATCH, length, HEADS, HEAD_DIM)), "bf16")
        call.add(name, bits)
        inputs.append(decode(bits, "bf16"))
    places = call.add("output", np.full((BATCH, queries, HEADS, HEAD_DIM), 0xFFFF, np.uint16))
    ids = make_documents(random, max(queries, keys), size)
    call.add("ids", ids)
    call.run(fault.put_into(text))
    stored = decode(call.memory.read_tensor(places, np.uint16), "bf16")
    exact = reference(*inputs, ids, mask)
    error = np.linalg.norm(stored - exact) / np.linalg.norm(exact)
    ok = error < 6e-3
    print(f"{case}: {'ok' if ok else 'failed'} (error {error:.1e})")
    return ok


if __name__ == "__main__":
    run_cases(check)
