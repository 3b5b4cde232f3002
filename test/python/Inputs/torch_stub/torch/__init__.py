"""As much of torch as the launcher uses, on the fake driver's memory."""


class dtype:
    def __init__(self, name):
        self.name = name


float16, bfloat16, float32, int32, bool, int8, complex64 = map(
    dtype, ["float16", "bfloat16", "float32", "int32", "bool", "int8", "complex64"])

next_address = 0


class Tensor:
    def __init__(self, shape, dtype, device="cuda:0", address=None, strides=None):
        global next_address
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.is_cuda = device != "cpu"
        if address is None:
            address, next_address = next_address, next_address + (1 << 24)
        self._address = ((10 + max(self.get_device(), 0)) << 40) + address
        if strides is None:
            strides, stride = [], 1
            for size in reversed(self.shape):
                strides.insert(0, stride)
                stride *= size
        self._strides = tuple(strides)

    def get_device(self):
        return int(self.device[5:]) if self.is_cuda else -1

    def data_ptr(self):
        return self._address

    def stride(self):
        return self._strides


def device(kind, ordinal):
    return f"{kind}:{ordinal}"


def empty_strided(shape, strides, dtype, device):
    return Tensor(shape, dtype, device, strides=strides)


class _C:
    stream = 0
    asked = []

    @classmethod
    def _cuda_getCurrentRawStream(cls, device):
        cls.asked.append(device)
        return cls.stream
