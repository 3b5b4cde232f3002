"""fa_mlir in torch's registry of flash attention implementations (torch 2.10 and later).

    fa_mlir.register_flash_attention_impl()
    torch.nn.attention.activate_flash_attention_impl("fa_mlir")
    ...
    torch.nn.attention.restore_flash_attention_impl()

While it is active torch's operators of flash attention are the compiler's: SDPA where
it chooses them, varlen_attn, and all else that calls them. On the CPU too, where torch
has no varlen_attn. What has no form raises UnsupportedError: torch's registry knows no
fallback.

The functions of torch's schema come first, on CUDA and on the CPU; `_Handle` puts them into
torch's dispatcher.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from . import gradients, operator
from .arguments import TorchArrays, check_dropout, check_window
from .errors import UnsupportedError, renames_arguments
from .planning import find_text, plan

NAME = "fa_mlir"


def _plan(query: Any, key: Any, value: Any, causal: str | None, window: tuple, scale: float | None, dropout: Any,
          layout: str = "bshd", starts: tuple | None = None, key_lengths: Any = None, alibi: Any = None,
          bias: Any = None, mask: Any = None) -> tuple:
    decided, tensors, numbers = plan(TorchArrays, query, key, value, None, mask, causal, window, None, alibi, bias,
                                     scale, None, key_lengths, layout, True, starts, None, dropout)
    return tensors or None, numbers or None, find_text(decided)


def _forward(query: Any, key: Any, value: Any, **options: Any) -> tuple:
    operands = [tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (query, key, value)]
    return torch.ops.fa_mlir.attention(*operands, *_plan(*operands, **options))


def _backward(gradient: Any, query: Any, key: Any, value: Any, output: Any, lse: Any, **options: Any) -> list:
    query, key, value = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (query, key, value))
    tensors, numbers, text = _plan(query, key, value, **options)
    if output.stride(-1) != 1:
        output = output.contiguous()
    # torch refuses the derivative of its own operator.
    with torch.no_grad():
        found, _ = gradients.backward(query, key, value, output, lse.contiguous(), (gradient, None), tensors or [], numbers,
                                     text, (True,) * 3, (False,) * len(tensors or ()))
    return found


def _draw(dropout_p: float, query: Any) -> tuple[Any, Any]:
    """What attention takes, and the state that goes to the backward."""
    dropout = check_dropout(dropout_p, None, query, torch)
    if dropout is None:
        return None, torch.zeros((2,), dtype=torch.uint64, device=query.device)
    return dropout, dropout[1].view(torch.uint64)


def _restore(dropout_p: float, state: Any) -> tuple | None:
    return (dropout_p, state.view(torch.int64)) if dropout_p else None


def _find_window(left: int | None, right: int | None) -> tuple[int, int]:
    return check_window((left, right), takes_negative=True)


def _nothing(query: Any, dtype: Any = None) -> Any:
    return query.new_empty((), dtype=dtype or torch.uint64) if dtype is not None else query.new_empty((0,))


@renames_arguments(query_starts="cu_seq_q", key_starts="cu_seq_k", key_pages="block_table", key_lengths="seqused_k")
def flash_attention_forward(query: Any, key: Any, value: Any, cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int,
                            dropout_p: float, is_causal: bool, return_debug_mask: bool, *, scale: float | None = None,
                            window_size_left: int | None = None, window_size_right: int | None = None,
                            seqused_k: Any = None, alibi_slopes: Any = None, block_table: Any = None,
                            num_splits: int | None = None, **more: Any) -> tuple:
    """aten::_flash_attention_forward: (output, lse, state of dropout, nothing, nothing)."""
    if return_debug_mask:
        raise UnsupportedError("return_debug_mask", True, "False")
    for name, given in more.items():
        if given is not None:
            raise UnsupportedError(name, "given", "None")
    dropout, state = _draw(dropout_p, query)
    starts = None
    if cum_seq_q is not None or block_table is not None:
        starts = (cum_seq_q, None if block_table is not None else cum_seq_k, block_table)
        if block_table is not None and seqused_k is None:
            seqused_k = cum_seq_k.diff()
    output, lse = _forward(query, key, value, causal="bottom_right" if is_causal else None,
                           window=_find_window(window_size_left, window_size_right), scale=scale, dropout=dropout,
                           starts=starts, key_lengths=seqused_k, alibi=alibi_slopes)
    return output, lse, state, _nothing(query, torch.uint64), _nothing(query)


def flash_attention_backward(grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, cum_seq_q: Any,
                             cum_seq_k: Any, max_q: int, max_k: int, dropout_p: float, is_causal: bool, rng_state: Any,
                             unused: Any, *, scale: float | None = None, window_size_left: int | None = None,
                             window_size_right: int | None = None) -> tuple:
    starts = None if cum_seq_q is None else (cum_seq_q, cum_seq_k, None)
    return tuple(_backward(grad_out, query, key, value, out, logsumexp, causal="bottom_right" if is_causal else None,
                           window=_find_window(window_size_left, window_size_right), scale=scale,
                           dropout=_restore(dropout_p, rng_state), starts=starts))


def sdpa_forward(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False,
                 return_debug_mask: bool = False, *, scale: float | None = None) -> tuple:
    """aten::_scaled_dot_product_flash_attention: (batch, heads, sequence, head dim)."""
    if return_debug_mask:
        raise UnsupportedError("return_debug_mask", True, "False")
    dropout, state = _draw(dropout_p, query)
    output, lse = _forward(query, key, value, causal="top_left" if is_causal else None, window=(-1, -1), scale=scale,
                           dropout=dropout, layout="bhsd")
    return (output, lse, None, None, query.shape[2], key.shape[2], state, _nothing(query, torch.uint64),
            _nothing(query))


def sdpa_backward(grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, cum_seq_q: Any,
                  cum_seq_k: Any, max_q: int, max_k: int, dropout_p: float, is_causal: bool, philox_seed: Any,
                  philox_offset: Any, *, scale: float | None = None) -> tuple:
    return tuple(_backward(grad_out, query, key, value, out, logsumexp, causal="top_left" if is_causal else None,
                           window=(-1, -1), scale=scale, dropout=_restore(dropout_p, philox_seed), layout="bhsd"))


def _split_mask(mask: Any) -> dict:
    if mask is None:
        return {}
    return {"mask" if mask.dtype == torch.bool else "bias": mask}


def cpu_forward(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
                attn_mask: Any = None, scale: float | None = None) -> tuple:
    """aten::_scaled_dot_product_flash_attention_for_cpu."""
    if dropout_p:
        raise UnsupportedError("dropout_p", dropout_p, "0", "fa_mlir.sdpa has dropout on the CPU")
    return tuple(_forward(query, key, value, causal="top_left" if is_causal else None, window=(-1, -1), scale=scale,
                          dropout=None, layout="bhsd", **_split_mask(attn_mask)))


def cpu_backward(grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
                 is_causal: bool, *, attn_mask: Any = None, scale: float | None = None) -> tuple:
    return tuple(_backward(grad_out, query, key, value, out, logsumexp, causal="top_left" if is_causal else None,
                           window=(-1, -1), scale=scale, dropout=None, layout="bhsd", **_split_mask(attn_mask)))


class _Handle:
    """What torch's registry removes to restore its own."""

    def __init__(self) -> None:
        implementations: dict[str, dict[str, Any]] = {
            "CUDA": {"_scaled_dot_product_flash_attention": sdpa_forward,
                     "_scaled_dot_product_flash_attention_backward": sdpa_backward},
            "CPU": {"_scaled_dot_product_flash_attention_for_cpu": cpu_forward,
                    "_scaled_dot_product_flash_attention_for_cpu_backward": cpu_backward}}
        self.libraries = []
        for device, functions in implementations.items():
            functions.update(_flash_attention_forward=flash_attention_forward,
                             _flash_attention_backward=flash_attention_backward)
            library = torch.library.Library("aten", "IMPL", device)
            with warnings.catch_warnings():
                # That it takes the place of another is what was asked for.
                warnings.simplefilter("ignore")
                for name, function in functions.items():
                    library.impl(name, function, device)
            self.libraries.append(library)

    def remove(self) -> None:
        for library in self.libraries:
            library._destroy()
        self.libraries = []


def register_flash_attention_impl(name: str = NAME) -> None:
    """Makes torch.nn.attention.activate_flash_attention_impl(name) mean fa_mlir. Nothing
    changes until it is called. Raises ImportError where torch has no such registry."""
    try:
        from torch.nn.attention import register_flash_attention_impl as register
    except ImportError as error:
        raise ImportError(f"torch {torch.__version__} has no registry of flash attention implementations, expected "
                          "2.11 or later") from error
    operator.ready()
    register(name, register_fn=_Handle)
