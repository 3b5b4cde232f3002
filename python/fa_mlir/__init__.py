"""Compiles attention and other MLIR, and runs it.

    import fa_mlir
    attention = fa_mlir.compile(text)            # a function of a module, for this CPU
    output, lse = attention(query, key, value)   # numpy arrays, or anything with __dlpack__

    kernel = fa_mlir.compile(text, target="cuda", chip="sm_90a")   # no GPU needed
    kernel.save("kernels")
    kernel = fa_mlir.load("kernels/attention_kernel.json")         # a manifest, see docs/Runtime.md
    output, lse = kernel(query, key, value)      # torch tensors, or anything with __dlpack__

Needs Python 3.10. Launches need a GPU driver of CUDA 12.0, and torch to allocate
outputs that are not given; they go to torch's current stream where torch is
loaded, else to the legacy default stream, and return without waiting. Autograd
does not see them. Compiled code is kept in FA_MLIR_CACHE_DIR (docs/API.md).
"""

from .compilation import CompiledKernel, clear_memory, compile, stats
from .compiler import Context, Diagnostic, Module
from .errors import ArgumentError, CompilationError, Error, OutOfMemoryError
from .host import Function
from .kernel import Kernel, load
from .runtime import WORKSPACE_LIMIT, Runtime

__all__ = ["ArgumentError", "CompilationError", "CompiledKernel", "Context", "Diagnostic", "Error", "Function",
           "Kernel", "Module", "OutOfMemoryError", "Runtime", "WORKSPACE_LIMIT", "clear_memory", "compile",
           "load", "stats"]
