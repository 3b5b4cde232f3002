"""The torch operators: fa_mlir::attention, attention_output, attention_into, attention_backward.

libFATorch.so registers them from C++. Here they get what torch asks of an operator
besides: shapes for tracing, gradients, autocast, a count of operations. `ready()`
does all of it once. What an operator runs is compiled by entries.py, when it meets a
specification, types and a device for the first time; gradients.py differentiates it.

    torch.ops.fa_mlir.attention(query, key, value, tensors, numbers, specification)
        -> (output, lse)

tensors: lengths and captures; numbers: the scale and others; None for none of them;
specification: the text of a problem.Specification. lse has no elements where it was not asked for.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from typing import Any

from . import append, entries
from .after_import import after_import
from .arguments import TorchArrays, check_same_types
from .compiler import use_threads
from .gradients import backward
from .problem import find_rows_and_heads, from_text
from .runtime import find_library, load_library

LIBRARY = "libFATorch.so"
_lock = threading.Lock()
_state: dict[str, Any] = {}


def forget_failure() -> None:
    """What a call left that another way takes up. An interrupt is not taken up."""
    error = entries.take_error()
    _state["c"].faTorchTakeStatus()
    if error is not None and not isinstance(error, Exception):
        raise error


def take_status() -> int:
    """The FaStatus for which the last call of an operator in this thread failed, or 0."""
    return _state["c"].faTorchTakeStatus()


def _setup_context(ctx, inputs, output):
    query, key, value, tensors, numbers, text = inputs
    tensors = tensors or []
    ctx.save_for_backward(query, key, value, *output, *tensors)
    ctx.numbers, ctx.text = numbers, text
    ctx.wanted = [tensor.requires_grad for tensor in tensors]
    ctx.set_materialize_grads(False)


def _backward(ctx, *gradients):
    query, key, value, output, lse, *tensors = ctx.saved_tensors
    operands, captures = backward(query, key, value, output, lse, gradients, tensors, ctx.numbers, ctx.text,
                                  ctx.needs_input_grad[:3], ctx.wanted)
    return *operands, captures or None, None, None


def _fake_attention(query, key, value, tensors, numbers, specification):
    check_same_types(query, key, value, TorchArrays)
    known = from_text(specification)
    output = query.new_empty((*query.shape[:-1], value.shape[-1]))
    return output, _fake_lse(query, known)


def _fake_lse(query, specification):
    import torch

    if not specification.lse:
        return query.new_empty((0,), dtype=torch.float32)
    return query.new_empty(specification.find_lse_shape(query.shape), dtype=torch.float32)


def _fake_backward(query, key, value, output, lse, output_gradient, lse_gradient, tensors, numbers,
                   specification, wanted):
    known = from_text(specification)
    named = {"query": query, "key": key, "value": value}
    named.update(zip((capture.name for capture in known.tensors), (tensors or ())[len(known.length_names):]))
    return [named[name].new_empty(named[name].shape) for name in wanted.split(",")]


def _add_flops() -> None:
    importlib.import_module(".flops", __package__).add_flops()


def _add_sharding() -> None:
    importlib.import_module(".sharding", __package__)


def make_call(torch, has_lse: bool):
    """A call of the operator without autograd, that returns (output, lse), or the output. Of
    plain tensors it calls the kernel itself, which costs half of what the dispatcher does, and
    makes no lse that nobody asked for; of others, and in modes, it is the operator."""
    plain = {torch.Tensor, torch.nn.Parameter}
    namespace = torch.ops.fa_mlir
    by_key = (namespace.attention if has_lse else namespace.attention_output).default._op_dk
    by_dispatcher = namespace.attention.default._op
    cpu, cuda = torch._C.DispatchKey.CPU, torch._C.DispatchKey.CUDA
    count_modes, find_transform = torch._C._len_torch_dispatch_stack, torch._C._functorch.peek_interpreter_stack
    below = torch._C._AutoDispatchBelowAutograd

    def call(query, key, value, *rest):
        if (type(query) in plain and type(key) in plain and type(value) in plain and not count_modes()
                and find_transform() is None):
            if query.is_cuda:
                return by_key(cuda, query, key, value, *rest)
            if query.is_cpu:
                return by_key(cpu, query, key, value, *rest)
        if find_transform() is not None:
            # A transform below one of vmap may be of autograd.
            found = by_dispatcher(query, key, value, *rest)
        else:
            with below():
                found = by_dispatcher(query, key, value, *rest)
        return found if has_lse else found[0]

    return call


def _make_function(torch):
    """What attention() differentiates by: the same as the operator's own autograd,
    which costs several times as much."""
    call = make_call(torch, True)

    class Attention(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx, query, key, value, numbers, text, *tensors):
            output, lse = call(query, key, value, tensors or None, numbers, text)
            ctx.save_for_backward(query, key, value, output, lse, *tensors)
            ctx.numbers, ctx.text = numbers, text
            ctx.set_materialize_grads(False)
            return output, lse

        @staticmethod
        def backward(ctx, *gradients):
            return differentiate(ctx, gradients)

    return Attention


def differentiate(ctx, gradients):
    """The backward of a function of (query, key, value, numbers, text, *tensors)."""
    query, key, value, output, lse, *tensors = ctx.saved_tensors
    wanted = ctx.needs_input_grad
    operands, captures = backward(query, key, value, output, lse, gradients, tensors, ctx.numbers, ctx.text, wanted[:3],
                                  wanted[5:])
    return *operands, None, None, *captures


def make_templates(query, value, heads_dim):
    """Tensors without memory that output and lse of a call are like."""
    import torch

    heads, rows = query.shape[heads_dim], query.shape[3 - heads_dim]
    made = (torch.empty((*query.shape[:3], value.shape[3]), dtype=query.dtype, device=query.device),
            torch.empty((query.shape[0], heads, rows), dtype=torch.float32, device=query.device))
    for tensor in made:
        tensor.untyped_storage().resize_(0)
    return made


class _NotPlain(Exception):
    """What a function of autograd that a plain call applies leaves to attention()."""


def make_plain_calls(torch, text, text_with_lse, layout):
    """The most frequent call of (query, key, value[, out]), for the output and for a pair with lse: by
    PlainCall.cpp, without the dispatcher. It returns None for what it leaves to attention()."""
    c = _state["c"]
    tools = (torch.Tensor, torch.nn.Parameter, None, torch.empty_like, make_templates, _NotPlain, torch.Tensor.is_neg,
             torch.autograd.forward_ad, torch.is_grad_enabled, torch._C._is_any_autocast_enabled,
             torch._C._len_torch_dispatch_stack, torch._C._are_functorch_transforms_active, torch._C._is_tracing,
             torch.empty(0, device="cpu").is_neg)
    _, heads_dim = find_rows_and_heads(layout)

    def run():
        # With the tensors that the function of C++ has, which applies this.
        found = calls[1]()
        if found is None:
            raise _NotPlain
        return found

    def differentiate(ctx, output_gradient, lse_gradient):
        query, key, value, output, lse = ctx.saved_tensors
        return backward(query, key, value, output, lse, (output_gradient, lse_gradient), (), None, text_with_lse,
                        ctx.needs_input_grad, ())[0]

    # With one output, as few steps as there can be.
    class Attention(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx, query, key, value):
            output, lse = run()
            ctx.save_for_backward(query, key, value, output, lse)
            return output

        @staticmethod
        def backward(ctx, gradient):
            return tuple(differentiate(ctx, gradient, None))

    class AttentionAndLse(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx, query, key, value):
            output, lse = run()
            ctx.save_for_backward(query, key, value, output, lse)
            ctx.set_materialize_grads(False)
            return output, lse

        @staticmethod
        def backward(ctx, *gradients):
            return tuple(differentiate(ctx, *gradients))

    calls = [c.faTorchMakePlainCall(tools, chosen.encode(), heads_dim,
                                    # Without looking for what transforms left, which are not active.
                                    super(torch.autograd.Function, function).apply)
             for chosen, function in ((text, Attention), (text_with_lse, AttentionAndLse))]
    return calls


def _add_autocast(torch, library) -> None:
    def cast(device, query, key, value, tensors, numbers, specification):
        dtype = torch.get_autocast_dtype(device)
        operands = [tensor.to(dtype) if tensor.dtype in (torch.float32, torch.float16, torch.bfloat16) else tensor
                    for tensor in (query, key, value)]
        with torch.amp.autocast(device, enabled=False):
            return torch.ops.fa_mlir.attention(*operands, tensors, numbers, specification)

    library.impl("attention", functools.partial(cast, "cuda"), "AutocastCUDA")
    library.impl("attention", functools.partial(cast, "cpu"), "AutocastCPU")


def _register() -> None:
    import torch

    path = find_library(LIBRARY, "FA_TORCH_LIBRARY")
    c: Any = load_library(path, "FATorchShared", "FA_TORCH_LIBRARY")
    c.faTorchRegister.restype = ctypes.c_char_p
    c.faTorchRegister.argtypes = [entries.CALLBACK]
    c.faTorchClear.restype = None
    c.faTorchTakeStatus.restype = ctypes.c_int
    # With the interpreter lock, as it makes an object.
    make = ctypes.PyDLL(path).faTorchMakePlainCall
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.py_object, ctypes.c_char_p, ctypes.c_int32, ctypes.py_object]
    c.faTorchMakePlainCall = make
    wrong = c.faTorchRegister(entries.compile_entry)
    if wrong:
        version = getattr(torch, "__version__", "of no version")
        raise ImportError(f"the operators of fa_mlir: {wrong.decode()}; torch is {version}")
    use_threads(ctypes.cast(c.faTorchRunThreads, ctypes.c_void_p))
    library = torch.library.Library("fa_mlir", "FRAGMENT")
    torch.library.register_fake("fa_mlir::attention", _fake_attention)
    torch.library.register_fake(
        "fa_mlir::attention_into", lambda query, key, value, tensors, numbers, specification, out:
        _fake_lse(query, from_text(specification)))
    torch.library.register_fake("fa_mlir::attention_backward", _fake_backward)
    torch.library.register_autograd("fa_mlir::attention", _backward, setup_context=_setup_context)
    _add_autocast(torch, library)
    append.register(library)
    from .transforms import add_rules

    add_rules(library, torch.ops.fa_mlir.attention.default, torch.ops.fa_mlir.attention_backward.default,
              torch.ops.fa_mlir.attention_into.default)
    # They take longer to import than everything here.
    after_import("torch.utils.flop_counter", _add_flops)
    after_import("torch.distributed.tensor", _add_sharding)
    _state.update(c=c, library=library, function=_make_function(torch))


def ready() -> None:
    """Registers the operators with the torch that is loaded."""
    with _lock:
        if not _state:
            _register()


def function() -> Any:
    """The apply of the function that attention() differentiates by."""
    return _state["function"].apply


def clear() -> None:
    """Forgets which code operators run. No call may be running."""
    with _lock:
        if _state:
            _state["c"].faTorchClear()
        entries.forget_all()
