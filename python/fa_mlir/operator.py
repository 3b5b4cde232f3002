"""The torch operators: fa_mlir::attention, attention_output, attention_into, attention_backward.

libFATorch.so registers them from C++. Here they get what torch asks of an operator
besides: shapes for tracing, gradients, autocast, a count of operations. `ready()`
does all of it once. What an operator runs is compiled here, by `_compile`, when the
operator meets a specification, types and a device for the first time.

    torch.ops.fa_mlir.attention(query, key, value, tensors, numbers, specification)
        -> (output, lse)

tensors: lengths and captures; numbers: the scale and others; None for none of them;
specification: the text of a problem.Specification. lse has no elements where it was not asked for.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.abc
import importlib.util
import math
import re
import sys
import threading
import warnings
from dataclasses import replace
from collections.abc import Callable
from typing import Any

from .errors import INVALID_ARGUMENT, CompilationError, UnsupportedError, make_error
from .problem import Specification, Types, from_text, make_deterministic, write_forward, write_gradient
from .runtime import find_capability, find_library

LIBRARY = "libFATorch.so"
_OUTPUT, _LSE = -1, -2
# FaDataType of operands.
_NAMES = {0: "f16", 1: "bf16", 2: "f32", 3: "f64", 4: "i8", 5: "i32", 6: "i64", 9: "i1"}
_ELEMENTS = ("f16", "bf16", "f32")
_MOST_OUTPUTS = 16


class _Entry(ctypes.Structure):
    """FaTorchEntry of fa-c/Torch.h."""
    _fields_ = [("function", ctypes.c_void_p), ("kernel", ctypes.c_void_p),
                ("call_function", ctypes.c_void_p), ("launch_kernel", ctypes.c_void_p),
                ("get_function_error", ctypes.c_void_p), ("get_kernel_error", ctypes.c_void_p),
                ("integer_numbers", ctypes.c_uint64), ("heads_dim", ctypes.c_int32),
                ("output_count", ctypes.c_int32), ("outputs", ctypes.c_int32 * _MOST_OUTPUTS),
                ("zeroes_outputs", ctypes.c_int32)]


_COMPILE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Entry))
_lock = threading.Lock()
_state: dict[str, Any] = {}
# What entries point to, as long as the process lives.
_kept: list = []
_thread = threading.local()


def take_error() -> BaseException | None:
    """Why the last call of an operator in this thread could not be compiled."""
    error, _thread.error = getattr(_thread, "error", None), None
    return error


def forget_error() -> None:
    """That of an earlier call. A call forgets an earlier status itself."""
    _thread.error = None


def forget_failure() -> None:
    """What a call left that another way takes up. An interrupt is not taken up."""
    error = take_error()
    _state["c"].faTorchTakeStatus()
    if error is not None and not isinstance(error, Exception):
        raise error


def take_status() -> int:
    """The FaStatus for which the last call of an operator in this thread failed, or 0."""
    return _state["c"].faTorchTakeStatus()


@functools.lru_cache
def _find_chip(device: int) -> str:
    torch = sys.modules.get("torch")
    # JAX's programs have no torch.
    major, minor = torch.cuda.get_device_capability(device) if torch else find_capability(device)
    known = {(8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100",
             (12, 0): "sm_120"}
    if (major, minor) in known:
        return known[major, minor]
    if major < 8:
        raise UnsupportedError("query", f"on a GPU of compute capability {major}.{minor}", "8.0 or later",
                               "use the CPU")
    # Code for an earlier minor version runs.
    return known.get((major, 0), "sm_80")


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def compile_forward(specification: Specification, types: Types, chip: str | None):
    """A Function for this CPU, or where there is a chip a CompiledKernel. A head dim or pages
    that a GPU has no form of are an UnsupportedError, with what the compiler says."""
    try:
        return compile_text(write_forward(specification, types), chip)
    except CompilationError as error:
        outside = re.search(r"(query|value) head dim is (\d+), expected (\d+ to \d+)", str(error))
        too_large = re.search(r"head dim is (\d+), but (\S+) takes at most (\d+)", str(error))
        if outside:
            refused = UnsupportedError(outside[1], f"of head dim {outside[2]}", outside[3], "split or pad the head dim")
        elif chip is None:
            raise
        elif too_large:
            place = "value" if int(too_large[1]) == types.value_head_dim else "query"
            refused = UnsupportedError(place, f"of head dim {too_large[1]} on {too_large[2]}", f"at most {too_large[3]}",
                                       "tensors on the CPU")
        elif specification.pages and "pages of" in str(error):
            refused = UnsupportedError("key_pages", f"of {specification.pages} rows on {chip}",
                                       "pages that the compiler has copies of", str(error))
        else:
            raise
        refused.diagnostics = error.diagnostics
        raise refused from error


def compile_gradient(specification: Specification, types: Types, lse_gradient: bool, wanted: tuple[str, ...],
                     chip: str | None):
    """The same of the gradients that are wanted. What a GPU has no form for yet is an
    UnsupportedError, with what the compiler says."""
    text = write_gradient(specification, types, lse_gradient, wanted)
    try:
        return compile_text(text, chip)
    except CompilationError as error:
        if chip is None:
            raise
        order = ", in one order (torch.use_deterministic_algorithms, deterministic=True)" if specification.deterministic else ""
        refused = UnsupportedError("requires_grad", f"True for {', '.join(wanted)} of {types.element} on {chip}{order}",
                                   "a gradient that the compiler derives there, or tensors on the CPU", str(error))
        refused.diagnostics = error.diagnostics
        raise refused from error


def compile_text(text: str, chip: str | None):
    from . import compilation

    if chip is None:
        return compilation.compile(text)
    return compilation.compile(text, target="cuda", chip=chip)


def _make_types(element: str, value_element: str, head_dim: int, value_head_dim: int) -> Types:
    shown, value_shown = (f"of type {each}" if each else "of another type" for each in (element, value_element))
    if element not in _ELEMENTS:
        raise UnsupportedError("query", shown, "float16, bfloat16 or float32", "convert with .to()")
    if value_element != element:
        raise UnsupportedError("value", f"{value_shown} with a query of {element}",
                               "one type of query, key and value", "convert with .to()")
    return Types(element, head_dim, value_head_dim)


def find_refusal(text: str, element: str, value_element: str, head_dim: str, value_head_dim: str,
                 device: int | None) -> tuple[str, str, str, str] | None:
    """Why a forward has no form, as UnsupportedError takes it, or None: asked when a graph is
    traced, which has no second choice when it runs. device: a GPU's index, None for the CPU."""
    try:
        chip = None if device is None else _find_chip(device)
        types = _make_types(element, value_element, int(head_dim), int(value_head_dim))
        compile_forward(from_text(text), types, chip)
    except UnsupportedError as error:
        return error.argument, str(error.value), error.legal, error.nearest
    except Exception:
        # A graph may be traced where there is no such GPU.
        return None
    return None


