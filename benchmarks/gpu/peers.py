"""Who else computes attention: what is installed of FlashAttention-3 and -4, and torch's backends.

Each maker takes a case and tensors (batch, sequence, heads, head dim) and gives a function
without arguments that launches once and returns the output, or None where the peer does not
take the case. A maker that is not installed is left out, and said so.
"""

import importlib
import importlib.util
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def flash_attention_3(module):
    def make(case, q, k, v):
        if case.element == "f32":
            return None
        return lambda: module.flash_attn_func(q, k, v, causal=case.causal)
    return make


def flash_attention_4(module):
    def make(case, q, k, v):
        if case.element == "f32":
            return None
        return lambda: module.flash_attn_func(q, k, v, causal=case.causal)[0]
    return make


def torch_backend(backend, elements, dropout_p=0.0):
    def make(case, q, k, v):
        if case.element not in elements:
            return None
        if case.causal and case.queries != case.keys:
            return None  # its causal mask is aligned to the first key
        query, key, value = (x.transpose(1, 2) for x in (q, k, v))
        grouped = case.query_heads != case.key_heads

        def launch():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(
                    query, key, value, is_causal=case.causal, enable_gqa=grouped, dropout_p=dropout_p).transpose(1, 2)
        return launch
    return make


def reference_cubins(folder):
    """Kernels of head dim 128 that `folder`/launch.py binds: Prototype(NAME).bind(q, k, v)."""
    spec = importlib.util.spec_from_file_location("reference_launch", Path(folder) / "launch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loaded = {}

    def make(case, q, k, v):
        if (case.head_dim, case.element) != (128, "bf16"):
            return None
        if case.queries != case.keys or case.query_heads != case.key_heads:
            return None
        name = "forward_d128_causal" if case.causal else "forward_d128_full"
        if name not in loaded:
            loaded[name] = module.Prototype(name)
        launch, output, _ = loaded[name].bind(q, k, v)

        def run():
            launch()
            return output
        return run
    return make


def find_flash_attention(say):
    """The modules of FlashAttention-3 and -4 that are installed, by name."""
    found = {}
    for name, module in (("fa3", "fa3_fwd_interface"), ("fa3", "flash_attn_interface"),
                         ("fa4", "flash_attn.cute.interface")):
        if name in found:
            continue
        try:
            found[name] = importlib.import_module(module)
        except Exception as error:  # whatever stops a peer from loading
            say(f"{module} is not available: {type(error).__name__}: {error}"[:200])
    return found


def find_peers(reference, say):
    """Makers by name."""
    wrap = {"fa3": flash_attention_3, "fa4": flash_attention_4}
    peers = {name: wrap[name](module) for name, module in find_flash_attention(say).items()}
    peers["cudnn"] = torch_backend(SDPBackend.CUDNN_ATTENTION, ("bf16", "f16"))
    peers["fa2"] = torch_backend(SDPBackend.FLASH_ATTENTION, ("bf16", "f16"))
    peers["math"] = torch_backend(SDPBackend.MATH, ("f32",))
    peers["efficient"] = torch_backend(SDPBackend.EFFICIENT_ATTENTION, ("f32",))
    if reference:
        peers["reference"] = reference_cubins(reference)
    return peers
