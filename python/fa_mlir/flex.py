"""fa_mlir.flex_attention: torch's FlexAttention with its names and defaults."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .arguments import refuse, refuse_array
from .attention import attention
from .errors import UnsupportedError, renames_arguments

# What the mask of each BlockMask that was met is.
_masks: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _get_mask(block_mask: Any, device: Any) -> Callable | None:
    """The mask function that a BlockMask means. Its blocks are compared once with
    those that its function has; where they are others, they take part."""
    if block_mask is None or not hasattr(block_mask, "kv_num_blocks"):
        return block_mask
    known = _masks.get(block_mask)
    if known is None:
        known = _masks[block_mask] = _find_mask(block_mask, device)
    return known


def _find_mask(block_mask: Any, device: Any) -> Callable:
    from torch.nn.attention.flex_attention import create_block_mask

    batch, heads, queries, keys = block_mask.shape
    rows, columns = block_mask.BLOCK_SIZE
    function = block_mask.mask_mod
    partial = make_table(block_mask.kv_num_blocks, block_mask.kv_indices)
    full = None
    if block_mask.full_kv_num_blocks is not None:
        full = make_table(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    own = create_block_mask(function, batch, heads, queries, keys, device=partial.device,
                            BLOCK_SIZE=(rows, columns))
    own_partial = make_table(own.kv_num_blocks, own.kv_indices)
    own_full = make_table(own.full_kv_num_blocks, own.full_kv_indices)
    shown = partial if full is None else partial | full
    # A full block of the function may be listed as a partial one.
    if (shown.equal(own_partial | own_full) and (full is None or not (full & ~own_full).any())):
        return function
    last_batch, last_head = partial.shape[0] - 1, partial.shape[1] - 1
    import torch

    def masked(b, h, q, k):
        place = (torch.clamp(b, max=last_batch), torch.clamp(h, max=last_head), q // rows, k // columns)
        visible = partial[place] & function(b, h, q, k)
        return visible if full is None else visible | full[place]

    return masked


def make_table(counts: Any, indices: Any) -> Any:
    """Whether each block is listed, (batch, heads, rows, columns)."""
    import torch

    columns = indices.shape[-1]
    listed = torch.arange(columns, device=indices.device) < counts[..., None]
    table = torch.zeros((*indices.shape[:-1], columns + 1), dtype=torch.bool, device=indices.device)
    places = torch.where(listed, indices.long(), columns)
    return table.scatter_(-1, places, True)[..., :columns].contiguous()


@renames_arguments(score="score_mod", mask="block_mask")
def flex_attention(query: Any, key: Any, value: Any, score_mod: Callable | None = None, block_mask: Any = None,
                   scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
                   kernel_options: dict | None = None, *, return_aux: Any = None) -> Any:
    """torch.nn.attention.flex_attention.flex_attention on compiled code.

    query: (batch, heads, queries, head dim); key, value: (batch, key heads, keys, head
    dim). score_mod(score, b, h, q_idx, kv_idx) and the mask are traced once; captured
    tensors get gradients. block_mask is a BlockMask, or a mask_mod itself, which needs
    no building. A BlockMask is compared once with its mask_mod; where its blocks say
    something else they are honoured. kernel_options are for torch's kernels and not
    read. Returns the output, (batch, heads, queries, head dim), and with return_lse
    the log-sum-exp, float32, natural logarithm.

    Raises UnsupportedError for a function that cannot be traced, with its line.
    """
    import torch

    for name, tensor in ("query", query), ("key", key), ("value", value):
        if not isinstance(tensor, torch.Tensor):
            raise refuse_array(name, tensor)
        if tensor.dim() != 4:
            raise refuse(name, f"has rank {tensor.dim()}, expected 4: (batch, heads, sequence, head dim)")
    if block_mask is not None and not callable(block_mask) and not hasattr(block_mask, "kv_num_blocks"):
        raise refuse("block_mask", f"is a {type(block_mask).__name__}, expected a BlockMask or a function "
                     "(batch, head, query, key) -> bool")
    if return_aux is not None and not hasattr(return_aux, "max_scores"):
        raise refuse("return_aux", f"is {return_aux!r}, expected torch's AuxRequest")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise refuse("key", f"has {key.shape[1]} heads, expected the query's {query.shape[1]}, or enable_gqa=True")
    if query.shape[0] != key.shape[0]:
        if key.shape[0] != 1:
            raise refuse("key", f"has batch {key.shape[0]}, expected the query's {query.shape[0]}, or 1")
        key, value = (tensor.expand(query.shape[0], -1, -1, -1) for tensor in (key, value))
    if hasattr(block_mask, "kv_num_blocks") and tuple(block_mask.shape[-2:]) != (query.shape[2], key.shape[2]):
        raise refuse("block_mask", "is of {} queries and {} keys, expected {} and {}: make it for these, or pass its mask_mod, "
                     "which has no lengths".format(*block_mask.shape[-2:], query.shape[2], key.shape[2]))
    query, key, value = (tensor if tensor.stride(-1) == 1 or tensor.shape[-1] < 2 else tensor.contiguous()
                         for tensor in (query, key, value))
    if return_aux is not None and getattr(return_aux, "max_scores", False):
        raise UnsupportedError("return_aux", "with max_scores", "lse alone")
    mask = _get_mask(block_mask, query.device)
    wants_lse = return_lse or return_aux is not None and return_aux.lse
    found = attention(query, key, value, score=score_mod, mask=mask, scale=scale, layout="bhsd", return_lse=wants_lse)
    if return_aux is not None:
        from torch.nn.attention.flex_attention import AuxOutput

        return found[0] if wants_lse else found, AuxOutput(lse=found[1] if wants_lse else None)
    return found