# Under torch.compile a constant of the graph, as find_text in planning.py.
setattr(find_refusal, "_dynamo_marked_constant", True)


def _fill(key: str, entry: _Entry) -> None:
    """Makes the entry of a key (Facts in Operators.cpp)."""
    operation, device, query, value, aligned, more, text = key.split("|", 6)
    specification = from_text(text)
    element, head_dim = map(int, query.split(","))
    value_element, value_head_dim = map(int, value.split(","))
    types = _make_types(_NAMES.get(element, ""), _NAMES.get(value_element, ""), head_dim, value_head_dim)
    if aligned:
        # Lengths come first.
        flags = aligned[len(specification.length_names):]
        tensors = dict(zip((capture.name for capture in specification.tensors), flags))
        specification = replace(specification, captures=tuple(
            replace(capture, alignment=16) if tensors.get(capture.name) == "1" else capture
            for capture in specification.captures))
    chip = _find_chip(int(device.partition(":")[2])) if device != "cpu" else None
    if operation == "forward":
        outputs = [_OUTPUT] + [_LSE] * specification.lse
        compiled = compile_forward(specification, types, chip)
    else:
        lse_gradient, wanted = more[0] == "1", tuple(more[1:].split(","))
        first = 6 + lse_gradient + len(specification.length_names)
        places = {"query": 0, "key": 1, "value": 2}
        places.update({capture.name: first + i for i, capture in enumerate(specification.tensors)})
        outputs = [places[name] for name in _check_wanted(wanted, specification)]
        compiled = compile_gradient(specification, types, lse_gradient, wanted, chip)
    if len(outputs) > _MOST_OUTPUTS:
        raise UnsupportedError("score", f"with {len(outputs) - 3} captures that require gradients",
                               f"at most {_MOST_OUTPUTS - 3}", "call .detach() on some")
    entry.integer_numbers = sum(1 << i for i, number in enumerate(specification.numbers)
                                if number.type == "index" or number.type[0] == "i")
    entry.heads_dim = 1 if specification.layout == "bhsd" else 2
    entry.output_count = len(outputs)
    entry.outputs[:len(outputs)] = outputs
    # Rows past a query length, or of no sequence, are not written.
    entry.zeroes_outputs = operation == "forward" and ("q" in specification.lengths or specification.is_packed)
    if chip is None:
        from .compiler import Library

        library = Library.shared().c
        entry.function = compiled._handle
        entry.call_function = _address(library.faFunctionCall)
        entry.get_function_error = _address(library.faGetErrorMessage)
        _kept.append(compiled)
    else:
        kernel = compiled.load()
        entry.kernel = kernel._handle
        entry.launch_kernel = _address(kernel.runtime.library.faKernelLaunch)
        entry.get_kernel_error = _address(kernel.runtime.library.faRuntimeGetErrorMessage)
        _kept.append(kernel)


