"""Arguments of attention(): what is asked of arrays, what is wrong with them, and descriptions.

First the two kinds of arrays, torch's and numpy's; then descriptions, which decide text; then checks, which raise ArgumentError
or UnsupportedError.
"""

from __future__ import annotations

import importlib
import math
import sys
from operator import index
from typing import Any

from .errors import INVALID_ARGUMENT, UnsupportedError, make_error
from .problem import LAYOUTS, OPERAND_TYPES, find_rows_and_heads, from_text
from .tensors import dense_strides

CAUSAL = (None, "bottom_right", "top_left")
#: What else of attention() is an array, beside a mask.
OPTIONAL_ARRAYS = ("alibi", "bias", "sink", "query_lengths", "key_lengths", "query_starts", "key_starts", "key_pages")
_TORCH_TYPES = {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float32": "f32",
                "torch.float64": "f64", "torch.bool": "i1", "torch.int8": "i8", "torch.int32": "i32",
                "torch.int64": "i64"}
_MOST_F32 = (2 - 2**-23) * 2.0**127
_NUMPY_TYPES = {name.removeprefix("torch."): text for name, text in _TORCH_TYPES.items()}


def refuse(argument: str, message: str) -> Exception:
    return make_error(INVALID_ARGUMENT, f"argument '{argument}' {message}")


def show_shape(shape: Any) -> str:
    # Dynamo has no str() of a tuple of symbolic sizes.
    return "(" + ", ".join([f"{size}" for size in shape]) + (",)" if len(shape) == 1 else ")")


_INT32 = "expected int32: .to(torch.int32), or numpy's .astype"


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
        return requires_gradient(array)

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


def describe_alibi(slopes: Any, kind: Any, batch: int, heads: int) -> tuple:
    rank = len(slopes.shape)
    if rank not in (1, 2):
        raise refuse("alibi", f"has rank {rank}, expected (heads) or (batch, heads)")
    if kind.type(slopes) != "f32":
        raise refuse("alibi", f"has dtype {slopes.dtype}, expected float32")
    expected = (heads,) if rank == 1 else (batch, heads)
    if tuple(slopes.shape) != expected:
        raise refuse("alibi", f"has shape {show_shape(slopes.shape)}, expected {show_shape(expected)}")
    if kind.strides(slopes)[-1] != 1:
        slopes = kind.contiguous(slopes)
    return slopes, ("f32", (-1,) * rank, kind.requires_gradient(slopes))


def _broadcast(name: str, array: Any, shape: tuple) -> Any:
    rank = len(array.shape)
    if rank > 4:
        raise refuse(name, f"has rank {rank}, expected at most 4: (batch, heads, queries, keys)")
    for i in range(1, rank + 1):
        if array.shape[-i] != 1 and array.shape[-i] != shape[-i]:
            raise refuse(name, f"has shape {show_shape(array.shape)}, expected one that broadcasts to {show_shape(shape)}")
    return array[(None,) * (4 - rank)] if rank < 4 else array


def describe_bias(bias: Any, kind: Any, shape: tuple) -> tuple:
    type = kind.type(bias)
    if type not in ("f16", "bf16", "f32"):
        raise refuse("bias", f"has dtype {bias.dtype}, expected float16, bfloat16 or float32" + (
            "; a boolean one is a mask" if type == "i1" else ""))
    bias, pattern = squeeze_broadcasts(_broadcast("bias", bias, shape), kind, shape)
    return bias, (type, pattern, kind.requires_gradient(bias))


def describe_mask(mask: Any, kind: Any, shape: tuple) -> tuple:
    if kind.type(mask) != "i1":
        raise refuse("mask", f"has dtype {mask.dtype}, expected bool, or a function; numbers to add are a bias")
    mask, pattern = squeeze_broadcasts(_broadcast("mask", mask, shape), kind, shape)
    return mask, pattern


