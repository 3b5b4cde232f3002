"""The C API of libFARuntimeCUDA.so (include/fa-c/Runtime.h) by ctypes."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from .errors import DRIVER_ERROR, NO_DRIVER, make_error

LIBRARY = "libFARuntimeCUDA.so"
COMPILER_LIBRARY = "libFA.so"
# Of fa-c/Runtime.h.
WORKSPACE_LIMIT = 786432

# CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
_CAPABILITY = (75, 76)

_SIGNATURES = {
    "faRuntimeGetErrorMessage": (ctypes.c_char_p, []),
    "faRuntimeCreate": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
    "faRuntimeDestroy": (None, [ctypes.c_void_p]),
    "faRuntimeGetWorkspaceSize": (
        ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_size_t)]),
    "faKernelLoad": (
        ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
    "faKernelLoadFromMemory": (
        ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
                       ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]),
    "faKernelDestroy": (None, [ctypes.c_void_p]),
    "faKernelPrepare": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
    # The arguments are memory that is laid out as FaArgument.
    "faKernelLaunch": (
        ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]),
}
# With the interpreter lock, as these call functions of Python.
_LOCKED_SIGNATURES = {
    "faKernelDescribeObjects": (
        ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                       ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
}


def find_library(name: str = LIBRARY, variable: str = "FA_RUNTIME_LIBRARY") -> str:
    """The library that an environment variable names, else the one in this package
    or in the build folder of its source tree, else what the loader finds."""
    chosen = os.environ.get(variable)
    if chosen:
        return chosen
    package = Path(__file__).resolve().parent
    # The compiler's library has the launcher too; it is alone in a wheel.
    for folder in (package, package.parents[1] / "build/lib"):
        for file in (name, COMPILER_LIBRARY) if name == LIBRARY else (name,):
            if (folder / file).exists():
                return str(folder / file)
    return name


def _find_reason(path: str, error: OSError) -> str:
    """Why the loader did not open a library, without the path that it begins with."""
    return str(error).removeprefix(f"{path}: ").removeprefix("cannot open shared object file: ")


def load_library(path: str, target: str, variable: str) -> ctypes.CDLL:
    """A library of this build. Raises ImportError, which says the target and the environment variable that give one."""
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot open '{path}': {_find_reason(path, error)}; build the target {target}, or let {variable} "
                          "name the library") from error


def open_library(path: str | None = None) -> ctypes.CDLL:
    path = path or find_library()
    library, locked = load_library(path, "FARuntimeCUDAShared", "FA_RUNTIME_LIBRARY"), ctypes.PyDLL(path)
    for handle, signatures in (library, _SIGNATURES), (locked, _LOCKED_SIGNATURES):
        for name, (result, arguments) in signatures.items():
            function = getattr(handle, name)
            function.restype = result
            function.argtypes = arguments
            setattr(library, name, function)
    return library


def find_capability(device: int, driver: str = "libcuda.so.1") -> tuple[int, int]:
    """The compute capability of a device, as the driver says it."""
    try:
        cuda = ctypes.CDLL(driver)
    except OSError as error:
        raise make_error(NO_DRIVER, f"cannot open '{driver}': {_find_reason(driver, error)}") from error
    handle = ctypes.c_int()
    status = cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(handle), device)
    numbers = []
    for attribute in _CAPABILITY:
        number = ctypes.c_int()
        status = status or cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, handle)
        numbers.append(number.value)
    if status:
        raise make_error(DRIVER_ERROR, f"the driver has no device {device} (status {status})")
    return numbers[0], numbers[1]


class Runtime:
    """A driver and the kernels loaded through it.

    library: the path of libFARuntimeCUDA.so; driver: that of libcuda.so.1.
    Either is searched for where it is None. Most programs need no runtime of
    their own: load() uses one for the whole process.
    """

    _shared: Runtime | None = None
    _shared_lock = threading.Lock()

    def __init__(self, library: str | None = None, driver: str | os.PathLike | None = None):
        self.library = open_library(library)
        self.handle: ctypes.c_void_p | None = ctypes.c_void_p()
        self.check(self.library.faRuntimeCreate(
            None if driver is None else os.fsencode(driver), ctypes.byref(self.handle)))

    @classmethod
    def shared(cls) -> Runtime:
        """The runtime of the process, made when it is first asked for. It lives
        as long as the process, since launches may."""
        with cls._shared_lock:
            if cls._shared is None:
                cls._shared = cls()
            return cls._shared

    def check(self, status: int) -> None:
        if status:
            raise make_error(status, self.library.faRuntimeGetErrorMessage().decode(errors="replace"))

    def workspace_size(self, device: int = 0) -> int:
        """Bytes of memory that the runtime holds on a device; at most WORKSPACE_LIMIT."""
        size = ctypes.c_size_t()
        self.check(self.library.faRuntimeGetWorkspaceSize(self.handle, device, ctypes.byref(size)))
        return size.value

    def close(self) -> None:
        """Unloads all kernels and frees the workspace. No launch may be running,
        and no kernel of this runtime may be used afterwards."""
        self.library.faRuntimeDestroy(self.handle)
        self.handle = ctypes.c_void_p()
