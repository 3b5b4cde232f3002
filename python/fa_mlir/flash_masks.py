"""Masks that FlashAttention has beside causal ones and windows: chunks of positions, and padding on the left.

`make_mask` writes both as one clause of fa.attention, with what it captures.
"""

from __future__ import annotations

from typing import Any

from .arguments import refuse, refuse_array, show_shape
from .problem import Traced


def check_chunk(attention_chunk: Any) -> int:
    if isinstance(attention_chunk, bool) or not isinstance(attention_chunk, int) or attention_chunk < 0:
        raise refuse("attention_chunk", f"is {attention_chunk!r}, expected an integer from 0; 0 is none")
    return attention_chunk


def check_padding(leftpad: Any, shape: tuple, device: Any) -> None:
    import torch

    if not isinstance(leftpad, torch.Tensor):
        raise refuse_array("cache_leftpad", leftpad)
    if leftpad.shape != shape or leftpad.dtype != torch.int32 or leftpad.device != device:
        hint = "" if leftpad.dtype == torch.int32 else ": .to(torch.int32)"
        raise refuse("cache_leftpad", f"has shape {show_shape(leftpad.shape)} and dtype {leftpad.dtype} on {leftpad.device}, expected "
                     f"{show_shape(shape)} and int32 on {device}{hint}")


def make_mask(chunk: int, shift: Any, leftpad: Any = None) -> Traced | None:
    """None where there is nothing to hide.

    chunk: a query sees keys of its own chunk of so many positions; 0 for all. shift: a number, or int32, (batch): keys less
    queries, by which positions of queries are those of keys. leftpad: int32, (batch), keys ahead that are none, from behind
    which chunks are counted.
    """
    captures: list[tuple] = []
    names: list[str] = []
    values: list[Any] = []
    lines: list[str] = []

    def capture(name: str, value: Any) -> None:
        """%item_name, an index: what is given, of this batch item."""
        values.append(value)
        if isinstance(value, int):
            captures.append((name, "index", None))
            names.append(f"%item_{name} = %{name} : index")
        else:
            captures.append((name, "i32", (-1,)))
            names.append(f"%{name}_table = %{name} : tensor<?xi32>")
            lines.extend([f"%{name}_narrow = tensor.extract %{name}_table[%b] : tensor<?xi32>",
                          f"%item_{name} = arith.index_cast %{name}_narrow : i32 to index"])

    if not chunk and leftpad is None:
        return None
    visible, query, key = [], "%i", "%j"
    if leftpad is not None:
        capture("leftpad", leftpad)
        lines.append("%is_key = arith.cmpi sge, %j, %item_leftpad : index")
        visible.append("%is_key")
    if chunk:
        capture("chunk", chunk)
        capture("shift", shift)
        lines.append("%aligned = arith.addi %i, %item_shift : index")
        query = "%aligned"
        if leftpad is not None:
            lines += ["%query_behind = arith.subi %aligned, %item_leftpad : index", "%key_behind = arith.subi %j, %item_leftpad : index"]
            query, key = "%query_behind", "%key_behind"
        lines += [f"%chunk_of_query = arith.floordivsi {query}, %item_chunk : index",
                  f"%chunk_of_key = arith.floordivsi {key}, %item_chunk : index",
                  "%is_near = arith.cmpi eq, %chunk_of_query, %chunk_of_key : index"]
        visible.append("%is_near")
    if len(visible) > 1:
        lines.append(f"%visible = arith.andi {', '.join(visible)} : i1")
        visible = ["%visible"]
    body = "".join(f"\n        {line}" for line in [*lines, f"fa.yield {visible[0]} : i1"])
    return Traced(f"(%b, %h, %i, %j) captures({', '.join(names)}) {{{body}\n      }}", tuple(captures), values)
