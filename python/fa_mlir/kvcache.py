"""A step of decoding before its attention: new rows go into a cache, contiguous or in pages, with rotary embedding.

Begin with `prepare`, which does it, by append.py; `hide_padding` is a mask of the attention. `_check_ranks`, `_check_cache`, `_check_rows` and `_find_lengths` check what it is
given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .append import append
from .arguments import refuse, refuse_array, show_shape
from .problem import Traced


def _check_ranks(q: Any, k_cache: Any, v_cache: Any, block_table: Any, starts: dict[str, Any]) -> int:
    """Returns the number of sequences. starts: of packed queries and new rows, by their names; None where these are not."""
    import torch

    for name, table in starts.items():
        if table is not None and not isinstance(table, torch.Tensor):
            raise refuse_array(name, table)
        if table is not None and (table.dim() != 1 or table.dtype != torch.int32):
            raise refuse(name, f"has shape {show_shape(table.shape)} and dtype {table.dtype}, expected (batch + 1,) and int32")
    query_starts = starts["query_starts"]
    for name, tensor, rank in ("q", q, 4 if query_starts is None else 3), ("k_cache", k_cache, 4), ("v_cache", v_cache, 4):
        if tensor.dim() != rank:
            raise refuse(name, f"has rank {tensor.dim()}, expected {rank}")
    batch = q.shape[0] if query_starts is None else query_starts.shape[0] - 1
    if block_table is not None:
        if not isinstance(block_table, torch.Tensor):
            raise refuse_array("block_table", block_table)
        if block_table.dim() != 2 or block_table.shape[0] != batch or block_table.dtype != torch.int32:
            raise refuse("block_table", f"has shape {show_shape(block_table.shape)} and dtype {block_table.dtype}, expected "
                         f"({batch}, pages) and int32")
    return batch


def _check_cache(q: Any, k_cache: Any, v_cache: Any, batch: int, block_table: Any, cache_batch_idx: Any) -> None:
    """What attention() says of a cache that is only read, here before it is written or copied."""
    import torch

    is_cast = torch._C._is_any_autocast_enabled()
    for name, tensor in ("q", q), ("k_cache", k_cache), ("v_cache", v_cache):
        if tensor.dtype != q.dtype and not is_cast:
            raise refuse(name, f"has dtype {tensor.dtype}, expected that of q, {q.dtype}")
        if not torch.compiler.is_compiling() and tensor.is_neg():
            raise refuse(name, "is a negated view, expected the memory itself")
        if tensor.stride(-1) != 1 and tensor.shape[-1] != 1:
            raise refuse(name, f"has stride {tensor.stride(-1)} in the head dim, expected 1: pass a contiguous copy")
    heads = k_cache.shape[2]
    if not heads or q.shape[-2] % heads:
        raise refuse("k_cache", f"has {heads} heads, expected a divisor of q's {q.shape[-2]}")
    if v_cache.shape[:3] != k_cache.shape[:3] or k_cache.shape[3] != q.shape[-1]:
        raise refuse("k_cache", f"has shape {show_shape(k_cache.shape)} and 'v_cache' {show_shape(v_cache.shape)}, expected the same "
                     f"but for v_cache's head dim, and q's head dim, {q.shape[-1]}")
    if block_table is not None:
        if cache_batch_idx is not None:
            raise refuse("cache_batch_idx", "is given with block_table, expected one of the two")
    elif cache_batch_idx is None:
        if k_cache.shape[0] != batch:
            raise refuse("k_cache", f"has batch {k_cache.shape[0]}, expected that of q, {batch}, or cache_batch_idx")
    else:
        if not isinstance(cache_batch_idx, torch.Tensor):
            raise refuse_array("cache_batch_idx", cache_batch_idx)
        if tuple(cache_batch_idx.shape) != (batch,) or not _has_integers(cache_batch_idx):
            raise refuse("cache_batch_idx", f"has shape {show_shape(cache_batch_idx.shape)} and dtype {cache_batch_idx.dtype}, "
                         f"expected ({batch},) and int32 or int64")
        # A GPU says it itself when it reads the cache there.
        if type(cache_batch_idx) is torch.Tensor and cache_batch_idx.is_cpu and not torch.compiler.is_compiling():
            _check_range("cache_batch_idx", "the item", cache_batch_idx, k_cache.shape[0] - 1)


def _check_rows(q: Any, k_cache: Any, v_cache: Any, batch: int, k: Any, v: Any, new_starts: Any, length: int, cos: Any,
                sin: Any) -> None:
    """New rows and rotary tables."""
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
    if k is not None:
        for name, tensor, cache in ("k", k, k_cache), ("v", v, v_cache):
            if new_starts is None:
                expected = (batch, k.shape[1] if k.dim() > 1 else 1, *cache.shape[2:])
            else:
                expected = (k.shape[0] if k.dim() else 1, *cache.shape[2:])
            if tuple(tensor.shape) != expected:
                raise refuse(name, f"has shape {show_shape(tensor.shape)}, expected {show_shape(expected)}")
    if cos is not None:
        for name, table in ("rotary_cos", cos), ("rotary_sin", sin):
            if table.dim() != 2 or table.shape != cos.shape or table.shape[0] < length or 2 * table.shape[1] > q.shape[-1]:
                raise refuse(name, f"has shape {show_shape(table.shape)}, expected the {length} positions of the cache or more and at "
                             f"most {q.shape[-1] // 2} dims, the same of both tables")


def _has_integers(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or str(tensor.dtype) == "torch.bool")


def _find_lengths(cache_seqlens: Any, batch: int, device: Any, most: int) -> Any:
    """int32, (batch): of one number for all, or of a number for each."""
    import torch

    if isinstance(cache_seqlens, int):
        if not 0 <= cache_seqlens <= most:
            raise refuse("cache_seqlens", f"has the length {cache_seqlens}, expected 0 to {most}")
        return torch.full((batch,), cache_seqlens, dtype=torch.int32, device=device)
    if type(cache_seqlens) is torch.Tensor and cache_seqlens.dtype == torch.int32 and tuple(cache_seqlens.shape) == (batch,) and (
            cache_seqlens.device == device):
        return cache_seqlens
    try:
        lengths = cache_seqlens if isinstance(cache_seqlens, torch.Tensor) else torch.tensor(cache_seqlens, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        raise refuse("cache_seqlens", f"is {cache_seqlens!r}, expected an int, or int32, ({batch},)") from None
    if not _has_integers(lengths):
        raise refuse("cache_seqlens", f"has dtype {lengths.dtype}, expected int32")
    if lengths.shape not in ((batch,), (1,), ()):
        raise refuse("cache_seqlens", f"has shape {show_shape(lengths.shape)}, expected ({batch},), or an int")
    if lengths.dtype == torch.int64:
        # One that is too long stays so.
        lengths = lengths.clamp(-1, 2**31 - 1)
    if lengths.is_cpu and device.type != "cpu" and not torch.compiler.is_compiling():
        # Where they go nothing would wait to read them.
        _check_range("cache_seqlens", "the length", lengths, most)
    return lengths.to(device, torch.int32).expand(batch)


def _check_range(name: str, what: str, numbers: Any, most: Any, why: str = "") -> None:
    """Of numbers that the host reads. most: a number, or one of each."""
    is_wrong = (numbers < 0) | (numbers > most)
    if is_wrong.any():
        limit = most if isinstance(most, int) else int(most[is_wrong][0])
        raise refuse(name, f"has {what} {int(numbers[is_wrong][0])}, expected 0 to {limit}{why}")


_PADDING = """(%b, %h, %i, %j) captures(%table = %leftpad : tensor<?xi32>) {
        %count = tensor.extract %table[%b] : tensor<?xi32>
        %first = arith.index_cast %count : i32 to index
        %visible = arith.cmpi sge, %j, %first : index
        fa.yield %visible : i1
      }"""


def hide_padding(leftpad: Any, shape: tuple, device: Any) -> Traced:
    """The mask of keys behind those that pad a sequence on the left."""
    import torch

    if not isinstance(leftpad, torch.Tensor):
        raise refuse_array("cache_leftpad", leftpad)
    if leftpad.shape != shape or leftpad.dtype != torch.int32 or leftpad.device != device:
        raise refuse("cache_leftpad", f"has shape {show_shape(leftpad.shape)} and dtype {leftpad.dtype} on {leftpad.device}, expected "
                     f"{show_shape(shape)} and int32 on {device}")
    return Traced(_PADDING, (("leftpad", "i32", (-1,)),), [leftpad])


def _find_positions(rows: int, starts: Any, firsts: Any, is_local: bool) -> Any:
    """Of packed rows, where those of a sequence are at firsts and on; firsts where rows are not packed."""
    import torch

    if starts is None:
        return firsts
    places = torch.arange(rows, dtype=torch.int32, device=firsts.device)
    items = torch.searchsorted(starts[1:], places, right=True).clamp(max=firsts.shape[0] - 1)
    return firsts[items] + (places - starts[items]) if is_local else firsts[items]


def prepare(q: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, rotary_cos: Any, rotary_sin: Any, cache_seqlens: Any,
            cache_batch_idx: Any, block_table: Any, query_starts: Any, new_starts: Any, rotary_seqlens: Any, is_local: bool,
            rotary_interleaved: bool, check: Callable) -> tuple:
    """Arguments as of flash_attn_with_kvcache, of packed queries and new rows with starts. rotary_seqlens: positions of the
    first new rows, where these are not cache_seqlens. Returns q, turned, the lengths of the caches, int32, (batch), None for
    all of them, and the pages that sequences have, None where each has an item of its own.

    is_local: whether queries have places one after another, as causal and windows need;
    check: raises where attention of (q, lengths, pages) has no form."""
    import torch

    batch = _check_ranks(q, k_cache, v_cache, block_table, {"query_starts": query_starts, "new_starts": new_starts})
    if k is not None or cache_batch_idx is not None or query_starts is not None:
        _check_cache(q, k_cache, v_cache, batch, block_table, cache_batch_idx)
    size = k_cache.shape[1] if block_table is None else block_table.shape[1] * k_cache.shape[1]
    if k is not None or v is not None or rotary_cos is not None or rotary_sin is not None:
        _check_rows(q, k_cache, v_cache, batch, k, v, new_starts, size, rotary_cos, rotary_sin)
        if cache_seqlens is None:
            raise refuse("k" if k is not None else "rotary_cos", "is given without cache_seqlens, expected both")
    if k is None and rotary_cos is not None:
        # None are written, and queries are turned.
        k, v = (cache.new_empty((batch, 0, *cache.shape[2:])) for cache in (k_cache, v_cache))
    # New rows of each sequence.
    new: Any = 0 if k is None else k.shape[1] if new_starts is None else new_starts.diff()
    lengths: Any = None
    if cache_seqlens is not None:
        lengths = _find_lengths(cache_seqlens, batch, q.device, size - new if isinstance(new, int) else size)
    if cache_batch_idx is not None:
        # An item of the cache is a page.
        block_table = cache_batch_idx.to(torch.int32)[:, None]
    elif query_starts is not None and block_table is None:
        block_table = torch.arange(batch, dtype=torch.int32, device=q.device)[:, None]
    if block_table is not None and lengths is None:
        lengths = torch.full((batch,), size, dtype=torch.int32, device=q.device)
    if k is None:
        return q, lengths, block_table
    if lengths.is_cpu and not torch.compiler.is_compiling():
        _check_range("cache_seqlens", "the length", lengths, size - new, ", which leaves room for k")
    # What attention refuses is refused before anything is written.
    check(q, lengths, block_table)
    query_firsts = key_firsts = None
    if rotary_cos is not None and (query_starts is not None or new_starts is not None or rotary_seqlens is not None):
        firsts = lengths if rotary_seqlens is None else _find_lengths(rotary_seqlens, batch, q.device, size)
        query_firsts = _find_positions(q.shape[0], query_starts, firsts, is_local)
        key_firsts = _find_positions(k.shape[0], new_starts, firsts, True)
    lengths = lengths + new
    q = append(q, k, v, k_cache, v_cache, lengths, new_starts, block_table, rotary_cos, rotary_sin, query_firsts, key_firsts,
               rotary_interleaved, is_local)
    return q, lengths, block_table
