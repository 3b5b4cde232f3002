"""fa_mlir as an attention implementation of Hugging Face transformers 5.

    fa_mlir.hf.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="fa_mlir")

Masks stay functions: causal, sliding, chunked and packed ones, offsets of caches and
padding are traced, so no mask of queries x keys is made. Soft caps, sinks, dropout and
biases of positions are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arguments import refuse
from .attention import attention


# What _make_type makes, once: Dynamo traces no definition of a class.
_Mask: Any = None


def _make_type() -> type:
    """What the model hands to each layer in place of a mask: a function of (batch,
    head, query, key). Models let a BlockMask of rank 4 through as it is."""
    from torch.nn.attention.flex_attention import BlockMask

    class Mask(BlockMask):
        def __init__(self, function: Callable, shape: tuple):
            self.function, self._shape = function, shape

        @property
        def shape(self) -> tuple:
            return self._shape

        @property
        def ndim(self) -> int:
            return len(self._shape)

        def dim(self) -> int:
            return len(self._shape)

        def contiguous(self) -> Mask:
            return self

        def __repr__(self) -> str:
            return f"<fa_mlir mask of {self._shape}>"

    return Mask


def _find_type() -> type:
    global _Mask
    if _Mask is None:
        _Mask = _make_type()
    return _Mask


def _offset(function: Callable, query_offset: Any, key_offset: Any) -> Callable:
    def shifted(b, h, q, k):
        return function(b, h, q + query_offset, k + key_offset)
    return shifted


def _pad(function: Callable, padding: Any) -> Callable:
    def padded(b, h, q, k):
        return function(b, h, q, k) & padding[b, k]
    return padded


def make_mask(batch_size: int, *args: Any, mask_function: Callable, attention_mask: Any = None, q_length: Any = None,
              q_offset: Any = 0, kv_offset: Any = 0, kv_length: int | None = None,
              cache_position: Any = None, **kwargs: Any) -> Any:
    """What AttentionMaskInterface calls for each forward."""
    import torch

    if cache_position is None and args and isinstance(args[0], torch.Tensor):
        # The spelling of transformers 5.0.
        cache_position, args = args[0], args[1:]
        kv_length = args[0] if args else kv_length
    if cache_position is not None:
        q_offset, q_length = cache_position[0], cache_position.shape[0]
    # A static cache counts in this tensor, before the mask is read.
    q_offset = q_offset.clone() if isinstance(q_offset, torch.Tensor) else q_offset
    function = mask_function
    # A graph has no look at what the padding is.
    is_traced = torch.compiler.is_compiling()
    if attention_mask is not None:
        padding = attention_mask.to(torch.bool)
        missing = kv_length + kv_offset - padding.shape[-1]
        if missing > 0:
            padding = torch.nn.functional.pad(padding, (0, missing))
        if is_traced or not bool(padding[:, kv_offset:kv_offset + kv_length].all()):
            function = _pad(function, padding)
    return _find_type()(_offset(function, q_offset, kv_offset), (batch_size, 1, q_length, kv_length))


def forward(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None,
            dropout: float = 0.0, softcap: float | None = None, s_aux: Any = None, position_bias: Any = None,
            is_causal: bool | None = None, **kwargs: Any) -> tuple:
    """What AttentionInterface calls in each layer: (batch, heads, sequence, head dim)
    in, (batch, sequence, heads, head dim) out."""
    import torch

    options: dict[str, Any] = {}
    if hasattr(attention_mask, "function"):
        options["mask"] = attention_mask.function
    elif attention_mask is not None:
        attention_mask = attention_mask[..., :key.shape[2]]
        options["mask" if attention_mask.dtype == torch.bool else "bias"] = attention_mask
    else:
        is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        if is_causal and query.shape[2] > 1:
            options["causal"] = "top_left"
    if position_bias is not None:
        bias = options.get("bias")
        options["bias"] = position_bias if bias is None else position_bias + bias
    operands = [tensor.transpose(1, 2) for tensor in (query, key, value)]
    output = attention(*operands, scale=scaling, dropout_p=dropout, softcap=softcap, sink=s_aux, **options)
    return output, None


def forward_paged(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None,
                  cache: Any = None, cu_seq_lens_q: Any = None, cu_seq_lens_k: Any = None, softcap: float | None = None,
                  s_aux: Any = None, read_index: Any = None, write_index: Any = None, **kwargs: Any) -> tuple:
    """The same in continuous batching: query, key and value are the new tokens of all
    requests, (1, heads, tokens, head dim), and `cache` gives keys and values of each."""
    if cache is None:
        raise refuse("cache", "is None, expected that of continuous batching; attn_implementation='fa_mlir' is for others")
    window = getattr(module, "sliding_window", None)
    if isinstance(cu_seq_lens_k, dict):
        cu_seq_lens_k = cu_seq_lens_k["sliding_attention" if window else "full_attention"]
    key, value = cache.update(key_states=key, value_states=value, layer_idx=module.layer_idx, read_index=read_index,
                              write_index=write_index)
    # Starts are int32; what pads the batch belongs to no request, and gets 0.
    starts = [each.int() for each in (cu_seq_lens_q, cu_seq_lens_k)]
    output = attention(query[0].transpose(0, 1), key, value, query_starts=starts[0], key_starts=starts[1],
                       causal="bottom_right", window=(window - 1, 0) if window else None, scale=scaling,
                       softcap=softcap, sink=s_aux)
    return output[None], None


def register(name: str = "fa_mlir") -> None:
    """Makes `attn_implementation=name` mean fa_mlir, for models made from now on, and
    "paged|" + name, which generate_batch turns it into. transformers 5.24 takes no
    names but its own there, and says so; 5.17 takes this one."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    _find_type()
    AttentionInterface.register(name, forward)
    AttentionInterface.register("paged|" + name, forward_paged)
    AttentionMaskInterface.register(name, make_mask)
