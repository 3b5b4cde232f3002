"""Kernels: from Python values to faKernelLaunch.

`Kernel.__call__` takes arguments by place or name and allocates outputs (`_allocate`); `launch` takes all of them.
There are three ways to pack them, the fastest first: `_describe` by torch itself, `_pack` for its tensors, `_pack_any`
for all else. Only the last one says what is wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import weakref
from typing import Any

from .errors import INVALID_ARGUMENT, INVALID_MANIFEST, make_error
from .runtime import Runtime
from .tensors import MAX_RANK, TYPES, Torch, dense_strides, describe, get_device, get_stream_handle

_SCALAR = -1
_I64, _F64 = TYPES["i64"], TYPES["f64"]
# Of different shapes, at which they are forgotten.
_MOST_PLANS = 256


def _tensor_format(rank):
    """FaArgument of a tensor: address, type, rank, device, 0, shape, strides."""
    padding = 8 * (MAX_RANK - rank)
    return f"Q4i{rank}q{padding}x{rank}q{padding}x"


def _scalar_format(is_float):
    return f"{'d' if is_float else 'q'}4i{16 * MAX_RANK}x"


class _Argument:
    """One argument of the manifest."""

    def __init__(self, spec):
        self.name = spec["name"]
        self.type = spec["dtype"]
        self.shape = spec.get("shape")
        self.default = spec.get("default")
        self.is_scalar = self.shape is None
        self.is_float = self.type[0] in "fb"
        self.is_output = spec.get("output", False)
        self.rank = 0 if self.is_scalar else len(self.shape)
        self.format = _scalar_format(self.is_float) if self.is_scalar else _tensor_format(self.rank)

    def convert(self, value):
        """A number as what its format packs."""
        try:
            return float(value) if self.is_float else value.__index__()
        except (AttributeError, TypeError, ValueError):
            raise make_error(INVALID_ARGUMENT,
                             f"argument '{self.name}' is a number of type {self.type}, got "
                             f"{type(value).__name__}") from None


class Kernel:
    """A kernel that a manifest describes.

    kernel(*inputs, stream=None, **named) launches it once: inputs are the
    arguments that are no outputs, in the manifest's order; any argument may be
    given by name; numbers with a default may be left out. Outputs that are not
    given are allocated by torch. Returns the output, or a tuple of them.
    Nothing waits for the device. `stream` is a handle, a torch stream or an
    object with __cuda_stream__; torch's current stream where it is None.
    """

    def __init__(self, runtime: Runtime, path: str | os.PathLike):
        self.path = os.fspath(path)
        handle = ctypes.c_void_p()
        runtime.check(runtime.library.faKernelLoad(
            runtime.handle, os.fsencode(self.path), ctypes.byref(handle)))
        with open(self.path, encoding="utf-8") as file:
            self._initialize(runtime, handle, json.load(file))

    @classmethod
    def from_images(cls, runtime: Runtime, manifest: bytes, ptx: bytes, cubin: bytes) -> Kernel:
        """The same from memory: the text of a manifest, and images, which may be
        empty."""
        handle = ctypes.c_void_p()
        runtime.check(runtime.library.faKernelLoadFromMemory(
            runtime.handle, manifest, len(manifest), cubin or None, len(cubin), ptx or None, len(ptx),
            ctypes.byref(handle)))
        kernel = cls.__new__(cls)
        kernel.path = None
        kernel._initialize(runtime, handle, json.loads(manifest))
        return kernel

    def _initialize(self, runtime, handle, manifest):
        self.runtime = runtime
        self._handle = handle
        self._finalizer = weakref.finalize(self, runtime.library.faKernelDestroy, handle)
        self._launch = runtime.library.faKernelLaunch
        self._describe_objects = runtime.library.faKernelDescribeObjects
        self.name = manifest["kernel"]
        self.arguments = [_Argument(spec) for spec in manifest["arguments"]]
        self._index = {argument.name: i for i, argument in enumerate(self.arguments)}
        self._inputs = [i for i, argument in enumerate(self.arguments) if not argument.is_output]
        self._outputs = [i for i, argument in enumerate(self.arguments) if argument.is_output]
        self._positions = {i: position for position, i in enumerate(self._inputs)}
        self._all_outputs = tuple(self._outputs)
        self._defaults = [argument.default for argument in self.arguments]
        self._struct = struct.Struct("=" + "".join(argument.format for argument in self.arguments))
        self._kinds = [(_SCALAR if argument.is_scalar else argument.rank, argument.is_float)
                       for argument in self.arguments]
        # For faKernelDescribeObjects: FaArgument of all, all objects, and the numbers among them.
        self._memory = ctypes.c_char * self._struct.size
        self._objects = ctypes.py_object * len(self.arguments)
        self._scalars = [i for i, argument in enumerate(self.arguments) if argument.is_scalar]
        self._numbers = struct.Struct("=" + "".join("d" if self.arguments[i].is_float else "q"
                                                    for i in self._scalars))
        self._dims = self._find_dims()
        # What the shapes of outputs follow from, and these by it.
        self._dim_inputs = sorted({self._dims[dim][0] for i in self._outputs
                                   for dim in self.arguments[i].shape or () if dim in self._dims})
        self._first_tensor = next((i for i in self._inputs if not self.arguments[i].is_scalar), None)
        self._plans = {}

    def _find_dims(self):
        """Where an input has each named dim."""
        dims: dict[str, tuple[int, int]] = {}
        for i in self._inputs:
            for j, dim in enumerate(self.arguments[i].shape or ()):
                if isinstance(dim, str) and dim != "?":
                    dims.setdefault(dim, (i, j))
        return dims

    def prepare(self, device: int = 0) -> None:
        """Loads the kernel on a device, which its first launch does otherwise."""
        self.runtime.check(self.runtime.library.faKernelPrepare(self._handle, device))

    def close(self) -> None:
        """Frees the host side of the kernel, as the end of its life does."""
        self._finalizer()

    def __call__(self, *inputs: Any, stream: Any = None, **named: Any) -> Any:
        arguments = self._defaults.copy()
        if len(inputs) > len(self._inputs):
            raise TypeError(f"kernel '{self.name}' takes {len(self._inputs)} inputs, got {len(inputs)}")
        for i, value in zip(self._inputs, inputs):
            arguments[i] = value
        for name, value in named.items():
            place = self._index.get(name)
            if place is None:
                raise TypeError(f"kernel '{self.name}' has no argument '{name}'; there are "
                                + ", ".join(self._index))
            if self._positions.get(place, len(inputs)) < len(inputs):
                raise TypeError(f"kernel '{self.name}' got argument '{name}' twice")
            arguments[place] = value
        missing = tuple([i for i, value in enumerate(arguments) if value is None])
        if missing:
            self._allocate(arguments, missing)
        self.launch(*arguments, stream=stream)
        outputs = self._outputs
        return arguments[outputs[0]] if len(outputs) == 1 else tuple([arguments[i] for i in outputs])

    def _allocate(self, arguments, missing):
        """Puts tensors of torch where outputs are missing."""
        if missing != self._all_outputs:
            for i in missing:
                if not self.arguments[i].is_output:
                    raise TypeError(f"kernel '{self.name}' misses argument '{self.arguments[i].name}'")
        torch = Torch.get()
        if torch is None:
            name = self.arguments[missing[0]].name
            raise TypeError(f"output '{name}' is not given, and torch is not loaded to allocate it")
        device: Any = None
        key: tuple | None = None
        plan = None
        try:
            device = arguments[self._first_tensor].get_device()
            key = (missing, device, *[arguments[i].shape for i in self._dim_inputs])
            plan = self._plans.get(key) if device >= 0 else None
        except (AttributeError, TypeError):
            key = None
        if plan is None:
            plan = self._plan_outputs(arguments, missing, torch)
            if key and device >= 0:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.clear()
                self._plans[key] = plan
        empty = torch.empty_strided
        for i, shape, strides, dtype, where in plan:
            arguments[i] = empty(shape, strides, dtype=dtype, device=where)

    def _plan_outputs(self, arguments, missing, torch):
        """(argument, shape, strides, dtype, device) of each missing output."""
        if self._first_tensor is None:
            raise TypeError(f"output '{self.arguments[missing[0]].name}' must be given: no input is a tensor, "
                            "so its device is not known")
        first = self.arguments[self._first_tensor]
        ordinal = get_device(first.name, arguments[self._first_tensor])
        device = torch.device("cuda", ordinal)
        plan = []
        for i in missing:
            output = self.arguments[i]
            shape = self._find_shape(output, arguments)
            plan.append((i, shape, dense_strides(shape), torch.types[TYPES[output.type]], device))
        return plan

    def _find_shape(self, output, arguments):
        """The shape of an output, by the dims that inputs have."""
        dims = self._dims
        try:
            return tuple([dim if isinstance(dim, int) else int(arguments[dims[dim][0]].shape[dims[dim][1]])
                          for dim in output.shape])
        except KeyError as dim:
            raise TypeError(f"output '{output.name}' must be given: no input has its dim {dim}") from None
        except (AttributeError, IndexError):
            raise make_error(INVALID_ARGUMENT,
                             f"output '{output.name}' cannot be allocated: its shape {output.shape} does "
                             "not follow from the inputs given") from None

    def launch(self, *values: Any, stream: Any = None) -> None:
        """Launches with all arguments of the manifest, outputs too, in its order."""
        torch = Torch.get()
        if stream is not None and type(stream) is not int:
            stream = get_stream_handle(stream)
        described = self._describe(torch.exchange, values, stream) if torch and torch.exchange else None
        arguments, stream = described or self._pack(values, stream)
        status = self._launch(self._handle, arguments, len(values), stream)
        if status:
            self.runtime.check(status)

    def _describe(self, exchange, values, stream):
        """The same as _pack, by torch itself; None where not all tensors are its own."""
        arguments, current = self._memory(), ctypes.c_void_p()
        try:
            status = self._describe_objects(
                self._handle, exchange, self._objects(*values), len(values),
                self._numbers.pack(*[values[i] for i in self._scalars]), arguments, current)
        except Exception:
            # Whatever is wrong is found, and named, on the other path.
            return None
        if status:
            return None
        return arguments, current if stream is None else stream

    def _pack(self, values, stream):
        """FaArgument of each value, as bytes, and the handle of the stream."""
        torch = Torch.get()
        if torch is None or len(values) != len(self.arguments):
            return self._pack_any(values, stream)
        tensor, codes = torch.tensor, torch.codes
        device = -1
        flat: list[Any] = []
        try:
            for (rank, is_float), value in zip(self._kinds, values):
                if rank == _SCALAR:
                    flat += (float(value), _F64, _SCALAR, 0, 0) if is_float else \
                        (value.__index__(), _I64, _SCALAR, 0, 0)
                    continue
                if not isinstance(value, tensor):
                    return self._pack_any(values, stream)
                ordinal = value.get_device()
                shape = value.shape
                if ordinal < 0 or len(shape) != rank:
                    return self._pack_any(values, stream)
                if device < 0:
                    device = ordinal
                flat += (value.data_ptr(), codes[value.dtype], rank, ordinal, 0, *shape, *value.stride())
            packed = self._struct.pack(*flat)
        except (AttributeError, KeyError, TypeError, ValueError, struct.error):
            # Whatever is wrong is found, and named, on the other path.
            return self._pack_any(values, stream)
        if stream is None:
            stream = torch.current_stream(device) if device >= 0 else 0
        return packed, stream

    def _pack_any(self, values, stream):
        """The same for values of any kind, right or wrong."""
        if len(values) != len(self.arguments):
            raise make_error(INVALID_ARGUMENT,
                             f"kernel '{self.name}' takes {len(self.arguments)} arguments, got {len(values)}")
        devices = [None if argument.is_scalar else get_device(argument.name, value)
                   for argument, value in zip(self.arguments, values)]
        if stream is None:
            torch = Torch.get()
            device = next((device for device in devices if device is not None), None)
            stream = torch.current_stream(device) if torch and device is not None else 0
        return b"".join(self._pack_one(argument, value, device, stream) for argument, value, device
                        in zip(self.arguments, values, devices)), stream

    def _pack_one(self, argument, value, device, stream):
        if argument.is_scalar:
            number = argument.convert(value)
            fields = (number, _F64 if argument.is_float else _I64, _SCALAR, 0, 0)
            form = argument.format
        else:
            address, code, shape, strides = describe(argument.name, value, device, stream)
            rank = len(shape)
            if not 1 <= rank <= MAX_RANK:
                raise make_error(INVALID_ARGUMENT, f"argument '{argument.name}' has rank {rank}, "
                                                   f"expected {argument.rank}")
            fields = (address, code, rank, device, 0, *shape, *strides)
            form = _tensor_format(rank)
        try:
            return struct.pack("=" + form, *fields)
        except struct.error:
            raise make_error(INVALID_ARGUMENT, f"argument '{argument.name}' has the value {fields[0]}, "
                                               "which does not fit 64 bits") from None


def load(manifest: str | os.PathLike, runtime: Runtime | None = None) -> Kernel:
    """Loads the kernel of a manifest file, in the runtime of the process unless
    another is given."""
    # Said where there is no driver, too.
    if not os.path.exists(manifest):
        raise make_error(INVALID_MANIFEST, f"cannot open '{os.fspath(manifest)}': No such file or directory; "
                         "fa_mlir.compile(...).save(folder) writes manifests")
    return Kernel(runtime or Runtime.shared(), manifest)
