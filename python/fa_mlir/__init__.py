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
does not see them. Code for CPUs runs on torch's threads once torch calls it
(torch.set_num_threads), else on OpenMP's (OMP_NUM_THREADS). Compiled code is
kept in FA_MLIR_CACHE_DIR (docs/API.md).
"""

import importlib
from typing import TYPE_CHECKING, Any

from .attention import _find_torch as _prepare
from .attention import attention
from .errors import ArgumentError, CompilationError, Error, OutOfMemoryError, UnsupportedError
# Modules of the names of what they give, which a later import would put in its place.
from .explain import Explanation, explain
from .jit import Jitted, jit
from .after_import import after_import as _after_import
from .sdpa import override_counts, override_sdpa, sdpa

if TYPE_CHECKING:
    from . import compat, diffusers, flash_attn, flash_attn_interface, hf, jax, vllm, xformers
    from .compilation import CompiledKernel, clear_memory, compile, stats
    from .compiler import Context, Diagnostic, Module
    from .flash_impl import register_flash_attention_impl
    from .flex import flex_attention
    from .flex_pass import FlexPass, flex_backend
    from .host import Function
    from .kernel import Kernel, load
    from .runtime import WORKSPACE_LIMIT, Runtime
    from .sequences import SequenceError, sequence_errors

# Without what needs torch to be imported, which there need not be.
__all__ = [
    "ArgumentError", "CompilationError", "CompiledKernel", "Context", "Diagnostic", "Error", "Explanation",
    "Function", "Jitted", "Kernel", "Module", "OutOfMemoryError", "Runtime", "SequenceError", "UnsupportedError",
    "WORKSPACE_LIMIT", "attention", "clear_memory", "compat", "compile", "diffusers", "explain", "flash_attn",
    "flash_attn_interface", "flex_attention", "hf", "jit", "load", "override_counts", "override_sdpa",
    "sdpa", "sequence_errors", "stats", "vllm", "xformers"]

# Modules by what they give, imported when it is first asked for: importing all takes
# longer than the rest.
_LATER = {
    "compilation": ("CompiledKernel", "clear_memory", "compile", "stats"),
    "compiler": ("Context", "Diagnostic", "Module"),
    "flash_impl": ("register_flash_attention_impl",), "flex": ("flex_attention",),
    "flex_pass": ("FlexPass", "flex_backend"), "host": ("Function",),
    "kernel": ("Kernel", "load"), "runtime": ("Runtime", "WORKSPACE_LIMIT"),
    "sequences": ("SequenceError", "sequence_errors")}
_MODULES = ("compat", "diffusers", "flash_attn", "flash_attn_interface", "hf", "jax", "vllm", "xformers")
_PLACES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name == "__version__":
        # Of the library, which is the package's in a wheel and in a build.
        globals()[name] = version = importlib.import_module(".compiler", __name__).Library.shared().version.partition(",")[0]
        return version
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module("." + _PLACES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PLACES, *_MODULES})


def _prepare_torch() -> None:
    try:
        _prepare()
    except ImportError:
        # The first call on its tensors says why.
        pass


# torch.compile meets the operators, whichever of the two is imported first.
_after_import("torch", _prepare_torch)
