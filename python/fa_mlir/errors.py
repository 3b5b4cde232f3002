"""Errors of launcher and compiler, one class for each way of acting on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiler import Diagnostic

NO_DRIVER, DRIVER_ERROR = 1, 9
INVALID_ARGUMENT = 6
INVALID_MODULE, INVALID_PIPELINE, COMPILATION_FAILED = 11, 12, 13
OUT_OF_MEMORY = 7
NAMES = {
    NO_DRIVER: "no driver",
    2: "driver too old",
    3: "wrong architecture",
    4: "invalid manifest",
    5: "invalid image",
    INVALID_ARGUMENT: "invalid argument",
    OUT_OF_MEMORY: "out of memory",
    8: "launch limit",
    DRIVER_ERROR: "driver error",
    INVALID_MODULE: "invalid module",
    INVALID_PIPELINE: "invalid pipeline",
    COMPILATION_FAILED: "compilation failed",
}


class Error(RuntimeError):
    """What was refused or could not be done. Nothing was launched or called.

    status: the FaStatus of fa-c/Runtime.h; kind: its name; diagnostics: all that
    the compiler said, in order.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.diagnostics: list[Diagnostic] = []
        self.status = status
        self.kind = NAMES.get(status, "unknown")

    def __reduce__(self) -> tuple:
        # Otherwise the class is called with the message alone, and a pool of processes waits for ever.
        return _restore, (type(self), str(self)), self.__dict__


def _restore(cls: type[Error], message: str) -> Error:
    return cls.__new__(cls, message)


class ArgumentError(Error, ValueError):
    """An argument of a wrong type, shape, stride, alignment or device."""


class OutOfMemoryError(Error, MemoryError):
    """No memory, or no tile counter, is left on the device."""


class CompilationError(Error):
    """A module, a pipeline or a function that the compiler refused."""


class UnsupportedError(Error, NotImplementedError):
    """What the interface has and this version cannot do.

    argument: its name; value: what was given; legal: what is taken; nearest: what
    to do instead.
    """

    def __init__(self, argument: str, value: Any, legal: str, nearest: str = ""):
        self.argument, self.value, self.legal, self.nearest = argument, value, legal, nearest
        super().__init__(COMPILATION_FAILED, f"argument '{argument}' is {value}, which is not supported; "
                         f"expected {legal}" + (f": {nearest}" if nearest else ""))


def make_error(status: int, message: str) -> Error:
    cls = {INVALID_ARGUMENT: ArgumentError, OUT_OF_MEMORY: OutOfMemoryError,
           INVALID_MODULE: CompilationError, INVALID_PIPELINE: CompilationError,
           COMPILATION_FAILED: CompilationError}.get(status, Error)
    return cls(status, message)
