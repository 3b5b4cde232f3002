"""The functions of flash-attn 2.8 on compiled code, with its names and defaults.

    from fa_mlir.flash_attn import flash_attn_func

Tensors are (batch, sequence, heads, head dim), or packed (rows, heads, head dim);
float16 or bfloat16 (here float32 too). causal and window_size are aligned to the bottom
right; a query that sees no key gives 0. With return_attn_probs the log-sum-exp, (batch,
heads, queries) or packed (heads, rows), comes second, which is +inf in such rows as
there, and None for the probabilities, which are never made.

dropout_p draws by Philox from torch's generator: fa_mlir.attention's dropout_state is
the way to name seed and offset. What has no form raises UnsupportedError, which is a
NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from .arguments import check_window, refuse
from .attention import attention
from .errors import UnsupportedError, renames_arguments

__all__ = ["flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache"]

renames = renames_arguments(
    query="q", key="k", value="v", alibi="alibi_slopes", window="window_size", scale="softmax_scale",
    query_starts="cu_seqlens_q", key_starts="cu_seqlens_k", key_pages="block_table", query_lengths="seqused_q",
    key_lengths="seqused_k")
_renames_kvpacked = renames_arguments(k="kv", v="kv")
_renames_qkvpacked = renames_arguments(q="qkv", k="qkv", v="qkv", cu_seqlens_q="cu_seqlens", cu_seqlens_k="cu_seqlens")


def _call(q: Any, k: Any, v: Any, dropout_p: float, softmax_scale: float | None, causal: bool, window_size: tuple,
          softcap: float, alibi_slopes: Any, return_lse: bool, **more: Any) -> Any:
    if return_lse and dropout_p:
        raise UnsupportedError("return_attn_probs", "True with dropout_p", "False",
                               "attention(return_lse=True): probabilities and what is dropped are never made")
    window = None if window_size in ((-1, -1), (None, None)) else window_size
    return attention(q, k, v, causal="bottom_right" if causal else None, window=window, scale=softmax_scale,
                     softcap=softcap or None, alibi=alibi_slopes, dropout_p=dropout_p, return_lse=return_lse, **more)


def _return(found: Any, return_attn_probs: bool) -> Any:
    if not return_attn_probs:
        return found
    output, lse = found
    return output, lse.masked_fill(lse == -float("inf"), float("inf")), None


@renames
def flash_attn_func(q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                    causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False) -> Any:
    """q: (batch, queries, heads, head dim); k, v: (batch, keys, key heads, head dim).
    Returns the output, or (output, lse, None) with return_attn_probs."""
    return _return(_call(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                         return_attn_probs, deterministic=deterministic), return_attn_probs)


@_renames_kvpacked
def flash_attn_kvpacked_func(q: Any, kv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                             causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                             alibi_slopes: Any = None, deterministic: bool = False,
                             return_attn_probs: bool = False) -> Any:
    """kv: (batch, keys, 2, key heads, head dim). Nothing is copied."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], dropout_p, softmax_scale, causal, window_size, softcap,
                           alibi_slopes, deterministic, return_attn_probs)


