"""The fake driver of unittests/Runtime/FakeCUDA.h, and a kernel to run on it."""

import copy
import ctypes
import json
import os


class Launch(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char * 64), ("grid", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("cluster", ctypes.c_uint32 * 3), ("dependent", ctypes.c_uint32),
                ("shared_memory", ctypes.c_uint32), ("stream", ctypes.c_uint64),
                ("graph", ctypes.c_void_p), ("device", ctypes.c_int32),
                ("parameter_count", ctypes.c_uint32), ("offsets", ctypes.c_uint32 * 256),
                ("parameters", ctypes.c_uint8 * 4096)]

    def parameter(self, index, ctype):
        return ctype.from_buffer_copy(bytes(self.parameters), self.offsets[index]).value


class FakeDriver:
    def __init__(self, path):
        self.path = path
        self.library = ctypes.CDLL(path)
        self.library.fakeGetLaunch.restype = ctypes.POINTER(Launch)
        self.library.fakeCreateStream.restype = ctypes.c_void_p
        self.library.fakeBase.restype = ctypes.c_uint64

    def __getattr__(self, name):
        return getattr(self.library, "fake" + name)

    def last_launch(self):
        count = self.library.fakeGetLaunchCount()
        assert count > 0, "nothing was launched"
        return self.library.fakeGetLaunch(count - 1).contents


MANIFEST = {
    "version": 1, "kernel": "scale", "chip": "sm_90a", "images": {"cubin": "scale.cubin"},
    "block": [128],
    "arguments": [
        {"name": "x", "dtype": "bf16", "shape": ["rows", "columns"], "strides": ["?", 1],
         "alignment": 16},
        {"name": "y", "dtype": "f32", "shape": ["rows", 8], "output": True},
        {"name": "factor", "dtype": "f32", "default": 2.5},
        {"name": "shift", "dtype": "i32", "default": 0},
    ],
    "parameters": [{"pointer": "x"}, {"pointer": "y"}, {"f32": "factor"}, {"i32": "shift"},
                   {"i64": "x.stride.0"}],
    "grid": ["rows"],
}
IMAGE = "fake-kernel: scale 128 0 8 8 4 4 8\n"


def write_kernel(folder, edit=lambda manifest: None):
    """Writes a manifest and its image; returns the path of the manifest."""
    manifest = copy.deepcopy(MANIFEST)
    edit(manifest)
    with open(os.path.join(folder, "scale.cubin"), "w") as file:
        file.write(IMAGE)
    path = os.path.join(folder, "scale.json")
    with open(path, "w") as file:
        json.dump(manifest, file)
    return path