def check_number(name: str, value: Any, expected: str) -> float:
    """A number that f32 holds, in which it is computed with."""
    try:
        # float() reads text.
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        number = value if type(value) is float else float(value)
        if not -_MOST_F32 <= number <= _MOST_F32:
            raise OverflowError
        return number
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        if not hasattr(value, "shape"):
            shown = repr(value)
        elif len(value.shape):
            shown = f"of shape {show_shape(value.shape)}"
        else:
            shown = f"a {type(value).__name__} without a value, or past float32,"
        shown = shown if len(shown) < 60 else shown[:60] + "..."
        raise refuse(name, f"is {shown}, expected {expected}") from error


def check_flag(name: str, value: Any) -> bool:
    if value is True or value is False:
        return value
    if value is None:
        return False
    if type(value).__name__ in ("bool", "bool_") or isinstance(value, int):
        return bool(value)
    raise refuse(name, f"is {value!r}, expected True or False")


def check_window(window: Any, takes_negative: bool = False) -> tuple[int, int]:
    """Sizes to the left and right, -1 for unlimited. takes_negative: every negative number is unlimited, as in flash-attn."""
    if not hasattr(window, "__len__") or getattr(window, "shape", None) == () or len(window) != 2:
        raise refuse("window", f"is {window!r}, expected two integers, (left, right); -1 or None is unlimited")
    left, right = window
    try:
        left, right = (size if size is None or isinstance(size, int) else index(size) for size in (left, right))
    except TypeError:
        raise refuse("window", f"is {window!r}, expected integers; -1 or None is unlimited") from None
    if not takes_negative and any(size is not None and size < -1 for size in (left, right)):
        raise refuse("window", f"is {window!r}, expected sizes from 0; -1 or None is unlimited")
    # Beyond each length, and with one still an index.
    left, right = (-1 if size is None or size < 0 or size > 1 << 62 else size for size in (left, right))
    return left, right


#===--- Checks ------------------------------------------------------------===#

def check_ranks(query: Any, key: Any, value: Any, rank: int) -> None:
    if not len(query.shape) == len(key.shape) == len(value.shape) == rank:
        for name, array in ("query", query), ("key", key), ("value", value):
            if len(array.shape) != rank:
                raise refuse(name, f"has rank {len(array.shape)}, expected " + (
                    "4, or 3 of all without a batch" if rank == 4 else "3 as the query, which has no batch"))


def check_operands(query: Any, key: Any, value: Any, layout: str, kind: Any) -> None:
    query_shape, key_shape, value_shape = query.shape, key.shape, value.shape
    check_ranks(query, key, value, 4)
    batch, head_dim = key_shape[0], key_shape[3]
    _, heads_dim = find_rows_and_heads(layout)
    heads, query_heads = key_shape[heads_dim], query_shape[heads_dim]
    if head_dim != query_shape[3]:
        raise refuse("key", f"has head dim {head_dim}, expected that of the query, {query_shape[3]}")
    if value_shape[:3] != key_shape[:3]:
        raise refuse("value", f"has shape {show_shape(value_shape)}, expected {show_shape(key_shape[:3])} and a head dim, "
                     "as the key")
    if batch != query_shape[0]:
        raise refuse("key", f"has batch {batch}, expected that of the query, {query_shape[0]}")
    if heads == 0 or query_heads % heads:
        raise refuse("key", f"has {heads} heads, expected a divisor of the query's {query_heads}")
    check_same_types(query, key, value, kind)
    for name, array in ("query", query), ("key", key), ("value", value):
        if kind.strides(array)[3] != 1 and array.shape[3] != 1:
            raise refuse(name, f"has stride {kind.strides(array)[3]} in the head dim, expected 1: pass a "
                         "contiguous copy")