def _check_wanted(wanted: tuple[str, ...], specification: Specification) -> tuple[str, ...]:
    known = ["query", "key", "value", *(capture.name for capture in specification.tensors if capture.gradient)]
    if not all(name in known for name in wanted):
        raise make_error(INVALID_ARGUMENT, f"argument 'wanted' is '{','.join(wanted)}', expected names among "
                         f"{', '.join(known)}, with commas between them")
    return wanted


@_COMPILE
def _compile(key: bytes, entry) -> int:
    try:
        _fill(key.decode(), entry.contents)
        return 0
    except BaseException as error:
        _thread.error = error
        _thread.message = ctypes.create_string_buffer(str(error).encode())
        return ctypes.addressof(_thread.message)


#===--- What torch asks of an operator ------------------------------------===#

def backward(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
             wanted_tensors):
    """Gradients of (query, key, value, *tensors), None where none is wanted. Their own derivative is an error."""
    import torch

    if not torch.is_grad_enabled():
        return _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
                                  wanted_tensors)
    with torch.no_grad():
        operands, captures = _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text,
                                                wanted_operands, wanted_tensors)
    from .transforms import refuse_second

    found = refuse_second([*operands, *captures], [query, key, value, output, lse, *gradients, *tensors])
    return found[:3], found[3:]


def _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
                       wanted_tensors):
    import torch

    specification = from_text(text)
    if not specification.lse:
        raise make_error(INVALID_ARGUMENT, "argument 'specification' has no lse, expected one for gradients: export or trace "
                         "with tensors that require gradients")
    output_gradient, lse_gradient = gradients
    if output_gradient is None:
        output_gradient = torch.zeros_like(output)
    elif not _is_readable(output_gradient):
        output_gradient = output_gradient.clone(memory_format=torch.contiguous_format)
    if lse_gradient is not None:
        lse_gradient = lse_gradient.contiguous()
    skipped = len(specification.length_names)
    wanted = [name for name, is_wanted in zip(("query", "key", "value"), wanted_operands) if is_wanted]
    wanted += [capture.name for capture, is_wanted in zip(specification.tensors, wanted_tensors[skipped:])
               if is_wanted and capture.gradient]
    found = {}
    if "sink" in wanted:
        wanted.remove("sink")
        found["sink"] = _differentiate_sink(specification, output, lse, output_gradient, lse_gradient, tensors)
    if wanted and torch.are_deterministic_algorithms_enabled():
        element = {torch.float16: "f16", torch.bfloat16: "bf16"}.get(query.dtype, "f32")
        types = Types(element, query.shape[-1], value.shape[-1])
        text = _order_sums(text, types, lse_gradient is not None, tuple(wanted),
                           _find_chip(query.device.index) if query.is_cuda else None)

    def call(query, key, value, output, lse, output_gradient, lse_gradient, tensors):
        _thread.error = None
        try:
            return torch.ops.fa_mlir.attention_backward(query, key, value, output, lse, output_gradient, lse_gradient,
                                                        tensors, numbers, text, ",".join(wanted))
        except RuntimeError as failure:
            # The operator raises what it has as text.
            error = take_error()
            if isinstance(error, UnsupportedError):
                raise error from failure
            raise

    if wanted and hasattr(output, "placements"):
        sharding = importlib.import_module(".sharding", __package__)
        found.update(zip(wanted, sharding.differentiate(call, (query, key, value), output, lse, output_gradient,
                                                        lse_gradient, tensors, text)))
    elif wanted:
        found.update(zip(wanted, call(query, key, value, output, lse, output_gradient, lse_gradient,
                                      list(tensors) or None)))
    return ([found.get(name) for name in ("query", "key", "value")],
            [None] * skipped + [found.get(capture.name) for capture in specification.tensors])


