"""attention(): from arguments to the call.

`attention` is the public function: `plan_call` checks its arguments and has planning.py plan the call, `run_call` runs it.
`_call_torch` does so by the operator, `_call_arrays` by compiled functions on numpy arrays and others. A step that writes
a cache (kvcache.py) does that between the two.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from . import entries, operator, planning
from .arguments import (CAUSAL, OPTIONAL_ARRAYS, NumpyArrays, TorchArrays, are_transforms_traced, as_numpy, as_stored, check_dropout,
                        check_flag, check_lengths, check_operands, check_out, check_packed, check_ranks, check_same_types, check_sink,
                        check_tensors, clear, pad_heads, refuse, refuse_options, refuse_tangents, requires_gradient)
from .errors import UnsupportedError, make_error
from .planning import MOST_KEPT, find_text, is_function, plan, trace_functions
from .problem import LAYOUTS, OPERAND_TYPES, Types, find_rows_and_heads, from_text

_functions: dict[tuple, Any] = {}
_Function = TypeVar("_Function", bound=Callable)
#: Arguments that may be None.
_OPTIONAL = frozenset(("score", "mask", "window", "softcap", "alibi", "bias", "sink", "scale", "query_lengths", "key_lengths",
                       "query_starts", "key_starts", "key_pages", "dropout_state"))


class Call(NamedTuple):
    """A call of attention() that is checked and planned."""

    #: Query, key and value.
    operands: list
    #: Of the specification.
    text: str
    tensors: list
    numbers: list
    out: Any
    layout: str
    needs_gradient: bool
    return_lse: bool
    #: Whether the log-sum-exp is made, which gradients need too.
    makes_lse: bool
    is_torch: bool
    #: By torch.jit.trace.
    is_traced: bool
    is_paged: bool
    is_unbatched: bool
    #: The head dim of an output whose operands were padded, else None.
    width: int | None


def _call_arrays(call: Call) -> tuple:
    """On numpy arrays."""
    text, operands, tensors, numbers, out = call.text, call.operands, call.tensors, call.numbers, call.out
    specification = from_text(text)
    query, _, value = operands
    types = Types(NumpyArrays.type(query), query.shape[-1], value.shape[-1])
    function = _functions.get((text, types))
    if function is None:
        if types.element not in OPERAND_TYPES:
            raise UnsupportedError("query", f"of dtype {query.dtype}", "float16, bfloat16 or float32")
        if len(_functions) >= MOST_KEPT:
            _functions.clear()
        function = _functions[text, types] = entries.compile_forward(specification, types, None)
    numbers = [number if capture.type[0] in "fb" else int(number)
               for number, capture in zip(numbers, specification.numbers)]
    outputs = {"output": out} if out is not None else {}
    if "q" in specification.lengths or specification.is_packed:
        # Rows past a length, or of no sequence, are not written.
        numpy = importlib.import_module("numpy")
        if out is None:
            outputs["output"] = numpy.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
        else:
            clear(out)
        if specification.lse:
            outputs["lse"] = numpy.zeros(specification.find_lse_shape(query.shape), numpy.float32)
    result = function(*operands, *tensors, *numbers, **outputs)
    return result if specification.lse else (result, None)


def differentiate_in_graph(*arguments: Any) -> tuple:
    """A node of Dynamo's graph within torch.func, which the autograd of operators has no form for."""
    return importlib.import_module(".transforms", __package__).differentiate(*arguments)


