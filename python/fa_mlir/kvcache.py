"""A step of decoding before its attention: new rows go into a cache, contiguous or in pages, with rotary embedding.

Begin with `prepare`, which does it, by append.py. The functions ahead of it check what it is given; `_is_on_host` says
whether numbers can be looked at. What only a device knows gives NaN for its sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .append import Arguments, append
from .arguments import refuse, refuse_array, show_shape
from .errors import UnsupportedError
from .flash_masks import check_padding


def _is_on_host(numbers: Any) -> bool:
    import torch

    return type(numbers) is torch.Tensor and numbers.is_cpu and not torch.compiler.is_compiling()


def _check_table(name: str, table: Any, shape: tuple, device: Any) -> None:
    """int32; shape: with text for a dim of any size."""
    import torch

    if not isinstance(table, torch.Tensor):
        raise refuse_array(name, table)
    fits = table.dim() == len(shape) and all(isinstance(want, str) or size == want for size, want in zip(table.shape, shape))
    if not fits or table.dtype != torch.int32:
        shown = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise refuse(name, f"has shape {show_shape(table.shape)} and dtype {table.dtype}, expected ({shown}) and int32")
    if table.device != device:
        raise refuse(name, f"is on {table.device}, expected {device}, as q")


def _check_ranks(q: Any, k_cache: Any, v_cache: Any, query_starts: Any, new_starts: Any, leftpad: Any) -> int:
    """Returns the number of sequences."""
    if query_starts is not None:
        _check_table("query_starts", query_starts, ("batch + 1",), q.device)
        if not query_starts.shape[0]:
            raise refuse("query_starts", "has no numbers, expected batch + 1")
    for name, tensor, rank in ("q", q, 4 if query_starts is None else 3), ("k_cache", k_cache, 4), ("v_cache", v_cache, 4):
        if tensor.dim() != rank:
            raise refuse(name, f"has rank {tensor.dim()}, expected {rank}")
    batch = q.shape[0] if query_starts is None else query_starts.shape[0] - 1
    if new_starts is not None:
        _check_table("new_starts", new_starts, (batch + 1,), q.device)
    if leftpad is not None:
        check_padding(leftpad, (batch,), q.device)
    return batch


def _check_cache(q: Any, k_cache: Any, v_cache: Any, batch: int, block_table: Any, cache_batch_idx: Any) -> None:
    """What attention() says of a cache that is only read, here before it is written."""
    import torch

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
    if block_table is None and cache_batch_idx is None and k_cache.shape[0] != batch:
        raise refuse("k_cache", f"has batch {k_cache.shape[0]}, expected that of q, {batch}, or cache_batch_idx")


def _find_items(cache_batch_idx: Any, batch: int, count: int) -> Any:
    """int32. A page that is none, which -1 is, gives NaN."""
    import torch

    if not isinstance(cache_batch_idx, torch.Tensor):
        raise refuse_array("cache_batch_idx", cache_batch_idx)
    if tuple(cache_batch_idx.shape) != (batch,) or not _has_integers(cache_batch_idx):
        raise refuse("cache_batch_idx", f"has shape {show_shape(cache_batch_idx.shape)} and dtype {cache_batch_idx.dtype}, "
                     f"expected ({batch},) and int32 or int64")
    if _is_on_host(cache_batch_idx):
        _check_range("cache_batch_idx", "the item", cache_batch_idx, count - 1)
    if cache_batch_idx.dtype == torch.int64:
        cache_batch_idx = cache_batch_idx.clamp(-1, 2**31 - 1)
    return cache_batch_idx.to(torch.int32)


def _check_rows(q: Any, k_cache: Any, v_cache: Any, batch: int, k: Any, v: Any, new_starts: Any, size: int, cos: Any,
                sin: Any) -> None:
    """New rows and rotary tables, of a cache of so many rows a sequence."""
    import torch

    for name, tensor, other, both in (("k", k, v, "k and v"), ("v", v, k, "k and v"),
                                      ("rotary_cos", cos, sin, "rotary_cos and rotary_sin"),
                                      ("rotary_sin", sin, cos, "rotary_cos and rotary_sin")):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise refuse_array(name, tensor)
        if other is None:
            raise refuse(name, f"is given alone, expected {both}")
        if tensor.device != q.device:
            raise refuse(name, f"is on {tensor.device}, expected {q.device}, as q")
    if k is not None:
        for name, tensor, cache in ("k", k, k_cache), ("v", v, v_cache):
            if new_starts is None:
                expected = (batch, k.shape[1] if k.dim() > 1 else 1, *cache.shape[2:])
            else:
                expected = (k.shape[0] if k.dim() else 1, *cache.shape[2:])
            if tuple(tensor.shape) != expected:
                raise refuse(name, f"has shape {show_shape(tensor.shape)}, expected {show_shape(expected)}")
        if new_starts is None and k.shape[1] > size:
            raise refuse("k", f"has {k.shape[1]} rows, expected at most the {size} of the cache")
    if cos is not None:
        for name, table in ("rotary_cos", cos), ("rotary_sin", sin):
            if table.dim() != 2 or table.shape != cos.shape or table.shape[0] < size or 2 * table.shape[1] > q.shape[-1]:
                raise refuse(name, f"has shape {show_shape(table.shape)}, expected the {size} positions of the cache or more and at "
                             f"most {q.shape[-1] // 2} dims, the same of both tables")


def _has_integers(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or str(tensor.dtype) == "torch.bool")


def _find_lengths(name: str, given: Any, batch: int, device: Any, most: int, what: str = "the length") -> Any:
    """int32, (batch): of one number for all, or of a number for each."""
    import torch

    if isinstance(given, int):
        if not 0 <= given <= most:
            raise refuse(name, f"has {what} {given}, expected 0 to {most}")
        return torch.full((batch,), given, dtype=torch.int32, device=device)
    if type(given) is torch.Tensor and given.dtype == torch.int32 and tuple(given.shape) == (batch,) and given.device == device:
        return given
    try:
        lengths = given if isinstance(given, torch.Tensor) else torch.tensor(given, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        raise refuse(name, f"is {given!r}, expected an int, or int32, ({batch},)") from None
    if not _has_integers(lengths):
        raise refuse(name, f"has dtype {lengths.dtype}, expected int32")
    if lengths.shape not in ((batch,), (1,), ()):
        raise refuse(name, f"has shape {show_shape(lengths.shape)}, expected ({batch},), or an int")
    if lengths.dtype == torch.int64:
        # One that is too long stays so.
        lengths = lengths.clamp(-1, 2**31 - 1)
    if device.type != "cpu" and _is_on_host(lengths):
        # Where they go nothing would wait to read them.
        _check_range(name, what, lengths, most)
    return lengths.to(device, torch.int32).expand(batch)


def _check_range(name: str, what: str, numbers: Any, most: Any, why: str = "") -> None:
    """Of numbers that the host reads. most: a number, or one of each."""
    is_wrong = (numbers < 0) | (numbers > most)
    if is_wrong.any():
        limit = most if isinstance(most, int) else int(most[is_wrong][0])
        raise refuse(name, f"has {what} {int(numbers[is_wrong][0])}, expected 0 to {limit}{why}")


def _check_starts(starts: Any, rows: int) -> None:
    """Of new rows, that the host reads."""
    numbers = starts.tolist()
    if numbers[0] < 0 or numbers[-1] > rows or sorted(numbers) != numbers:
        raise refuse("new_starts", f"is {numbers}, expected numbers that do not fall, from 0 to {rows}, the rows of k")


def _find_ends(lengths: Any, k: Any, new_starts: Any, size: int, is_packed: bool) -> tuple[Any, Any]:
    """New rows of each sequence, and where they end; behind the cache, for NaN, where numbers cannot be."""
    import torch

    new: Any = k.shape[1] if new_starts is None else new_starts.diff()
    ends = lengths + new
    is_wrong: Any = None
    if new_starts is not None:
        is_wrong = (new_starts[:-1] < 0) | (new < 0) | (new_starts[1:] > k.shape[0]) | (lengths < 0)
    elif is_packed:
        is_wrong = lengths < 0
    return new, ends if is_wrong is None else torch.where(is_wrong, size + 1, ends).to(torch.int32)


def _find_positions(rows: int, starts: Any, firsts: Any, is_local: bool) -> Any:
    """Of packed rows, where those of a sequence are at firsts and on; firsts where rows are not packed."""
    import torch

    if starts is None:
        return firsts
    if not firsts.shape[0]:
        return firsts.new_zeros((rows,))
    places = torch.arange(rows, dtype=torch.int32, device=firsts.device)
    items = torch.searchsorted(starts[1:].contiguous(), places, right=True).clamp(max=firsts.shape[0] - 1)
    return firsts[items] + (places - starts[items]) if is_local else firsts[items]


def prepare(q: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, rotary_cos: Any, rotary_sin: Any, cache_seqlens: Any,
            cache_batch_idx: Any, leftpad: Any, block_table: Any, query_starts: Any, new_starts: Any, rotary_seqlens: Any,
            has_item_tables: bool, is_local: bool, rotary_interleaved: bool, check: Callable) -> tuple:
    """Arguments as of flash_attn_with_kvcache, of packed queries and new rows with starts. rotary_seqlens: positions of the
    first new rows, where these are not cache_seqlens; has_item_tables: whether block_table is of the items of the cache.
    Returns q, turned, the lengths of the caches, int32, (batch), None for all of them, and the pages that sequences have,
    None where each has an item of its own.

    is_local: whether queries have places one after another, as causal and windows need;
    check: raises where attention of (q, lengths, pages) has no form."""
    import torch

    batch = _check_ranks(q, k_cache, v_cache, query_starts, new_starts, leftpad)
    if block_table is not None:
        if cache_batch_idx is not None:
            if not has_item_tables:
                raise refuse("cache_batch_idx", "is given with block_table, expected one of the two")
            _check_table("block_table", block_table, ("items", "pages"), q.device)
            count = block_table.shape[0]
            items = _find_items(cache_batch_idx, batch, count)
            held = block_table[items.clamp(0, max(count - 1, 0))]
            block_table = torch.where(((items >= 0) & (items < count))[:, None], held, -1).to(torch.int32)
            cache_batch_idx = None
        _check_table("block_table", block_table, (batch, "pages"), q.device)
    if k is not None or cache_batch_idx is not None or query_starts is not None or rotary_cos is not None:
        _check_cache(q, k_cache, v_cache, batch, block_table, cache_batch_idx)
    size = k_cache.shape[1] if block_table is None else block_table.shape[1] * k_cache.shape[1]
    if k is not None or v is not None or rotary_cos is not None or rotary_sin is not None:
        _check_rows(q, k_cache, v_cache, batch, k, v, new_starts, size, rotary_cos, rotary_sin)
        if cache_seqlens is None:
            raise refuse("k" if k is not None else "rotary_cos", "is given without cache_seqlens, expected both")
        if not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None:
            raise UnsupportedError("k_cache", "written, or read with rotary embedding, within torch.vmap or torch.func",
                                   "a call outside of them")
        if k is None:
            # None are written, and queries are turned.
            k, v, new_starts = *(cache.new_empty((batch, 0, *cache.shape[2:])) for cache in (k_cache, v_cache)), None
    lengths: Any = None
    if cache_seqlens is not None:
        fewest = 0 if k is None or new_starts is not None else k.shape[1]
        lengths = _find_lengths("cache_seqlens", cache_seqlens, batch, q.device, size - fewest)
    if cache_batch_idx is not None:
        # An item of the cache is a page.
        block_table = _find_items(cache_batch_idx, batch, k_cache.shape[0])[:, None]
    elif query_starts is not None and block_table is None:
        block_table = torch.arange(batch, dtype=torch.int32, device=q.device)[:, None]
    if block_table is not None and lengths is None:
        lengths = torch.full((batch,), size, dtype=torch.int32, device=q.device)
    if k is None:
        return q, lengths, block_table
    if new_starts is not None and _is_on_host(new_starts):
        _check_starts(new_starts, k.shape[0])
    new, ends = _find_ends(lengths, k, new_starts, size, query_starts is not None)
    if _is_on_host(lengths):
        _check_range("cache_seqlens", "the length", lengths, size - new, ", which leaves room for k")
    # What attention refuses is refused before anything is written.
    check(q, lengths, block_table)
    query_firsts = key_firsts = None
    if rotary_cos is not None:
        firsts, name, what = lengths, "cache_seqlens", "the length"
        if rotary_seqlens is not None:
            name, what = "rotary_seqlens", "the position"
            firsts = _find_lengths(name, rotary_seqlens, batch, q.device, rotary_cos.shape[0] - 1, what)
        if _is_on_host(firsts) and rotary_cos.shape[1]:
            steps = q.shape[1] if is_local and query_starts is None else 1
            _check_range(name, what, firsts, rotary_cos.shape[0] - max(steps, k.shape[1] if new_starts is None else 1),
                         ", a row of rotary_cos")
        if query_starts is not None or new_starts is not None or rotary_seqlens is not None:
            query_firsts = _find_positions(q.shape[0], query_starts, firsts, is_local)
            key_firsts = _find_positions(k.shape[0], new_starts, firsts, True)
    q = append(Arguments(q, k, v, k_cache, v_cache, ends, new_starts, block_table, rotary_cos, rotary_sin, query_firsts, key_firsts,
                         rotary_interleaved, is_local))
    return q, ends, block_table
