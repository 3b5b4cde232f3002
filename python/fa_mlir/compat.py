"""Coming from flash_attn, FlexAttention, SDPA and others.

| you call | call | or leave your code as it is |
|---|---|---|
| flash_attn.flash_attn_func, varlen, kvcache | fa_mlir.flash_attn.* | fa_mlir.compat.install_flash_attn() before the import |
| flash_attn_interface.* (FlashAttention-3) | fa_mlir.flash_attn_interface.* | the same |
| flex_attention(q, k, v, score_mod, block_mask) | fa_mlir.flex_attention | torch.compile(model, backend="fa_mlir") |
| F.scaled_dot_product_attention | fa_mlir.sdpa | with fa_mlir.override_sdpa("warn"): ... |
| SDPA's FLASH backend, varlen_attn | | fa_mlir.register_flash_attention_impl(), then torch's activate_... |
| transformers | | fa_mlir.hf.register(), attn_implementation="fa_mlir" |
| diffusers | | fa_mlir.diffusers.register(), set_attention_backend("fa_mlir") |
| xformers.ops.memory_efficient_attention | fa_mlir.xformers.* | |
| vllm.vllm_flash_attn.* | fa_mlir.vllm.* | fa_mlir.vllm.install() before the engine |
| jax.nn.dot_product_attention | fa_mlir.jax.attention | |

What differs:

- Causal is a choice: "bottom_right" is flash_attn's, "top_left" SDPA's. They differ where
  queries and keys have different lengths. Each interface keeps its own.
- A query that sees no key gives 0, as flash_attn's, and an lse of -inf.
- score sees the scaled score after softcap, alibi and bias. FlexAttention's masks need
  no building: pass mask_mod in place of a BlockMask.
- Dropout draws by Philox from seed, offset and position alone, so other weights are
  dropped than by others; torch.manual_seed and checkpoints work as ever.
- Probabilities are never made: return_attn_probs gives lse, need_weights has no form.
- Lengths, batch, heads, strides, windows, caps and scales never compile anything anew.
- What has no form raises UnsupportedError (a NotImplementedError) with `argument`,
  `value`, `legal` and `nearest`; overrides do as on_unsupported says, and count it
  (fa_mlir.override_counts).
"""

from __future__ import annotations

import sys

from . import flash_attn, flash_attn_interface


def install_flash_attn() -> None:
    """`import flash_attn`, `flash_attn.flash_attn_interface` and FlashAttention-3's
    `flash_attn_interface` give fa_mlir's functions from now on in this process.

    Raises RuntimeError where the packages themselves are imported already.
    """
    modules = {"flash_attn": flash_attn, "flash_attn.flash_attn_interface": flash_attn,
               "flash_attn_interface": flash_attn_interface}
    for name, module in modules.items():
        if sys.modules.get(name, module) is not module:
            raise RuntimeError(f"module '{name}' is imported already: install before it is")
    sys.modules.update(modules)
