"""attention(): from arguments to a specification, tensors and numbers, and the call.

`attention` is the public function. `plan` finds what decides the
specification of a call, `find_text` the specification. `_call_torch` runs it by the operator, `_call_arrays` by
compiled functions on numpy arrays and others.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

from . import operator
from .errors import INVALID_ARGUMENT, UnsupportedError, make_error
from .problem import LAYOUTS, Capture, Specification, Traced, Types, from_text
from .tensors import dense_strides

CAUSAL = (None, "bottom_right", "top_left")
_CAUSAL_TEXT = {None: [], "bottom_right": ["causal"], "top_left": ["causal_top_left"]}
# A window that ends on the other diagonal; the spelling is bottom-right.
_WINDOW_TOP_LEFT = """(%b, %h, %i, %j) captures(%l = %left : index, %r = %right : index) {
        %zero = arith.constant 0 : index
        %first = arith.subi %i, %l : index
        %last = arith.addi %i, %r : index
        %from = arith.cmpi sge, %j, %first : index
        %to = arith.cmpi sle, %j, %last : index
        %any_left = arith.cmpi slt, %l, %zero : index
        %any_right = arith.cmpi slt, %r, %zero : index
        %is_from = arith.ori %any_left, %from : i1
        %is_to = arith.ori %any_right, %to : i1
        %visible = arith.andi %is_from, %is_to : i1
        fa.yield %visible : i1
      }"""
# Texts of specifications by what decides them.
_MOST_KEPT = 4096
_texts: dict[tuple, str] = {}
_functions: dict[tuple, Any] = {}
_TORCH_TYPES = {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float32": "f32",
                "torch.float64": "f64", "torch.bool": "i1", "torch.int8": "i8", "torch.int32": "i32",
                "torch.int64": "i64"}
_NUMPY_TYPES = {name.removeprefix("torch."): text for name, text in _TORCH_TYPES.items()}


def refuse(argument: str, message: str) -> Exception:
    return make_error(INVALID_ARGUMENT, f"argument '{argument}' {message}")


class TorchArrays:
    """What is asked of torch's tensors."""

    @staticmethod
    def type(array: Any) -> str:
        return _TORCH_TYPES.get(str(array.dtype), str(array.dtype))

    @staticmethod
    def strides(array: Any) -> tuple[int, ...]:
        return array.stride()

    @staticmethod
    def contiguous(array: Any) -> Any:
        return array.contiguous()

    @staticmethod
    def requires_gradient(array: Any) -> bool:
        return array.requires_grad

    @staticmethod
    def repeats(array: Any) -> bool:
        """Whether a dim of stride 0 is one element to autograd: it was expanded, and is
        no tensor of its own that overlaps, whose elements have a gradient each."""
        if not array.requires_grad:
            return True
        base = array if array.is_leaf else array._base
        return base is not None and not any(
            stride == 0 and size > 1 for size, stride in zip(base.shape, base.stride()))