@_renames_qkvpacked
def flash_attn_qkvpacked_func(qkv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                              causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                              alibi_slopes: Any = None, deterministic: bool = False,
                              return_attn_probs: bool = False) -> Any:
    """qkv: (batch, sequence, 3, heads, head dim). Nothing is copied."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], dropout_p, softmax_scale, causal, window_size,
                           softcap, alibi_slopes, deterministic, return_attn_probs)


@renames
def flash_attn_varlen_func(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
                           max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
                           causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
                           block_table: Any = None) -> Any:
    """q: (query rows, heads, head dim); k, v: (key rows, key heads, head dim), sequence b
    from cu_seqlens[b] to cu_seqlens[b + 1], int32, (batch + 1). With block_table, int32,
    (batch, pages), k and v are pages, (pages, page size, key heads, head dim), without
    gradients. max_seqlen_q and max_seqlen_k are not read. lse is (heads, query rows)."""
    more: dict[str, Any] = {"query_starts": cu_seqlens_q}
    if block_table is None:
        more["key_starts"] = cu_seqlens_k
    else:
        more.update(key_pages=block_table, key_lengths=cu_seqlens_k.diff())
    return _return(_call(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                         return_attn_probs, deterministic=deterministic, **more), return_attn_probs)


@_renames_kvpacked
def flash_attn_varlen_kvpacked_func(q: Any, kv: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
                                    max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
                                    causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                                    alibi_slopes: Any = None, deterministic: bool = False,
                                    return_attn_probs: bool = False) -> Any:
    """kv: (key rows, 2, key heads, head dim). Nothing is copied."""
    return flash_attn_varlen_func(q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                  dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)


@_renames_qkvpacked
def flash_attn_varlen_qkvpacked_func(qkv: Any, cu_seqlens: Any, max_seqlen: int, dropout_p: float = 0.0,
                                     softmax_scale: float | None = None, causal: bool = False,
                                     window_size: tuple = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None,
                                     deterministic: bool = False, return_attn_probs: bool = False) -> Any:
    """qkv: (rows, 3, heads, head dim). Nothing is copied."""
    return flash_attn_varlen_func(qkv[:, 0], qkv[:, 1], qkv[:, 2], cu_seqlens, cu_seqlens, max_seqlen, max_seqlen,
                                  dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)


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


def _find_lengths(cache_seqlens: Any, batch: int, device: Any) -> Any:
    """int32, (batch): of one number for all, or of a number for each."""
    import torch

    lengths = torch.as_tensor(cache_seqlens, device=device)
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise refuse("cache_seqlens", f"has dtype {lengths.dtype}, expected int32")
    if lengths.dim() and lengths.shape != (batch,):
        raise refuse("cache_seqlens", f"has shape {tuple(lengths.shape)}, expected ({batch},), or an int")
    return lengths.to(torch.int32).expand(batch)


def _check_room(lengths: Any, most: int) -> None:
    """Rows are put behind those of each length. On a GPU, and in a graph, that is an
    assertion, for which nothing waits."""
    import torch

    is_wrong = (lengths < 0) | (lengths > most)
    if lengths.is_cuda or torch.compiler.is_compiling():
        torch._assert_async(~is_wrong.any(), f"argument 'cache_seqlens' is not from 0 to {most}")
    elif is_wrong.any():
        raise refuse("cache_seqlens", f"has the length {int(lengths[is_wrong][0])}, expected 0 to {most}, which leaves "
                     "room for k")


@renames_arguments(query="q", key="k_cache", value="v_cache", alibi="alibi_slopes", window="window_size",
                   scale="softmax_scale", key_pages="block_table", key_lengths="cache_seqlens")
def flash_attn_with_kvcache(q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None, rotary_cos: Any = None,
                            rotary_sin: Any = None, cache_seqlens: Any = None, cache_batch_idx: Any = None,
                            cache_leftpad: Any = None, block_table: Any = None, softmax_scale: float | None = None,
                            causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                            rotary_interleaved: bool = True, alibi_slopes: Any = None, num_splits: int = 0,
                            return_softmax_lse: bool = False) -> Any:
    """One step of decoding: k and v, where given, are put into the caches at
    cache_seqlens (an int or int32, (batch)), and q attends to them and what was there.

    q: (batch, queries, heads, head dim); k_cache, v_cache: (batch, keys, key heads, head
    dim), or with block_table, int32, (batch, pages), pages: (pages, page size, key heads,
    head dim). cache_batch_idx: which item of the cache each sequence has; a copy of
    these is made. rotary_cos, rotary_sin: (positions, rotated dims / 2), applied to k at
    cache_seqlens and on, to q at the same (all at cache_seqlens where neither causal nor
    a window is). num_splits is not read. Takes no gradient. Returns the output, or
    (output, lse).
    """
    import torch

    if cache_leftpad is not None:
        raise UnsupportedError("cache_leftpad", "given", "None",
                               "a mask function of attention() that hides the padding")
    batch = q.shape[0]
    with torch.no_grad():
        lengths = None
        if cache_seqlens is not None:
            lengths = _find_lengths(cache_seqlens, batch, q.device)
        items = torch.arange(batch, device=q.device)
        if cache_batch_idx is not None:
            if block_table is not None:
                raise refuse("cache_batch_idx", "is given with block_table, expected one of the two")
            items = cache_batch_idx.long()
        if rotary_cos is not None:
            if lengths is None:
                raise refuse("rotary_cos", "is given without cache_seqlens, expected both")
            steps = torch.arange(q.shape[1], device=q.device)
            is_local = causal or check_window(window_size) != (-1, -1)
            places = lengths[:, None].long() + (steps if is_local else torch.zeros_like(steps))
            q = rotate(q, rotary_cos, rotary_sin, places, rotary_interleaved)
        if k is not None:
            if v is None or lengths is None:
                raise refuse("k", "is given without v or cache_seqlens, expected all three")
            size = k_cache.shape[1] if block_table is None else block_table.shape[1] * k_cache.shape[1]
            _check_room(lengths, size - k.shape[1])
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
        return _call(q, k_cache, v_cache, 0.0, softmax_scale, causal, window_size, softcap, alibi_slopes,
                     return_softmax_lse, key_lengths=lengths, key_pages=block_table)
