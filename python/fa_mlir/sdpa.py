"""fa_mlir.sdpa: torch's scaled_dot_product_attention on compiled code, and in its place.

`sdpa` brings operands and mask to four dimensions (`_flatten`, `_flatten_mask`) and calls attention(). The second part
puts it in torch's place: `override_sdpa`, whose `replacement` decides who is called, and the counts of that.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .arguments import check_flag, refuse, refuse_array, show_shape
from .attention import attention
from .errors import ArgumentError, CompilationError, UnsupportedError, renames_arguments

UNSUPPORTED = ("error", "warn", "torch")
_counts: collections.Counter = collections.Counter()
# What stands in torch's place, the last one entered last, and torch's own while there is one.
_replacements: list[Callable] = []
_original: Any = None
_lock = threading.Lock()


@renames_arguments(mask="attn_mask", bias="attn_mask")
def sdpa(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
         scale: float | None = None, enable_gqa: bool = False) -> Any:
    """torch.nn.functional.scaled_dot_product_attention, differentiable.

    query: (..., heads, queries, head dim); key, value: (..., key heads, keys, head
    dim), with leading dims that broadcast; float16, bfloat16 or float32. attn_mask
    broadcasts to (..., heads, queries, keys): bool, True being visible, or numbers that
    are added, of any strides; it is never expanded. is_causal is aligned to the top
    left; with a mask both hold. A query that sees no key gives 0. Where all numbers that are
    added for a query are -1e9 or less, it gives the average of the values, and its gradient
    is 0. A head dim that is not contiguous is copied.
    dropout_p draws from torch's generator, by other random numbers than torch's own.

    Raises UnsupportedError for other types.
    """
    import torch

    is_causal = check_flag("is_causal", is_causal)
    for name, tensor in ("query", query), ("key", key), ("value", value), ("attn_mask", attn_mask):
        if not isinstance(tensor, torch.Tensor) and (tensor is not None or name != "attn_mask"):
            raise refuse_array(name, tensor)
    for name, tensor in ("query", query), ("key", key), ("value", value):
        if tensor.dim() < 2:
            raise refuse(name, f"has rank {tensor.dim()}, expected at least 2")
        if tensor.is_sparse or tensor.is_nested:
            raise UnsupportedError(name, "sparse or nested", "a dense tensor", "pad it, with key_lengths of attention()")
    rank = max(query.dim(), key.dim(), value.dim())
    heads = query.shape[-3] if query.dim() > 2 else 1
    if not enable_gqa and rank > 2:
        # Heads broadcast as other leading dims do.
        heads = max(heads, *[tensor.shape[-3] if tensor.dim() > 2 else 1 for tensor in (key, value)])
        for name, tensor in ("query", query), ("key", key), ("value", value):
            if tensor.dim() > 2 and tensor.shape[-3] != 1 and tensor.shape[-3] != heads:
                most = f"{heads} or 1" if heads != 1 else "1"
                raise refuse(name, f"has {tensor.shape[-3]} heads, expected {most}; query heads that share a key head need "
                             "enable_gqa=True")
    shapes = [tensor.shape[:-3] for tensor in (query, key, value)]
    try:
        leading = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        found = [show_shape(shape) for shape in shapes]
        raise refuse("query", f"has the leading dims {found[0]}, 'key' {found[1]} and 'value' {found[2]}, expected some that "
                     "broadcast") from None
    operands = [_flatten(tensor, leading, None if enable_gqa else heads) for tensor in (query, key, value)]
    options: dict[str, Any] = {}
    if attn_mask is not None:
        expected = (*leading, operands[0].shape[1], operands[0].shape[2], operands[1].shape[2])
        mask = _flatten_mask(attn_mask, expected, rank)
        if attn_mask.dtype == torch.bool:
            options["mask"] = mask
        elif not attn_mask.dtype.is_floating_point:
            raise refuse("attn_mask", f"has dtype {attn_mask.dtype}, expected bool, float16, bfloat16 or float32")
        else:
            options["bias"] = mask.to(torch.float32) if mask.dtype == torch.float64 else mask
    output = attention(*operands, causal="top_left" if is_causal else None, scale=scale, dropout_p=dropout_p,
                       layout="bhsd", **options)
    shape = [*leading, *([operands[0].shape[1]] if rank > 2 else []), *output.shape[2:]]
    return output.reshape(shape)


def _flatten(tensor: Any, leading: Any, heads: int | None) -> Any:
    """As (batch, heads, sequence, head dim) with the head dim contiguous."""
    while tensor.dim() < 3:
        tensor = tensor.unsqueeze(0)
    if heads is not None and tensor.shape[-3] != heads:
        tensor = tensor.expand(*tensor.shape[:-3], heads, *tensor.shape[-2:])
    tensor = tensor.expand(*leading, *tensor.shape[-3:])
    if len(leading) != 1:
        batch = 1
        for size in leading:
            batch *= size
        tensor = tensor.reshape(batch, *tensor.shape[-3:])
    if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        tensor = tensor.contiguous()
    return tensor


def _flatten_mask(mask: Any, shape: tuple, rank: int) -> Any:
    """With rank 4: dims before the heads become one, or broadcast as one."""
    if rank == 2:
        mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape)) if mask.dim() < 4 else mask
        return mask
    if mask.dim() <= 4 and len(shape) <= 4:
        return mask
    mask = mask.reshape((1,) * (len(shape) - mask.dim()) + tuple(mask.shape))
    leading = mask.shape[:-3]
    if all(size == 1 for size in leading):
        return mask.reshape(1, *mask.shape[-3:])
    return mask.expand(*shape[:-3], *mask.shape[-3:]).reshape(-1, *mask.shape[-3:])


#===--- In torch's place --------------------------------------------------===#

def _allows_all() -> bool:
    """Whether sdpa_kernel left torch all of its own to choose from."""
    import torch

    backends = torch.backends.cuda
    return backends.flash_sdp_enabled() and backends.mem_efficient_sdp_enabled() and backends.math_sdp_enabled()


# Dynamo has no graph of it: what torch.compiler.assume_constant_result sets.
setattr(_allows_all, "_dynamo_marked_constant", True)


_SUBCLASS = "a subclass of tensor"


def _find_reason(torch: Any, query: Any) -> str:
    """Why torch's own is to be called, "" for none."""
    if not _allows_all():
        return "sdpa_kernel chose among torch's own"
    # A mode, as of torch.set_default_device or of tracing, makes torch's question one of every tensor.
    if type(query) not in (torch.Tensor, torch.nn.Parameter) and torch.overrides.has_torch_function_unary(query):
        # That of tracing's own tensors, which are no user's.
        if type(query).__torch_function__ is not torch._C._disabled_torch_function_impl:
            return _SUBCLASS
    return ""


