"""Problem statements of FlashInfer (its tests/trace/*/*.json): read, and turned into functions of this project.

A statement names axes, inputs, outputs and elements, and holds the source of a
reference. `read` gives a `Statement`. A reader makes a `Stated` problem of it:
random inputs, a function on them and what numpy says in float64; or it raises
`NotOurs` with the reason. READERS has one for each `op_type` that is attention.
"""

import ast
import inspect
import json
import math
import typing
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

ELEMENTS = {"bfloat16": ("bf16", ml_dtypes.bfloat16), "float16": ("f16", np.float16), "float32": ("f32", np.float32)}
MOST_HEAD_DIM = 512
# What an `op_type` is, where it is not attention.
OTHERS = {
    "activation": "an activation", "bmm_mxfp8": "a matrix multiplication", "dequantize_fp4": "a conversion of FP4",
    "gdn": "a gated delta net, a linear recurrence", "gemm_bf16": "a matrix multiplication",
    "gemm_bf16_fp4": "a matrix multiplication", "gemm_fp4": "a matrix multiplication",
    "gemm_fp8": "a matrix multiplication", "gemm_mxfp8": "a matrix multiplication",
    "kda": "a delta attention, a linear recurrence", "layernorm": "a normalization", "moe": "a mixture of experts",
    "moe_routing": "a mixture of experts", "msa_proxy": "block maxima of scores, without softmax and values",
    "quantization": "a quantization", "rmsnorm": "a normalization", "sampling": "sampling",
    "segment_gemm": "a matrix multiplication"}


class NotOurs(Exception):
    """Why a statement is not of this project."""


@dataclass
class Statement:
    name: str
    kind: str
    axes: dict  # sizes that are constant, by name
    inputs: dict
    outputs: dict
    reference: str

    def element(self, name):
        """The text and the numpy type of an input's or output's elements."""
        return ELEMENTS[{**self.inputs, **self.outputs}[name]["dtype"]]


def read(text):
    data = json.loads(text)
    axes = {name: axis.get("value") for name, axis in data["axes"].items() if axis["type"] == "const"}
    return Statement(data["name"], data["op_type"], axes, data["inputs"], data["outputs"], data.get("reference", ""))


@dataclass
class Stated:
    """A problem made of a statement. Arrays may be views: what shares memory does so when it is run."""

    text: str
    arguments: list  # arrays and numbers, in the function's order
    results: list  # arrays that the function's results fill
    inputs: dict  # arguments of the reference
    expected: dict  # float64 by the name of an output
    convert: dict = field(default_factory=dict)  # from a result to the statement's output, by name
    exact: bool = False  # every bit is copied
    element: str = "bf16"  # of the outputs

    def outputs(self, results):
        """The statement's outputs from the function's results."""
        return {name: self.convert.get(name, lambda x: x)(array) for name, array in zip(self.expected, results)}


#===--- Numpy's side ------------------------------------------------------===#

