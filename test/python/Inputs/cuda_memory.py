"""Memory, streams and graphs of a CUDA device, without any framework."""

import ctypes
from contextlib import contextmanager

import numpy
from device_array import DeviceArray, dense

NAMES = {"float16": "f16", "float32": "f32", "int32": "i32"}


class Cuda:
    """The first device, its primary context current in this thread."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            raise RuntimeError(f"{name} failed with {result}")

    def capability(self):
        values = []
        for attribute in (75, 76):
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
            values.append(value.value)
        return tuple(values)

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def synchronize(self):
        self.call("cuCtxSynchronize")

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream.value

    def destroy_stream(self, stream):
        self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def fork(self, source, target):
        """Lets `target` follow what is in `source`; in a capture, join it."""
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 2)
        self.call("cuEventRecord", event, ctypes.c_void_p(source))
        self.call("cuStreamWaitEvent", ctypes.c_void_p(target), event, 0)
        self.call("cuEventDestroy_v2", event)

    @contextmanager
    def capture(self, stream):
        """Captures in the driver's default mode; yields a list that holds the
        instance of the graph afterwards."""
        instances = []
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), 0)
        yield instances
        graph, instance = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_ulonglong(0))
        self.call("cuGraphDestroy", graph)
        instances.append(instance)

    def replay(self, instance, stream):
        self.call("cuGraphLaunch", instance, ctypes.c_void_p(stream))

    def destroy_instance(self, instance):
        self.call("cuGraphExecDestroy", instance)


class Array(DeviceArray):
    """A dense numpy array on the device, or a view of it with other strides."""

    def __init__(self, cuda, host):
        self.cuda, self.host = cuda, numpy.ascontiguousarray(host)
        self.address = ctypes.c_uint64()
        cuda.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(self.host.nbytes, 16)))
        self.upload(self.host)
        super().__init__(self.address.value, NAMES[str(self.host.dtype)], self.host.shape,
                         dense(self.host.shape))

    def upload(self, host):
        self.host = numpy.ascontiguousarray(host)
        self.cuda.call("cuMemcpyHtoD_v2", self.address, self.host.ctypes.data_as(ctypes.c_void_p),
                       ctypes.c_size_t(self.host.nbytes))

    def download(self):
        host = numpy.empty_like(self.host)
        self.cuda.synchronize()
        self.cuda.call("cuMemcpyDtoH_v2", host.ctypes.data_as(ctypes.c_void_p), self.address,
                       ctypes.c_size_t(host.nbytes))
        return host

    def view(self, shape, strides, offset=0):
        """A tensor of other shape and strides, in elements, in this memory."""
        return DeviceArray(self.address.value + offset * self.host.itemsize,
                           NAMES[str(self.host.dtype)], shape, strides)

    def free(self):
        self.cuda.call("cuMemFree_v2", self.address)
