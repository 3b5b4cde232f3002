"""Address, type, shape, strides and device of tensors of any framework."""

import ctypes
import sys

from .errors import INVALID_ARGUMENT, make_error

MAX_RANK = 6
# FaDataType of fa-c/Runtime.h by its name in a manifest.
TYPES = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3, "i8": 4, "i32": 5, "i64": 6,
         "f8E4M3FN": 7, "f8E5M2": 8, "i1": 9}
_TORCH_TYPES = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3, "int8": 4, "uint8": 4,
                "bool": 9, "int32": 5, "int64": 6, "float8_e4m3fn": 7, "float8_e5m2": 8}
# By DLPack's type code and bits.
_DLPACK_TYPES = {(2, 16): 0, (4, 16): 1, (2, 32): 2, (2, 64): 3, (0, 8): 4, (1, 8): 4, (6, 8): 9,
                 (0, 32): 5, (0, 64): 6, (10, 8): 7, (12, 8): 8}
_DLPACK_CUDA = (2, 13)  # device memory, managed memory
_UNKNOWN_TYPE = -1


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h, the first member of DLManagedTensor."""
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def find_exchange(tensor_type):
    """The address of DLPackExchangeAPI (DLPack 1.2 and later) of a type, or None."""
    try:
        return _get_pointer(tensor_type.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    except (AttributeError, ctypes.ArgumentError, ValueError):
        return None


class Torch:
    """What the launcher uses of torch, looked up once."""

    _instance = None

    def __init__(self, torch):
        self.tensor = torch.Tensor
        self.empty_strided = torch.empty_strided
        self.device = torch.device
        self.codes = {getattr(torch, name): code for name, code in _TORCH_TYPES.items()
                      if hasattr(torch, name)}
        self.types = {code: getattr(torch, name) for name, code in reversed(_TORCH_TYPES.items())
                      if hasattr(torch, name)}
        self.exchange = find_exchange(torch.Tensor)
        # Ten times cheaper than the public way, which makes a Stream object.
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.current_stream = raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    @classmethod
    def get(cls):
        """None as long as torch is not loaded: it is never imported from here."""
        if cls._instance is None and "torch" in sys.modules:
            cls._instance = cls(sys.modules["torch"])
        return cls._instance


def get_stream_handle(stream):
    """The CUstream of a number, a torch stream or an object with __cuda_stream__."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "cuda_stream"):
        return stream.cuda_stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise TypeError(f"expected a stream (a handle, or an object with cuda_stream or "
                    f"__cuda_stream__), got {type(stream).__name__}")


def get_device(name, value):
    """The ordinal of the CUDA device that holds a tensor, without reading it."""
    torch = Torch.get()
    if torch and isinstance(value, torch.tensor):
        device = value.get_device()
        if not value.is_cuda:
            raise make_error(INVALID_ARGUMENT,
                             f"argument '{name}' is on device '{value.device}', expected a CUDA device")
        return device
    if not hasattr(value, "__dlpack__"):
        raise make_error(INVALID_ARGUMENT,
                         f"argument '{name}' is a tensor, got {type(value).__name__}, which has no __dlpack__")
    kind, device = value.__dlpack_device__()
    if int(kind) not in _DLPACK_CUDA:
        raise make_error(INVALID_ARGUMENT,
                         f"argument '{name}' is on a device of DLPack type {int(kind)}, expected CUDA (2)")
    return int(device)


def describe(name, value, device, stream):
    """(address, type code, shape, strides) of a tensor. What made it is told to
    be done before `stream` goes on, as DLPack defines."""
    torch = Torch.get()
    if torch and isinstance(value, torch.tensor):
        code = torch.codes.get(value.dtype, _UNKNOWN_TYPE)
        return value.data_ptr(), code, tuple(value.shape), value.stride()
    # DLPack reserves 0 and calls the legacy default stream 1.
    capsule = value.__dlpack__(stream=stream or 1)
    tensor = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    rank = tensor.ndim
    shape = tuple(tensor.shape[:rank])
    if tensor.strides:
        strides = tuple(tensor.strides[:rank])
    else:
        strides = dense_strides(shape)
    code = _DLPACK_TYPES.get((tensor.code, tensor.bits), _UNKNOWN_TYPE)
    if tensor.lanes != 1:
        code = _UNKNOWN_TYPE
    return (tensor.data or 0) + tensor.byte_offset, code, shape, strides


def dense_strides(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= max(size, 1)
    return tuple(reversed(strides))