def attend(query, key, value, scale, visible=None):
    """(output, lse) of one sequence in float64: queries x heads x d, visible for heads x queries x keys."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, 1), np.repeat(value, group, 1)
    scores = np.einsum("ihd,jhd->hij", query, key) * float(np.float32(scale))
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    most = scores.max(2, initial=-np.inf, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = weights.sum(2, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.log(total[..., 0]) + np.where(np.isfinite(most[..., 0]), most[..., 0], 0)
    return np.einsum("hij,jhd->ihd", weights / np.where(total, total, 1), value), lse.T


def causal(queries, keys):
    return np.arange(keys) <= np.arange(queries)[:, None] + keys - queries


def merge(outputs, lses):
    """Rows over all of several sets of keys, from (state, row, head, d) and natural (state, row, head)."""
    outputs, lses = outputs.astype(np.float64), lses.astype(np.float64)
    most = lses.max(0)
    weights = np.exp(lses - most)
    return (outputs * weights[..., None]).sum(0) / weights.sum(0)[..., None], most + np.log(weights.sum(0))


def turn(rows, cosines, sines, interleaved):
    """Rows x heads x d with the first dims of each turned."""
    rows, half = rows.astype(np.float64), cosines.shape[1]
    first = np.arange(half) * (2 if interleaved else 1)
    second = first + (1 if interleaved else half)
    x, y, result = rows[..., first], rows[..., second], rows.copy()
    cosines, sines = (table.astype(np.float64)[:, None] for table in (cosines, sines))
    result[..., first], result[..., second] = x * cosines - y * sines, x * sines + y * cosines
    return result


#===--- Functions ---------------------------------------------------------===#

def tensor(array, element, head_dim=True):
    """The type of an array: static in its head dim, and where a size must be."""
    sizes = ["?"] * array.ndim
    if head_dim:
        sizes[-1] = str(array.shape[-1])
    return f"tensor<{'x'.join(sizes)}x{element}>"


def attention(operands, element, orders, tables, clauses="", lse=True, captures=(), out="bf16"):
    """The text of one attention: operands (query, key, value, output), their orders of dims, tables by name."""
    query, key, value, output = operands
    types = {"query": tensor(query, element), "key": tensor(key, element), "value": tensor(value, element)}
    if "p" in orders[1]:
        for name, array in (("key", key), ("value", value)):
            sizes = [str(array.shape[at]) if dim in "sd" else "?" for at, dim in enumerate(orders[1])]
            types[name] = f"tensor<{'x'.join(sizes)}x{element}>"
    results = [("o", tensor(output, out))]
    if lse:
        results.append(("l", "tensor<?x?xf32>" if orders[0] == "shd" else "tensor<?x?x?xf32>"))
    names = {name: f"tensor<{'?x' * array.ndim}i32>" for name, array in tables.items()}
    arguments = [f"%{name}: {kind}" for name, kind in [*types.items(), *names.items()]] + ["%scale: f32"]
    arguments += [f"%{name}: {kind}" for name, kind in [*captures, *results]]
    kinds = ", ".join(kind for _, kind in results)
    dims = ", ".join(f"{name}_dims = #fa.dims<{', '.join(order)}>" for name, order
                     in zip(("query", "key", "value", "output"), (orders[0], orders[1], orders[1], orders[0])))
    lines = [f"func.func @main({', '.join(arguments)}) -> ({kinds}) {{",
             f"  %r{':2' * lse} = fa.attention ins(%query, %key, %value : {', '.join(types.values())})",
             f"      outs({', '.join('%' + name for name, _ in results)} : {kinds}) scale(%scale)"]
    lines += [f"      {name}(%{name} : {kind})" for name, kind in names.items()] + [f"      {clauses}"]
    return "\n".join(lines + [f"      {{{dims}}}", f"  return {'%r#0, %r#1' if lse else '%r'} : {kinds}", "}"]) + "\n"


def to_base2(lse):
    return lse / math.log(2)


def check_heads(queries, keys, *dims):
    if queries % keys:
        raise NotOurs(f"{queries} query heads are no multiple of {keys} key heads")
    if max(dims) > MOST_HEAD_DIM:
        raise NotOurs(f"a head dim of {max(dims)}, the limit is {MOST_HEAD_DIM}")


def normal(rng, kind, *shape):
    return rng.standard_normal(shape).astype(kind)


def starts_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def pool(rng, kind, pages, listed, *shape):
    """Pages of random numbers; those that no table lists are NaN."""
    array = normal(rng, kind, pages, *shape)
    array[np.setdiff1d(np.arange(pages), listed)] = np.nan
    return array


def list_pages(rng, counts, columns):
    """Rows of a table with the pages of each sequence in random order, and the pool's number of pages."""
    pages = int(counts.sum()) + 3
    order = rng.permutation(pages)[:int(counts.sum())].astype(np.int32)
    table, used = np.full((len(counts), columns), -1, np.int32), starts_of(counts)
    for b, count in enumerate(counts):
        table[b, :count] = order[used[b]:used[b + 1]]
    return table, order, used, pages


#===--- Readers -----------------------------------------------------------===#

