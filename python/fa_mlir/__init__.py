"""Compiles attention and other MLIR, and runs it.

    import fa_mlir
    output = fa_mlir.attention(query, key, value, causal="bottom_right")   # torch or numpy, with gradients

    attention = fa_mlir.compile(text)            # a function of a module, for this CPU
    output, lse = attention(query, key, value)   # numpy arrays, or anything with __dlpack__

    model = fa_mlir.jit(model)                   # a function of JAX, or of torch (with torch-mlir)

    kernel = fa_mlir.compile(text, target="cuda", chip="sm_90a")   # no GPU needed
    kernel.save("kernels")
    kernel = fa_mlir.load("kernels/attention_kernel.json")         # a manifest, see docs/Runtime.md
    output, lse = kernel(query, key, value)      # torch tensors, or anything with __dlpack__

Needs Python 3.10. Launches need a GPU driver of CUDA 12.0, and torch to allocate
outputs that are not given; they go to torch's current stream where torch is
loaded, else to the legacy default stream, and return without waiting. Autograd
does not see them. Compiled code is kept in FA_MLIR_CACHE_DIR (docs/API.md).
"""

from . import compat, flash_attn, flash_attn_interface, hf
from .attention import attention
from .compilation import CompiledKernel, clear_memory, compile, stats
from .compiler import Context, Diagnostic, Module
from .errors import ArgumentError, CompilationError, Error, OutOfMemoryError, UnsupportedError
from .explain import Explanation, explain
from .flex import flex_attention
from .host import Function
from .jit import Jitted, jit
from .kernel import Kernel, load
from .runtime import WORKSPACE_LIMIT, Runtime
from .sdpa import override_sdpa, sdpa

__all__ = [
    "ArgumentError", "CompilationError", "CompiledKernel", "Context", "Diagnostic", "Error", "Explanation", "Function",
    "Jitted", "Kernel", "Module", "OutOfMemoryError", "Runtime", "UnsupportedError", "WORKSPACE_LIMIT", "attention",
    "clear_memory", "compat", "compile", "explain", "flash_attn", "flash_attn_interface", "flex_attention", "hf", "jit",
    "load", "override_sdpa", "sdpa", "stats"]

from .attention import _find_torch as _prepare

try:
    # Beside a torch that is loaded, so that torch.compile meets the operators.
    _prepare()
except ImportError:
    # The first call on its tensors says why.
    pass