def override_counts() -> dict[str, int]:
    """How often overrides called what: "fa_mlir", "flex_attention" (calls that FlexPass
    replaced in graphs), or a reason why torch's own."""
    return dict(_counts)


def count_override(name: str) -> None:
    _counts[name] += 1


_warned: set[str] = set()


def fall_back(error: Exception, on_unsupported: str) -> None:
    """Counts a reason why torch's own is called, as the user chose to, or raises it."""
    if on_unsupported == "error":
        raise error
    _counts[str(error)] += 1
    if on_unsupported == "warn" and str(error) not in _warned:
        _warned.add(str(error))
        warnings.warn(f"torch's own attention is called: {error}", stacklevel=3)


@contextlib.contextmanager
def override_sdpa(on_unsupported: str = "error") -> Iterator[None]:
    """Within it torch.nn.functional.scaled_dot_product_attention is fa_mlir.sdpa.

    on_unsupported: what to do where that has no form for a call, or refuses what
    torch's own takes: "error" raises; "warn" warns, once for each reason, and calls torch's own;
    "torch" calls it without a word. override_counts() counts each. A choice by
    torch.nn.attention.sdpa_kernel is such a reason; torch.compile asks for all when it traces.

        with fa_mlir.override_sdpa("warn"):
            loss = model(batch)
    """
    import torch

    if on_unsupported not in UNSUPPORTED:
        raise ValueError(f"on_unsupported is {on_unsupported!r}, expected one of {', '.join(UNSUPPORTED)}")
    functional = torch.nn.functional
    original = _original or functional.scaled_dot_product_attention
    warned: set[str] = set()

    def warn(reason: str) -> None:
        if reason not in warned:
            warned.add(reason)
            warnings.warn(f"torch's own attention is called: {reason}", stacklevel=4)

    # Under torch.compile when it traces, as _allows_all.
    setattr(warn, "_dynamo_marked_constant", True)

    def count(reason: str) -> None:
        _counts[reason] += 1
        if on_unsupported == "warn":
            warn(reason)

    @functools.wraps(original)
    def replacement(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if replacement not in _replacements:
            # Whoever kept it calls torch's own.
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        reason = _find_reason(torch, query)
        if not reason:
            try:
                output = sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
                _counts["fa_mlir"] += 1
                return output
            except (UnsupportedError, CompilationError) as error:
                if on_unsupported == "error":
                    raise
                # As str() of it, which Dynamo makes of what it was made of.
                reason = error.args[0]
            except ArgumentError as error:
                # torch says it in its own words, unless it takes it.
                output = original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
                if on_unsupported == "error":
                    raise
                count(error.args[0])
                return output
        elif on_unsupported == "error":
            is_subclass = reason == _SUBCLASS
            raise UnsupportedError("query", reason if is_subclass else "in a call for which " + reason,
                                   "a torch.Tensor" if is_subclass else "torch's defaults", "on_unsupported='torch'")
        count(reason)
        return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    _enter(functional, replacement)
    try:
        yield
    finally:
        _leave(functional, replacement)


def _enter(functional: Any, replacement: Callable) -> None:
    global _original
    with _lock:
        if not _replacements:
            _original = functional.scaled_dot_product_attention
        _replacements.append(replacement)
        functional.scaled_dot_product_attention = replacement


def _leave(functional: Any, replacement: Callable) -> None:
    """Overrides are left in any order; what another has put in their place stays."""
    global _original
    with _lock:
        _replacements.remove(replacement)
        if functional.scaled_dot_product_attention is replacement:
            functional.scaled_dot_product_attention = _replacements[-1] if _replacements else _original
        if not _replacements:
            _original = None
