"""From PTX to machine code where the compiler finds no ptxas by itself.

In this order: FA_PTXAS, PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda, which the
library looks at; ptxas of the wheels nvidia-cuda-nvcc, torch and triton; nvJitLink in
process, which torch brings; else none, and the driver assembles when a kernel is loaded.
FA_PTXAS=none leaves the first two out, FA_NVJITLINK=none the third.

nvJitLink makes code that may be linked with other code, and ignores setmaxnreg there: a
causal bf16 kernel for sm_90a then spills 1,844 bytes a thread, where ptxas of the same
version spills none. Such kernels are left to the driver.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
import threading
from collections.abc import Callable

from .compiler import Library
from .errors import COMPILATION_FAILED, CompilationError, make_error

_lock = threading.Lock()
_NVJITLINK_INPUT_PTX = 2


# Of packages on Python's path: that of CUDA first, which is the latest.
_PTXAS = ("nvidia/cu*/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas", "torch/bin/ptxas", "triton/backends/nvidia/bin/ptxas")


def _find_in_packages(*patterns: str) -> str | None:
    """A file of the first pattern that is anywhere on Python's path."""
    for pattern in patterns:
        for folder in sys.path:
            found = sorted(glob.glob(os.path.join(folder, pattern)))
            if found:
                return found[-1]
    return None


def find_ptxas() -> str:
    """The path of ptxas, "" for none. That of a wheel is named to the library by
    FA_PTXAS, so that tools of this process find it too."""
    path = Library.shared().assembler()
    if path or os.environ.get("FA_PTXAS"):
        return path
    found = _find_in_packages(*_PTXAS)
    if found and os.access(found, os.X_OK):
        os.environ["FA_PTXAS"] = found
    return Library.shared().assembler()


class NvJitLink:
    """libnvJitLink.so in this process."""

    def __init__(self, path: str):
        self.c = ctypes.CDLL(path)
        self.path = path
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        self.c.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def _read(self, handle: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self.c, f"nvJitLinkGet{what}Size")(handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value or 1)
        getattr(self.c, f"nvJitLinkGet{what}")(handle, buffer)
        return buffer.raw[:size.value]

    def takes(self, ptx: bytes) -> bool:
        """Whether what it makes is as good as the text asks for."""
        return b"setmaxnreg" not in ptx

    def assemble(self, ptx: bytes, chip: str) -> bytes:
        """Machine code for a chip that the compiler knows: of another this library
        ends the process. Kernels of one text are assembled at the same time."""
        try:
            return self._assemble(ptx, [f"-arch={chip}", "-O3", "-Xptxas=--split-compile=0"])
        except CompilationError as error:
            if "split-compile" not in str(error):
                raise
            # CUDA 11 and the first 12 do not know it.
            return self._assemble(ptx, [f"-arch={chip}", "-O3"])

    def _assemble(self, ptx: bytes, words: list[str]) -> bytes:
        options = [word.encode() for word in words]
        handle = ctypes.c_void_p()
        status = self.c.nvJitLinkCreate(ctypes.byref(handle), ctypes.c_uint32(len(options)),
                                        (ctypes.c_char_p * len(options))(*options))
        if status:
            raise make_error(COMPILATION_FAILED,
                             f"nvJitLink {self.version} does not take {' '.join(words)} (status {status})")
        try:
            # A text ends in a zero, which counts.
            text = ptx.rstrip(b"\0") + b"\0"
            status = self.c.nvJitLinkAddData(handle, ctypes.c_int(_NVJITLINK_INPUT_PTX), text,
                                             ctypes.c_size_t(len(text)), b"kernel.ptx")
            status = status or self.c.nvJitLinkComplete(handle)
            if status:
                said = self._read(handle, "ErrorLog").rstrip(b"\0").decode(errors="replace")
                raise make_error(COMPILATION_FAILED, f"nvJitLink {self.version} refused the kernel: {said}")
            return self._read(handle, "LinkedCubin")
        finally:
            self.c.nvJitLinkDestroy(ctypes.byref(handle))


@functools.lru_cache
def _open(choice: str) -> NvJitLink | None:
    if choice == "none":
        return None
    path = choice or _find_in_packages("nvidia/cu*/lib/libnvJitLink.so.*", "nvidia/nvjitlink/lib/libnvJitLink.so.*")
    try:
        return NvJitLink(path) if path else None
    except (OSError, AttributeError):
        return None


def find_nvjitlink() -> NvJitLink | None:
    """nvJitLink, where the packages of Python have it; FA_NVJITLINK names another."""
    with _lock:
        return _open(os.environ.get("FA_NVJITLINK", ""))


def describe(ask: Callable[[str], str]) -> str:
    """What assembles kernels, as part of a key: code of one version is of use
    wherever it lies. `ask` says it of ptxas."""
    path = find_ptxas()
    if path:
        return ask(path)
    library = find_nvjitlink()
    return f"nvJitLink {library.version}" if library else "none"