def check_same_types(query: Any, key: Any, value: Any, kind: Any) -> None:
    if (not query.dtype == key.dtype == value.dtype and kind.type(query) not in OPERAND_TYPES
            and (kind.type(key) in OPERAND_TYPES or kind.type(value) in OPERAND_TYPES)):
        raise refuse("query", f"has dtype {query.dtype}, expected float16, bfloat16 or float32, as key or value")
    for name, array in ("key", key), ("value", value):
        if array.dtype != query.dtype:
            raise refuse(name, f"has dtype {array.dtype}, expected that of the query, {query.dtype}")
        if kind is TorchArrays and array.device != query.device:
            raise refuse(name, f"is on {array.device}, expected the query's device, {query.device}")


def check_packed(query: Any, key: Any, value: Any, layout: str, starts: tuple, key_lengths: Any, kind: Any) -> tuple:
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
            starts_name = "query_starts" if name == "query" else "key_starts"
            hint = f"; of rank 3 it is packed, which {starts_name} says" if (array.ndim, rank) == (3, 4) else ""
            raise refuse(name, f"has rank {array.ndim}, expected {rank}{hint}")
    if query.shape[-1] != key.shape[-1]:
        raise refuse("key", f"has head dim {key.shape[-1]}, expected that of the query, {query.shape[-1]}")
    if tuple(value.shape[:-1]) != tuple(key.shape[:-1]):
        raise refuse("value", f"has shape {show_shape(value.shape)}, expected {show_shape(key.shape[:-1])} and a head dim, "
                     "as the key")
    if not key.shape[-2] or query.shape[-2] % key.shape[-2]:
        raise refuse("key", f"has {key.shape[-2]} heads, expected a divisor of the query's {query.shape[-2]}")
    for name, array in ("query_starts", query_starts), ("key_starts", key_starts):
        if array is not None and (array.ndim != 1 or not array.shape[0]):
            raise refuse(name, f"has shape {show_shape(array.shape)}, expected (batch + 1,)")
    batch = query.shape[0] if query_starts is None else query_starts.shape[0] - 1
    found: list[Any] = []
    for name, array, shape in (("query_starts", query_starts, (batch + 1,)), ("key_starts", key_starts, (batch + 1,)),
                               ("key_pages", key_pages, (batch,))):
        if array is None:
            found.append(None)
            continue
        rank = 2 if name == "key_pages" else 1
        if array.ndim != rank or tuple(array.shape[:1]) != shape:
            raise refuse(name, f"has shape {show_shape(array.shape)}, expected ({shape[0]}" + (
                ", pages)" if rank == 2 else ",), batch + 1"))
        if kind.type(array) != "i32":
            raise refuse(name, f"has dtype {array.dtype}, {_INT32}")
        found.append(kind.contiguous(array))
    return tuple(found)


def check_dropout(dropout_p: Any, state: Any, query: Any, torch: Any) -> tuple | None:
    """The probability, and seed and offset on the device of the query; None where nothing is dropped."""
    expected = "a number from 0 to below 1"
    dropout_p = check_number("dropout_p", dropout_p, expected)
    if not 0 <= dropout_p < 1:
        raise refuse("dropout_p", f"is {dropout_p}, expected {expected}")
    if not dropout_p:
        return None
    if state is None:
        if torch is not None:
            # Of torch's generator, on its device: graphs replay it, checkpoints repeat it.
            state = torch.randint(-(1 << 62), 1 << 62, (2,), dtype=torch.int64, device=query.device)
        else:
            numpy = importlib.import_module("numpy")
            state = numpy.random.randint(-(1 << 62), 1 << 62, (2,), dtype=numpy.int64)
    elif tuple(getattr(state, "shape", ())) != (2,) or str(state.dtype).removeprefix("torch.") != "int64":
        if not hasattr(state, "dtype"):
            raise refuse("dropout_state", f"is a {type(state).__name__}, expected an array of (2,) and int64")
        raise refuse("dropout_state",
                     f"has shape {show_shape(state.shape)} and dtype {state.dtype}, expected (2,) and int64")
    return dropout_p, state