@functools.lru_cache(maxsize=4096)
def _is_ordered(text: str, types: Types, lse_gradient: bool, wanted: tuple[str, ...], chip: str) -> bool:
    """Whether a GPU has a form of these gradients that sums in one order. Asked before the operator
    compiles it: a traced program has no second choice when it runs."""
    from . import compilation

    try:
        compilation.compile(write_gradient(from_text(text), types, lse_gradient, wanted), target="cuda", chip=chip,
                            images="ptx")
    except CompilationError:
        return False
    return True


def _order_sums(text: str, types: Types, lse_gradient: bool, wanted: tuple[str, ...], chip: str | None) -> str:
    """The text for torch.use_deterministic_algorithms. What the compiler refuses to sum in
    one order is its error, or with warn_only a warning, and summed in any order."""
    import torch

    ordered = make_deterministic(text)
    if (chip is None or ordered == text or not torch.is_deterministic_algorithms_warn_only_enabled()
            or _is_ordered(ordered, types, lse_gradient, wanted, chip)):
        return ordered
    warnings.warn(f"gradients of {', '.join(wanted)} are summed in any order: {chip} has no form of them in one",
                  stacklevel=2)
    return text


def _differentiate_sink(specification, output, lse, output_gradient, lse_gradient, tensors):
    """Its weight in each row is exp(sink - lse), its value 0."""
    import torch

    named = dict(zip((*specification.length_names, *(capture.name for capture in specification.tensors)), tensors))
    heads_dim, row_dim = (0, 1) if specification.is_packed else (1, 2)
    shape = [1] * lse.dim()
    shape[heads_dim] = -1
    # Where nothing is seen and the sink is -inf nothing has a weight.
    weight = torch.exp(named["sink"].reshape(shape) - lse.masked_fill(lse == -torch.inf, torch.inf))
    delta = (output_gradient.float() * output.float()).sum(-1)
    if specification.is_packed or specification.layout == "bshd":
        delta = delta.transpose(-1, -2)
    gradient = -weight * (delta if lse_gradient is None else delta - lse_gradient)
    if "query_lengths" in named and not specification.is_packed:
        rows = torch.arange(lse.shape[row_dim], device=lse.device)
        gradient = torch.where(rows < named["query_lengths"][:, None, None], gradient, 0)
    if specification.is_packed:
        # Of rows outside of all sequences lse is 0.
        rows = torch.arange(lse.shape[1], device=lse.device)
        starts = named["query_starts"]
        gradient = torch.where((rows >= starts[0]) & (rows < starts[-1]), gradient, 0)
    return gradient.sum([dim for dim in range(lse.dim()) if dim != heads_dim])


def _is_readable(tensor) -> bool:
    """Whether compiled code takes a tensor that torch made: its head dim is
    contiguous, and on a GPU its rows start at multiples of 16 bytes."""
    import torch

    shape, strides = tensor.shape, tensor.stride()
    if shape[-1] != 1 and strides[-1] != 1:
        return False
    if not tensor.is_cuda:
        return True
    unit = 16 // tensor.element_size()
    if any(size != 1 and stride % unit for size, stride in zip(shape[:-1], strides[:-1])):
        return False
    is_real = type(tensor) is torch.Tensor and not torch.compiler.is_compiling()
    return not is_real or tensor.data_ptr() % 16 == 0


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