def _call_torch(torch: Any, call: Call) -> tuple:
    (query, key, value), tensors, text, out = call.operands, call.tensors, call.text, call.out
    if not _is_compiling():
        query, key, value, *tensors = as_stored(call.operands + call.tensors)
    has_batches = query.ndim == key.ndim == 4 and not call.is_paged
    # An exported program has no empty lists.
    numbers = call.numbers or None
    if torch.compiler.is_compiling():
        if has_batches:
            check_operands(query, key, value, call.layout, TorchArrays)
        # As text head dims are constants of the graph.
        refusal = entries.find_refusal(text, TorchArrays.type(query), TorchArrays.type(value), f"{query.shape[-1]}",
                                        f"{value.shape[-1]}", query.device.index or 0 if query.is_cuda else None)
        if refusal is not None:
            raise UnsupportedError(*refusal)
        if out is not None:
            return out, torch.ops.fa_mlir.attention_into(query, key, value, tensors or None, numbers, text, out)
        if are_transforms_traced():
            return differentiate_in_graph(query, key, value, numbers, text, *tensors)
        return torch.ops.fa_mlir.attention(query, key, value, tensors or None, numbers, text)
    entries.forget_error()
    try:
        if call.needs_gradient and _are_transforms_active():
            return importlib.import_module(".transforms", __package__).differentiate(query, key, value, numbers, text, *tensors)
        if call.is_traced and out is None:
            return torch.ops.fa_mlir.attention(query, key, value, tensors or None, numbers, text)
        if call.needs_gradient:
            return _differentiable(query, key, value, numbers, text, *tensors)
        if out is None:
            if call.makes_lse:
                return _both(query, key, value, tensors or None, numbers, text)
            return _output(query, key, value, tensors or None, numbers, text), None
        with _below_autograd():
            lse = torch.ops.fa_mlir.attention_into.default(query, key, value, tensors or None, numbers, text, out)
        _increment_version(out)
        return out, lse
    except RuntimeError as raised:
        error, status = entries.take_error(), operator.take_status()
        # What was called checks its arguments; these are the words of this interface.
        if has_batches:
            check_operands(query, key, value, call.layout, TorchArrays)
        if error is not None:
            raise error from raised
        if status:
            raise make_error(status, str(raised)) from raised
        raise


# Functions of (query, key, value[, out]) by layout, causal and return_lse, for calls without other
# arguments of torch's tensors. They return None for those that are other after all, or wrong.
_plain_calls: dict[tuple, Any] = {}


# torch, where it was loaded when it was first asked for, with the operators in it.
_torch: Any = None
_both: Any = None
_output: Any = None
_differentiable: Any = None
_below_autograd: Any = None
_is_any_autocast_enabled: Any = None
_is_compiling: Any = None
# By torch.func, and by torch.jit.trace.
_are_transforms_active: Any = None
_is_traced: Any = None
_tensor: Any = None
# Tells autograd that a tensor was written, which may be saved for a backward.
_increment_version: Any = None


def _find_torch() -> Any:
    global _torch, _both, _output, _differentiable, _below_autograd, _is_any_autocast_enabled
    global _is_compiling, _tensor, _increment_version, _are_transforms_active, _is_traced
    if _torch is None and sys.modules.get("torch") is not None:
        operator.ready()
        torch = sys.modules["torch"]
        _both = operator.make_call(torch, True)
        _output = operator.make_call(torch, False)
        _differentiable = operator.function()
        _below_autograd = torch._C._AutoDispatchBelowAutograd
        _is_any_autocast_enabled = torch._C._is_any_autocast_enabled
        _is_compiling, _tensor = torch.compiler.is_dynamo_compiling, torch.Tensor
        _are_transforms_active, _is_traced = torch._C._are_functorch_transforms_active, torch._C._is_tracing
        _increment_version = torch.autograd.graph.increment_version
        for layout, causal in itertools.product(LAYOUTS, CAUSAL):
            text, text_with_lse = [find_text((layout, causal, False, None, None, None, False, None, "", "", (), lse))
                                   for lse in (False, True)]
            _plain_calls.update(zip(((layout, causal, lse) for lse in (False, True)),
                                    operator.make_plain_calls(torch, text, text_with_lse, layout)))
        _torch = planning.torch = torch
    return _torch


