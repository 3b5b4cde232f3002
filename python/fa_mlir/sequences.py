"""What is wrong with lengths, starts and pages of sequences.

`sequence_errors` is the public function, `_write_check` the text that it compiles.
"""

from __future__ import annotations

import enum
import functools
import importlib
from typing import Any

from .arguments import NumpyArrays, TorchArrays, as_numpy, refuse
from .entries import compile_text, find_chip

_PACKED, _PAGES = "#fa.dims<s, h, d>", "#fa.dims<p, s, h, d>"


class SequenceError(enum.IntFlag):
    """Bits of the words that sequence_errors gives."""

    QUERY_STARTS = 1
    QUERY_LENGTH = 2
    KEY_STARTS = 4
    KEY_LENGTH = 8
    KEY_PAGES = 16


@functools.lru_cache(maxsize=256)
def _write_check(element: str, ranks: tuple[int, int], tables: tuple[str, ...]) -> str:
    query, key = (f"tensor<{'?x' * rank}{element}>" for rank in ranks)
    kinds = {name: "tensor<?x?xi32>" if name == "key_pages" else "tensor<?xi32>" for name in tables}
    arguments = ", ".join([f"%query: {query}", f"%key: {key}", f"%value: {key}",
                           *(f"%{name}: {kind}" for name, kind in kinds.items())])
    clauses = " ".join(f"{name}(%{name} : {kind})" for name, kind in kinds.items())
    orders = ["query_dims = " + _PACKED] if "query_starts" in kinds else []
    of_keys = _PACKED if "key_starts" in kinds else _PAGES if "key_pages" in kinds else ""
    orders += [f"{name}_dims = {of_keys}" for name in ("key", "value") if of_keys]
    # The number of sequences: of a table, whose starts are one more.
    counting = next((name for name in tables if not name.endswith("_starts")), tables[0])
    count = ("%sequences = arith.subi %entries, %one : index" if counting.endswith("_starts") else
             "%sequences = arith.addi %entries, %zero : index")
    return f"""func.func @sequence_errors({arguments}) -> tensor<?xi32> {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %entries = tensor.dim %{counting}, %zero : {kinds[counting]}
  {count}
  %words = tensor.empty(%sequences) : tensor<?xi32>
  %errors = fa.sequence_errors ins(%query, %key, %value : {query}, {key}, {key}) outs(%words : tensor<?xi32>)
      {clauses} {{{", ".join(orders)}}} -> tensor<?xi32>
  return %errors : tensor<?xi32>
}}
"""


def sequence_errors(query: Any, key: Any, value: Any, *, query_lengths: Any = None, key_lengths: Any = None,
                    query_starts: Any = None, key_starts: Any = None, key_pages: Any = None) -> Any:
    """What is wrong with each sequence of an attention() on the same arrays: int32, (batch,).

    0, or a sum of fa_mlir.SequenceError: starts that fall or end past the rows, a length
    that is negative or above its room, a page of a key that is not in the pools. Results
    of such a sequence are NaN, or 0 with wrong query starts; those of others are as ever. On a GPU nothing waits for the
    words: read them when the host next waits for anyway, once for all layers of a step.

    query, key, value: as of attention(), in the layout "bshd"; only their shapes are read.
    query_lengths, key_lengths, query_starts, key_starts, key_pages: as of attention().

    Raises ArgumentError where no table is given, or shapes do not fit together.
    """
    is_torch = type(query).__module__.partition(".")[0] == "torch"
    kind = TorchArrays if is_torch else NumpyArrays
    tables = {"query_lengths": query_lengths, "key_lengths": key_lengths, "query_starts": query_starts,
              "key_starts": key_starts, "key_pages": key_pages}
    tables = {name: table if is_torch else as_numpy(table, name) for name, table in tables.items() if table is not None}
    if not tables:
        raise refuse("query_lengths", "is None, and so are other lengths and starts, expected some to look at")
    if not is_torch:
        query, key, value = map(as_numpy, (query, key, value), ("query", "key", "value"))
    starts = {name: table.shape[0] - name.endswith("_starts") for name, table in tables.items()}
    batch = query.shape[0] if query_starts is None else starts["query_starts"]
    for name, count in starts.items():
        if count != batch:
            raise refuse(name, f"is of {count} sequences, expected {batch} as the query's")
        if kind.type(tables[name]) != "i32":
            raise refuse(name, f"has dtype {tables[name].dtype}, expected int32")
    for name, array, rank in (("query", query, 4 if query_starts is None else 3),
                              ("key", key, 4 if key_starts is None else 3), ("value", value, key.ndim)):
        if array.ndim != rank:
            raise refuse(name, f"has rank {array.ndim}, expected {rank}")
    text = _write_check(kind.type(query), (query.ndim, key.ndim), tuple(tables))
    chip = find_chip(query.device.index or 0) if is_torch and query.is_cuda else None
    if is_torch:
        torch = importlib.import_module("torch")
        words = torch.empty(batch, dtype=torch.int32, device=query.device)
    else:
        numpy = importlib.import_module("numpy")
        words = numpy.empty(batch, numpy.int32)
    compile_text(text, chip)(query, key, value, *tables.values(), result0=words)
    return words
