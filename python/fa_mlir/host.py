"""Functions on arrays in host memory: numpy, and anything with __dlpack__.

`_describe` finds address, type, shape and strides of one array. `Function.__call__` takes arguments by place or name,
allocates outputs that are missing (`_allocate`) and packs all as C wants them (`_pack`).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import struct
import weakref
from typing import Any

from .compiler import Diagnostic, Library
from .errors import INVALID_ARGUMENT, make_error
from .kernel import _Argument, _tensor_format
from .tensors import TYPES, Torch, _DLPACK_TYPES, _DLTensor, _UNKNOWN_TYPE, _get_pointer, dense_strides

_SCALAR = -1
_I64, _F64 = TYPES["i64"], TYPES["f64"]
_READ_ONLY = 1
_DLPACK_CPU = 1
# Where DLManagedTensorVersioned has its flags and its tensor.
_FLAGS_OFFSET, _TENSOR_OFFSET = 24, 32
# numpy's dtypes by their names; the others are of ml_dtypes.
_NUMPY_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "i1",
                "int8": "i8", "uint8": "i8", "int32": "i32", "int64": "i64", "float8_e4m3fn": "f8E4M3FN",
                "float8_e5m2": "f8E5M2"}
_NUMPY_NAMES = {code: name for name, code in reversed(_NUMPY_TYPES.items())}


def _refuse(name: str, message: str) -> Exception:
    return make_error(INVALID_ARGUMENT, f"argument '{name}' {message}")


def _is_numpy(value: Any) -> bool:
    return hasattr(value, "__array_interface__") and hasattr(value, "dtype")


def _describe_numpy(name: str, array: Any):
    code = TYPES.get(_NUMPY_TYPES.get(array.dtype.name, ""), _UNKNOWN_TYPE)
    if code == _UNKNOWN_TYPE or not array.dtype.isnative:
        raise _refuse(name, f"has dtype {array.dtype}, expected one of {', '.join(_NUMPY_TYPES)}")
    address, is_read_only = array.__array_interface__["data"]
    size = array.dtype.itemsize
    for stride in array.strides:
        if stride % size:
            raise _refuse(name, f"has a stride of {stride} bytes, expected a multiple of its dtype's {size}")
    strides = tuple(stride // size for stride in array.strides)
    return array, address, code, array.shape, strides, is_read_only


def _get_capsule(name: str, value: Any):
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        pass
    except BufferError as error:
        raise _refuse(name, f"gives no memory: {error}") from None
    try:
        return value.__dlpack__()
    except BufferError as error:
        raise _refuse(name, f"gives no memory: {error}") from None


def _describe_dlpack(name: str, value: Any):
    kind, _ = value.__dlpack_device__()
    if int(kind) != _DLPACK_CPU:
        raise _refuse(name, f"is on a device of DLPack type {int(kind)}, expected the CPU (1)")
    capsule = _get_capsule(name, value)
    is_read_only = False
    try:
        address = _get_pointer(capsule, b"dltensor_versioned")
        is_read_only = bool(ctypes.c_uint64.from_address(address + _FLAGS_OFFSET).value & 1)
        tensor = _DLTensor.from_address(address + _TENSOR_OFFSET)
    except ValueError:
        tensor = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else dense_strides(shape)
    code = _DLPACK_TYPES.get((tensor.code, tensor.bits), _UNKNOWN_TYPE)
    if tensor.lanes != 1:
        code = _UNKNOWN_TYPE
    return capsule, (tensor.data or 0) + tensor.byte_offset, code, shape, strides, is_read_only


def _describe(name: str, value: Any):
    """(what keeps it alive, address, type code, shape, strides, read-only)."""
    if _is_numpy(value):
        return _describe_numpy(name, value)
    torch = Torch.get()
    if torch and isinstance(value, torch.tensor) and not value.is_cuda:
        # Also those that need gradients, which have no capsule.
        code = torch.codes.get(value.dtype, _UNKNOWN_TYPE)
        return value, value.data_ptr(), code, tuple(value.shape), value.stride(), False
    if not hasattr(value, "__dlpack__"):
        raise _refuse(name, f"is an array, got {type(value).__name__}, which has no __dlpack__")
    return _describe_dlpack(name, value)


class Function:
    """A function compiled for this CPU.

    function(*inputs, **named) calls it: inputs are the arguments that are no
    outputs, in order; any argument may be given by name. Outputs that are not
    given are allocated: by torch where the first array is one of its tensors, else
    by numpy. Returns the output, or a tuple of them. Threads may call it at once;
    calls release the interpreter lock.

    remarks: what the passes said when it was compiled.
    """

    def __init__(self, saved: bytes, remarks: list[Diagnostic]):
        self._library = Library.shared()
        handle = ctypes.c_void_p()
        self._library.check(self._library.c.faFunctionLoad(saved, len(saved), ctypes.byref(handle)))
        self._handle = handle
        self._finalizer = weakref.finalize(self, self._library.c.faFunctionDestroy, handle)
        self.remarks = list(remarks)
        self.interface: dict = json.loads(self._library.c.faFunctionGetInterface(handle))
        self.name: str = self.interface["function"]
        self.arguments = [_Argument(spec) for spec in self.interface["arguments"]]
        self._index = {argument.name: i for i, argument in enumerate(self.arguments)}
        self._inputs = [i for i, argument in enumerate(self.arguments) if not argument.is_output]
        self._outputs = [i for i, argument in enumerate(self.arguments) if argument.is_output]

    def __repr__(self) -> str:
        return f"<fa_mlir.Function {self.name}({', '.join(self._index)})>"

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        values: list = [None] * len(self.arguments)
        if len(inputs) > len(self._inputs):
            raise TypeError(f"function '{self.name}' takes {len(self._inputs)} inputs, got {len(inputs)}")
        for i, value in zip(self._inputs, inputs):
            values[i] = value
        for name, value in named.items():
            place = self._index.get(name)
            if place is None:
                raise TypeError(f"function '{self.name}' has no argument '{name}'; there are "
                                + ", ".join(self._index))
            if values[place] is not None:
                raise TypeError(f"function '{self.name}' got argument '{name}' twice")
            values[place] = value
        for i in self._inputs:
            if values[i] is None:
                raise TypeError(f"function '{self.name}' misses argument '{self.arguments[i].name}'")
        described = [None if value is None or argument.is_scalar else _describe(argument.name, value)
                     for argument, value in zip(self.arguments, values)]
        for argument, description in zip(self.arguments, described):
            if description and len(description[3]) != argument.rank:
                raise _refuse(argument.name, f"has rank {len(description[3])}, expected {argument.rank}")
        for i in self._outputs:
            if values[i] is None:
                values[i] = self._allocate(self.arguments[i], values, described)
                described[i] = _describe(self.arguments[i].name, values[i])
        packed = b"".join(self._pack(argument, value, description) for argument, value, description
                          in zip(self.arguments, values, described))
        self._library.check(self._library.c.faFunctionCall(self._handle, packed, len(values)))
        outputs = [values[i] for i in self._outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _allocate(self, output: _Argument, values: list, described: list) -> Any:
        sizes: dict = {}
        for i in self._inputs:
            if described[i]:
                for dim, size in zip(self.arguments[i].shape, described[i][3]):
                    sizes.setdefault(dim, size)
        for dim in output.shape:
            if isinstance(dim, str) and dim not in sizes or dim == "?":
                raise TypeError(f"output '{output.name}' must be given: its dim {dim} does not follow from "
                                "the inputs")
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in output.shape)
        first = next((values[i] for i in self._inputs if described[i]), None)
        torch = Torch.get()
        order = self._order(output)
        if torch and isinstance(first, torch.tensor):
            strides = [0] * len(shape)
            for dim, stride in zip(order, dense_strides([shape[dim] for dim in order])):
                strides[dim] = stride
            return torch.empty_strided(shape, strides, dtype=torch.types[TYPES[output.type]])
        numpy = importlib.import_module("numpy")
        name = _NUMPY_NAMES[output.type]
        dtype = name if hasattr(numpy, name) else getattr(importlib.import_module("ml_dtypes"), name)
        array = numpy.empty([shape[dim] for dim in order], dtype)
        return array.transpose([order.index(dim) for dim in range(len(shape))])

    def _order(self, output: _Argument) -> list[int]:
        """The dims from the outermost in memory: the one of stride 1 comes last."""
        strides = self.interface["arguments"][self._index[output.name]]["strides"]
        dims = list(range(len(output.shape)))
        if isinstance(strides, list) and 1 in strides:
            dims.append(dims.pop(strides.index(1)))
        return dims

    def _pack(self, argument: _Argument, value: Any, description: tuple | None) -> bytes:
        """A scalar has no description."""
        fields: tuple
        if description is None:
            number = argument.convert(value)
            fields = (number, _F64 if argument.is_float else _I64, _SCALAR, 0, 0)
            form = argument.format
        else:
            assert description is not None
            _, address, code, shape, strides, is_read_only = description
            fields = (address, code, len(shape), 0, _READ_ONLY * is_read_only, *shape, *strides)
            form = _tensor_format(len(shape))
        try:
            return struct.pack("=" + form, *fields)
        except struct.error:
            raise _refuse(argument.name, f"has the value {fields[0]}, which does not fit 64 bits") from None