def cast_operands(query: Any, key: Any, value: Any) -> list:
    """As autocast has them."""
    operands = [query, key, value]
    if not _is_any_autocast_enabled() or not all(isinstance(operand, _tensor) for operand in operands):
        return operands
    device = query.device.type
    if not _torch.is_autocast_enabled(device):
        return operands
    dtype = _torch.get_autocast_dtype(device)
    # As torch's own, which leaves float64 alone: it has no form here.
    return [operand if operand.dtype == _torch.float64 else operand.to(dtype) for operand in operands]


def _is_default(name: str, value: Any) -> bool:
    if name in ("dropout_p", "deterministic"):
        return isinstance(value, (float, int)) and not value
    return value is None and name in _OPTIONAL


def _plain_first(function: _Function) -> _Function:
    """Most calls have no other arguments, and each default of a function costs as much as a question."""
    @functools.wraps(function)
    def attention(query: Any, key: Any, value: Any, *, causal: Any = None, layout: Any = "bshd", return_lse: Any = False,
                  out: Any = None, **others: Any) -> Any:
        if (type(query) is _tensor and not _is_compiling()
                and (not others or all(itertools.starmap(_is_default, others.items())))):
            try:
                call = _plain_calls.get((layout, causal, return_lse))
            except TypeError:  # one that has no hash
                call = None
            if call is not None:
                found = call(query, key, value) if out is None else call(query, key, value, out)
                if found is not None:
                    if out is not None:
                        _increment_version(out)
                    return found
                operator.forget_failure()
        return function(query, key, value, causal=causal, layout=layout, return_lse=return_lse, out=out, **others)

    return cast(_Function, attention)


@_plain_first
def attention(query: Any, key: Any, value: Any, *, score: Callable | None = None, mask: Any = None,
              causal: str | None = None, window: tuple[int | None, int | None] | None = None,
              softcap: float | None = None, alibi: Any = None, bias: Any = None, sink: Any = None,
              scale: float | None = None, dropout_p: float = 0.0, query_lengths: Any = None,
              key_lengths: Any = None, layout: str = "bshd", return_lse: bool = False, out: Any = None,
              query_starts: Any = None, key_starts: Any = None, key_pages: Any = None,
              dropout_state: Any = None, deterministic: bool = False) -> Any:
    """Attention: softmax(scale Q K') V, exact, on CPU and CUDA.

    Arrays are torch tensors, numpy arrays, or others with __dlpack__ in host memory.
    With torch tensors, gradients of query, key, value, alibi, bias, sink and captured
    tensors are computed where they are asked for, that of lse included.

    query: (batch, queries, heads, head dim), float16, bfloat16 or float32; with
        layout="bhsd" (batch, heads, queries, head dim). Without a batch, rank 3.
    key, value: the same with keys and key heads, of which the heads are a multiple;
        the value's head dim may differ. Strides are free but for the head dim's, 1. On a
        GPU, head dims that are no multiples of 8 are padded where gradients are asked for.
    score: a function (score, batch, head, query, key) -> score, as FlexAttention's
        score_mod. It sees the scaled score after softcap, alibi and bias. A captured
        tensor is 0 past its sizes.
    mask: a function (batch, head, query, key) -> bool, as mask_mod, or an array of
        bool that broadcasts to (batch, heads, queries, keys); True is visible.
    causal: "bottom_right" (the last query sees the last key) or "top_left" (query i
        sees keys up to i).
    window: (left, right) keys beside the diagonal that `causal` has, else the
        bottom-right one; -1 or None is unlimited.
    softcap: x -> softcap tanh(x / softcap).
    alibi: slopes, float32, (heads) or (batch, heads): minus slope |i + keys - queries - j|.
    bias: added to scores; broadcasts to (batch, heads, queries, keys).
    sink: (heads), a score that takes part in each softmax without a value.
    scale: of scores, 1 / sqrt(head dim) where None.
    dropout_p: the probability that a weight is dropped, from 0 to below 1.
    query_lengths, key_lengths: int32, (batch): rows past them are not read. Output
        and lse of queries past theirs are 0. Bottom-right is that of the lengths.
    return_lse: also the log-sum-exp of scores, float32, (batch, heads, queries),
        natural logarithm; -inf where a query sees no key, whose output is 0.
    out: where the output goes; takes no gradient.
    query_starts, key_starts: int32, (batch + 1): packed sequences. Sequence b has the
        rows from starts[b] to starts[b + 1] of (rows, heads, head dim); lse is then
        (heads, rows). Rows of no sequence are 0. Functions see positions in a sequence.
        Starts that fall, or end past the rows, give NaN or 0: sequence_errors() says which.
    key_pages: int32, (batch, pages of a sequence): key j of sequence b is row j mod
        page size of page key_pages[b, j // page size]; key and value are (pages, page
        size, key heads, head dim), and key_lengths are needed. Takes no gradient.
    dropout_state: int64, (2,): seed and offset of dropout, on the query's device. None
        takes them from torch's generator there (numpy: from numpy's). What is dropped
        depends on them and on (batch, head, query, key) alone: docs/Reference/FA.md.
    deterministic: gradients have the same bits in each run, as they have under
        torch.use_deterministic_algorithms. Without it those of the query and of captures,
        on a GPU, are sums in any order.

    Compiles once for each set of element types, head dims, ranks and functions, and for
    the heads and pages of one query; no length, batch, other number of heads, stride,
    window, cap or scale makes it compile again. Raises ArgumentError for what is wrong,
    UnsupportedError for what has no form yet, CompilationError for what the compiler refuses.

        output = fa_mlir.attention(q, k, v, causal="bottom_right", window=(4096, 0))
    """
    if (_torch or _find_torch()) is not None and _is_any_autocast_enabled():
        query, key, value = cast_operands(query, key, value)
    return run_call(plan_call(query, key, value, score, mask, causal, window, softcap, alibi, bias, sink, scale, dropout_p, query_lengths,
                              key_lengths, layout, return_lse, out, query_starts, key_starts, key_pages, dropout_state, deterministic))


