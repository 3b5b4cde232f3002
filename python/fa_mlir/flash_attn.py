"""The functions of flash-attn 2.8 on compiled code, with its names and defaults.

    from fa_mlir.flash_attn import flash_attn_func

Tensors are (batch, sequence, heads, head dim), float16 or bfloat16 (here float32 too).
causal and window_size are aligned to the bottom right; a query that sees no key gives
0. With return_attn_probs the log-sum-exp, (batch, heads, queries), comes second, which
is +inf in such rows as there, and None for the probabilities, which are never made.

Packed sequences, pages, rotary embedding and dropout raise UnsupportedError, which is
a NotImplementedError. deterministic has no effect: results are the same from run to
run on the CPU.
"""

from __future__ import annotations

from typing import Any

from .attention import attention, refuse
from .errors import UnsupportedError

__all__ = ["flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache"]


def _call(q: Any, k: Any, v: Any, dropout_p: float, softmax_scale: float | None, causal: bool, window_size: tuple,
          softcap: float, alibi_slopes: Any, return_lse: bool, **more: Any) -> Any:
    return attention(q, k, v, causal="bottom_right" if causal else None, window=tuple(window_size), scale=softmax_scale,
                     softcap=softcap or None, alibi=alibi_slopes, dropout_p=dropout_p, return_lse=return_lse, **more)


def _return(found: Any, return_attn_probs: bool) -> Any:
    if not return_attn_probs:
        return found
    output, lse = found
    return output, lse.masked_fill(lse == -float("inf"), float("inf")), None


def flash_attn_func(q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                    causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False) -> Any:
    """q: (batch, queries, heads, head dim); k, v: (batch, keys, key heads, head dim).
    Returns the output, or (output, lse, None) with return_attn_probs."""
    return _return(_call(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                         return_attn_probs), return_attn_probs)


def flash_attn_kvpacked_func(q: Any, kv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                             causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                             alibi_slopes: Any = None, deterministic: bool = False,
                             return_attn_probs: bool = False) -> Any:
    """kv: (batch, keys, 2, key heads, head dim). Nothing is copied."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], dropout_p, softmax_scale, causal, window_size, softcap,
                           alibi_slopes, deterministic, return_attn_probs)


def flash_attn_qkvpacked_func(qkv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
                              causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                              alibi_slopes: Any = None, deterministic: bool = False,
                              return_attn_probs: bool = False) -> Any:
    """qkv: (batch, sequence, 3, heads, head dim). Nothing is copied."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], dropout_p, softmax_scale, causal, window_size,
                           softcap, alibi_slopes, deterministic, return_attn_probs)


def _refuse_packed(*args: Any, **kwargs: Any) -> Any:
    """Packed sequences, which have no form yet."""
    raise UnsupportedError("cu_seqlens_q", "a table of packed sequences", "padded sequences",
                           "pad, and give attention() query_lengths and key_lengths, or a mask of document ids")


flash_attn_varlen_func = flash_attn_varlen_kvpacked_func = flash_attn_varlen_qkvpacked_func = _refuse_packed


def flash_attn_with_kvcache(q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None, rotary_cos: Any = None,
                            rotary_sin: Any = None, cache_seqlens: Any = None, cache_batch_idx: Any = None,
                            cache_leftpad: Any = None, block_table: Any = None, softmax_scale: float | None = None,
                            causal: bool = False, window_size: tuple = (-1, -1), softcap: float = 0.0,
                            rotary_interleaved: bool = True, alibi_slopes: Any = None, num_splits: int = 0,
                            return_softmax_lse: bool = False) -> Any:
    """One step of decoding: k and v, where given, are put into the caches at
    cache_seqlens (an int or int32, (batch)), and q attends to them and what was there.
    Takes no gradient. Returns the output, or (output, lse)."""
    import torch

    for name, value in (("rotary_cos", rotary_cos), ("cache_batch_idx", cache_batch_idx),
                        ("cache_leftpad", cache_leftpad), ("block_table", block_table)):
        if value is not None:
            raise UnsupportedError(name, "given", "None", "apply it to the tensors before")
    batch, size = k_cache.shape[:2]
    with torch.no_grad():
        lengths = None
        if cache_seqlens is not None:
            lengths = torch.as_tensor(cache_seqlens, dtype=torch.int32, device=q.device).expand(batch)
        if k is not None:
            if v is None or lengths is None:
                raise refuse("k", "is given without v or cache_seqlens, expected all three")
            places = lengths[:, None].long() + torch.arange(k.shape[1], device=q.device)
            items = torch.arange(batch, device=q.device)[:, None]
            k_cache[items, places], v_cache[items, places] = k.to(k_cache.dtype), v.to(v_cache.dtype)
            lengths = lengths + k.shape[1]
        return _call(q, k_cache, v_cache, 0.0, softmax_scale, causal, window_size, softcap, alibi_slopes,
                     return_softmax_lse, key_lengths=lengths)
