"""The C API of libFA.so (include/fa-c/Compiler.h) by ctypes.

Calls release the interpreter lock. Everything here may be used from any thread. Read in order: `_SIGNATURES` has each
function's C types, `Library` loads it and raises errors, `Context` collects what the compiler says, `Module` compiles.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from dataclasses import dataclass
from typing import Literal, overload

from .errors import CompilationError, Error, make_error
from .runtime import COMPILER_LIBRARY, find_library, load_library

_SEVERITIES = ("error", "warning", "note", "remark")
_OUTCOMES = ("", "passed", "missed", "failed", "analysis")
_FORMS = {"text": 0, "generic": 1, "bytecode": 2}
_IMAGES = {"auto": 0, "ptx": 1, "both": 2}

_handle = ctypes.c_void_p
_out = ctypes.POINTER(ctypes.c_void_p)
_text = ctypes.c_char_p


class _Diagnostic(ctypes.Structure):
    _fields_ = [("severity", ctypes.c_int32), ("outcome", ctypes.c_int32), ("line", ctypes.c_int32),
                ("column", ctypes.c_int32), ("file", _text), ("pass_name", _text), ("name", _text),
                ("message", _text)]


class _CPUOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("optimization_level", ctypes.c_int32), ("cpu", _text),
                ("features", _text)]


class _KernelOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("chip", _text), ("images", ctypes.c_int32),
                ("no_peepholes", ctypes.c_int32), ("fail_on_spill", ctypes.c_int32)]


_SIGNATURES = {
    "fa_set_thread_runner": (None, [ctypes.c_void_p]),
    "faGetErrorMessage": (_text, []),
    "faGetVersion": (_text, []),
    "faGetBuildId": (_text, []),
    "faGetHostCPU": (_text, []),
    "faGetAssembler": (_text, []),
    "faBytesGetData": (ctypes.c_void_p, [_handle]),
    "faBytesGetSize": (ctypes.c_size_t, [_handle]),
    "faBytesDestroy": (None, [_handle]),
    "faContextCreate": (ctypes.c_int, [ctypes.c_uint32, _out]),
    "faContextDestroy": (None, [_handle]),
    "faContextGetDiagnosticCount": (ctypes.c_size_t, [_handle]),
    "faContextGetDiagnostic": (ctypes.c_int, [_handle, ctypes.c_size_t, ctypes.POINTER(_Diagnostic)]),
    "faModuleCreateFromText": (ctypes.c_int, [_handle, _text, ctypes.c_size_t, _text, _out]),
    "faModuleDestroy": (None, [_handle]),
    "faModuleRunPipeline": (ctypes.c_int, [_handle, _text]),
    "faModuleRaiseAttention": (ctypes.c_int, [_handle, _text, ctypes.POINTER(ctypes.c_size_t),
                                              ctypes.POINTER(ctypes.c_size_t)]),
    "faModulePrint": (ctypes.c_int, [_handle, ctypes.c_int32, _out]),
    "faModuleCountOperations": (ctypes.c_int, [_handle, _text, ctypes.POINTER(ctypes.c_size_t)]),
    "faModuleCompileFunction": (ctypes.c_int, [_handle, _text, ctypes.POINTER(_CPUOptions), _out]),
    "faModuleCompileKernel": (ctypes.c_int, [_handle, _text, ctypes.POINTER(_KernelOptions), _out, _out, _out]),
    "faFunctionDestroy": (None, [_handle]),
    "faFunctionGetInterface": (_text, [_handle]),
    # The arguments are memory that is laid out as FaArgument.
    "faFunctionCall": (ctypes.c_int, [_handle, ctypes.c_void_p, ctypes.c_size_t]),
    "faFunctionSave": (ctypes.c_int, [_handle, _out]),
    "faFunctionLoad": (ctypes.c_int, [_text, ctypes.c_size_t, _out]),
}


@dataclass(frozen=True)
class Diagnostic:
    """What the compiler said: an error, a warning, a note on the one before, or a
    remark of a pass."""

    severity: str
    message: str
    #: Of a remark: passed, missed, failed or analysis.
    outcome: str = ""
    #: Of a remark: the pass that made it, and what it is called.
    pass_name: str = ""
    name: str = ""
    #: "" and 0 where unknown.
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        source = f" [{self.pass_name}]" if self.pass_name else ""
        return f"{place}{self.severity}: {self.message}{source}"


def _encode(name: str, text: str) -> bytes:
    """Text for C, where a zero ends it."""
    if not isinstance(text, str):
        raise TypeError(f"the {name} is a {type(text).__name__}, expected text")
    if "\0" in text:
        raise ValueError(f"the {name} is {text!r}, expected text without zeros")
    return text.encode()


def _encode_optional(name: str, text: str | None) -> bytes | None:
    return None if text is None or text == "" else _encode(name, text)


# Who has the threads of compiled code (fa/Runtime/ParallelFor.h); OpenMP where it is None.
_thread_runner: ctypes.c_void_p | None = None


def use_threads(runner: ctypes.c_void_p) -> None:
    """Runs code for CPUs on threads of a framework, by an fa_thread_runner."""
    global _thread_runner
    with Library._lock:
        _thread_runner = runner
        if Library._shared is not None:
            Library._shared.c.fa_set_thread_runner(runner)


def _forget_threads() -> None:
    """In the child of a fork, which has no threads of a framework."""
    global _thread_runner
    _thread_runner = None


os.register_at_fork(after_in_child=_forget_threads)


class Library:
    """libFA.so, opened once in a process."""

    _shared: Library | None = None
    _lock = threading.Lock()

    def __init__(self, path: str | None = None):
        path = path or find_library(COMPILER_LIBRARY, "FA_COMPILER_LIBRARY")
        self.c = load_library(path, "FAShared", "FA_COMPILER_LIBRARY")
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self.c, name)
            function.restype = result
            function.argtypes = arguments
        if _thread_runner is not None:
            self.c.fa_set_thread_runner(_thread_runner)
        self.version: str = self.c.faGetVersion().decode()
        self.build_id: str = self.c.faGetBuildId().decode()
        self.host_cpu: str = self.c.faGetHostCPU().decode()

    @classmethod
    def shared(cls) -> Library:
        with cls._lock:
            if cls._shared is None:
                cls._shared = cls()
            return cls._shared

    def assembler(self) -> str:
        """The path of ptxas, "" where there is none."""
        return self.c.faGetAssembler().decode()

    def make_error(self, status: int) -> Error:
        """Of the last call that failed. What C has in its options are arguments here."""
        message = self.c.faGetErrorMessage().decode(errors="replace")
        return make_error(status, re.sub(r"^the options' (\w+) ", r"argument '\1' ", message))

    def check(self, status: int) -> None:
        if status:
            raise self.make_error(status)

    def take_bytes(self, handle: ctypes.c_void_p) -> bytes:
        """The contents of an FaBytes, which is destroyed; b"" for none."""
        if not handle:
            return b""
        try:
            return ctypes.string_at(self.c.faBytesGetData(handle), self.c.faBytesGetSize(handle))
        finally:
            self.c.faBytesDestroy(handle)


class Context:
    """A context, and what the last call on it said."""

    def __init__(self, allow_unregistered: bool = False):
        self.library = Library.shared()
        self._handle = ctypes.c_void_p()
        self.library.check(self.library.c.faContextCreate(int(allow_unregistered), ctypes.byref(self._handle)))

    @property
    def handle(self) -> ctypes.c_void_p:
        if not self._handle:
            raise ValueError("the context is closed")
        return self._handle

    def close(self) -> None:
        """Frees the context. Modules of it can no longer be used."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        self.library.c.faContextDestroy(handle)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def diagnostics(self) -> list[Diagnostic]:
        c, found = self.library.c, []
        for i in range(c.faContextGetDiagnosticCount(self.handle)):
            raw = _Diagnostic()
            self.library.check(c.faContextGetDiagnostic(self.handle, i, ctypes.byref(raw)))
            file, pass_name, name, message = (
                text.decode(errors="replace") for text in (raw.file, raw.pass_name, raw.name, raw.message))
            found.append(Diagnostic(_SEVERITIES[raw.severity], message, _OUTCOMES[raw.outcome], pass_name,
                                    name, file, raw.line, raw.column))
        return found

    def check(self, status: int) -> None:
        """Raises with all that was said."""
        if not status:
            return
        error = self.library.make_error(status)
        if isinstance(error, CompilationError):
            error.diagnostics = self.diagnostics()
        raise error


