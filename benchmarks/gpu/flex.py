"""FlexAttention of torch, compiled: its Triton backend, and its FLASH backend, which calls
FlashAttention-4. What a mask leaves is found by blocks before, as FlexAttention wants it, and that
is not timed."""

import torch

OPTIONS = {"flex-triton": None, "flex-flash": {"BACKEND": "FLASH"}}


def find_backends(say, has_flash):
    """Makers by name, which take a case with `flex_score` and `flex_mask`."""
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        say(f"FlexAttention is not available: {error}")
        return {}
    # Every score function and mask is compiled anew.
    torch._dynamo.config.recompile_limit = 1000
    compiled = torch.compile(flex_attention, dynamic=False)

    def wrap(options):
        def make(case, q, k, v):
            query, key, value = (x.transpose(1, 2) for x in (q, k, v))
            blocks = None
            if case.flex_mask:
                blocks = create_block_mask(case.flex_mask, None, None, q.shape[1], k.shape[1], device=q.device)

            def launch():
                return compiled(query, key, value, score_mod=case.flex_score, block_mask=blocks,
                                kernel_options=options).transpose(1, 2)
            return launch
        return make

    if not has_flash:
        say("FlexAttention's FLASH backend is left out: it needs FlashAttention-4")
    return {name: wrap(options) for name, options in OPTIONS.items() if has_flash or options is None}
