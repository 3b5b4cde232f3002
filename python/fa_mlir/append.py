"""New rows of a cache, and the rotary embedding of a step of decoding, as one call of compiled code.

`append` is what kvcache.py calls, an operator of torch where a graph is traced. `_write` is the text that it runs: a loop over
elements that turns queries (`_queries`), and fa.append. `turn` is for rows whose positions are not those of the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .entries import compile_text, find_chip

#: The operator of torch. Sequences without room for their rows keep their cache, and get queries of NaN; packed queries give nothing.
SCHEMA = ("append(Tensor query, Tensor? key, Tensor? value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor key_lengths, "
          "Tensor? key_starts, Tensor? key_pages, Tensor? cosines, Tensor? sines, bool interleaved, bool is_local) -> Tensor")
#: Rows at positions of their own.
TURN_SCHEMA = "turn(Tensor rows, Tensor firsts, Tensor cosines, Tensor sines, bool interleaved, bool is_local) -> Tensor"


@dataclass(frozen=True)
class _Kind:
    """What decides the text. has_queries: whether these are turned; has_rows, is_packed, is_paged: whether there are new
    rows, these are packed, and the cache is one of pages. angles: the type of cosines and sines, their columns, and whether
    pairs are interleaved. is_local: whether queries have positions one after another, else all have that of the first row."""

    element: str
    head_dim: int
    value_head_dim: int
    has_queries: bool
    has_rows: bool
    is_packed: bool
    is_paged: bool
    angles: tuple[str, int, bool] | None
    is_local: bool


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


def _turn(kind: _Kind) -> list[str]:
    """%turned_x: of a pair x cos - y sin, and y cos + x sin, at a row that the tables have; %x of what no pair has."""
    assert kind.angles
    angles, _, interleaved = kind.angles
    return [*(_INTERLEAVED if interleaved else _HALVES),
            "%turns = arith.cmpi slt, %d, %both : index", "%partner = arith.select %turns, %other, %d : index",
            "%column = arith.minsi %pair, %last_column : index", "%above_none = arith.maxsi %place, %c0 : index",
            "%row = arith.minsi %above_none, %last : index",
            *_load("y", kind.element, "%query[%b, %i, %h, %partner] : !query"),
            *_load("cos", angles, "%cosines[%row, %column] : !angles"), *_load("sin", angles, "%sines[%row, %column] : !angles"),
            "%negated = arith.negf %sin : f32", "%signed = arith.select %is_first, %negated, %sin : f32",
            "%one = arith.mulf %x, %cos : f32", "%two = arith.mulf %y, %signed : f32", "%sum = arith.addf %one, %two : f32",
            "%turned_x = arith.select %turns, %sum, %x : f32"]


def _loop(kind: _Kind, place: list[str], result: list[str]) -> list[str]:
    """Writes %turned. place: lines that make %begin, of batch item %b; result: what becomes of %turned_x."""
    element = kind.element
    turned = "turned_x" if kind.angles else "x"
    body = [f"%{name} = linalg.index {dim} : index" for dim, name in enumerate("bihd")]
    body += _load("x", element, "%query[%b, %i, %h, %d] : !query")
    body += [*place, f"%place = arith.addi %begin, {'%i' if kind.is_local else '%c0'} : index", *(_turn(kind) if kind.angles else [])]
    body += [line.replace("%turned_x", f"%{turned}") for line in result]
    if result:
        turned = "valid"
    if element != "f32":
        body.append(f"%narrow = arith.truncf %{turned} : f32 to {element}")
        turned = "narrow"
    body.append(f"linalg.yield %{turned} : {element}")
    return ['linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}',
            "    outs(%turned : !query) {", f"^bb0(%unused: {element}):", *[f"  {line}" for line in body], "}"]


def _queries(kind: _Kind) -> list[str]:
    """The loop of a step: from the first new row on, and NaN where there is no room for these."""
    place = ["%length = memref.load %key_lengths[%b] : !lengths", "%end = arith.index_cast %length : i32 to index",
             "%begin = arith.subi %end, %new : index"]
    if kind.is_packed:
        place[:0] = ["%next = arith.addi %b, %c1 : index", "%rows_begin = memref.load %key_starts[%b] : !lengths",
                     "%rows_end = memref.load %key_starts[%next] : !lengths", "%rows = arith.subi %rows_end, %rows_begin : i32",
                     "%new = arith.index_cast %rows : i32 to index"]
    return _loop(kind, place, ["%starts = arith.cmpi sge, %begin, %c0 : index", "%ends = arith.cmpi sle, %end, %size : index",
                               "%fits = arith.andi %starts, %ends : i1", "%valid = arith.select %fits, %turned_x, %nan : f32"])


def _use_tables(kind: _Kind) -> tuple[str, list[str]]:
    """The type of cosines and sines, and the lines that `_turn` needs."""
    assert kind.angles
    element, columns, _ = kind.angles
    lines = [f"%{name} = arith.constant {value} : index"
             for name, value in (("half", columns), ("both", 2 * columns), ("last_column", columns - 1))]
    lines += ["%positions = memref.dim %cosines, %c0 : !angles", "%last = arith.subi %positions, %c1 : index"]
    return f"!angles = memref<?x{columns}x{element}, strided<[?, 1], offset: ?>>", lines


def _write_memory(kind: _Kind, rank: int, head_dim: int) -> str:
    return f"memref<{'?x' * rank}{head_dim}x{kind.element}, strided<[{'?, ' * rank}1], offset: ?>>"


_CONSTANTS = [f"%c{i} = arith.constant {i} : index" for i in range(3)]
_LENGTHS = "!lengths = memref<?xi32, strided<[?], offset: ?>>"


def _write_function(types: list[str], name: str, arguments: list[str], lines: list[str]) -> str:
    return "\n".join([*types, "#all = affine_map<(b, i, h, d) -> (b, i, h, d)>",
                      f"func.func @{name}({', '.join(arguments)}) {{", *[f"  {line}" for line in [*lines, "return"]], "}\n"])


def _write_turn(kind: _Kind) -> str:
    """@turn: rows at positions of their own, as arguments of `_run_turn`."""
    angles, lines = _use_tables(kind)
    place = ["%first = memref.load %firsts[%b] : !lengths", "%begin = arith.index_cast %first : i32 to index"]
    return _write_function([f"!query = {_write_memory(kind, 3, kind.head_dim)}", _LENGTHS, angles], "turn",
                           ["%query: !query", "%firsts: !lengths", "%cosines: !angles", "%sines: !angles", "%turned: !query"],
                           [*_CONSTANTS, *lines, *_loop(kind, place, [])])


def _write(kind: _Kind) -> str:
    """@append: arguments as `_run` names them."""
    rank = 2 if kind.is_packed else 3
    types = [f"!{name} = {_write_memory(kind, *shape)}" for name, shape in (
        ("query", (3, kind.head_dim)), ("value", (3, kind.value_head_dim)), ("rows", (rank, kind.head_dim)),
        ("value_rows", (rank, kind.value_head_dim)))]
    types += [_LENGTHS, "!pages = memref<?x?xi32, strided<[?, ?], offset: ?>>"]
    arguments = [*["%query: !query"] * kind.has_queries, *["%key: !rows", "%value: !value_rows"] * kind.has_rows,
                 "%key_cache: !query", "%value_cache: !value", "%key_lengths: !lengths", *["%key_starts: !lengths"] * kind.is_packed,
                 *["%key_pages: !pages"] * kind.is_paged]
    lines = [*_CONSTANTS, "%nan = arith.constant 0x7FC00000 : f32",
             f"%{'page' if kind.is_paged else 'size'} = memref.dim %key_cache, %c1 : !query"]
    if not kind.is_packed:
        lines.append("%new = memref.dim %key, %c1 : !rows" if kind.has_rows else "%new = arith.constant 0 : index")
    clauses, orders = "key_lengths(%key_lengths : !lengths)", []
    if kind.is_packed:
        clauses += " key_starts(%key_starts : !lengths)"
        orders += ["key_dims = #fa.dims<s, h, d>", "value_dims = #fa.dims<s, h, d>"]
    if kind.is_paged:
        lines += ["%count = memref.dim %key_pages, %c1 : !pages", "%size = arith.muli %count, %page : index"]
        clauses += " key_pages(%key_pages : !pages)"
        orders += ["key_cache_dims = #fa.dims<p, s, h, d>", "value_cache_dims = #fa.dims<p, s, h, d>"]
    if kind.angles:
        angles, more = _use_tables(kind)
        types.append(angles)
        lines += more
        arguments += ["%cosines: !angles", "%sines: !angles"]
        clauses += f" rotary {'interleaved' if kind.angles[2] else 'halves'}(%cosines, %sines : !angles, !angles)"
    if kind.has_queries:
        arguments.append("%turned: !query")
        lines += _queries(kind)
    if kind.has_rows:
        lines.append("fa.append ins(%key, %value : !rows, !value_rows) outs(%key_cache, %value_cache : !query, !value)\n"
                     f"      {clauses} {{{', '.join(orders)}}}")
    return _write_function(types, "append", arguments, lines)


# Calls of all arguments, by what decides the code.
_calls: dict[tuple, Any] = {}


def _find_call(write: Callable[[_Kind], str], dtype: Any, decided: Any, angles: tuple | None, is_local: bool, device: Any) -> Any:
    """decided: the fields of _Kind between its element and its angles."""
    import torch

    key = (write, dtype, decided, angles, is_local, device)
    call = _calls.get(key)
    if call is None:
        names = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
        known = None if angles is None else (names[angles[0]], *angles[1:])
        fields: Any = (names[dtype], *decided, known, is_local)
        compiled = compile_text(write(_Kind(*fields)), None if device is None else find_chip(device.index or 0))
        if device is not None:
            call = compiled.load().launch
        else:
            arguments = [argument.name for argument in compiled.arguments]
            call = lambda *tensors: compiled(**dict(zip(arguments, tensors)))
        _calls[key] = call
    return call


def _run(query: Any, key: Any, value: Any, key_cache: Any, value_cache: Any, key_lengths: Any, key_starts: Any, key_pages: Any,
         cosines: Any, sines: Any, interleaved: bool, is_local: bool) -> Any:
    import torch

    angles = None if cosines is None else (cosines.dtype, cosines.shape[1], interleaved)
    has_queries = query.dim() == 4
    decided = (query.shape[-1], value_cache.shape[3], has_queries, key is not None, key_starts is not None, key_pages is not None)
    call = _find_call(_write, query.dtype, decided, angles, is_local, query.device if query.is_cuda else None)
    turned = torch.empty_like(query) if has_queries else None
    call(*[tensor for tensor in (query if has_queries else None, key, value, key_cache, value_cache, key_lengths, key_starts, key_pages,
                                 cosines, sines, turned) if tensor is not None])
    return query.new_empty(0) if turned is None else turned


def _run_turn(rows: Any, firsts: Any, cosines: Any, sines: Any, interleaved: bool, is_local: bool) -> Any:
    import torch

    call = _find_call(_write_turn, rows.dtype, (rows.shape[-1], rows.shape[-1], True, False, False, False),
                      (cosines.dtype, cosines.shape[1], interleaved), is_local, rows.device if rows.is_cuda else None)
    turned = torch.empty_like(rows)
    call(rows, firsts, cosines, sines, turned)
    return turned


def _lay_out(tensor: Any) -> Any:
    """With elements of a row beside each other, as they are."""
    if tensor is None:
        return None
    return (tensor if tensor.stride(-1) == 1 else tensor.contiguous()).resolve_neg()


def _lay_out_tables(cosines: Any, sines: Any) -> tuple[Any, Any]:
    """In one type that kernels have; None where they turn nothing."""
    import torch

    if cosines is None or not cosines.numel():
        return None, None
    if cosines.dtype != sines.dtype or cosines.dtype == torch.float64:
        cosines, sines = cosines.float(), sines.float()
    return _lay_out(cosines), _lay_out(sines)


def _is_plain(tensor: Any) -> bool:
    """Whether code may be called with it, rather than the operator."""
    import torch

    return (type(tensor) is torch.Tensor and (tensor.is_cpu or tensor.is_cuda) and not torch.compiler.is_compiling()
            and not torch._C._len_torch_dispatch_stack())


def turn(rows: Any, firsts: Any, cosines: Any, sines: Any, interleaved: bool, is_local: bool) -> Any:
    """Rotary embedding of rows, (batch, rows, heads, head dim), at positions from firsts, int32, (batch), on."""
    import torch

    cosines, sines = _lay_out_tables(cosines, sines)
    if cosines is None:
        return rows
    given = (_lay_out(rows), firsts, cosines, sines, interleaved, is_local)
    return _run_turn(*given) if _is_plain(rows) else torch.ops.fa_mlir.turn(*given)


def append(query: Any, key: Any, value: Any, key_cache: Any, value_cache: Any, key_lengths: Any, key_starts: Any, key_pages: Any,
           cosines: Any, sines: Any, interleaved: bool, is_local: bool) -> Any:
    """Writes key and value, (batch, rows, key heads, head dim), packed with key_starts, or None, behind the rows of a cache,
    and returns the queries, turned where these are not packed. key_lengths, int32, (batch), count the new rows; key_pages: of
    a cache in pages.

    cosines, sines: (positions, turned dims / 2), or None. A sequence that has no room stays as it was, and its
    queries are NaN."""
    import torch

    if query.dtype != key_cache.dtype:
        # In autocast alone.
        query = query.to(key_cache.dtype)
    if key is not None:
        key, value = key.to(key_cache.dtype), value.to(value_cache.dtype)
    given = (*map(_lay_out, (query, key, value)), key_cache, value_cache, key_lengths, key_starts, key_pages,
             *_lay_out_tables(cosines, sines), interleaved, is_local)
    turned = _run(*given) if _is_plain(query) else torch.ops.fa_mlir.append(*given)
    return turned if query.dim() == 4 else query


def register(library: Any) -> None:
    """Gives torch the operators."""
    import torch

    for schema, name, run in (SCHEMA, "append", _run), (TURN_SCHEMA, "turn", _run_turn):
        library.define(schema)
        for device in "CPU", "CUDA":
            library.impl(name, run, device)
    torch.library.register_fake("fa_mlir::append", lambda query, *more: torch.empty_like(query) if query.dim() == 4 else query.new_empty(0))
    torch.library.register_fake("fa_mlir::turn", lambda rows, *more: torch.empty_like(rows))
