"""A step of decoding before its attention: new rows go into a cache, contiguous or in pages, with rotary embedding.

Begin with `prepare`, which does it. `_check_cache` and `_find_lengths` check what it is given before anything is written;
`rotate` is the embedding, `_store` the write.
"""

from __future__ import annotations

from typing import Any

from .arguments import TorchArrays, refuse, refuse_array, show_shape
from .entries import check_types


def rotate(tensor: Any, cos: Any, sin: Any, positions: Any, interleaved: bool) -> Any:
    """Rotary embedding of (batch, sequence, heads, head dim) at `positions`, (batch,
    sequence); cos and sin are (positions, rotated dims / 2)."""
    import torch

    half = cos.shape[-1]
    cos, sin = (table[positions][:, :, None].float() for table in (cos, sin))
    turned, rest = tensor[..., :2 * half].float(), tensor[..., 2 * half:]
    one, two = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    found = one * cos - two * sin, one * sin + two * cos
    joined = torch.stack(found, -1).flatten(-2) if interleaved else torch.cat(found, -1)
    return torch.cat([joined.to(tensor.dtype), rest], -1)


def _store(cache: Any, new: Any, items: Any, places: Any, block_table: Any) -> None:
    """Puts new rows, (batch, rows, ...), at their places of each sequence."""
    if block_table is not None:
        size = cache.shape[1]
        items, places = block_table.long()[items, places // size], places % size
    cache[items, places] = new.to(cache.dtype)


def _check_cache(q: Any, caches: dict, new: dict, tables: dict, block_table: Any, cache_batch_idx: Any) -> None:
    """What flash_attn_with_kvcache is given, before anything is written. Each dict is of two
    tensors by their names; of new rows and of rotary tables both may be None."""
    import torch

    others = {"block_table": block_table, "cache_batch_idx": cache_batch_idx}
    for name, tensor in {"q": q, **caches, **new, **tables, **others}.items():
        if not isinstance(tensor, torch.Tensor) and (tensor is not None or name in ("q", *caches)):
            raise refuse_array(name, tensor)
    for name, tensor in {"q": q, **caches}.items():
        if tensor.dim() != 4:
            raise refuse(name, f"has rank {tensor.dim()}, expected 4")
        if tensor.dtype != q.dtype:
            raise refuse(name, f"has dtype {tensor.dtype}, expected that of q, {q.dtype}")
    check_types(TorchArrays.type(q), TorchArrays.type(q))
    batch, keys = q.shape[0], caches["k_cache"]
    if not keys.shape[2] or q.shape[2] % keys.shape[2]:
        raise refuse("k_cache", f"has {keys.shape[2]} heads, expected a divisor of q's {q.shape[2]}")
    if caches["v_cache"].shape[:3] != keys.shape[:3] or keys.shape[3] != q.shape[3]:
        shown = ", ".join(show_shape(cache.shape) for cache in caches.values())
        raise refuse("k_cache", f"and 'v_cache' have the shapes {shown}, expected the same but for v_cache's head dim, and q's "
                     f"head dim, {q.shape[3]}")
    if block_table is not None:
        if block_table.dim() != 2 or block_table.shape[0] != batch:
            raise refuse("block_table", f"has shape {show_shape(block_table.shape)}, expected ({batch}, pages)")
        if block_table.dtype != torch.int32:
            raise refuse("block_table", f"has dtype {block_table.dtype}, expected int32")
        if cache_batch_idx is not None:
            raise refuse("cache_batch_idx", "is given with block_table, expected one of the two")
    elif cache_batch_idx is None and keys.shape[0] != batch:
        raise refuse("k_cache", f"has batch {keys.shape[0]}, expected that of q, {batch}, or cache_batch_idx")
    if cache_batch_idx is not None:
        if tuple(cache_batch_idx.shape) != (batch,) or cache_batch_idx.dtype not in (torch.int32, torch.int64):
            raise refuse("cache_batch_idx", f"has shape {show_shape(cache_batch_idx.shape)} and dtype {cache_batch_idx.dtype}, "
                         f"expected ({batch},) and int32")
        _check_range("cache_batch_idx", "the item", cache_batch_idx, keys.shape[0] - 1)
    for pair, both in (new, "k and v"), (tables, "rotary_cos and rotary_sin"):
        given = [name for name, tensor in pair.items() if tensor is not None]
        if len(given) == 1:
            raise refuse(given[0], f"is given alone, expected {both}")
    if new["k"] is not None:
        for (name, tensor), cache in zip(new.items(), caches.values()):
            expected = (batch, new["k"].shape[1], *cache.shape[2:])
            if tuple(tensor.shape) != expected:
                raise refuse(name, f"has shape {show_shape(tensor.shape)}, expected {show_shape(expected)}")
    if tables["rotary_cos"] is not None:
        length = keys.shape[1] if block_table is None else block_table.shape[1] * keys.shape[1]
        for name, table in tables.items():
            if (table.dim() != 2 or table.shape != tables["rotary_cos"].shape or table.shape[0] < length
                    or 2 * table.shape[1] > q.shape[3]):
                raise refuse(name, f"has shape {show_shape(table.shape)}, expected at least {length} positions and at most "
                             f"{q.shape[3] // 2} dims, the same of both tables")


def _find_lengths(cache_seqlens: Any, batch: int, device: Any, most: int) -> Any:
    """int32, (batch): of one number for all, or of a number for each."""
    import torch

    if isinstance(cache_seqlens, int) and not 0 <= cache_seqlens <= most:
        raise refuse("cache_seqlens", f"has the length {cache_seqlens}, expected 0 to {most}")
    try:
        lengths = torch.as_tensor(cache_seqlens, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise refuse("cache_seqlens", f"is {cache_seqlens!r}, expected an int, or int32, ({batch},)") from None
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise refuse("cache_seqlens", f"has dtype {lengths.dtype}, expected int32")
    if lengths.dim() and lengths.shape != (batch,):
        raise refuse("cache_seqlens", f"has shape {show_shape(lengths.shape)}, expected ({batch},), or an int")
    # One that is too long stays so.
    return lengths.clamp(-1, 2**31 - 1).to(torch.int32).expand(batch)


def _check_range(name: str, what: str, numbers: Any, most: int, why: str = "") -> None:
    """On a GPU, and in a graph, that is an assertion, for which nothing waits."""
    import torch

    is_wrong = (numbers < 0) | (numbers > most)
    if numbers.is_cuda or torch.compiler.is_compiling():
        torch._assert_async(~is_wrong.any(), f"argument '{name}' is not from 0 to {most}")
    elif is_wrong.any():
        raise refuse(name, f"has {what} {int(numbers[is_wrong][0])}, expected 0 to {most}{why}")


def prepare(q: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, rotary_cos: Any, rotary_sin: Any, cache_seqlens: Any,
            cache_batch_idx: Any, block_table: Any, is_local: bool, rotary_interleaved: bool) -> tuple:
    """Arguments as of flash_attn_with_kvcache. Returns q, turned, the caches of these
    sequences and their lengths, int32, (batch), None for the whole caches.

    is_local: whether queries have places one after another, as causal and windows need."""
    import torch

    _check_cache(q, {"k_cache": k_cache, "v_cache": v_cache}, {"k": k, "v": v},
                 {"rotary_cos": rotary_cos, "rotary_sin": rotary_sin}, block_table, cache_batch_idx)
    batch = q.shape[0]
    size = k_cache.shape[1] if block_table is None else block_table.shape[1] * k_cache.shape[1]
    with torch.no_grad():
        lengths = None
        if cache_seqlens is not None:
            lengths = _find_lengths(cache_seqlens, batch, q.device, size if k is None else size - k.shape[1])
        items = torch.arange(batch, device=q.device)
        if cache_batch_idx is not None:
            items = cache_batch_idx.long()
        if rotary_cos is not None:
            if lengths is None:
                raise refuse("rotary_cos", "is given without cache_seqlens, expected both")
            steps = torch.arange(q.shape[1], device=q.device)
            places = lengths[:, None].long() + (steps if is_local else torch.zeros_like(steps))
            q = rotate(q, rotary_cos, rotary_sin, places, rotary_interleaved)
        if k is not None:
            if lengths is None:
                raise refuse("k", "is given without cache_seqlens, expected both")
            _check_range("cache_seqlens", "the length", lengths, size - k.shape[1], ", which leaves room for k")
            places = lengths[:, None].long() + torch.arange(k.shape[1], device=q.device)
            if rotary_cos is not None:
                k = rotate(k, rotary_cos, rotary_sin, places, rotary_interleaved)
            for cache, new in (k_cache, k), (v_cache, v):
                _store(cache, new, items[:, None], places, block_table)
            lengths = lengths + k.shape[1]
        if cache_batch_idx is not None:
            k_cache, v_cache = k_cache[items], v_cache[items]
        if block_table is not None and lengths is None:
            lengths = torch.full((batch,), block_table.shape[1] * k_cache.shape[1], dtype=torch.int32, device=q.device)
        return q, k_cache, v_cache, lengths
