"""Compiles a mask of documents for sm_80, executes all launches of its manifest as PTX, and checks what they store.

    execute_launches.py FA_COMPILE [--replace OLD NEW] MASK:QUERIES:KEYS:DOCUMENT...

A fault may be put into the PTX, by replacing text. Documents have about DOCUMENT tokens, and ids in no order; the mask is
full or causal beside them. All blocks of all launches run, on values that the manifest computes from the arguments and on
a workspace that holds a pattern at first; the result is compared with attention in float64.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from ptx_machine import Block, Kernel, Memory, decode, encode

BATCH, HEADS, HEAD_DIM = 2, 2, 64
TEXT = """
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
      mask MASK documents(%ids : memref<?x?xi32>)
  return
}
"""
OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "equal": lambda a, b: int(a == b),
    "select": lambda a, b, c: b if a else c,
}


def strides_of(shape):
    return tuple(int(np.prod(shape[dim + 1 :])) for dim in range(len(shape)))


class Call:
    """What a launcher makes of a manifest for one call."""

    def __init__(self, manifest, memory, tensors):
        self.memory, self.addresses, self.values = memory, {}, {}
        for argument in manifest["arguments"]:
            name, (bits, address) = argument["name"], tensors[argument["name"]]
            self.addresses[name] = address
            for dim, (size, stride) in enumerate(zip(bits.shape, strides_of(bits.shape))):
                self.values[f"{name}.dim.{dim}"], self.values[f"{name}.stride.{dim}"] = size, stride
                if isinstance(argument["shape"][dim], str):
                    self.values.setdefault(argument["shape"][dim], size)
        for value in manifest["values"]:
            self.values[value["name"]] = OPERATIONS[value["op"]](*map(self.get, value["operands"]))
        for requirement in manifest["requirements"]:
            assert self.get(requirement["condition"]), requirement["message"]
        for workspace in manifest.get("workspaces", []):
            words = np.full(self.get(workspace["bytes"]) // 4, 0x7F7F7F7F, np.uint32)
            self.addresses[workspace["name"]] = memory.add_tensor(words, (1,))[0]

    def get(self, operand):
        return self.values[operand] if isinstance(operand, str) else operand

    def parameters(self, launch):
        for parameter in launch["parameters"]:
            kind = "workspace" if "workspace" in parameter else "pointer" if "pointer" in parameter else None
            yield self.addresses[parameter[kind]] if kind else self.get(next(iter(parameter.values())))


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


def check(compiler, case, replace):
    mask, *sizes = case.split(":")
    queries, keys, size = map(int, sizes)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.mlir")
        with open(path, "w") as file:
            file.write(TEXT.replace("MASK", "" if mask == "full" else mask))
        command = [compiler, path, "-chip=sm_80", "-images=ptx", "-o", folder]
        subprocess.run(command, check=True, env={**os.environ, "FA_PTXAS": "none"})
        text = open(os.path.join(folder, "documents.ptx")).read()
        manifest = json.load(open(os.path.join(folder, "documents.json")))
    assert replace[0] in text, f"the PTX has no '{replace[0]}'"
    text, memory, random = text.replace(*replace), Memory(), np.random.default_rng(7)
    tensors = {}

    def add(name, bits):
        address, places = memory.add_tensor(bits, strides_of(bits.shape))
        tensors[name] = bits, address
        return places

    inputs = []
    for name, length in (("query", queries), ("key", keys), ("value", keys)):
        bits = encode(random.standard_normal((BATCH, length, HEADS, HEAD_DIM)), "bf16")
        add(name, bits)
        inputs.append(decode(bits, "bf16"))
    places = add("output", np.full((BATCH, queries, HEADS, HEAD_DIM), 0xFFFF, np.uint16))
    ids = make_documents(random, max(queries, keys), size)
    add("ids", ids)
    call = Call(manifest, memory, tensors)
    for launch in [*manifest["before"], manifest]:
        kernel = Kernel(text, launch["kernel"])
        for number in range(call.get(launch["grid"][0])):
            Block(kernel, memory, list(call.parameters(launch)), number, {}).run()
    stored = decode(memory.read_tensor(places, np.uint16), "bf16")
    exact = reference(*inputs, ids, mask)
    error = np.linalg.norm(stored - exact) / np.linalg.norm(exact)
    ok = error < 6e-3
    print(f"{case}: {'ok' if ok else 'failed'} (error {error:.1e})")
    return ok


if __name__ == "__main__":
    np.seterr(all="ignore")
    fault = sys.argv[2] == "--replace"
    replace, cases = (sys.argv[3:5], sys.argv[5:]) if fault else (("", ""), sys.argv[2:])
    results = [check(sys.argv[1], case, replace) for case in cases]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
