"""The functions of FlashAttention-3 (module flash_attn_interface) on compiled code.

Meaning and limits as in fa_mlir.flash_attn. With return_attn_probs the result is
(output, lse), where the lse of a query that sees no key is -inf.
"""

from __future__ import annotations

from typing import Any

from .arguments import check_ranks, refuse, refuse_array, show_shape
from .errors import UnsupportedError, renames_arguments
from .flash_attn import _call, _renames, _split
from .flash_masks import check_chunk, make_mask
from .kvcache import Step, run_step

__all__ = ["flash_attn_combine", "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_with_kvcache", "get_scheduler_metadata"]


def get_scheduler_metadata(*args: Any, **kwargs: Any) -> None:
    """None: there is nothing to compute ahead of a call."""


def _refuse_given(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and not (isinstance(value, int) and value == 0):
            raise UnsupportedError(name, "given", "its default", "leave it out")


@_renames
def flash_attn_func(q: Any, k: Any, v: Any, softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
                    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
                    window_size: tuple = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
                    sm_margin: int = 0, return_attn_probs: bool = False) -> Any:
    """q: (batch, queries, heads, head dim); k, v: (batch, keys, key heads, head dim).
    num_splits, pack_gqa and sm_margin say how, which is decided here, and are not read. attention_chunk: a
    query sees keys of its own chunk of so many positions, aligned to the bottom right; 0 for all."""
    _refuse_given(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    mask = None
    if check_chunk(attention_chunk):
        check_ranks(q, k, v, 4)
        mask = make_mask(attention_chunk, k.shape[1] - q.shape[1])
    return _call(q, k, v, 0.0, softmax_scale, causal, window_size, softcap, None, return_attn_probs,
                 deterministic=deterministic, mask=mask)


@renames_arguments(q="qkv", k="qkv", v="qkv")
def flash_attn_qkvpacked_func(qkv: Any, softmax_scale: float | None = None, causal: bool = False,
                              q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
                              window_size: tuple = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                              deterministic: bool = False, num_heads_q: int | None = None, sm_margin: int = 0,
                              return_attn_probs: bool = False) -> Any:
    """qkv: (batch, sequence, 3, heads, head dim), or (batch, sequence, heads + 2 key
    heads, head dim) with num_heads_q."""
    if getattr(qkv, "ndim", 0) != 4:
        q, k, v = _split("qkv", qkv, 5, 3)
    else:
        if num_heads_q is None:
            raise refuse("num_heads_q", f"is None with a qkv of shape {show_shape(qkv.shape)}, expected the number of query heads")
        key_heads, odd = divmod(qkv.shape[2] - num_heads_q, 2)
        if odd or key_heads < 1:
            raise refuse("qkv", f"has shape {show_shape(qkv.shape)}, expected (batch, sequence, {num_heads_q} + 2 key heads, "
                         "head dim)")
        q, k, v = qkv.split([num_heads_q, key_heads, key_heads], dim=2)
    return flash_attn_func(q, k, v, softmax_scale, causal, None, q_descale, k_descale, v_descale, window_size,
                           attention_chunk, softcap, deterministic=deterministic, return_attn_probs=return_attn_probs)


def flash_attn_combine(out_partial: Any, lse_partial: Any, out: Any = None, out_dtype: Any = None) -> Any:
    """Merges results over parts of the keys: (parts, batch, queries, heads, head dim)
    and (parts, batch, queries, heads) give output and lse."""
    import torch

    for name, tensor in ("out_partial", out_partial), ("lse_partial", lse_partial):
        if not isinstance(tensor, torch.Tensor):
            raise refuse_array(name, tensor)
    if out_partial.shape[:-1] != lse_partial.shape:
        raise refuse("lse_partial", f"has shape {show_shape(lse_partial.shape)}, expected {show_shape(out_partial.shape[:-1])}")
    lse = torch.logsumexp(lse_partial, dim=0)
    weights = torch.exp(lse_partial - torch.where(torch.isneginf(lse), 0, lse))
    merged = (out_partial.float() * weights[..., None]).sum(0).to(out_dtype or out_partial.dtype)
    return (merged if out is None else out.copy_(merged)), lse


@_renames
def flash_attn_varlen_func(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
                           max_seqlen_k: int, seqused_q: Any = None, seqused_k: Any = None,
                           softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
                           q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
                           window_size: tuple = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                           num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
                           sm_margin: int = 0, return_attn_probs: bool = False) -> Any:
    """q: (query rows, heads, head dim); k, v: (key rows, key heads, head dim), sequence b
    from cu_seqlens[b] to cu_seqlens[b + 1], int32, (batch + 1); of these rows the first
    seqused[b] count where it is given."""
    _refuse_given(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    mask = None
    if check_chunk(attention_chunk):
        keys, queries = (starts.diff() if used is None else used for starts, used in ((cu_seqlens_k, seqused_k), (cu_seqlens_q, seqused_q)))
        mask = make_mask(attention_chunk, keys - queries)
    return _call(q, k, v, 0.0, softmax_scale, causal, window_size, softcap, None, return_attn_probs, deterministic=deterministic, mask=mask,
                 query_starts=cu_seqlens_q, key_starts=cu_seqlens_k, query_lengths=seqused_q, key_lengths=seqused_k)


@renames_arguments(query="q", key="k_cache", value="v_cache", window="window_size", scale="softmax_scale", block_table="page_table",
                   key_pages="page_table", key_lengths="cache_seqlens", query_starts="cu_seqlens_q", new_starts="cu_seqlens_k_new",
                   return_lse="return_softmax_lse")
def flash_attn_with_kvcache(q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None, qv: Any = None,
                            rotary_cos: Any = None, rotary_sin: Any = None, cache_seqlens: Any = None,
                            cache_batch_idx: Any = None, cache_leftpad: Any = None, page_table: Any = None,
                            cu_seqlens_q: Any = None, cu_seqlens_k_new: Any = None, max_seqlen_q: int | None = None,
                            rotary_seqlens: Any = None, q_descale: Any = None, k_descale: Any = None,
                            v_descale: Any = None, softmax_scale: float | None = None, causal: bool = False,
                            window_size: tuple = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                            rotary_interleaved: bool = True, scheduler_metadata: Any = None, num_splits: int = 0,
                            pack_gqa: bool | None = None, sm_margin: int = 0, return_softmax_lse: bool = False) -> Any:
    """As fa_mlir.flash_attn.flash_attn_with_kvcache, with page_table for block_table. With cu_seqlens_q, int32, (batch + 1), q
    is packed, (query rows, heads, head dim), and the lse (heads, query rows); with cu_seqlens_k_new k and v are. rotary_seqlens,
    int32, (batch): positions of the first new rows, cache_seqlens where it is None; without rotary_cos it is not read. With
    page_table cache_batch_idx says which row of it each sequence has. attention_chunk as of flash_attn_func. The lse of a query
    that sees no key is -inf. max_seqlen_q, scheduler_metadata, num_splits, pack_gqa and sm_margin are not read."""
    _refuse_given(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    if cu_seqlens_k_new is not None and k is None:
        raise refuse("cu_seqlens_k_new", "is given without k, expected both")
    return run_step(Step(q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, cache_leftpad, page_table,
                         softmax_scale, causal, window_size, softcap, rotary_interleaved, None, return_softmax_lse, cu_seqlens_q,
                         cu_seqlens_k_new, None if rotary_seqlens is cache_seqlens else rotary_seqlens, attention_chunk,
                         has_item_tables=True))