def count_pairs(specification: Specification, queries: int, keys: int) -> int:
    """Visible pairs of one head, where the mask is known by its name, else all."""
    words = specification.mask.split("(")[0].split()
    if words[:1] == ["causal"]:
        return sum_clamped(queries, keys, keys - queries)
    if words[:1] == ["causal_top_left"]:
        return sum_clamped(queries, keys, 0)
    return queries * keys


def sum_clamped(queries: int, keys: int, shift: int) -> int:
    """The sum over i of the keys j <= i + shift, from 0 to all."""
    total, first = 0, max(0, -shift)
    full = max(first, min(queries, keys - shift))
    count = full - first
    total += count * (first + 1 + shift) + count * (count - 1) // 2
    return total + (queries - max(full, 0)) * keys if queries > full else total


def _count_flops(query_shape, key_shape, value_shape, tensors_shape, numbers, specification, *args, out_shape=None,
                 **kwargs) -> int:
    known = from_text(specification)
    if known.starts or known.pages:
        # How long sequences are lies in memory: all pairs of rows are counted.
        rows, keys = math.prod(query_shape[:-2]), math.prod(key_shape[:-2])
        return 2 * query_shape[-2] * rows * keys * (query_shape[-1] + value_shape[-1])
    heads, sequence = (1, 2) if known.layout == "bhsd" else (2, 1)
    pairs = count_pairs(known, query_shape[sequence], key_shape[sequence])
    return 2 * query_shape[0] * query_shape[heads] * pairs * (query_shape[-1] + value_shape[-1])


def _count_backward_flops(query_shape, key_shape, value_shape, output_shape, lse_shape, output_gradient_shape,
                          lse_gradient_shape, tensors_shape, numbers, specification, *args, out_shape=None,
                          **kwargs) -> int:
    return 5 * _count_flops(query_shape, key_shape, value_shape, None, None, specification) // 2


def _add_flops() -> None:
    import torch
    from torch.utils.flop_counter import register_flop_formula

    register_flop_formula(torch.ops.fa_mlir.attention)(_count_flops)
    register_flop_formula(torch.ops.fa_mlir.attention_backward)(_count_backward_flops)


def _add_sharding() -> None:
    importlib.import_module(".sharding", __package__)


class _Finder(importlib.abc.MetaPathFinder):
    """Acts once a module is imported."""

    def __init__(self, name: str, action: Callable[[], None]):
        self.name, self.action = name, action

    def find_spec(self, name, path, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_act(module):
            execute(module)
            self.action()

        loader.exec_module = execute_and_act
        return spec


def after_import(name: str, action: Callable[[], None]) -> None:
    """Acts now where the module is loaded, else when it is."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Finder(name, action))


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
    heads_dim = 1 if layout == "bhsd" else 2

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
    try:
        c: Any = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot open '{path}': {error}; build the target FATorchShared, or let "
                          "FA_TORCH_LIBRARY name the library") from error
    c.faTorchRegister.restype = ctypes.c_char_p
    c.faTorchRegister.argtypes = [_COMPILE]
    c.faTorchClear.restype = None
    c.faTorchTakeStatus.restype = ctypes.c_int
    # With the interpreter lock, as it makes an object.
    make = ctypes.PyDLL(path).faTorchMakePlainCall
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.py_object, ctypes.c_char_p, ctypes.c_int32, ctypes.py_object]
    c.faTorchMakePlainCall = make
    wrong = c.faTorchRegister(_compile)
    if wrong:
        version = getattr(torch, "__version__", "of no version")
        raise ImportError(f"the operators of fa_mlir: {wrong.decode()}; torch is {version}")
    library = torch.library.Library("fa_mlir", "FRAGMENT")
    torch.library.register_fake("fa_mlir::attention", _fake_attention)
    torch.library.register_fake(
        "fa_mlir::attention_into", lambda query, key, value, tensors, numbers, specification, out:
        _fake_lse(query, from_text(specification)))
    torch.library.register_fake("fa_mlir::attention_backward", _fake_backward)
    torch.library.register_autograd("fa_mlir::attention", _backward, setup_context=_setup_context)
    _add_autocast(torch, library)
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
        _kept.clear()