class NumpyArrays:
    """The same of numpy's arrays."""

    @staticmethod
    def type(array: Any) -> str:
        return _NUMPY_TYPES.get(array.dtype.name, array.dtype.name)

    @staticmethod
    def strides(array: Any) -> tuple[int, ...]:
        # Those of an array without elements are anything.
        if not array.size:
            return dense_strides(array.shape)
        return tuple([stride // array.dtype.itemsize for stride in array.strides])

    @staticmethod
    def contiguous(array: Any) -> Any:
        return importlib.import_module("numpy").ascontiguousarray(array)

    @staticmethod
    def requires_gradient(array: Any) -> bool:
        return False

    @staticmethod
    def repeats(array: Any) -> bool:
        return True


#===--- Descriptions of arguments -----------------------------------------===#
# Each is a tuple of strings, numbers and tuples that decides text, with the array
# as compiled code takes it.

def squeeze_broadcasts(array: Any, kind: Any, sizes: tuple) -> tuple[Any, tuple[int, ...]]:
    """A capture that broadcasts to `sizes` with dims of stride 0 cut to size 1, and
    its shape: 1 there, else -1. What is read along rows is contiguous there."""
    shape, strides = array.shape, kind.strides(array)
    pattern: list[int] = []
    for i in range(len(shape)):
        if shape[i] == 1:
            pattern.append(-1 if sizes[i] == 1 else 1)
        elif strides[i] == 0 and shape[i] > 0 and kind.repeats(array):
            array = array[(slice(None),) * i + (slice(0, 1),)]
            pattern.append(1)
        else:
            pattern.append(-1)
    if pattern and pattern[-1] == -1 and kind.strides(array)[-1] != 1:
        array = kind.contiguous(array)
    return array, tuple(pattern)


def _describe_alibi(slopes: Any, kind: Any, batch: int, heads: int) -> tuple:
    rank = len(slopes.shape)
    if rank not in (1, 2):
        raise refuse("alibi", f"has rank {rank}, expected (heads) or (batch, heads)")
    if kind.type(slopes) != "f32":
        raise refuse("alibi", f"has dtype {slopes.dtype}, expected float32")
    expected = (heads,) if rank == 1 else (batch, heads)
    if tuple(slopes.shape) != expected:
        raise refuse("alibi", f"has shape {tuple(slopes.shape)}, expected {expected}")
    if kind.strides(slopes)[-1] != 1:
        slopes = kind.contiguous(slopes)
    return slopes, ("f32", (-1,) * rank, kind.requires_gradient(slopes))


def _broadcast(name: str, array: Any, shape: tuple) -> Any:
    rank = len(array.shape)
    if rank > 4:
        raise refuse(name, f"has rank {rank}, expected at most 4: (batch, heads, queries, keys)")
    for i in range(1, rank + 1):
        if array.shape[-i] != 1 and array.shape[-i] != shape[-i]:
            raise refuse(name, f"has shape {tuple(array.shape)}, expected one that broadcasts to {tuple(shape)}")
    return array[(None,) * (4 - rank)] if rank < 4 else array


def _describe_bias(bias: Any, kind: Any, shape: tuple) -> tuple:
    type = kind.type(bias)
    if type not in ("f16", "bf16", "f32"):
        raise refuse("bias", f"has dtype {bias.dtype}, expected float16, bfloat16 or float32" + (
            "; a boolean one is a mask" if type == "i1" else ""))
    bias, pattern = squeeze_broadcasts(_broadcast("bias", bias, shape), kind, shape)
    return bias, (type, pattern, kind.requires_gradient(bias))


def _describe_mask(mask: Any, kind: Any, shape: tuple) -> tuple:
    if kind.type(mask) != "i1":
        raise refuse("mask", f"has dtype {mask.dtype}, expected bool, or a function; numbers to add are a bias")
    mask, pattern = squeeze_broadcasts(_broadcast("mask", mask, shape), kind, shape)
    return mask, pattern


def _check_window(window: Any) -> tuple[int, int]:
    try:
        left, right = window
    except (TypeError, ValueError):
        raise refuse("window", f"is {window!r}, expected two integers, (left, right); -1 or None is "
                     "unlimited") from None
    for size in left, right:
        if size is not None and not isinstance(size, int):
            raise refuse("window", f"is {window!r}, expected integers; -1 or None is unlimited")
    return -1 if left is None or left < 0 else left, -1 if right is None or right < 0 else right


#===--- Specifications ----------------------------------------------------===#

def _make_text(layout: str, causal: str | None, has_softcap: bool, alibi: tuple | None, bias: tuple | None,
               score: tuple | None, has_window: bool, mask: tuple | None, scale: str, lengths: str, more: tuple,
               lse: bool) -> str:
    """The text of the specification that these decide; more: fields that few calls have."""
    captures: list[Capture] = []
    score_clauses: list[str] = []
    mask_clauses = list(_CAUSAL_TEXT[causal])
    if has_softcap:
        captures.append(Capture("cap", "f32"))
        score_clauses.append("softcap(%cap)")
    for name, spelling, described in ("slopes", "alibi", alibi), ("bias", "bias", bias):
        if described:
            captures.append(Capture(name, *described))
            score_clauses.append(f"{spelling}(%{name} : {captures[-1].text})")
    if score:
        captures += [Capture(*fields) for fields in score[1]]
        score_clauses.append(score[0])
    score_captures = tuple([capture.name for capture in captures])
    if has_window:
        captures += [Capture("left", "index"), Capture("right", "index")]
        mask_clauses.append(_WINDOW_TOP_LEFT if causal == "top_left" else "window(%left, %right)")
    if mask and mask[0] == "array":
        captures.append(Capture("visible", "i1", mask[1]))
        places = ", ".join("%zero" if size == 1 else index for size, index
                           in zip(mask[1], ("%b", "%h", "%i", "%j")))
        text = captures[-1].text
        mask_clauses.append(f"""(%b, %h, %i, %j) captures(%table = %visible : {text}) {{
        %zero = arith.constant 0 : index
        %element = tensor.extract %table[{places}] : {text}
        fa.yield %element : i1
      }}""")
    elif mask:
        captures += [Capture(*fields) for fields in mask[1]]
        mask_clauses.append(mask[0])
    fields = dict(more)
    if fields.get("sink") is not None:
        captures.append(Capture("sink", "f32", (-1,), fields["sink"]))
        fields["sink"] = True
    if "dropout" in fields:
        captures += [Capture("rng", "i64", (2,)), Capture("dropout_p", "f32")]
    return Specification(layout=layout, score=" ".join(score_clauses), mask=" ".join(mask_clauses),
                         captures=tuple(captures), scale=scale, lengths=lengths, lse=lse,
                         score_captures=score_captures, **fields).text


def find_text(key: tuple) -> str:
    text = _texts.get(key)
    if text is None:
        if len(_texts) >= _MOST_KEPT:
            _texts.clear()
        text = _texts[key] = _make_text(*key)
    return text


# Under torch.compile the text is a constant of the graph: what
# torch.compiler.assume_constant_result sets, without loading it.
setattr(find_text, "_dynamo_marked_constant", True)


def plan(kind: Any, query: Any, key: Any, value: Any, score: Any, mask: Any, causal: Any, window: Any,
         softcap: Any, alibi: Any, bias: Any, scale: Any, query_lengths: Any, key_lengths: Any, layout: str,
         lse: bool, starts: tuple | None = None, sink: Any = None,
         dropout: tuple | None = None, deterministic: bool = False) -> tuple[tuple, list, list[float]]:
    """What decides the specification of a call, its tensors and its numbers. starts: of
    queries and keys, and pages; dropout: a probability, and seed and offset."""
    tensors, numbers = [], []
    lengths = ""
    if query_lengths is not None:
        lengths = "q"
        tensors.append(query_lengths)
    if key_lengths is not None:
        lengths += "k"
        tensors.append(key_lengths)
    more: tuple = ()
    if starts is not None:
        more = _add_starts(starts, tensors, key)
    is_packed = starts is not None and (starts[0] is not None or starts[1] is not None)
    sequence, heads = (2, 1) if layout == "bhsd" else (1, 2)
    if not is_packed and query.shape[sequence] == 1:
        more += (("one_query", (int(query.shape[heads]), int(key.shape[heads]))),)
    scale_kind = ""
    if scale is not None and scale != 1 / math.sqrt(query.shape[-1]):
        scale_kind = "positive" if scale > 0 else "any"
        numbers.append(float(scale))
    if softcap is not None:
        if not softcap > 0:
            raise refuse("softcap", f"is {softcap}, expected a number above 0, or None")
        numbers.append(float(softcap))
    described: list[tuple | None] = [None, None, None, None]
    if alibi is not None or bias is not None or mask is not None or score is not None:
        shape = _find_pairs(query, key, layout, starts, bias, mask)
        if alibi is not None:
            alibi, described[0] = _describe_alibi(alibi, kind, shape[0], shape[1])
            tensors.append(alibi)
        if bias is not None:
            bias, described[1] = _describe_bias(bias, kind, shape)
            tensors.append(bias)
        if score is not None:
            described[2] = _add_function("score", score, kind, query, tensors, numbers)
    has_window = False
    if window is not None:
        left, right = _check_window(window)
        has_window = left >= 0 or right >= 0
        if has_window:
            numbers += [float(left), float(right)]
    if mask is not None:
        if callable(mask) or isinstance(mask, Traced):
            described[3] = _add_function("mask", mask, kind, query, tensors, numbers)
        else:
            mask, pattern = _describe_mask(mask, kind, shape)
            tensors.append(mask)
            described[3] = ("array", pattern)
    if sink is not None:
        tensors.append(sink)
        more += (("sink", kind.requires_gradient(sink)),)
    if dropout is not None:
        numbers.append(float(dropout[0]))
        tensors.append(dropout[1])
        more += (("dropout", True),)
    if deterministic:
        more += (("deterministic", True),)
    return (layout, causal, softcap is not None, described[0], described[1], described[2], has_window, described[3],
            scale_kind, lengths, more, lse), tensors, numbers


def _add_starts(starts: tuple, tensors: list, key: Any) -> tuple:
    """The fields of a specification that packed sequences and pages need. A GPU
    copies pages as boxes, whose rows its kernels know."""
    tensors += [each for each in starts if each is not None]
    packed = ("q" if starts[0] is not None else "") + ("k" if starts[1] is not None else "")
    more: tuple = (("starts", packed),) if packed else ()
    if starts[2] is None:
        return more
    return more + (("pages", key.shape[1] if getattr(key, "is_cuda", False) else -1),)


def _find_pairs(query: Any, key: Any, layout: str, starts: tuple | None, bias: Any, mask: Any) -> tuple:
    """(batch, heads, queries, keys), the last two without meaning for packed sequences."""
    if starts is None:
        heads_dim = 1 if layout == "bhsd" else 2
        return query.shape[0], query.shape[heads_dim], query.shape[3 - heads_dim], key.shape[3 - heads_dim]
    for name, array in ("bias", bias), ("mask", mask):
        if array is not None and not callable(array):
            raise UnsupportedError(name, "an array with packed or paged sequences", "a function",
                                   "a score or mask function that reads it as a captured tensor")
    batch = starts[0].shape[0] - 1 if starts[0] is not None else query.shape[0]
    return batch, query.shape[-2], 0, 0


def _add_function(name: str, function: Callable | Traced, kind: Any, query: Any, tensors: list,
                  numbers: list) -> tuple:
    """The clause and the captures of a function of Python."""
    if isinstance(function, Traced):
        clause, captures, values = function.clause, function.captures, function.values
    elif _torch is not None and _torch.compiler.is_dynamo_compiling():
        from . import graph_regions

        clause, captures, values = graph_regions.trace_region(name, function, query)
    else:
        from . import tracing

        traced = tracing.trace(name, function, query)
        clause, captures, values = traced.clause, traced.captures, traced.values
    for fields, value in zip(captures, values):
        (numbers if fields[2] is None else tensors).append(value)
    return clause, captures


#===--- Checks ------------------------------------------------------------===#

def _check_operands(query: Any, key: Any, value: Any, layout: str, kind: Any) -> None:
    query_shape, key_shape, value_shape = query.shape, key.shape, value.shape
    if len(query_shape) != 4 or len(key_shape) != 4 or len(value_shape) != 4:
        for name, shape in ("query", query_shape), ("key", key_shape), ("value", value_shape):
            if len(shape) != 4:
                raise refuse(name, f"has rank {len(shape)}, expected 4, or 3 of all without a batch")
    batch, one, two, head_dim = key_shape
    heads, query_heads = (one, query_shape[1]) if layout == "bhsd" else (two, query_shape[2])
    if head_dim != query_shape[3]:
        raise refuse("key", f"has head dim {head_dim}, expected that of the query, {query_shape[3]}")
    if value_shape[:3] != key_shape[:3]:
        raise refuse("value", f"has shape {tuple(value_shape)}, expected {tuple(key_shape[:3])} and a head dim, "
                     "as the key")
    if batch != query_shape[0]:
        raise refuse("key", f"has batch {batch}, expected that of the query, {query_shape[0]}")
    if heads == 0 or query_heads % heads:
        raise refuse("key", f"has {heads} heads, expected a divisor of the query's {query_heads}")
    for name, array in ("query", query), ("key", key), ("value", value):
        if kind.strides(array)[3] != 1 and array.shape[3] != 1:
            raise refuse(name, f"has stride {kind.strides(array)[3]} in the head dim, expected 1: call "
                         ".contiguous()")


def _check_packed(query: Any, key: Any, value: Any, layout: str, starts: tuple, key_lengths: Any, kind: Any) -> tuple:
    """Starts and pages as compiled code takes them."""
    query_starts, key_starts, key_pages = starts
    if layout != "bshd":
        raise refuse("layout", f"is {layout!r}, expected 'bshd' for packed or paged sequences")
    if key_pages is not None and key_lengths is None:
        raise refuse("key_pages", "is given without key_lengths, expected both")
    if key_pages is not None and key_starts is not None:
        raise refuse("key_pages", "is given with key_starts, expected one of the two")
    ranks = [("query", query, 4 if query_starts is None else 3)]
    ranks += [(name, array, 4 if key_starts is None else 3) for name, array in (("key", key), ("value", value))]
    for name, array, rank in ranks:
        if array.ndim != rank:
            raise refuse(name, f"has rank {array.ndim}, expected {rank}")
    if query.shape[-1] != key.shape[-1]:
        raise refuse("key", f"has head dim {key.shape[-1]}, expected that of the query, {query.shape[-1]}")
    if tuple(value.shape[:-1]) != tuple(key.shape[:-1]):
        raise refuse("value", f"has shape {tuple(value.shape)}, expected {tuple(key.shape[:-1])} and a head dim, "
                     "as the key")
    if not key.shape[-2] or query.shape[-2] % key.shape[-2]:
        raise refuse("key", f"has {key.shape[-2]} heads, expected a divisor of the query's {query.shape[-2]}")
    batch = query.shape[0] if query_starts is None else query_starts.shape[0] - 1
    found: list[Any] = []
    for name, array, shape in (("query_starts", query_starts, (batch + 1,)), ("key_starts", key_starts, (batch + 1,)),
                               ("key_pages", key_pages, (batch,))):
        if array is None:
            found.append(None)
            continue
        rank = 2 if name == "key_pages" else 1
        if array.ndim != rank or tuple(array.shape[:1]) != shape:
            raise refuse(name, f"has shape {tuple(array.shape)}, expected ({shape[0]}" + (
                ", pages)" if rank == 2 else ",), batch + 1"))
        if kind.type(array) != "i32":
            raise refuse(name, f"has dtype {array.dtype}, expected int32")
        found.append(kind.contiguous(array))
    return tuple(found)


def _check_dropout(dropout_p: Any, state: Any, query: Any, torch: Any) -> tuple:
    """The probability, and seed and offset on the device of the query."""
    if not 0 <= dropout_p < 1:
        raise refuse("dropout_p", f"is {dropout_p}, expected a number from 0 to below 1")
    if state is None:
        if torch is not None:
            # Of torch's generator, on its device: graphs replay it, checkpoints repeat it.
            state = torch.randint(-(1 << 62), 1 << 62, (2,), dtype=torch.int64, device=query.device)
        else:
            numpy = importlib.import_module("numpy")
            state = numpy.random.randint(-(1 << 62), 1 << 62, (2,), dtype=numpy.int64)
    elif tuple(state.shape) != (2,) or "int64" not in str(state.dtype):
        raise refuse("dropout_state",
                     f"has shape {tuple(state.shape)} and dtype {state.dtype}, expected (2,) and int64")
    return float(dropout_p), state


def _check_sink(sink: Any, heads: int, torch: Any) -> Any:
    if tuple(sink.shape) != (heads,):
        raise refuse("sink", f"has shape {tuple(sink.shape)}, expected ({heads},)")
    if torch is not None:
        return sink.to(torch.float32).contiguous()
    numpy = importlib.import_module("numpy")
    return numpy.ascontiguousarray(sink, numpy.float32)


def _refuse_options(layout: Any, causal: Any) -> None:
    if layout not in LAYOUTS:
        raise refuse("layout", f"is {layout!r}, expected one of {', '.join(LAYOUTS)}")
    raise refuse("causal", f"is {causal!r}, expected None, 'bottom_right' (as flash-attn's True) or 'top_left' "
                 "(as torch's)")


def _clear(out: Any) -> None:
    array = _as_numpy(out)
    if not array.flags.writeable:
        raise refuse("out", "is read-only, expected memory that may be written")
    array[...] = 0


def _check_out(out: Any, query: Any, value: Any) -> None:
    expected = (*query.shape[:-1], value.shape[-1])
    if tuple(out.shape) != expected:
        raise refuse("out", f"has shape {tuple(out.shape)}, expected {expected}")
    if out.dtype != query.dtype:
        raise refuse("out", f"has dtype {out.dtype}, expected {query.dtype}")
    if getattr(out, "device", None) != getattr(query, "device", None):
        raise refuse("out", f"is on {out.device}, expected {query.device}")


def _check_lengths(name: str, lengths: Any, kind: Any, batch: int) -> Any:
    if lengths is None:
        return None
    if tuple(lengths.shape) != (batch,):
        raise refuse(name, f"has shape {tuple(lengths.shape)}, expected ({batch},)")
    if kind.type(lengths) != "i32":
        raise refuse(name, f"has dtype {lengths.dtype}, expected int32")
    return kind.contiguous(lengths)


#===--- Calls -------------------------------------------------------------===#

def _call_arrays(text: str, operands: list, tensors: list, numbers: list, out: Any) -> tuple:
    """On numpy arrays."""
    specification = from_text(text)
    query, _, value = operands
    types = Types(NumpyArrays.type(query), query.shape[-1], value.shape[-1])
    function = _functions.get((text, types))
    if function is None:
        if types.element not in ("f16", "bf16", "f32"):
            raise UnsupportedError("query", f"of dtype {query.dtype}", "float16, bfloat16 or float32")
        if len(_functions) >= _MOST_KEPT:
            _functions.clear()
        function = _functions[text, types] = operator.compile_forward(specification, types, None)
    numbers = [number if capture.type[0] in "fb" else int(number)
               for number, capture in zip(numbers, specification.numbers)]
    outputs = {"output": out} if out is not None else {}
    if "q" in specification.lengths or specification.is_packed:
        # Rows past a length, or of no sequence, are not written.
        numpy = importlib.import_module("numpy")
        if out is None:
            outputs["output"] = numpy.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
        else:
            _clear(out)
        if specification.lse:
            outputs["lse"] = numpy.zeros(specification.find_lse_shape(query.shape), numpy.float32)
    result = function(*operands, *tensors, *numbers, **outputs)
    return result if specification.lse else (result, None)


def _call_torch(torch: Any, text: str, operands: list, tensors: Any, numbers: Any, out: Any,
                needs_gradient: bool, layout: str, lse: bool) -> tuple:
    query, key, value = operands
    # An exported program has no empty lists.
    numbers = numbers or None
    if torch.compiler.is_compiling():
        if query.ndim == key.ndim == 4:
            _check_operands(query, key, value, layout, TorchArrays)
        if out is not None:
            return out, torch.ops.fa_mlir.attention_into(query, key, value, tensors or None, numbers, text, out)
        return torch.ops.fa_mlir.attention(query, key, value, tensors or None, numbers, text)
    operator.forget_error()
    try:
        if needs_gradient:
            return _differentiable(query, key, value, numbers, text, *tensors)
        if out is None:
            if lse:
                return _both(query, key, value, tensors or None, numbers, text)
            return _output(query, key, value, tensors or None, numbers, text), None
        with _below_autograd():
            return out, torch.ops.fa_mlir.attention_into.default(query, key, value, tensors or None, numbers, text, out)
    except RuntimeError as raised:
        error, status = operator.take_error(), operator.take_status()
        if error is not None:
            raise error from raised
        # What was called checks its arguments; these are the words of this interface.
        if query.ndim == key.ndim == 4 and not from_text(text).pages:
            _check_operands(query, key, value, layout, TorchArrays)
        if status:
            raise make_error(status, str(raised)) from raised
        raise


# Functions of (query, key, value) by layout, causal and return_lse, for calls without other
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
_tensor: Any = None


def _find_torch() -> Any:
    global _torch, _both, _output, _differentiable, _below_autograd, _is_any_autocast_enabled
    global _is_compiling, _tensor
    if _torch is None and "torch" in sys.modules:
        operator.ready()
        torch = sys.modules["torch"]
        _both = operator.make_call(torch, True)
        _output = operator.make_call(torch, False)
        _differentiable = operator.function()
        _below_autograd = torch._C._AutoDispatchBelowAutograd
        _is_any_autocast_enabled = torch._C._is_any_autocast_enabled
        _is_compiling, _tensor = torch.compiler.is_dynamo_compiling, torch.Tensor
        for layout, causal in itertools.product(LAYOUTS, CAUSAL):
            text, text_with_lse = [find_text((layout, causal, False, None, None, None, False, None, "", "", (), lse))
                                   for lse in (False, True)]
            _plain_calls.update(zip(((layout, causal, lse) for lse in (False, True)),
                                    operator.make_plain_calls(torch, text, text_with_lse, layout)))
        _torch = torch
    return _torch


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
        score_mod. It sees the scaled score after softcap, alibi and bias.
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
    key_pages: int32, (batch, pages of a sequence): key j of sequence b is row j mod
        page size of page key_pages[b, j // page size]; key and value are (pages, page
        size, key heads, head dim), and key_lengths are needed. Takes no gradient.
    dropout_state: int64, (2,): seed and offset of dropout, on the query's device. None
        takes them from torch's generator there (numpy: from numpy's). What is dropped
        depends on them and on (batch, head, query, key) alone: docs/Reference/FA.md.
    deterministic: gradients have the same bits in each run, as they have under
        torch.use_deterministic_algorithms. Without it the query's, on a GPU, is a sum in
        any order.

    Compiles once for each set of element types, head dims, ranks and functions, and for
    the heads and pages of one query; no length, batch, other number of heads, stride,
    window, cap or scale makes it compile again. Raises ArgumentError for what is wrong, UnsupportedError for what has no
    form yet, CompilationError for what the compiler refuses.

        output = fa_mlir.attention(q, k, v, causal="bottom_right", window=(4096, 0))
    """
    if (score is None and mask is None and window is None and softcap is None and alibi is None and bias is None
            and sink is None and scale is None and query_lengths is None and key_lengths is None and out is None
            and query_starts is None and key_starts is None and key_pages is None and not dropout_p
            and not deterministic and type(query) is _tensor and not _is_compiling()):
        call = _plain_calls.get((layout, causal, return_lse))
        if call is not None:
            found = call(query, key, value)
            if found is not None:
                return found
            operator.forget_failure()
    if layout not in LAYOUTS or causal not in CAUSAL:
        _refuse_options(layout, causal)
    torch = _torch or _find_torch()
    is_torch = torch is not None and isinstance(query, torch.Tensor)
    kind: Any = TorchArrays
    if not is_torch:
        kind = NumpyArrays
        arrays = [query, key, value, alibi, bias, sink, query_lengths, key_lengths, query_starts, key_starts, key_pages]
        (query, key, value, alibi, bias, sink, query_lengths, key_lengths, query_starts, key_starts,
         key_pages) = map(_as_numpy, arrays)
        if mask is not None and not callable(mask):
            mask = _as_numpy(mask)
    starts = None
    if query_starts is not None or key_starts is not None or key_pages is not None:
        starts = _check_packed(query, key, value, layout, (query_starts, key_starts, key_pages), key_lengths, kind)
    is_unbatched = starts is None and query.ndim == 3
    if is_unbatched:
        query, key, value = query[None], key[None], value[None]
        out = out[None] if out is not None else None
    if starts is not None:
        pass
    elif not is_torch:
        _check_operands(query, key, value, layout, kind)
    elif query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        _check_operands(query, key, value, layout, kind)
    if query_lengths is not None or key_lengths is not None:
        batch = query.shape[0] if query_starts is None else query_starts.shape[0] - 1
        query_lengths = _check_lengths("query_lengths", query_lengths, kind, batch)
        key_lengths = _check_lengths("key_lengths", key_lengths, kind, batch)
    if sink is not None:
        sink = _check_sink(sink, query.shape[1 if layout == "bhsd" else -2], torch if is_torch else None)
    dropout = _check_dropout(dropout_p, dropout_state, query, torch if is_torch else None) if dropout_p else None
    needs_gradient = False
    if is_torch:
        if _is_any_autocast_enabled() and torch.is_autocast_enabled(query.device.type):
            dtype = torch.get_autocast_dtype(query.device.type)
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        if torch.is_grad_enabled():
            needs_gradient = (query.requires_grad or key.requires_grad or value.requires_grad
                              or _requires_gradient(alibi) or _requires_gradient(bias) or _requires_gradient(sink))
    width = None
    if needs_gradient and query.is_cuda and (query.shape[-1] % 8 or value.shape[-1] % 8):
        width = value.shape[-1]
        query, key, value, scale = pad_heads(query, key, value, scale)
    decided, tensors, numbers = plan(
        kind, query, key, value, score, mask, causal, window, softcap, alibi, bias, scale, query_lengths,
        key_lengths, layout, return_lse or needs_gradient, starts, sink, dropout, deterministic and needs_gradient)
    # Arrays of others are checked where they are called with.
    if out is not None and (is_torch or hasattr(out, "__array_interface__")):
        _check_out(out, query, value)
    if is_torch and score is not None and not needs_gradient and torch.is_grad_enabled():
        needs_gradient = any(tensor.requires_grad for tensor in tensors)
        decided = (*decided[:-1], decided[-1] or needs_gradient)
    if needs_gradient:
        if out is not None:
            raise refuse("out", "is given, expected None where a gradient is asked for")
        if key_pages is not None:
            raise UnsupportedError("key_pages", "given where a gradient is asked for", "None",
                                   "call it under torch.no_grad(), or gather the keys")
    text = find_text(decided)
    operands = [query, key, value]
    if is_torch:
        output, lse = _call_torch(torch, text, operands, tensors, numbers, out, needs_gradient, layout, decided[-1])
    else:
        output, lse = _call_arrays(text, operands, tensors, numbers, out)
    if width is not None:
        output = output[..., :width]
    if is_unbatched:
        output = output[0]
        if return_lse:
            lse = lse[0]
    return (output, lse) if return_lse else output


def _requires_gradient(array: Any) -> bool:
    return array is not None and array.requires_grad


def pad_heads(query: Any, key: Any, value: Any, scale: float | None) -> tuple:
    """The same with head dims that are multiples of 8, and the scale: zeros change no
    score, and columns of zeros behind the value's give such columns behind the output's."""
    import torch

    pad = torch.nn.functional.pad
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return *[pad(tensor, (0, -tensor.shape[-1] % 8)) for tensor in (query, key, value)], scale


def _as_numpy(array: Any) -> Any:
    if array is None or hasattr(array, "__array_interface__"):
        return array
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"expected an array, got {type(array).__name__}, which has no __dlpack__")
    kind, _ = array.__dlpack_device__()
    if int(kind) != 1:
        raise UnsupportedError("query", f"on a device of DLPack type {int(kind)}", "host memory (1) or torch tensors",
                               "torch.from_dlpack(array) shares its memory")
    return importlib.import_module("numpy").from_dlpack(array)
