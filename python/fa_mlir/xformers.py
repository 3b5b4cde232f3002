"""xformers' memory_efficient_attention on compiled code.

    from fa_mlir.xformers import memory_efficient_attention

Its masks keep their meaning: LowerTriangularMask is aligned to the top left, the
FromBottomRight ones to the bottom right, BlockDiagonalMask is packed sequences, with
padded keys, pages and local windows too. Nothing of xformers is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .attention import attention
from .errors import UnsupportedError, renames_arguments

def _get_bias(mask: Any) -> Any:
    # Its name until xformers 0.0.30.
    return mask._bias if hasattr(mask, "_bias") else mask._subtensor


# (causal, window from an attribute of the mask) by the name of a class of masks.
_DENSE: dict[str, Callable[[Any], dict]] = {
    "LowerTriangularMask": lambda mask: {"causal": "top_left"},
    "LowerTriangularMaskWithTensorBias": lambda mask: {"causal": "top_left", "bias": _get_bias(mask)},
    "LowerTriangularFromBottomRightMask": lambda mask: {"causal": "bottom_right"},
    "LowerTriangularFromBottomRightLocalAttentionMask": lambda mask: {
        "causal": "bottom_right", "window": (mask._window_size - 1, -1)},
    "LocalAttentionFromBottomRightMask": lambda mask: {"window": (mask.window_left, mask.window_right)}}
_PACKED: dict[str, Callable[[Any], dict]] = {
    "BlockDiagonalMask": lambda mask: {},
    "BlockDiagonalCausalMask": lambda mask: {"causal": "top_left"},
    "BlockDiagonalCausalFromBottomRightMask": lambda mask: {"causal": "bottom_right"},
    "BlockDiagonalCausalLocalAttentionMask": lambda mask: {"causal": "top_left", "window": (mask._window_size - 1, -1)},
    "BlockDiagonalCausalLocalAttentionFromBottomRightMask": lambda mask: {
        "causal": "bottom_right", "window": (mask._window_size - 1, -1)}}
_PADDED: dict[str, Callable[[Any], dict]] = {
    "BlockDiagonalPaddedKeysMask": lambda mask: {},
    "BlockDiagonalCausalWithOffsetPaddedKeysMask": lambda mask: {"causal": "bottom_right"},
    "BlockDiagonalLocalAttentionPaddedKeysMask": lambda mask: {"window": (mask.window_left, mask.window_right)},
    "BlockDiagonalCausalLocalAttentionPaddedKeysMask": lambda mask: {
        "causal": "bottom_right", "window": (mask._window_size - 1, -1)}}
_PAGED: dict[str, Callable[[Any], dict]] = {
    "PagedBlockDiagonalPaddedKeysMask": lambda mask: {},
    "PagedBlockDiagonalCausalWithOffsetPaddedKeysMask": lambda mask: {"causal": "bottom_right"}}


def _int32(tensor: Any, device: Any) -> Any:
    import torch

    return tensor.to(device=device, dtype=torch.int32)


def _read_mask(mask: Any, query: Any, key: Any) -> tuple[dict, bool, int]:
    """Options of attention(); whether rows are packed; the size of a page, or 0."""
    import torch

    if mask is None:
        return {}, False, 0
    if isinstance(mask, torch.Tensor):
        return {"bias": mask.to(query.dtype) if mask.dtype == torch.float64 else mask}, False, 0
    name = type(mask).__name__
    if name in _DENSE:
        return _DENSE[name](mask), False, 0
    if name in _PACKED:
        options = _PACKED[name](mask)
        options.update(query_starts=_int32(mask.q_seqinfo.seqstart, query.device),
                       key_starts=_int32(mask.k_seqinfo.seqstart, query.device))
        return options, True, 0
    if name in _PADDED or name in _PAGED:
        options = (_PADDED.get(name) or _PAGED[name])(mask)
        options.update(query_starts=_int32(mask.q_seqinfo.seqstart, query.device),
                       key_lengths=_int32(mask.k_seqinfo.seqlen, query.device))
        if name in _PADDED:
            options["key_starts"] = _int32(mask.k_seqinfo.seqstart, query.device)
            return options, True, 0
        options["key_pages"] = _int32(mask.block_tables, query.device)
        return options, True, mask.page_size
    known = sorted([*_DENSE, *_PACKED, *_PADDED, *_PAGED])
    raise UnsupportedError("attn_bias", f"a {name}", "a tensor or one of " + ", ".join(known),
                           "a mask function of fa_mlir.attention")


@renames_arguments(bias="attn_bias", dropout_p="p")
def memory_efficient_attention(query: Any, key: Any, value: Any, attn_bias: Any = None, p: float = 0.0,
                               scale: float | None = None, *, op: Any = None, output_dtype: Any = None) -> Any:
    """xformers.ops.memory_efficient_attention, differentiable.

    query: (batch, queries, heads, head dim); key, value: (batch, keys, heads, head dim).
    Rank 3 is one head; rank 5 is (batch, sequence, groups, heads of a group, head dim),
    where keys of stride 0 along the heads of a group are read once. attn_bias: a tensor
    that is added, (batch, heads, queries, keys), or one of xformers' masks. p: the
    probability of dropout. op is not read. The output has the query's shape but for the
    value's head dim, and type output_dtype or the query's.

    Raises UnsupportedError for masks of other classes, ArgumentError for wrong shapes.
    """
    shape = (*query.shape[:-1], value.shape[-1])
    if query.dim() == 3:
        query, key, value = (tensor[:, :, None] for tensor in (query, key, value))
    elif query.dim() == 5:
        if key.stride(3) == 0 or key.shape[3] == 1:
            key, value = key[:, :, :, 0], value[:, :, :, 0]
        else:
            key, value = key.flatten(2, 3), value.flatten(2, 3)
        query = query.flatten(2, 3)
    options, is_packed, page = _read_mask(attn_bias, query, key)
    if is_packed:
        query, key, value = (tensor.flatten(0, 1) for tensor in (query, key, value))
        if page:
            key, value = (tensor.unflatten(0, (-1, page)) for tensor in (key, value))
    output = attention(query, key, value, scale=scale, dropout_p=p, **options).reshape(shape)
    return output if output_dtype is None else output.to(output_dtype)
