"""The functions of vLLM's own flash-attn (module vllm.vllm_flash_attn) on compiled code.

    fa_mlir.vllm.install()    # before the engine is made: its backend FLASH_ATTN calls these

Queries are packed, keys packed or in pages; nothing is differentiated. What only says
how (versions, splits, scheduler metadata) is not read, nor are scales of 8-bit types,
which have no form. What else has none raises UnsupportedError.
"""

from __future__ import annotations

import sys
from typing import Any

from .arguments import refuse
from .errors import UnsupportedError, renames_arguments
from .flash_attn import _call, _renames
from .flash_attn_interface import get_scheduler_metadata

__all__ = ["flash_attn_varlen_func", "get_scheduler_metadata", "install"]


@renames_arguments(sink="s_aux")
@_renames
def flash_attn_varlen_func(q: Any, k: Any, v: Any, max_seqlen_q: int, cu_seqlens_q: Any, max_seqlen_k: int,
                           cu_seqlens_k: Any = None, seqused_k: Any = None, q_v: Any = None, dropout_p: float = 0.0,
                           softmax_scale: float | None = None, causal: bool = False,
                           window_size: list[int] | None = None, softcap: float = 0.0, alibi_slopes: Any = None,
                           deterministic: bool = False, return_attn_probs: bool = False, block_table: Any = None,
                           return_softmax_lse: bool = False, out: Any = None, scheduler_metadata: Any = None,
                           q_descale: Any = None, k_descale: Any = None, v_descale: Any = None, num_splits: int = 0,
                           output_scale: Any = None, fa_version: int = 2, s_aux: Any = None, cp_world_size: int = 1,
                           cp_rank: int = 0, cp_tot_seqused_k: Any = None, mask_mod: Any = None, **more: Any) -> Any:
    """q: (query rows, heads, head dim), sequence b from cu_seqlens_q[b], int32, (batch + 1).
    k, v: (key rows, key heads, head dim) with cu_seqlens_k, or with block_table, int32,
    (batch, pages), (pages, page size, key heads, head dim), of which seqused_k, int32,
    (batch), rows count. s_aux: (heads), sinks. causal is aligned to the bottom right.
    Returns the output, or with return_softmax_lse (output, lse), lse (heads, query rows)."""
    defaults = {"q_v": None, "output_scale": None, "cp_world_size": 1, "mask_mod": None, "return_attn_probs": False}
    given = {"q_v": q_v, "output_scale": output_scale, "cp_world_size": cp_world_size, "mask_mod": mask_mod,
             "return_attn_probs": return_attn_probs, **more}
    for name, value in given.items():
        default = defaults.get(name)
        if value is not None and (default is None or value != default):
            shown = f"of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
            raise UnsupportedError(name, shown, f"its default, {default}", "leave it out")
    if (block_table is None) == (cu_seqlens_k is None):
        raise refuse("block_table", "and cu_seqlens_k are both given, or neither, expected one")
    window = (-1, -1) if window_size is None else tuple(window_size)
    return _call(q, k, v, dropout_p, softmax_scale, causal, window, softcap, alibi_slopes, return_softmax_lse,
                 query_starts=cu_seqlens_q, key_starts=cu_seqlens_k, key_pages=block_table, key_lengths=seqused_k,
                 sink=None if s_aux is None else s_aux.float(), out=out)


def install() -> None:
    """Puts these functions where vLLM has its own, in modules that have imported them too."""
    import vllm.vllm_flash_attn as package

    for name in ("flash_attn_varlen_func", "get_scheduler_metadata"):
        theirs = getattr(package, name)
        for module in [module for path, module in sys.modules.items() if path.partition(".")[0] == "vllm"]:
            if getattr(module, name, None) is theirs:
                setattr(module, name, globals()[name])
