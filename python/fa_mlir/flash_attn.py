"""The functions of flash-attn 2.8 on compiled code, with its names and defaults.

    from fa_mlir.flash_attn import flash_attn_func

Tensors are (batch, sequence, heads, head dim), or packed (rows, heads, head dim);
float16 or bfloat16 (here float32 too). causal and window_size are aligned to the bottom
right, and every negative size is unlimited; a query that sees no key gives 0. With
return_attn_probs the log-sum-exp, (batch, heads, queries) or packed (heads, rows), comes
second, which is +inf in such rows as there, and None for the probabilities, which are
never made.

dropout_p draws by Philox from torch's generator: fa_mlir.attention's dropout_state is
the way to name seed and offset. What has no form raises UnsupportedError, which is a
NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from .arguments import check_flag, check_window, refuse, refuse_array, show_shape
from .attention import attention
from .errors import UnsupportedError, renames_arguments
from .kvcache import Step, run_step

__all__ = ["flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache"]

_renames = renames_arguments(
    query="q", key="k", value="v", alibi="alibi_slopes", window="window_size", scale="softmax_scale",
    query_starts="cu_seqlens_q", key_starts="cu_seqlens_k", key_pages="block_table", query_lengths="seqused_q",
    key_lengths="seqused_k", return_lse="return_attn_probs")
_renames_kvpacked = renames_arguments(k="kv", v="kv")
_renames_qkvpacked = renames_arguments(q="qkv", k="qkv", v="qkv", cu_seqlens_q="cu_seqlens", cu_seqlens_k="cu_seqlens")


def _call(q: Any, k: Any, v: Any, dropout_p: float, softmax_scale: float | None, causal: bool, window_size: tuple,
          softcap: float, alibi_slopes: Any, return_lse: bool, **more: Any) -> Any:
    import torch

    for name, tensor in ("query", q), ("key", k), ("value", v):
        if not isinstance(tensor, torch.Tensor):
            raise refuse_array(name, tensor)
    if return_lse and dropout_p:
        raise UnsupportedError("return_attn_probs", "True with dropout_p", "False",
                               "attention(return_lse=True): probabilities and what is dropped are never made")
    window: Any = check_window(window_size, takes_negative=True)
    if window == (-1, -1):
        window = None
    return attention(q, k, v, causal="bottom_right" if check_flag("causal", causal) else None, window=window, scale=softmax_scale,
                     softcap=softcap or None, alibi=alibi_slopes, dropout_p=dropout_p, return_lse=return_lse, **more)


def _return(found: Any, return_attn_probs: bool) -> Any:
    if not return_attn_probs:
        return found
    output, lse = found
    return output, lse.masked_fill(lse == -float("inf"), float("inf")), None


def _split(name: str, packed: Any, rank: int, count: int) -> tuple:
    """The tensors that lie side by side in dim -3."""
    import torch

    if not isinstance(packed, torch.Tensor):
        raise refuse_array(name, packed)
    if packed.dim() != rank or packed.shape[-3] != count:
        before = "batch, sequence" if rank == 5 else "rows"
        raise refuse(name, f"has shape {show_shape(packed.shape)}, expected ({before}, {count}, heads, head dim)")
    return packed.unbind(-3)


@_renames
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
    k, v = _split("kv", kv, 5, 2)
    return flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                           alibi_slopes, deterministic, return_attn_probs)


@_renames_qkvpacked
def flash_attn_qkvpacked_func(qkv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                              causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                              alibi_slopes: Any = None, deterministic: bool = False,
                              return_attn_probs: bool = False) -> Any:
    """qkv: (batch, sequence, 3, heads, head dim). Nothing is copied."""
    q, k, v = _split("qkv", qkv, 5, 3)
    return flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, window_size,
                           softcap, alibi_slopes, deterministic, return_attn_probs)


@_renames
def flash_attn_varlen_func(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
                           max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
                           causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
                           block_table: Any = None) -> Any:
    """q: (query rows, heads, head dim); k, v: (key rows, key heads, head dim), sequence b
    from cu_seqlens[b] to cu_seqlens[b + 1], int32, (batch + 1). With block_table, int32,
    (batch, pages), k and v are pages, (pages, page size, key heads, head dim), without
    gradients. max_seqlen_q and max_seqlen_k are not read. lse is (heads, query rows)."""
    for name, starts in ("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k):
        if not hasattr(starts, "diff") or str(starts.dtype) != "torch.int32":
            shown = f"has dtype {starts.dtype}" if hasattr(starts, "dtype") else f"is {starts!r}"
            raise refuse(name, f"{shown}, expected int32, (batch + 1): .to(torch.int32)")
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
    k, v = _split("kv", kv, 4, 2)
    return flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                  dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)


@_renames_qkvpacked
def flash_attn_varlen_qkvpacked_func(qkv: Any, cu_seqlens: Any, max_seqlen: int, dropout_p: float = 0.0,
                                     softmax_scale: float | None = None, causal: bool = False,
                                     window_size: tuple = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None,
                                     deterministic: bool = False, return_attn_probs: bool = False) -> Any:
    """qkv: (rows, 3, heads, head dim). Nothing is copied."""
    q, k, v = _split("qkv", qkv, 4, 3)
    return flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen,
                                  dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)


@renames_arguments(query="q", key="k_cache", value="v_cache", alibi="alibi_slopes", window="window_size",
                   scale="softmax_scale", key_pages="block_table", key_lengths="cache_seqlens",
                   return_lse="return_softmax_lse")
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
    head dim). cache_batch_idx: which item of the cache each sequence has. cache_leftpad,
    int32, (batch): the first keys of a sequence that are padding, and are not seen;
    positions count them. rotary_cos, rotary_sin: (positions of the cache or more, rotated
    dims / 2), applied to k at cache_seqlens and on, to q at the same (all at cache_seqlens
    where neither causal nor a window is); without k to q alone. num_splits is not read.
    Takes no gradient. Where only a device sees that a sequence has no room for k, its cache
    stays as it was and its output is NaN, as it is where a position is behind the tables, or
    where a page is none of the pool. Where two sequences write the same cache row, either
    value may remain.
    Returns the output, or (output, lse), where the lse of a query that sees no key is +inf.

        for q, k, v in model:  # one new token of each sequence
            output = flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cache_seqlens=lengths, causal=True)
            lengths += 1
    """
    found = run_step(Step(q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, cache_leftpad, block_table,
                          softmax_scale, causal, window_size, softcap, rotary_interleaved, alibi_slopes, return_softmax_lse))
    return _return(found, True)[:2] if return_softmax_lse else found
