"""What the operators run: compiled code for a specification, types and a device.

An operator of C++, torch's or JAX's, that meets these for the first time calls `compile_entry`, which fills in an entry;
`_fill` says how. `compile_forward` and `compile_gradient` compile, and say what has no form; `find_refusal` asks that ahead of a call.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import threading
from dataclasses import replace
from typing import Any

from .errors import INVALID_ARGUMENT, CompilationError, UnsupportedError, make_error
from .problem import OPERAND_TYPES, Specification, Types, find_rows_and_heads, from_text, write_forward, write_gradient
from .runtime import find_capability

_OUTPUT, _LSE = -1, -2
# FaDataType of operands.
_NAMES = {0: "f16", 1: "bf16", 2: "f32", 3: "f64", 4: "i8", 5: "i32", 6: "i64", 9: "i1"}
_SPELLED = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool", "i8": "int8", "i32": "int32",
            "i64": "int64"}
_MOST_OUTPUTS = 16


class _Entry(ctypes.Structure):
    """FaTorchEntry of fa-c/Torch.h."""
    _fields_ = [("function", ctypes.c_void_p), ("kernel", ctypes.c_void_p),
                ("call_function", ctypes.c_void_p), ("launch_kernel", ctypes.c_void_p),
                ("get_function_error", ctypes.c_void_p), ("get_kernel_error", ctypes.c_void_p),
                ("integer_numbers", ctypes.c_uint64), ("heads_dim", ctypes.c_int32),
                ("output_count", ctypes.c_int32), ("outputs", ctypes.c_int32 * _MOST_OUTPUTS),
                ("zeroes_outputs", ctypes.c_int32)]


#: The type of compile_entry.
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Entry))
# What entries point to, as long as the process lives.
_kept: list = []
_thread = threading.local()


def forget_all() -> None:
    """Frees what entries point to, which no operator may have any more."""
    _kept.clear()


def take_error() -> BaseException | None:
    """Why the last call of an operator in this thread could not be compiled."""
    error, _thread.error = getattr(_thread, "error", None), None
    return error


def forget_error() -> None:
    """That of an earlier call. A call forgets an earlier status itself."""
    _thread.error = None


@functools.lru_cache
def find_chip(device: int) -> str:
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


def check_element(element: str, value_element: str) -> None:
    shown, value_shown = (f"of type {_SPELLED.get(each, each)}" if each else "of another type" for each in (element, value_element))
    if element not in OPERAND_TYPES:
        raise UnsupportedError("query", shown, "float16, bfloat16 or float32", "convert with .to()")
    if value_element != element:
        raise UnsupportedError("value", f"{value_shown} with a query of {_SPELLED[element]}",
                               "one type of query, key and value", "convert with .to()")


def _align(specification: Specification, names: set[str]) -> Specification:
    """With rows of these captures at multiples of 16 bytes, which kernels copy in bulk."""
    return replace(specification, captures=tuple(
        replace(capture, alignment=16) if capture.name in names else capture for capture in specification.captures))


def find_refusal(text: str, element: str, value_element: str, head_dim: str, value_head_dim: str,
                 device: int | None) -> tuple[str, str, str, str] | None:
    """Why a forward has no form, as UnsupportedError takes it, or None: asked when a graph is
    traced, which has no second choice when it runs. device: a GPU's index, None for the CPU."""
    try:
        chip = None if device is None else find_chip(device)
        check_element(element, value_element)
        specification = from_text(text)
        if chip is not None:
            # As most of them are: then it is what runs.
            specification = _align(specification, {capture.name for capture in specification.tensors if len(capture.shape or ()) == 4})
        compile_forward(specification, Types(element, int(head_dim), int(value_head_dim)), chip)
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
    check_element(_NAMES.get(element, ""), _NAMES.get(value_element, ""))
    types = Types(_NAMES[element], head_dim, value_head_dim)
    if aligned:
        # Lengths come first.
        flags = aligned[len(specification.length_names):]
        tensors = dict(zip((capture.name for capture in specification.tensors), flags))
        specification = _align(specification, {name for name, flag in tensors.items() if flag == "1"})
    chip = find_chip(int(device.partition(":")[2])) if device != "cpu" else None
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
    _, entry.heads_dim = find_rows_and_heads(specification.layout)
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


@CALLBACK
def compile_entry(key: bytes, entry) -> int:
    try:
        _fill(key.decode(), entry.contents)
        return 0
    except BaseException as error:
        _thread.error = error
        _thread.message = ctypes.create_string_buffer(str(error).encode())
        return ctypes.addressof(_thread.message)