def check_sink(sink: Any, heads: int, torch: Any) -> Any:
    if tuple(sink.shape) != (heads,):
        raise refuse("sink", f"has shape {show_shape(sink.shape)}, expected ({heads},)")
    if "complex" in str(sink.dtype):
        raise refuse("sink", f"has dtype {sink.dtype}, expected float32")
    if torch is not None:
        return sink.to(torch.float32).contiguous()
    numpy = importlib.import_module("numpy")
    return numpy.ascontiguousarray(sink, numpy.float32)


def as_stored(tensors: list) -> list:
    """With copies of those that torch reads with the other sign, as the imaginary part of a conjugate."""
    return [tensor.resolve_neg() if tensor.is_neg() else tensor for tensor in tensors]


def refuse_tangents(torch: Any, **operands: Any) -> None:
    for name, operand in operands.items():
        if isinstance(operand, torch.Tensor) and torch.autograd.forward_ad.unpack_dual(operand).tangent is not None:
            raise UnsupportedError(name, "a tensor with a tangent of forward-mode differentiation", "one without",
                                   "differentiate in reverse, as torch.autograd.grad or torch.func.vjp does")


def refuse_options(layout: Any, causal: Any) -> None:
    if layout not in LAYOUTS:
        raise refuse("layout", f"is {layout!r}, expected one of {', '.join(LAYOUTS)}")
    raise refuse("causal", f"is {causal!r}, expected None, 'bottom_right' (as flash-attn's True) or 'top_left' "
                 "(as torch's)")


def clear(out: Any) -> None:
    array = as_numpy(out)
    if not array.flags.writeable:
        raise refuse("out", "is read-only, expected memory that may be written")
    array[...] = 0


#: What `check_tensors` takes, in this order.
_NAMES = ("query", "key", "value", "mask", "alibi", "bias", "sink", "out", "query_lengths", "key_lengths", "query_starts",
          "key_starts", "key_pages", "dropout_state")


def refuse_array(name: str, array: Any) -> Exception:
    return refuse(name, f"is a {type(array).__name__}, expected a torch.Tensor" + (
        "; fa_mlir.attention takes numpy's arrays" if hasattr(array, "__array_interface__") else ""))


def check_tensors(torch: Any, *arrays: Any) -> None:
    tensor, strided = torch.Tensor, torch.strided
    for array in arrays:
        # Most calls have none of the others.
        if array is not None and not (type(array) is tensor and array.layout is strided and not array.is_nested):
            break
    else:
        if arrays[0] is not None and arrays[1] is not None and arrays[2] is not None:
            return
    for name, array in zip(_NAMES, arrays):
        if array is None:
            if name in ("query", "key", "value"):
                raise refuse(name, "is None, expected a torch.Tensor" + (", as the query is" if name != "query" else ""))
        elif not isinstance(array, torch.Tensor):
            raise refuse(name, f"is a {type(array).__name__}, expected a torch.Tensor" + (", as the query is" if name != "query" else ""))
        else:
            check_dense(name, array)


def check_dense(name: str, array: Any) -> None:
    """Of torch's tensors."""
    if array.is_nested or array.layout is not sys.modules["torch"].strided:
        kind = "a nested tensor" if array.is_nested else f"a tensor of layout {array.layout}"
        raise UnsupportedError(name, kind, "a dense one", "packed sequences by query_starts and key_starts"
                               if array.is_nested else ".to_dense()")


def _spans(tensor: Any) -> tuple[int, int, bool]:
    """From which address to which a tensor of torch reaches, and whether all bytes between are its."""
    size = tensor.element_size()
    start = tensor.data_ptr()
    end = start + size + size * sum([(count - 1) * stride for count, stride in zip(tensor.shape, tensor.stride())])
    return start, end, end - start == tensor.numel() * size


