"""DLPack's exchange functions (DLPack 1.3) for tensors that look like torch's."""

import ctypes

BITS = {"float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "int32": (0, 32), "bool": (6, 8),
        "int8": (0, 8), "complex64": (5, 64)}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DESCRIBE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
GET_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Functions(ctypes.Structure):
    """DLPackExchangeAPI."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("from_object", ctypes.c_void_p),
                ("to_object", ctypes.c_void_p), ("describe", DESCRIBE), ("get_stream", GET_STREAM)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exchange:
    """The functions of a tensor type. `described` counts the tensors they were asked about."""

    def __init__(self, tensor_type, get_stream):
        self.tensor_type, self.described, self.arrays = tensor_type, 0, {}
        self.get_stream = get_stream
        self.functions = Functions(1, 3, None, None, None, None, DESCRIBE(self._describe),
                                   GET_STREAM(self._get_stream))
        self._names = []
        self.capsule = self.make_capsule(b"dlpack_exchange_api")

    def make_capsule(self, name):
        # A capsule keeps the address of its name.
        self._names.append(name)
        return _new_capsule(ctypes.addressof(self.functions), name, None)

    def _describe(self, value, target):
        if not isinstance(value, self.tensor_type):
            return -1
        self.described += 1
        rank = len(value.shape)
        shape, strides = (ctypes.c_int64 * rank)(*value.shape), (ctypes.c_int64 * rank)(*value.stride())
        self.arrays[id(value)] = shape, strides
        code, bits = BITS[value.dtype.name]
        target[0] = DLTensor(value.data_ptr(), 2 if value.is_cuda else 1, max(value.get_device(), 0), rank, code,
                             bits, 1, ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
                             ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)), 0)
        return 0

    def _get_stream(self, kind, device, target):
        target[0] = self.get_stream(device) or None
        return 0
