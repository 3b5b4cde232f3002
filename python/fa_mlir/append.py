"""New rows of a cache, and the rotary embedding of a step of decoding, as one call of compiled code.

`append` is what kvcache.py calls, with `Arguments`, an operator of torch where a graph is traced. `_write` is the text that it
runs: loops over elements that turn rows (`_loop`), and fa.append.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .arguments import TorchArrays, is_run_now
from .entries import compile_text, find_chip
from .errors import renames_arguments
from .problem import OPERAND_TYPES

#: The operator of torch. It gives queries, turned; nothing where they stay as they are.
SCHEMA = ("append(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor key_lengths, "
          "Tensor? key_starts, Tensor? key_pages, Tensor? cosines, Tensor? sines, Tensor? query_firsts, Tensor? key_firsts, "
          "bool interleaved, bool is_local) -> Tensor")


class Arguments(NamedTuple):
    """Of the operator, in the order of its schema."""

    #: Of the type of the cache.
    query: Any
    #: New rows, (batch, rows, key heads, head dim), or packed with key_starts, of any type.
    key: Any
    value: Any
    key_cache: Any
    value_cache: Any
    #: int32, (batch), with the new rows.
    key_lengths: Any
    key_starts: Any = None
    #: Of a cache in pages.
    key_pages: Any = None
    #: (positions, turned dims / 2), or None.
    cosines: Any = None
    sines: Any = None
    #: None, or int32: positions that rows have from the first on, (batch), or of each row that is packed.
    query_firsts: Any = None
    key_firsts: Any = None
    #: Whether dims 2 i and 2 i + 1 are a pair, else i and i + half.
    interleaved: bool = False
    #: Whether queries have positions one after another, else all have that of the first new row.
    is_local: bool = False


class _Kind(NamedTuple):
    """What decides the text."""

    element: str
    head_dim: int
    value_head_dim: int
    #: Whether queries are packed.
    packs_queries: bool
    #: Whether new rows are.
    packs_rows: bool
    #: Whether the cache is one of pages.
    is_paged: bool
    #: The type of cosines and sines, their columns, and whether pairs are interleaved; None where nothing is turned.
    angles: tuple[str, int, bool] | None
    #: Whether positions are given, else they are rows of the cache.
    has_firsts: bool
    is_local: bool

    @property
    def has_queries(self) -> bool:
        """Whether queries are written: those that are not packed become NaN where a sequence has no room."""
        return not self.packs_queries or self.angles is not None


# The other element of a pair, and the column of its angle.
_HALVES = ["%is_first = arith.cmpi slt, %d, %half : index", "%above = arith.addi %d, %half : index",
           "%below = arith.subi %d, %half : index", "%other = arith.select %is_first, %above, %below : index",
           "%pair = arith.select %is_first, %d, %below : index"]
_INTERLEAVED = ["%odd = arith.andi %d, %c1 : index", "%is_first = arith.cmpi eq, %odd, %c0 : index",
                "%above = arith.addi %d, %c1 : index", "%below = arith.subi %d, %c1 : index",
                "%other = arith.select %is_first, %above, %below : index", "%pair = arith.divui %d, %c2 : index"]


def _load(name: str, element: str, place: str) -> list[str]:
    """%name in f32."""
    if element == "f32":
        return [f"%{name} = memref.load {place}"]
    return [f"%{name}_narrow = memref.load {place}", f"%{name} = arith.extf %{name}_narrow : {element} to f32"]


def _turn(kind: _Kind, source: str) -> list[str]:
    """%turned: of a pair x cos - y sin, and y cos + x sin, at a row that the tables have; %x of what no pair has."""
    assert kind.angles
    angles, _, interleaved = kind.angles
    return [*(_INTERLEAVED if interleaved else _HALVES),
            "%turns = arith.cmpi slt, %d, %both : index", "%partner = arith.select %turns, %other, %d : index",
            "%column = arith.minsi %pair, %last_column : index", "%above_none = arith.maxsi %place, %c0 : index",
            "%row = arith.minsi %above_none, %last : index", *_load("y", kind.element, f"%{source}[%b, %i, %h, %partner] : !query"),
            *_load("cos", angles, "%cosines[%row, %column] : !angles"), *_load("sin", angles, "%sines[%row, %column] : !angles"),
            "%negated = arith.negf %sin : f32", "%signed = arith.select %is_first, %negated, %sin : f32",
            "%one = arith.mulf %x, %cos : f32", "%two = arith.mulf %y, %signed : f32", "%sum = arith.addf %one, %two : f32",
            "%turned = arith.select %turns, %sum, %x : f32"]


def _find_new_rows(kind: _Kind) -> list[str]:
    """%begin and %end of those of sequence %b."""
    lines = ["%length = memref.load %key_lengths[%b] : !lengths", "%end = arith.index_cast %length : i32 to index",
             "%begin = arith.subi %end, %new : index"]
    if kind.packs_rows:
        lines[:0] = ["%next = arith.addi %b, %c1 : index", "%rows_begin = memref.load %key_starts[%b] : !lengths",
                     "%rows_end = memref.load %key_starts[%next] : !lengths", "%rows = arith.subi %rows_end, %rows_begin : i32",
                     "%new = arith.index_cast %rows : i32 to index"]
    return lines


def _loop(kind: _Kind, source: str, target: str, is_local: bool, needs_room: bool) -> list[str]:
    """Writes the rows of %source, turned, to %target; NaN at positions that the tables have not, and where a sequence needs room
    that it has not."""
    element, value = kind.element, "turned" if kind.angles else "x"
    body = [f"%{name} = linalg.index {dim} : index" for dim, name in enumerate("bihd")]
    body += _load("x", element, f"%{source}[%b, %i, %h, %d] : !query")
    if needs_room:
        body += _find_new_rows(kind)
    first = "begin"
    if kind.has_firsts:
        body += [f"%first32 = memref.load %{source}_firsts[%b] : !lengths", "%first = arith.index_cast %first32 : i32 to index"]
        first = "first"
    if kind.angles:
        body += [f"%place = arith.addi %{first}, {'%i' if is_local else '%c0'} : index", *_turn(kind, source)]
    if needs_room:
        body += ["%starts = arith.cmpi sge, %begin, %c0 : index", "%ends = arith.cmpi sle, %end, %size : index",
                 "%fits = arith.andi %starts, %ends : i1", f"%valid = arith.select %fits, %{value}, %nan : f32"]
        value = "valid"
    if kind.angles:
        body += ["%low = arith.cmpi sge, %place, %c0 : index", "%high = arith.cmpi sle, %place, %last : index",
                 "%is_known = arith.andi %low, %high : i1", f"%known = arith.select %is_known, %{value}, %nan : f32"]
        value = "known"
    if element != "f32":
        body.append(f"%narrow = arith.truncf %{value} : f32 to {element}")
        value = "narrow"
    body.append(f"linalg.yield %{value} : {element}")
    return ['linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}',
            f"    outs(%{target} : !query) {{", f"^bb0(%unused: {element}):", *[f"  {line}" for line in body], "}"]


def _write(kind: _Kind) -> str:
    """@append: arguments as `_run` passes them. Packed rows that are turned have a dim of one row behind the first."""
    def memory(rank: int, head_dim: int) -> str:
        return f"memref<{'?x' * rank}{head_dim}x{kind.element}, strided<[{'?, ' * rank}1], offset: ?>>"

    rank = 2 if kind.packs_rows else 3
    types = [f"!{name} = {memory(*shape)}" for name, shape in (
        ("query", (3, kind.head_dim)), ("value", (3, kind.value_head_dim)), ("rows", (rank, kind.head_dim)),
        ("value_rows", (rank, kind.value_head_dim)))]
    types += ["!lengths = memref<?xi32, strided<[?], offset: ?>>", "!pages = memref<?x?xi32, strided<[?, ?], offset: ?>>"]
    arguments = [*["%query: !query"] * kind.has_queries, f"%key: {'!query' if kind.has_firsts else '!rows'}", "%value: !value_rows",
                 "%key_cache: !query", "%value_cache: !value", "%key_lengths: !lengths", *["%key_starts: !lengths"] * kind.packs_rows,
                 *["%key_pages: !pages"] * kind.is_paged]
    lines = [f"%c{i} = arith.constant {i} : index" for i in range(3)]
    lines += ["%nan = arith.constant 0x7FC00000 : f32", f"%{'page' if kind.is_paged else 'size'} = memref.dim %key_cache, %c1 : !query"]
    if not kind.packs_rows:
        lines.append(f"%new = memref.dim %key, %c1 : {'!query' if kind.has_firsts else '!rows'}")
    clauses, orders = "key_lengths(%key_lengths : !lengths)", []
    if kind.packs_rows:
        clauses += " key_starts(%key_starts : !lengths)"
        orders += ["key_dims = #fa.dims<s, h, d>", "value_dims = #fa.dims<s, h, d>"]
    if kind.is_paged:
        lines += ["%count = memref.dim %key_pages, %c1 : !pages", "%size = arith.muli %count, %page : index"]
        clauses += " key_pages(%key_pages : !pages)"
        orders += ["key_cache_dims = #fa.dims<p, s, h, d>", "value_cache_dims = #fa.dims<p, s, h, d>"]
    if kind.angles:
        element, columns, interleaved = kind.angles
        types.append(f"!angles = memref<?x{columns}x{element}, strided<[?, 1], offset: ?>>")
        arguments += ["%cosines: !angles", "%sines: !angles"]
        lines += [f"%{name} = arith.constant {value} : index"
                  for name, value in (("half", columns), ("both", 2 * columns), ("last_column", columns - 1))]
        lines += ["%positions = memref.dim %cosines, %c0 : !angles", "%last = arith.subi %positions, %c1 : index"]
        if not kind.has_firsts:
            clauses += f" rotary {'interleaved' if interleaved else 'halves'}(%cosines, %sines : !angles, !angles)"
    rows = "key"
    if kind.has_firsts:
        arguments += ["%query_firsts: !lengths", "%key_firsts: !lengths", "%turned_key: !query"]
        lines += _loop(kind, "key", "turned_key", is_local=True, needs_room=False)
        rows = "turned_key"
        if kind.packs_rows:
            rows = "packed_key"
            lines += ["%row_count = memref.dim %turned_key, %c0 : !query", "%head_count = memref.dim %turned_key, %c2 : !query",
                      f"%packed_key = memref.subview %turned_key[0, 0, 0, 0] [%row_count, 1, %head_count, {kind.head_dim}] "
                      "[1, 1, 1, 1] : !query to !rows"]
    if kind.has_queries:
        arguments.append("%turned_query: !query")
        lines += _loop(kind, "query", "turned_query", kind.is_local, needs_room=not kind.packs_queries)
    lines += [f"fa.append ins(%{rows}, %value : !rows, !value_rows) outs(%key_cache, %value_cache : !query, !value)\n"
              f"      {clauses} {{{', '.join(orders)}}}", "return"]
    return "\n".join([*types, "#all = affine_map<(b, i, h, d) -> (b, i, h, d)>",
                      f"func.func @append({', '.join(arguments)}) {{", *[f"  {line}" for line in lines], "}\n"])


def _find_kind(given: Arguments) -> _Kind:
    query, cosines = given.query, given.cosines
    angles = None if cosines is None else (TorchArrays.type(cosines), cosines.shape[1], given.interleaved)
    return _Kind(TorchArrays.type(query), query.shape[-1], given.value_cache.shape[3], query.dim() == 3, given.key_starts is not None,
                 given.key_pages is not None, angles, given.query_firsts is not None, given.is_local)


# Calls of all arguments, by what decides the code.
_calls: dict[tuple, Callable] = {}


def _find_call(kind: _Kind, device: Any) -> Callable:
    """device: a GPU, or None."""
    call = _calls.get((kind, device))
    if call is None:
        compiled = compile_text(_write(kind), None if device is None else find_chip(device.index or 0))
        if device is not None:
            call = compiled.load().launch
        else:
            arguments = [argument.name for argument in compiled.arguments]
            call = lambda *tensors: compiled(**dict(zip(arguments, tensors)))
        _calls[kind, device] = call
    return call


def _run(given: Arguments) -> Any:
    import torch

    kind = _find_kind(given)
    call = _find_call(kind, given.query.device if given.query.is_cuda else None)
    key, query = given.key, given.query
    turned = turned_key = written = None
    if kind.has_firsts:
        if kind.packs_rows:
            key = key[:, None]
        turned_key = torch.empty_like(key)
    if kind.has_queries:
        turned = written = torch.empty_like(query)
        if kind.packs_queries:
            query, written = query[:, None], turned[:, None]
    tensors = (query if kind.has_queries else None, key, given.value, given.key_cache, given.value_cache, given.key_lengths,
               given.key_starts, given.key_pages, given.cosines, given.sines, given.query_firsts, given.key_firsts, turned_key, written)
    call(*[tensor for tensor in tensors if tensor is not None])
    return query.new_empty(0) if turned is None else turned


def _lay_out(tensor: Any) -> Any:
    """With elements of a row beside each other, as they are."""
    return (tensor if tensor.stride(-1) == 1 else tensor.contiguous()).resolve_neg()


@renames_arguments(query="q", key="k", value="v", key_cache="k_cache", value_cache="v_cache", key_lengths="cache_seqlens",
                   key_starts="new_starts", key_pages="block_table", cosines="rotary_cos", sines="rotary_sin")
def append(given: Arguments) -> Any:
    """Writes new rows behind those of a cache, and returns the queries, turned.

    A sequence that has no room stays as it was, and queries of it that are not packed are NaN. So are rows at positions that
    the tables have not."""
    import torch

    given = _convert(given)
    query = given.query
    if is_run_now(query):
        turned = _run(given)
        for cache in given.key_cache, given.value_cache:
            if not cache.is_inference():
                torch.autograd.graph.increment_version(cache)
    else:
        turned = torch.ops.fa_mlir.append(*given)
    return query if query.dim() == 3 and given.cosines is None else turned


def _convert(given: Arguments) -> Arguments:
    """To types and strides that compiled code takes, with no tables where these turn nothing."""
    key_cache, value_cache = given.key_cache, given.value_cache
    cosines, sines, query_firsts, key_firsts = given.cosines, given.sines, given.query_firsts, given.key_firsts
    if cosines is not None and not cosines.numel():
        cosines = sines = query_firsts = key_firsts = None
    if cosines is not None:
        if cosines.dtype != sines.dtype or TorchArrays.type(cosines) not in OPERAND_TYPES:
            cosines, sines = cosines.float(), sines.float()
        cosines, sines = _lay_out(cosines), _lay_out(sines)
    return Arguments(_lay_out(given.query), _lay_out(given.key.to(key_cache.dtype)), _lay_out(given.value.to(value_cache.dtype)), key_cache,
                     value_cache, given.key_lengths, given.key_starts, given.key_pages, cosines, sines, query_firsts, key_firsts,
                     given.interleaved, given.is_local)


def _run_fake(given: Arguments) -> Any:
    import torch

    query = given.query
    return query.new_empty(0) if query.dim() == 3 and given.cosines is None else torch.empty_like(query)


def register(library: Any) -> None:
    """Gives torch the operator."""
    import torch

    library.define(SCHEMA)
    for device in "CPU", "CUDA":
        library.impl("append", lambda *given: _run(Arguments(*given)), device)
    torch.library.register_fake("fa_mlir::append", lambda *given: _run_fake(Arguments(*given)))
