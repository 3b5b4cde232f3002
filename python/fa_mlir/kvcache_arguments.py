"""Arguments of flash_attn_with_kvcache: what a call was given, a `Step`, and what is wrong with it.

kvcache.py calls these checks, all of them before it writes. Numbers are looked at where `is_on_host` says so.
Errors have the names of FlashAttention-2, which flash_attn_interface.py turns into those of FlashAttention-3.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from .arguments import check_dense, is_recorded, overlaps, refuse, refuse_array, show_shape
from .errors import UnsupportedError
from .flash_masks import check_padding


class Step(NamedTuple):
    """What a call of flash_attn_with_kvcache was given."""

    q: Any
    k_cache: Any
    v_cache: Any
    k: Any
    v: Any
    rotary_cos: Any
    rotary_sin: Any
    cache_seqlens: Any
    cache_batch_idx: Any
    cache_leftpad: Any
    #: FlashAttention-3's page_table.
    block_table: Any
    softmax_scale: float | None
    causal: bool
    window_size: tuple
    softcap: float
    rotary_interleaved: bool
    alibi_slopes: Any
    return_lse: bool
    #: FlashAttention-3's cu_seqlens_q: queries are packed.
    query_starts: Any = None
    #: Its cu_seqlens_k_new: new rows are.
    new_starts: Any = None
    #: Positions of the first new rows, where these are not cache_seqlens.
    rotary_seqlens: Any = None
    attention_chunk: int = 0
    #: Whether block_table is of the items of the cache, as in FlashAttention-3.
    has_item_tables: bool = False


def has_integers(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or str(tensor.dtype) == "torch.bool")


def is_on_host(numbers: Any) -> bool:
    import torch

    # What a trace looks at would be the same in each of its calls.
    return type(numbers) is torch.Tensor and numbers.is_cpu and not is_recorded()


def check_table(name: str, table: Any, shape: tuple, device: Any) -> None:
    """int32; shape: with text for a dim of any size."""
    import torch

    if not isinstance(table, torch.Tensor):
        raise refuse_array(name, table)
    fits = table.dim() == len(shape) and all(isinstance(want, str) or size == want for size, want in zip(table.shape, shape))
    if not fits or table.dtype != torch.int32:
        shown = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        hint = "" if table.dtype == torch.int32 else ": .to(torch.int32)"
        raise refuse(name, f"has shape {show_shape(table.shape)} and dtype {table.dtype}, expected ({shown}) and int32{hint}")
    if table.device != device:
        raise refuse(name, f"is on {table.device}, expected {device}, as q")


def check_ranks(step: Step) -> int:
    """Returns the number of sequences."""
    q, starts = step.q, step.query_starts
    if starts is not None:
        check_table("query_starts", starts, ("batch + 1",), q.device)
        if not starts.shape[0]:
            raise refuse("query_starts", "has no numbers, expected batch + 1")
    query_dims = ("batch", "queries") if starts is None else ("query rows",)
    key_dims = ("batch", "keys") if step.block_table is None else ("pages", "page size")
    for name, tensor, dims in (("q", q, (*query_dims, "heads")), ("k_cache", step.k_cache, (*key_dims, "key heads")),
                               ("v_cache", step.v_cache, (*key_dims, "key heads"))):
        if tensor.dim() != len(dims) + 1:
            raise refuse(name, f"has shape {show_shape(tensor.shape)}, expected ({', '.join(dims)}, head dim)")
    if is_on_host(starts):
        check_starts("query_starts", starts, q.shape[0], "q")
    batch = q.shape[0] if starts is None else starts.shape[0] - 1
    if step.new_starts is not None:
        check_table("new_starts", step.new_starts, (batch + 1,), q.device)
    if step.cache_leftpad is not None:
        check_padding(step.cache_leftpad, (batch,), q.device)
    return batch


def check_cache(step: Step, batch: int) -> None:
    """What attention() says of a cache that is only read, here before it is written."""
    import torch

    q, k_cache, v_cache = step.q, step.k_cache, step.v_cache
    is_cast = torch._C._is_any_autocast_enabled()
    for name, tensor in ("k_cache", k_cache), ("v_cache", v_cache):
        expected = k_cache.dtype if is_cast else q.dtype
        if tensor.dtype != expected:
            raise refuse(name, f"has dtype {tensor.dtype}, expected that of {'k_cache' if is_cast else 'q'}, {expected}")
        if not torch.compiler.is_compiling() and tensor.is_neg():
            raise refuse(name, "is a negated view, expected the memory itself")
    for name, tensor in ("q", q), ("k_cache", k_cache), ("v_cache", v_cache):
        if tensor.stride(-1) != 1 and tensor.shape[-1] != 1:
            raise refuse(name, f"has stride {tensor.stride(-1)} in the head dim, expected 1: pass a contiguous copy")
    heads = k_cache.shape[2]
    if not heads or q.shape[-2] % heads:
        raise refuse("k_cache", f"has {heads} heads, expected a divisor of q's {q.shape[-2]}")
    if v_cache.shape[:3] != k_cache.shape[:3] or k_cache.shape[3] != q.shape[-1]:
        raise refuse("k_cache", f"has shape {show_shape(k_cache.shape)} and 'v_cache' {show_shape(v_cache.shape)}, expected the same "
                     f"but for v_cache's head dim, and q's head dim, {q.shape[-1]}")
    if step.block_table is None and step.cache_batch_idx is None and k_cache.shape[0] != batch:
        raise refuse("k_cache", f"has batch {k_cache.shape[0]}, expected that of q, {batch}, or cache_batch_idx")


def check_rows(step: Step, batch: int, size: int) -> None:
    """New rows and rotary tables, of a cache of so many rows a sequence."""
    import torch

    k, v, cos, sin, device = step.k, step.v, step.rotary_cos, step.rotary_sin, step.q.device
    for name, tensor, other, both in (("k", k, v, "k and v"), ("v", v, k, "k and v"),
                                      ("rotary_cos", cos, sin, "rotary_cos and rotary_sin"),
                                      ("rotary_sin", sin, cos, "rotary_cos and rotary_sin")):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise refuse_array(name, tensor)
        check_dense(name, tensor)
        if other is None:
            raise refuse(name, f"is given alone, expected {both}")
        if tensor.device != device:
            raise refuse(name, f"is on {tensor.device}, expected {device}, as q")
    if k is not None:
        for name, tensor, cache in ("k", k, step.k_cache), ("v", v, step.v_cache):
            if step.new_starts is None:
                expected = (batch, k.shape[1] if k.dim() > 1 else 1, *cache.shape[2:])
            else:
                expected = (k.shape[0] if k.dim() else 1, *cache.shape[2:])
            if tuple(tensor.shape) != expected:
                raise refuse(name, f"has shape {show_shape(tensor.shape)}, expected {show_shape(expected)}")
        if step.new_starts is None and k.shape[1] > size:
            raise refuse("k", f"has {k.shape[1]} rows, expected at most the {size} of the cache")
    if cos is not None:
        most = step.q.shape[-1] // 2
        for name, table in ("rotary_cos", cos), ("rotary_sin", sin):
            shown = f"has shape {show_shape(table.shape)}, expected"
            if table.dim() != 2:
                raise refuse(name, f"{shown} (positions, columns)")
            if table.shape != cos.shape:
                raise refuse(name, f"{shown} that of rotary_cos, {show_shape(cos.shape)}")
            if table.shape[0] < size:
                raise refuse(name, f"{shown} the {size} positions of the cache or more")
            if table.shape[1] > most:
                raise refuse(name, f"{shown} at most {most} columns, half of q's head dim")


def check_writes(step: Step) -> None:
    """Of a step with new rows or rotary tables."""
    import torch

    if step.cache_seqlens is None:
        raise refuse("k" if step.k is not None else "rotary_cos", "is given without cache_seqlens, expected both")
    if not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None:
        raise UnsupportedError("k_cache", "written, or read with rotary embedding, within torch.vmap or torch.func",
                               "a call outside of them")


class _Memory(NamedTuple):
    """A tensor and the addresses of its storage."""

    name: str
    tensor: Any
    start: int
    end: int


def _find_memory(name: str, tensor: Any) -> _Memory:
    storage = tensor.untyped_storage()
    return _Memory(name, tensor, storage.data_ptr(), storage.data_ptr() + storage.nbytes())


def check_memory(step: Step) -> None:
    """Queries, new rows and each cache share no memory with a cache, which is written while they are read."""
    keys, values = _find_memory("k_cache", step.k_cache), _find_memory("v_cache", step.v_cache)
    read = [_find_memory("q", step.q), _find_memory("k", step.k), _find_memory("v", step.v)]
    for cache, others in (keys, (*read, values)), (values, read):
        for other in others:
            # Asked first, as most have a storage of their own.
            if other.start < cache.end and cache.start < other.end and overlaps(cache.tensor, other.tensor):
                raise refuse(other.name, f"shares memory with {cache.name}, which is written while it is read: expected memory of "
                             "its own: .clone()")


def check_range(name: str, what: str, numbers: Any, most: Any, why: str = "") -> None:
    """Of numbers that the host reads. most: a number, or one of each."""
    limits = itertools.repeat(most) if isinstance(most, int) else most.tolist()
    values = numbers.tolist()
    for item, (number, limit) in enumerate(zip(values, limits)):
        if not 0 <= number <= limit:
            # One number may be of all.
            place = f" for batch item {item}" if len(values) > 1 else ""
            raise refuse(name, f"has {what} {number}{place}, expected 0 to {limit}{why}")


def check_starts(name: str, starts: Any, rows: int, operand: str) -> None:
    """Of packed rows, that the host reads."""
    numbers = starts.tolist()
    if numbers[0] < 0 or numbers[-1] > rows or sorted(numbers) != numbers:
        raise refuse(name, f"is {numbers}, expected numbers that do not fall, from 0 to {rows}, the rows of {operand}")
