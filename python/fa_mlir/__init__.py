"""Runs kernels of fa-mlir on CUDA tensors.

    import fa_mlir
    kernel = fa_mlir.load("attention.json")     # a manifest, see docs/Runtime.md
    output, lse = kernel(query, key, value)     # torch tensors, or anything with __dlpack__

Needs Python 3.10 and a GPU driver of CUDA 12.0; torch only to allocate outputs
that are not given. Launches go to torch's current stream where torch is loaded,
else to the legacy default stream, and return without waiting. Autograd does not
see them.
"""

from .errors import ArgumentError, Error, OutOfMemoryError
from .kernel import Kernel, load
from .runtime import WORKSPACE_LIMIT, Runtime

__all__ = ["ArgumentError", "Error", "Kernel", "OutOfMemoryError", "Runtime", "WORKSPACE_LIMIT", "load"]