def _is_gradient_asked(is_compiling: bool, query: Any, key: Any, value: Any, alibi: Any, bias: Any, sink: Any) -> bool:
    """Of torch's tensors, apart from what functions capture."""
    return (query.requires_grad or key.requires_grad or value.requires_grad
            or requires_gradient(alibi) or requires_gradient(bias) or requires_gradient(sink)
            or ((is_compiling or _are_transforms_active()) and any(map(requires_gradient, (query, key, value)))))


def plan_call(query: Any, key: Any, value: Any, score: Any = None, mask: Any = None, causal: Any = None, window: Any = None,
              softcap: Any = None, alibi: Any = None, bias: Any = None, sink: Any = None, scale: Any = None, dropout_p: Any = 0.0,
              query_lengths: Any = None, key_lengths: Any = None, layout: Any = "bshd", return_lse: Any = False, out: Any = None,
              query_starts: Any = None, key_starts: Any = None, key_pages: Any = None, dropout_state: Any = None,
              deterministic: Any = False) -> Call:
    """Arguments as of attention(), where autocast has been at work."""
    if layout not in LAYOUTS or causal not in CAUSAL:
        refuse_options(layout, causal)
    return_lse = check_flag("return_lse", return_lse)
    torch = _torch or _find_torch()
    is_torch = torch is not None and isinstance(query, torch.Tensor)
    kind: Any = TorchArrays
    is_compiling = is_torch and _is_compiling()
    is_traced = is_torch and not is_compiling and _is_traced()
    if is_torch:
        check_tensors(torch, query, key, value, None if is_function(mask) else mask, alibi, bias, sink, out, query_lengths,
                      key_lengths, query_starts, key_starts, key_pages, dropout_state)
    if not is_torch:
        kind = NumpyArrays
        (query, key, value, alibi, bias, sink, query_lengths, key_lengths, query_starts, key_starts, key_pages) = map(
            as_numpy, (query, key, value, alibi, bias, sink, query_lengths, key_lengths, query_starts, key_starts, key_pages),
            ("query", "key", "value", *OPTIONAL_ARRAYS))
        if mask is not None and not is_function(mask):
            mask = as_numpy(mask, "mask")
    starts = None
    if query_starts is not None or key_starts is not None or key_pages is not None:
        starts = check_packed(query, key, value, layout, (query_starts, key_starts, key_pages), key_lengths, kind)
    is_unbatched = starts is None and query.ndim == 3
    if is_unbatched:
        check_ranks(query, key, value, 3)
        query, key, value = query[None], key[None], value[None]
        out = out[None] if out is not None else None
    # Operators of torch check the others themselves.
    if starts is None and (not is_torch or query.dim() != 4 or key.dim() != 4 or value.dim() != 4):
        check_operands(query, key, value, layout, kind)
    if query_lengths is not None or key_lengths is not None:
        batch = query.shape[0] if query_starts is None else query_starts.shape[0] - 1
        query_lengths = check_lengths("query_lengths", query_lengths, kind, batch)
        key_lengths = check_lengths("key_lengths", key_lengths, kind, batch)
    if sink is not None:
        sink = check_sink(sink, query.shape[find_rows_and_heads(layout, query.ndim)[1]], torch if is_torch else None)
    dropout = None
    if dropout_p is not None and (type(dropout_p) is not float or dropout_p):
        dropout = check_dropout(dropout_p, dropout_state, query, torch if is_torch else None)
    needs_gradient = False
    if is_torch:
        if torch.autograd.forward_ad._current_level >= 0:
            refuse_tangents(torch, query=query, key=key, value=value, alibi=alibi, bias=bias, sink=sink)
        needs_gradient = torch.is_grad_enabled() and _is_gradient_asked(is_compiling, query, key, value, alibi, bias, sink)
    if starts is not None:
        check_same_types(query, key, value, kind)
    if is_torch and not needs_gradient and torch.is_grad_enabled() and (score is not None or (
            # It has no gradient of what it captures, but torch.func asks each operator of it.
            callable(mask) and out is None and not is_compiling and _are_transforms_active())):
        score, mask, captured = trace_functions(score, mask, query)
        needs_gradient = any(map(requires_gradient, captured))
    if needs_gradient and out is not None:
        raise refuse("out", "is given, expected None where a gradient is asked for")
    width = None
    if needs_gradient and query.is_cuda and (query.shape[-1] % 8 or value.shape[-1] % 8):
        width = value.shape[-1]
        query, key, value, scale = pad_heads(query, key, value, scale)
    gives_lse = return_lse or needs_gradient or is_traced or (is_compiling and are_transforms_traced())
    decided, tensors, numbers = plan(
        kind, query, key, value, score, mask, causal, window, softcap, alibi, bias, scale, query_lengths, key_lengths, layout,
        gives_lse, starts, sink, dropout, deterministic and needs_gradient)
    if is_torch and torch.autograd.forward_ad._current_level >= 0:
        for tensor in tensors:
            refuse_tangents(torch, score=tensor)
    # Arrays of others are checked where they are called with.
    if out is not None and (is_torch or hasattr(out, "__array_interface__")):
        check_out(out, query, key, value, tensors, find_text(decided))
        if is_torch and out.requires_grad and torch.is_grad_enabled():
            raise refuse("out", "requires a gradient, expected one that does not; under torch.no_grad() any may")
    if needs_gradient and key_pages is not None:
        raise UnsupportedError("key_pages", "given where a gradient is asked for", "None",
                               "call it under torch.no_grad(), or gather the keys")
    return Call([query, key, value], find_text(decided), tensors, numbers, out, layout, needs_gradient, return_lse, decided[-1],
                is_torch, is_traced, key_pages is not None, is_unbatched, width)


def run_call(call: Call) -> Any:
    output, lse = _call_torch(_torch, call) if call.is_torch else _call_arrays(call)
    if call.width is not None:
        output = output[..., :call.width]
    if call.is_unbatched:
        output = output[0]
        if call.return_lse:
            lse = lse[0]
    return (output, lse) if call.return_lse else output