def read_paged(statement, rng):
    """Decoding and prefill over pages in the form of indptr and indices."""
    axes, has_starts = statement.axes, "qo_indptr" in statement.inputs
    heads, key_heads, dim, page = (axes[name] for name in ("num_qo_heads", "num_kv_heads", "head_dim", "page_size"))
    check_heads(heads, key_heads, dim)
    if list(statement.inputs["k_cache"]["shape"])[1] != "page_size":
        raise NotOurs("unread: caches in another order of dims")
    (element, kind), (out, out_kind) = statement.element("q"), statement.element("output")
    counts = rng.integers(0, max(2, 200 // page), 4)
    counts[rng.integers(4)] = 0
    queries = rng.integers(0, 40, 4) if has_starts else np.ones(4, int)
    table, indices, indptr, pages = list_pages(rng, counts, int(counts.max()) + 1)
    query = normal(rng, kind, int(queries.sum()), heads, dim)
    key, value = (pool(rng, kind, pages, indices, page, key_heads, dim) for _ in range(2))
    scale, lengths, qo_indptr = np.float32(1 / math.sqrt(dim)), (counts * page).astype(np.int32), starts_of(queries)
    tables = {"key_lengths": lengths, "key_pages": table}
    if has_starts:
        tables = {"key_lengths": lengths, "query_starts": qo_indptr, "key_pages": table}
    rows = query if has_starts else query[:, None]
    output, lse = np.zeros(rows.shape, out_kind), np.zeros((len(query), heads), np.float32)
    # The op's lse is heads x rows, the statement's rows x heads.
    lse = lse.T if has_starts else lse[:, :, None]
    results = [], []
    for b, n in enumerate(queries):
        k, v = (array[indices[indptr[b]:indptr[b + 1]]].reshape(-1, key_heads, dim) for array in (key, value))
        for result, part in zip(results, attend(query[qo_indptr[b]:qo_indptr[b + 1]], k, v, scale,
                                                causal(n, len(k)) if has_starts else None)):
            result.append(part)
    text = attention((rows, key, value, output), element, ("shd" if has_starts else "bshd", "pshd"), tables,
                     "mask causal" if has_starts else "", out=out)
    inputs = {"q": query, "k_cache": key, "v_cache": value, "kv_indptr": indptr, "kv_indices": indices,
              "sm_scale": float(scale), **({"qo_indptr": qo_indptr} if has_starts else {})}
    arguments = [rows, key, value, *tables.values(), float(scale), output, lse]
    return Stated(text, arguments, [output.copy(), lse.copy()], inputs,
                  {"output": np.concatenate(results[0]), "lse": to_base2(np.concatenate(results[1]))},
                  {"output": lambda o: o.reshape(query.shape),
                   "lse": lambda l: to_base2(l.T if has_starts else l[:, :, 0])})


def read_ragged(statement, rng):
    axes = statement.axes
    heads, key_heads, dim = (axes[name] for name in ("num_qo_heads", "num_kv_heads", "head_dim"))
    check_heads(heads, key_heads, dim)
    (element, kind), (out, out_kind) = statement.element("q"), statement.element("output")
    queries, keys = rng.integers(0, 50, 4), rng.integers(0, 150, 4)
    keys[rng.integers(4)] = 0
    qo_indptr, kv_indptr = starts_of(queries), starts_of(keys)
    query = normal(rng, kind, int(queries.sum()), heads, dim)
    key, value = (normal(rng, kind, int(keys.sum()), key_heads, dim) for _ in range(2))
    scale = np.float32(1 / math.sqrt(dim))
    output, lse = np.zeros(query.shape, out_kind), np.zeros((heads, len(query)), np.float32)
    results = [attend(query[qo_indptr[b]:qo_indptr[b + 1]], key[kv_indptr[b]:kv_indptr[b + 1]],
                      value[kv_indptr[b]:kv_indptr[b + 1]], scale, causal(queries[b], keys[b])) for b in range(4)]
    tables = {"query_starts": qo_indptr, "key_starts": kv_indptr}
    text = attention((query, key, value, output), element, ("shd", "shd"), tables, "mask causal", out=out)
    inputs = {"q": query, "k": key, "v": value, "qo_indptr": qo_indptr, "kv_indptr": kv_indptr, "sm_scale": float(scale)}
    return Stated(text, [query, key, value, *tables.values(), float(scale), output, lse],
                  [output.copy(), lse.copy()], inputs,
                  {"output": np.concatenate([o for o, _ in results]),
                   "lse": to_base2(np.concatenate([l for _, l in results]))}, {"lse": lambda l: to_base2(l.T)})


def read_single(statement, rng):
    axes, is_prefill = statement.axes, statement.kind == "single_prefill"
    heads, key_heads, dim = (axes[name] for name in ("num_qo_heads", "num_kv_heads", "head_dim"))
    check_heads(heads, key_heads, dim)
    (element, kind), (out, out_kind) = statement.element("q"), statement.element("output")
    keys = int(rng.integers(40, 300))
    queries = int(rng.integers(1, 40)) if is_prefill else 1
    query = normal(rng, kind, queries, heads, dim)
    key, value = (normal(rng, kind, keys, key_heads, dim) for _ in range(2))
    scale = np.float32(1 / math.sqrt(dim))
    output = np.zeros((1, *query.shape), out_kind)
    expected, _ = attend(query, key, value, scale, causal(queries, keys) if is_prefill else None)
    text = attention((query[None], key[None], value[None], output), element, ("bshd", "bshd"), {},
                     "mask causal" if is_prefill else "", lse=False, out=out)
    inputs = {"q": query if is_prefill else query[0], "k": key, "v": value, **({"causal": True} if is_prefill else {})}
    shape = query.shape if is_prefill else query.shape[1:]
    return Stated(text, [query[None], key[None], value[None], float(scale), output], [output.copy()], inputs,
                  {"output": expected.reshape(shape)}, {"output": lambda o: o.reshape(shape)})


def read_merge(statement, rng):
    """Two states, or several, by a chain of fa.combine. Scores are to base 2."""
    heads, dim, rows = statement.axes["num_heads"], statement.axes["head_dim"], int(rng.integers(1, 60))
    value, score = next((v, s) for v, s in (("v_a", "s_a"), ("v", "s")) if v in statement.inputs)
    (element, kind), out = statement.element(value), list(statement.outputs)
    count = int(rng.integers(2, 6)) if "num_states" in statement.inputs[value]["shape"] else 2
    values, scores = normal(rng, kind, rows, count, heads, dim), normal(rng, np.float32, rows, count, heads)
    natural = (scores.astype(np.float64) * math.log(2)).astype(np.float32)
    parts = [(f"tensor<1x?x{heads}x{dim}x{element}>", f"tensor<1x{heads}x?xf32>")] * count
    wide = (f"tensor<1x?x{heads}x{dim}xf32>", parts[0][1])
    arguments = ", ".join(f"%v{i}: {v}, %s{i}: {s}" for i, (v, s) in enumerate(parts))
    lines = [f"func.func @main({arguments}, %o: {parts[0][0]}, %l: {parts[0][1]}) -> ({parts[0][0]}, {parts[0][1]}) {{",
             "  %one = arith.constant 1 : index", f"  %rows = tensor.dim %v0, %one : {parts[0][0]}"]
    last, of = ("%v0", "%s0"), parts[0]
    for i in range(1, count):
        to, init = (parts[0], ("%o", "%l")) if i == count - 1 else (wide, (f"%e{i}", f"%f{i}"))
        if i < count - 1:
            lines += [f"  %e{i} = tensor.empty(%rows) : {wide[0]}", f"  %f{i} = tensor.empty(%rows) : {wide[1]}"]
        lines.append(f"  %r{i}:2 = fa.combine a({', '.join(last)} : {', '.join(of)}) b(%v{i}, %s{i} : {', '.join(parts[i])}) "
                     f"outs({', '.join(init)} : {', '.join(to)}) -> {', '.join(to)}")
        last, of = (f"%r{i}#0", f"%r{i}#1"), to
    lines += [f"  return {', '.join(last)} : {', '.join(of)}", "}"]
    output, lse = np.zeros((1, rows, heads, dim), kind), np.zeros((1, heads, rows), np.float32)
    operands = [array for i in range(count)
                for array in (np.ascontiguousarray(values[None, :, i]), np.ascontiguousarray(natural[:, i].T[None]))]
    if count > 2 or "num_states" in statement.inputs[value]["shape"]:
        inputs = {"v": values, "s": scores}
    else:
        names = ("v_a", "s_a", "v_b", "s_b") if value == "v_a" else ("v", "s", "v_other", "s_other")
        inputs = dict(zip(names, (values[:, 0], scores[:, 0], values[:, 1], scores[:, 1])))
    merged, total = merge(values.transpose(1, 0, 2, 3), natural.transpose(1, 0, 2))
    return Stated("\n".join(lines) + "\n", [*operands, output, lse], [output.copy(), lse.copy()], inputs,
                  {out[0]: merged, out[1]: to_base2(total)},
                  {out[0]: lambda o: o[0], out[1]: lambda l: to_base2(l[0].T)})


def append(new, cache, element, tables, rotary=""):
    """The text of one fa.append of packed rows into pages."""
    row, page = tensor(new, element), f"tensor<?x{'x'.join(map(str, cache.shape[1:]))}x{element}>"
    kinds = {"key_lengths": "tensor<?xi32>", "key_starts": "tensor<?xi32>", "key_pages": "tensor<?x?xi32>"}
    arguments = ["%k: " + row, "%v: " + row, *(f"%{name}: {kinds[name]}" for name in tables)]
    clause = ""
    if rotary:
        form, columns = rotary
        angles = f"tensor<?x{columns}xf32>"
        arguments += [f"%cos: {angles}", f"%sin: {angles}"]
        clause = f" rotary {form}(%cos, %sin : {angles}, {angles})"
    arguments += ["%keys: " + page, "%values: " + page]
    clauses = " ".join(f"{name}(%{name} : {kinds[name]})" for name in tables)
    return f"""func.func @main({', '.join(arguments)}) -> ({page}, {page}) {{
  %r:2 = fa.append ins(%k, %v : {row}, {row}) outs(%keys, %values : {page}, {page}) {clauses}{clause}
      {{key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>,
       key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}} -> {page}, {page}
  return %r#0, %r#1 : {page}, {page}
}}
"""


def read_append(statement, rng):
    """Rows of several sequences, each behind what its pages hold."""
    heads, dim = (statement.axes[name] for name in ("num_kv_heads", "head_dim"))
    page = statement.axes.get("page_size") or 16
    element, kind = statement.element("append_key")
    new = rng.integers(0, 40, 3)
    lengths = new + rng.integers(0, 60, 3)
    counts = -(-lengths // page)
    table, indices, indptr, pages = list_pages(rng, counts, int(counts.max()) + 1)
    key, value = (normal(rng, kind, int(new.sum()), heads, dim) for _ in range(2))
    caches = [normal(rng, kind, pages, page, heads, dim) for _ in range(2)]
    sequences = np.repeat(np.arange(3), new).astype(np.int32)
    positions = np.concatenate([np.arange(n - m, n) for n, m in zip(lengths, new)]).astype(np.int32)
    tables = {"key_lengths": lengths.astype(np.int32), "key_starts": starts_of(new), "key_pages": table}
    expected = [cache.copy() for cache in caches]
    for cache, rows in zip(expected, (key, value)):
        cache[table[sequences, positions // page], positions % page] = rows
    inputs = {"append_key": key, "append_value": value, "batch_indices": sequences, "positions": positions,
              "paged_kv_cache": tuple(caches), "kv_indices": indices, "kv_indptr": indptr,
              "kv_last_page_len": (lengths - (counts - 1) * page).astype(np.int32)}
    return Stated(append(key, caches[0], element, tables), [key, value, *tables.values(), *caches],
                  [cache.copy() for cache in caches], inputs,
                  {"key cache": expected[0].astype(np.float64), "value cache": expected[1].astype(np.float64)}, exact=True)


# Defaults of FlashInfer's functions.
def frequencies(name, dim):
    """Of a pair of dims: plain, or those of Llama 3.1."""
    pairs = np.arange(0, dim, 2) / dim
    if "llama31" not in name:
        return 1e4 ** -pairs
    plain, factor, low, high, context = 5e5 ** -pairs, 8.0, 1.0, 4.0, 8192.0
    turns = context * plain / (2 * np.pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - smooth) * plain / factor + smooth * plain


def read_rope(statement, rng):
    """Queries and keys turned by their positions: appended to pages of one row, one for each token.

    fa.append turns keys, so what is called its value here are the same rows as they were."""
    axes, inputs = statement.axes, {}
    if "cos_sin_cache" in statement.inputs:
        dim, names, turned = axes["head_size"], ("query", "key"), axes["rotary_dim"]
        heads = [axes[f"num_{name}_heads_x_head_size"] // dim for name in "qk"]
    else:
        dim, names, turned = axes["head_dim"], ("q", "k"), axes["head_dim"]
        heads = [axes[f"num_{name}_heads"] for name in "qk"]
    (element, kind), rows = statement.element(names[0]), int(rng.integers(1, 60))
    positions = rng.integers(0, 200, rows).astype(np.int32)
    if "indptr" in statement.inputs:
        lengths, offsets = rng.integers(0, 20, 4), rng.integers(0, 100, 4).astype(np.int32)
        rows = int(lengths.sum())
        positions = np.concatenate([o + np.arange(n) for o, n in zip(offsets, lengths)]).astype(np.int32)
        inputs.update(indptr=starts_of(lengths), offsets=offsets)
    else:
        inputs["positions" if "positions" in statement.inputs else "pos_ids"] = positions
    angles = np.arange(256)[:, None] * frequencies(statement.name, turned)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    arrays = [normal(rng, kind, rows, count, dim) for count in heads]
    inputs.update(zip(names, arrays))
    if "cos_sin_cache" in statement.inputs:
        inputs.update({name: array.reshape(rows, -1) for name, array in zip(names, arrays)})
        inputs.update(head_size=dim, cos_sin_cache=np.concatenate([cosines, sines], 1))
    # Row `position` of sequence `token` is page `token`.
    table = np.full((rows, int(positions.max(initial=0)) + 1), -1, np.int32)
    table[np.arange(rows), positions] = np.arange(rows)
    tables = {"key_lengths": positions + 1, "key_starts": np.arange(rows + 1, dtype=np.int32), "key_pages": table}
    # One operation takes both: heads of queries and of keys side by side.
    both = np.concatenate(arrays, 1)
    caches = [np.zeros((rows, 1, *both.shape[1:]), kind) for _ in range(2)]
    text = append(both, caches[0], element, tables, ("halves", turned // 2))
    expected = [turn(array, cosines[positions], sines[positions], interleaved=False) for array in arrays]
    shape = [inputs[name].shape for name in names]
    out = list(statement.outputs)
    split = [lambda c: c[:, 0, :heads[0]].reshape(shape[0]), lambda c: c[:, 0, heads[0]:].reshape(shape[1])]
    stated = Stated(text, [both, both, *tables.values(), cosines, sines, *caches], [cache.copy() for cache in caches],
                    inputs, {out[0]: expected[0].reshape(shape[0]), out[1]: expected[1].reshape(shape[1])})
    # Both outputs are of the first result; the second one is a copy of the rows.
    stated.outputs = lambda results: {name: part(results[0]) for name, part in zip(out, split)}
    return stated


def read_xqa(statement, rng):
    axes = statement.axes
    check_heads(axes.get("num_heads_qo") or axes["num_heads"], axes["num_kv_heads"], axes["head_dim"])
    raise NotOurs("unread: no reader for these inputs")


def read_sparse_pages(statement, rng):
    """Pages of its own for each key head. A (key head, sequence) is a sequence of one key head here, and keys and
    values are views of the one cache: a page of a head is a page."""
    axes = statement.axes
    heads, key_heads, dim, page = (axes[name] for name in ("num_heads", "num_kv_heads", "head_dim", "page_size"))
    if "block_tables" not in statement.inputs:
        raise NotOurs("unread: no reader for these inputs")
    check_heads(heads, key_heads, dim)
    element, kind = statement.element("query")
    batch, tokens, group = 3, int(rng.integers(1, 4)), heads // key_heads
    counts = rng.integers(1, 8, key_heads * batch)
    lengths = (counts * page - rng.integers(0, page - tokens, counts.shape)).astype(np.int32)
    columns = int(counts.max()) + 1
    table, _, _, pages = list_pages(rng, counts, columns)
    cache = normal(rng, kind, pages, 2, key_heads, page, dim)
    query = normal(rng, kind, batch * tokens, heads, dim)
    # (key head, sequence) x tokens x group x dim
    rows = np.ascontiguousarray(query.reshape(batch, tokens, key_heads, group, dim).transpose(2, 0, 1, 3, 4)).reshape(
        key_heads * batch, tokens, group, dim)
    flat = cache.reshape(pages * 2 * key_heads, page, 1, dim)
    key, value = flat[:(2 * pages - 1) * key_heads], flat[key_heads:]
    head = np.repeat(np.arange(key_heads), batch)[:, None]
    output, scale = np.zeros(rows.shape, kind), np.float32(1 / math.sqrt(dim))
    tables = {"key_lengths": lengths, "key_pages": np.where(table < 0, -1, table * 2 * key_heads + head).astype(np.int32)}
    text = attention((rows, key, value, output), element, ("bshd", "pshd"), tables, "mask causal", lse=False, out=element)
    expected = np.zeros(query.shape)
    for number, length in enumerate(lengths):
        h, b = divmod(number, batch)
        listed = table[number, :counts[number]]
        k, v = (cache[listed, side, h].reshape(-1, 1, dim)[:length] for side in (0, 1))
        expected[b * tokens:(b + 1) * tokens, h * group:(h + 1) * group] = attend(
            rows[number], k, v, scale, causal(tokens, int(length)))[0]
    inputs = {"query": query, "kv_cache": cache, "workspace_buffer": None,
              "block_tables": np.maximum(table, 0).reshape(key_heads, batch, columns),
              "seq_lens": lengths.reshape(key_heads, batch), "max_seq_len": int(lengths.max())}
    back = lambda o: o.reshape(key_heads, batch, tokens, group, dim).transpose(1, 2, 0, 3, 4).reshape(query.shape)
    return Stated(text, [rows, key, value, *tables.values(), float(scale), output], [output.copy()], inputs,
                  {"output": expected}, {"output": back})


def read_selected_blocks(statement, rng):
    """Blocks of 128 keys that a table lists for each query and key head: a mask that reads the table."""
    axes, decodes = statement.axes, "seqlen_q" in statement.inputs
    heads, key_heads, dim, most = (axes[name] for name in ("num_qo_heads", "num_kv_heads", "head_dim", "topk"))
    check_heads(heads, key_heads, dim)
    element, kind = statement.element("q")
    tokens = int(rng.integers(1, 4))
    queries = np.full(3, tokens) if decodes else rng.integers(1, 20, 3)
    keys = rng.integers(tokens, 700, 3)
    cu_q, cu_k = starts_of(queries), starts_of(keys)
    query = normal(rng, kind, int(queries.sum()), heads, dim)
    key, value = (normal(rng, kind, int(keys.sum()), key_heads, dim) for _ in range(2))
    listed = np.full((key_heads, len(query), most), -1, np.int32)
    for b in range(3):
        blocks = -(-int(keys[b]) // 128)
        for h in range(key_heads):
            for i in range(cu_q[b], cu_q[b + 1]):
                chosen = np.sort(rng.permutation(blocks)[:rng.integers(0, min(most, blocks) + 1)])
                listed[h, i, :len(chosen)] = chosen
    kind_of_table = f"tensor<{key_heads}x?x{most}xi32>"
    lines = ["mask causal (%b, %h, %i, %j) captures(%blocks = %listed : " + kind_of_table
             + ", %first = %query_starts : tensor<?xi32>) {", "  %size = arith.constant 128 : index",
             f"  %group = arith.constant {heads // key_heads} : index", "  %block = arith.divui %j, %size : index",
             "  %wanted = arith.index_cast %block : index to i32", "  %g = arith.divui %h, %group : index",
             "  %start = tensor.extract %first[%b] : tensor<?xi32>", "  %s = arith.index_cast %start : i32 to index",
             "  %row = arith.addi %s, %i : index", "  %any = arith.constant false"]
    last = "%any"
    for n in range(most):
        lines += [f"  %c{n} = arith.constant {n} : index",
                  f"  %x{n} = tensor.extract %blocks[%g, %row, %c{n}] : {kind_of_table}",
                  f"  %is{n} = arith.cmpi eq, %x{n}, %wanted : i32", f"  %any{n} = arith.ori {last}, %is{n} : i1"]
        last = f"%any{n}"
    clause = "\n      ".join(lines + [f"  fa.yield {last} : i1", "}"])
    scale, output = np.float32(1 / math.sqrt(dim)), np.zeros(query.shape, kind)
    tables = {"query_starts": cu_q, "key_starts": cu_k}
    text = attention((query, key, value, output), element, ("shd", "shd"), tables, clause, lse=False,
                     captures=[("listed", kind_of_table)], out=element)
    expected = []
    for b in range(3):
        rows = slice(cu_q[b], cu_q[b + 1])
        of_block = (listed[:, rows, :, None] == np.arange(int(keys[b])) // 128).any(2)
        expected.append(attend(query[rows], key[cu_k[b]:cu_k[b + 1]], value[cu_k[b]:cu_k[b + 1]], scale,
                               np.repeat(of_block, heads // key_heads, 0) & causal(queries[b], keys[b]))[0])
    inputs = {"q": query, "k": key, "v": value, "q2k_indices": listed, "cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k,
              "seqlen_q": tokens, "causal": True}
    return Stated(text, [query, key, value, *tables.values(), float(scale), listed, output], [output.copy()], inputs,
                  {"output": np.concatenate(expected)})


def read_latent(statement, rng):
    if "k_nope" in statement.inputs:
        raise NotOurs("a concatenation")
    dim = sum(statement.axes[name] for name in ("head_dim_ckv", "head_dim_kpe") if name in statement.axes)
    dim = max(dim, statement.axes.get("head_dim_qk") or 0)
    raise NotOurs(f"MLA: a head dim of {dim}, the limit is {MOST_HEAD_DIM}")


READERS = {"gqa_paged": read_paged, "gqa_ragged": read_ragged, "single_decode": read_single,
           "single_prefill": read_single, "cascade_merge": read_merge, "page_append": read_append, "rope": read_rope,
           "mla_paged": read_latent, "xqa": read_xqa, "trtllm_paged": read_sparse_pages,
           "msa_sparse": read_selected_blocks}


def make(statement, rng):
    """The `Stated` problem of a statement."""
    if statement.kind in OTHERS:
        raise NotOurs(OTHERS[statement.kind])
    if statement.kind == "mla_paged":
        return read_latent(statement, rng)
    for name, given in {**statement.inputs, **statement.outputs}.items():
        kind = given["dtype"] or ""
        if name not in ("workspace_buffer", "semaphores") and (kind.startswith("float8") or kind.startswith("uint8")):
            raise NotOurs(f"8-bit elements ({name}: {kind})")
    if "quantize" in statement.name:
        raise NotOurs("8-bit or smaller elements")
    if not statement.reference:
        raise NotOurs("unread: the file has no reference")
    if statement.kind not in READERS:
        raise NotOurs(f"unread: no reader for op_type {statement.kind}")
    stated = READERS[statement.kind](statement, rng)
    kinds = {out["dtype"] for out in statement.outputs.values() if out["dtype"] in ELEMENTS}
    stated.element = next((ELEMENTS[kind][0] for kind in kinds if kind != "float32"), "f32")
    return stated


#===--- The reference in a statement ---------------------------------------===#

def definitions(source):
    """The functions of a Python file, by name, as text."""
    return {node.name: ast.get_source_segment(source, node) if not node.decorator_list else
            "\n".join(source.splitlines()[node.decorator_list[0].lineno - 1:node.end_lineno])
            for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def add_missing(scope, texts, helpers):
    """Defines what is called and has no definition."""
    while texts:
        names = {node.id for node in ast.walk(ast.parse(texts.pop())) if isinstance(node, ast.Name)}
        for name in names & helpers.keys() - scope.keys():
            exec(helpers[name], scope)
            texts.append(helpers[name])


def call_reference(statement, inputs, helpers, torch):
    """The reference's results as float64 arrays: on torch's tensors, or on numpy's arrays if its source has no torch.
    `helpers` has functions that the source may call and lacks."""
    uses_torch = "torch" in statement.reference
    if uses_torch and torch is None:
        raise ImportError("torch")
    scope = {"math": math, "np": np, **vars(typing)}
    if uses_torch:
        scope["torch"] = torch
    exec(statement.reference, scope)
    own = definitions(statement.reference)
    add_missing(scope, [*own.values()], helpers)
    name = [name for name in own if name.endswith("_reference")][-1]

    def give(value):
        if isinstance(value, tuple):
            return tuple(map(give, value))
        if not isinstance(value, np.ndarray):
            return value
        if not uses_torch:
            return value.copy()
        if value.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(value.astype(np.float32)).to(torch.bfloat16)
        return torch.from_numpy(value.copy())

    def take(value):
        if isinstance(value, (tuple, list)):
            return [array for part in value for array in take(part)]
        return [np.asarray(value.double().numpy() if uses_torch else value, np.float64)]

    parameters = inspect.signature(scope[name]).parameters
    accepts_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return take(scope[name](**{key: give(value) for key, value in inputs.items() if accepts_all or key in parameters}))