def _reaches(distance: int, dims: list) -> bool:
    """Whether steps of two tensors, each dim a (stride, size of the one, size of the other), make up a distance."""
    if not dims:
        return distance == 0
    stride, size, other = dims[0]
    rest = sum(step * (max(sizes) - 1) for step, *sizes in dims[1:])
    least, most = max(1 - other, -((rest - distance) // stride)), min(size - 1, (distance + rest) // stride)
    return any(_reaches(distance - stride * steps, dims[1:]) for steps in range(least, most + 1))


def overlaps(out: Any, array: Any, may_be_same: bool = False) -> bool:
    """Whether two arrays share elements, where that is seen at once; False where it is not, as of strides that differ
    with elements of others between. may_be_same: apart from an array that lies in the same place."""
    if hasattr(out, "__array_interface__") and hasattr(array, "__array_interface__") and not hasattr(out, "untyped_storage"):
        numpy = importlib.import_module("numpy")
        starts = [each.__array_interface__["data"] for each in (out, array)]
        if may_be_same and starts[0] == starts[1] and out.strides == array.strides:
            return False
        return numpy.may_share_memory(out, array) and out.flags.forc and array.flags.forc
    if not hasattr(out, "untyped_storage") or out.is_meta or not out.numel() or not array.numel():
        return False
    if sys.modules["torch"].compiler.is_dynamo_compiling():
        return False
    functions = sys.modules["torch"]._C._functorch
    if functions.is_functorch_wrapped_tensor(out) or functions.is_functorch_wrapped_tensor(array):
        return False
    # Tensors that only stand for others have no memory.
    if not out.untyped_storage().data_ptr() or not array.untyped_storage().data_ptr():
        return False
    (start, end, is_dense), (other, other_end, other_dense) = _spans(out), _spans(array)
    if start >= other_end or other >= end:
        return False
    is_alike = out.stride() == array.stride() and out.dtype == array.dtype
    if start == other and is_alike:
        return not may_be_same
    # Both ends of a tensor are its own.
    if (is_dense and (start <= other or other_end <= end)) or (other_dense and (other <= start or end <= other_end)):
        return True
    size = out.element_size()
    dims = [(stride * size, *sizes) for stride, *sizes in zip(out.stride(), out.shape, array.shape) if stride]
    return is_alike and _reaches(other - start, sorted(dims, reverse=True))


# What captures of a specification are called in a call.
_CALLED = {"slopes": "alibi", "rng": "dropout_state"}


def _name_tensor(name: str) -> str:
    function, _, place = name.partition("_")
    return f"tensor that {function} captures" if place.isdigit() else _CALLED.get(name, name)


def check_out(out: Any, query: Any, key: Any, value: Any, tensors: list, text: str) -> None:
    """tensors: what else is read, which the text of a specification names."""
    operands = [("query", query), ("key", key), ("value", value)]
    if tensors:
        specification = from_text(text)
        names = (*specification.length_names, *[capture.name for capture in specification.tensors])
        operands += zip(map(_name_tensor, names), tensors)
    for name, array in operands:
        # A block of queries is read before its outputs are written.
        if overlaps(out, array, may_be_same=name == "query"):
            raise refuse("out", f"shares memory with the {name}, which is read while it is written: expected memory of its own")
    expected = (*query.shape[:-1], value.shape[-1])
    if tuple(out.shape) != expected:
        raise refuse("out", f"has shape {show_shape(out.shape)}, expected {show_shape(expected)}")
    if any(stride < 0 for stride in getattr(out, "strides", None) or ()):
        raise refuse("out", f"has the strides {out.strides}, expected none that is negative")
    if out.dtype != query.dtype:
        raise refuse("out", f"has dtype {out.dtype}, expected {query.dtype}")
    if getattr(out, "device", None) != getattr(query, "device", None):
        raise refuse("out", f"is on {out.device}, expected {query.device}")
    if hasattr(out, "is_neg") and not sys.modules["torch"].compiler.is_dynamo_compiling() and out.is_neg():
        raise refuse("out", "is read with the other sign, expected one that .is_neg() is False of")


def check_lengths(name: str, lengths: Any, kind: Any, batch: int) -> Any:
    if lengths is None:
        return None
    if tuple(lengths.shape) != (batch,):
        raise refuse(name, f"has shape {show_shape(lengths.shape)}, expected ({batch},)")
    if kind.type(lengths) != "i32":
        raise refuse(name, f"has dtype {lengths.dtype}, {_INT32}")
    return kind.contiguous(lengths)


def are_transforms_traced() -> bool:
    """Whether Dynamo traces what torch.func transforms. It calls this, as of _dynamo_marked_constant."""
    torch = sys.modules["torch"]
    if not torch._C._are_functorch_transforms_active():
        return False
    # Before it sees this one.
    torch._dynamo.allow_in_graph(sys.modules[f"{__package__}.attention"].differentiate_in_graph)
    return True


setattr(are_transforms_traced, "_dynamo_marked_constant", True)


def is_recorded() -> bool:
    """Whether a trace records calls: of Dynamo, torch.jit.trace or make_fx."""
    import torch

    return (torch.compiler.is_compiling() or torch._C._is_tracing() or bool(torch._ops._len_torch_dispatch_stack_pre_dispatch())
            or torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None)


def is_run_now(tensor: Any) -> bool:
    """Whether a call of it is run, which nothing records or changes, and it has memory."""
    import torch

    return (type(tensor) is torch.Tensor and (tensor.is_cpu or tensor.is_cuda) and not is_recorded()
            and not torch._C._len_torch_dispatch_stack())


def requires_gradient(array: Any) -> bool:
    """Of a torch tensor or None. What torch.func.vmap makes of tensors says nothing of those inside, so
    in a graph each may."""
    if array is None or array.requires_grad:
        return array is not None
    torch = sys.modules["torch"]
    if torch.compiler.is_dynamo_compiling():
        return array.dtype.is_floating_point and are_transforms_traced()
    if not torch._C._are_functorch_transforms_active():
        return False
    functions = torch._C._functorch
    while functions.is_functorch_wrapped_tensor(array):
        array = functions.get_unwrapped(array)
        if array.requires_grad:
            return True
    return False


def pad_heads(query: Any, key: Any, value: Any, scale: float | None) -> tuple:
    """The same with head dims that are multiples of 8, and the scale: zeros change no
    score, and columns of zeros behind the value's give such columns behind the output's."""
    import torch

    pad = torch.nn.functional.pad
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return *[pad(tensor, (0, -tensor.shape[-1] % 8)) for tensor in (query, key, value)], scale


def as_numpy(array: Any, name: str = "out") -> Any:
    if array is None and name in ("query", "key", "value"):
        raise refuse(name, "is None, expected an array")
    if array is None or hasattr(array, "__array_interface__"):
        # Compiled code steps forward.
        return array.copy() if any(stride < 0 for stride in getattr(array, "strides", None) or ()) else array
    if not hasattr(array, "__dlpack__"):
        raise refuse(name, f"is a {type(array).__name__}, expected an array of numpy's or torch's, or of others with __dlpack__")
    try:
        kind = int(array.__dlpack_device__()[0])
    except (BufferError, RuntimeError, TypeError, ValueError):
        # As of torch's meta device.
        kind = None
    if kind != 1:
        place = f"on {getattr(array, 'device', f'a device of DLPack type {kind}')}"
        if name not in ("query", "out"):
            raise refuse(name, f"is {place}, expected host memory, as the query")
        raise UnsupportedError(name, place, "host memory (1) or torch tensors", "torch.from_dlpack(array) shares its memory")
    try:
        return importlib.import_module("numpy").from_dlpack(array)
    except (BufferError, RuntimeError, TypeError) as error:
        raise refuse(name, f"is a {type(array).__name__} that numpy does not take ({error}), expected arrays of one kind") from error
