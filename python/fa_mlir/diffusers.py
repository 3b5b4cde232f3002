"""fa_mlir as an attention backend of Hugging Face diffusers.

    fa_mlir.diffusers.register()
    pipeline.transformer.set_attention_backend("fa_mlir")

or `with diffusers.models.attention_dispatch.attention_backend("fa_mlir"): ...`. Nothing
is taken before one of the two.
"""

from __future__ import annotations

from typing import Any

from .attention import attention
from .errors import UnsupportedError, renames_arguments


@renames_arguments(mask="attn_mask", bias="attn_mask")
def attend(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
           scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
           _parallel_config: Any = None) -> Any:
    """What diffusers calls: (batch, sequence, heads, head dim) in and out.

    attn_mask: bool, True being visible, or numbers that are added; (batch, keys), or it
    broadcasts to (batch, heads, queries, keys). is_causal is aligned to the top left.
    """
    import torch

    if _parallel_config is not None:
        raise UnsupportedError("_parallel_config", "given", "None", "shard batches or heads by DTensor")
    options: dict[str, Any] = {"causal": "top_left" if is_causal else None}
    if attn_mask is not None:
        if attn_mask.ndim == 2 and attn_mask.shape == (query.shape[0], key.shape[1]):
            attn_mask = attn_mask[:, None, None]
        options["mask" if attn_mask.dtype == torch.bool else "bias"] = attn_mask
    operands = [tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (query, key, value)]
    return attention(*operands, scale=scale, dropout_p=dropout_p, return_lse=return_lse, **options)


def register(name: str = "fa_mlir") -> None:
    """Makes the name one of AttentionBackendName, which diffusers looks names up in."""
    from diffusers.models import attention_dispatch

    names = attention_dispatch.AttentionBackendName
    if name not in names._value2member_map_:
        member = str.__new__(names, name)
        member._name_, member._value_ = name.upper(), name
        names._member_map_[member._name_] = member
        names._value2member_map_[name] = member
        names._member_names_.append(member._name_)
    attention_dispatch._AttentionBackendRegistry.register(names(name))(attend)