class Module:
    """A module of a context, from text or bytecode."""

    def __init__(self, context: Context, source: str | bytes, name: str = "module"):
        if not isinstance(context, Context):
            raise TypeError(f"the context is a {type(context).__name__}, expected fa_mlir.Context")
        if not isinstance(source, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"the source is a {type(source).__name__}, expected text or bytecode")
        data = source.encode() if isinstance(source, str) else bytes(source)
        self.context = context
        self._c = context.library.c
        self._handle = ctypes.c_void_p()
        context.check(self._c.faModuleCreateFromText(context.handle, data, len(data), os.fsencode(name),
                                                     ctypes.byref(self._handle)))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._c.faModuleDestroy(self._handle)

    def run(self, pipeline: str) -> list[Diagnostic]:
        """Runs a pipeline, and returns what its passes said."""
        self.context.check(self._c.faModuleRunPipeline(self._handle, _encode("pipeline", pipeline)))
        return self.context.diagnostics()

    def raise_attention(self, options: str = "") -> tuple[int, list[Diagnostic]]:
        """Turns softmax(Q K) V into fa.attention: how often, and a remark for each
        near miss."""
        raised, refused = ctypes.c_size_t(), ctypes.c_size_t()
        self.context.check(self._c.faModuleRaiseAttention(self._handle, _encode_optional("text of options", options),
                                                          ctypes.byref(raised), ctypes.byref(refused)))
        remarks = [each for each in self.context.diagnostics() if each.severity == "remark"]
        return raised.value, remarks

    @overload
    def print(self, form: Literal["text", "generic"] = "text") -> str: ...
    @overload
    def print(self, form: Literal["bytecode"]) -> bytes: ...
    @overload
    def print(self, form: str) -> str | bytes: ...
    def print(self, form: str = "text") -> str | bytes:
        """`form` is text, generic or bytecode; bytecode is bytes."""
        if form not in _FORMS:
            raise ValueError(f"the form is {form!r}, expected one of {', '.join(_FORMS)}")
        printed = ctypes.c_void_p()
        self.context.check(self._c.faModulePrint(self._handle, _FORMS[form], ctypes.byref(printed)))
        data = self.context.library.take_bytes(printed)
        return data if form == "bytecode" else data.decode()

    def __str__(self) -> str:
        return self.print()

    def count(self, operation: str) -> int:
        count = ctypes.c_size_t()
        self.context.check(self._c.faModuleCountOperations(self._handle, _encode("operation", operation), ctypes.byref(count)))
        return count.value

    def compile_function(self, entry: str | None = None, optimization_level: int = 3) -> bytes:
        """A function for this CPU, as faFunctionSave writes it."""
        library, function, saved = self.context.library, ctypes.c_void_p(), ctypes.c_void_p()
        options = _CPUOptions(ctypes.sizeof(_CPUOptions), optimization_level)
        self.context.check(self._c.faModuleCompileFunction(
            self._handle, _encode_optional("entry", entry), ctypes.byref(options), ctypes.byref(function)))
        try:
            library.check(self._c.faFunctionSave(function, ctypes.byref(saved)))
        finally:
            self._c.faFunctionDestroy(function)
        return library.take_bytes(saved)

    def compile_kernel(self, entry: str | None = None, chip: str | None = None,
                       images: str = "auto") -> tuple[bytes, bytes, bytes]:
        """Manifest, PTX and cubin (b"" where none is made)."""
        if images not in _IMAGES:
            raise ValueError(f"images are {images!r}, expected one of {', '.join(_IMAGES)}")
        made = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        options = _KernelOptions(ctypes.sizeof(_KernelOptions), _encode_optional("chip", chip), _IMAGES[images])
        self.context.check(self._c.faModuleCompileKernel(
            self._handle, _encode_optional("entry", entry), ctypes.byref(options), *map(ctypes.byref, made)))
        manifest, ptx, cubin = map(self.context.library.take_bytes, made)
        return manifest, ptx, cubin
