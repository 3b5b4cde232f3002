"""A tensor that is nothing but an address, given by DLPack."""

import ctypes

CODES = {"f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "f64": (2, 64), "i32": (0, 32),
         "i64": (0, 64), "i8": (0, 8), "u8": (1, 8), "i1": (6, 8), "complex": (5, 64)}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def dense(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.insert(0, stride)
        stride *= size
    return strides


class DeviceArray:
    def __init__(self, address, dtype, shape, strides=None, device=0, device_type=2, offset=0):
        self.shape = tuple(shape)
        self.device_type, self.device_id = device_type, device
        self.streams = []
        sizes = ctypes.c_int64 * len(shape)
        self._shape = sizes(*shape)
        # A null pointer stands for dense strides.
        self._strides = sizes(*strides) if strides is not None else None
        code, bits = CODES[dtype]
        self._tensor = DLTensor(address, device_type, device, len(shape), code, bits, 1, self._shape,
                                self._strides, offset)

    def __dlpack_device__(self):
        return self.device_type, self.device_id

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return _new(ctypes.addressof(self._tensor), b"dltensor", None)
