"""Errors of launcher and compiler, one class for each way of acting on them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from .compiler import Diagnostic

_Function = TypeVar("_Function", bound=Callable)
NO_DRIVER, DRIVER_ERROR = 1, 9
INVALID_MANIFEST, INVALID_ARGUMENT = 4, 6
INVALID_MODULE, INVALID_PIPELINE, COMPILATION_FAILED = 11, 12, 13
OUT_OF_MEMORY = 7
NAMES = {
    NO_DRIVER: "no driver",
    2: "driver too old",
    3: "wrong architecture",
    INVALID_MANIFEST: "invalid manifest",
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
        # Not by super(), which Dynamo has no trace of.
        self.args = (message,)
        self.diagnostics: list[Diagnostic] = []
        self.status = status
        self.kind = NAMES.get(status, "unknown")

    def __reduce__(self) -> tuple:
        # Otherwise the class is called with the message alone, and a pool of processes waits for ever.
        return _restore, (type(self), str(self)), self.__dict__


def _restore(cls: type[Error], message: str) -> Error:
    return cls.__new__(cls, message)


class ArgumentError(Error, ValueError):
    """An argument of a wrong type, shape, stride, alignment or device.

    argument: its name, which the message begins with; empty where it does not.
    """

    @property
    def argument(self) -> str:
        return _split_argument(self.args[0])[0]


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
        Error.__init__(self, COMPILATION_FAILED, f"argument '{argument}' is {value}, which is not supported; "
                       f"expected {legal}" + (f": {nearest}" if nearest else ""))


def make_error(status: int, message: str) -> Error:
    cls = {INVALID_ARGUMENT: ArgumentError, OUT_OF_MEMORY: OutOfMemoryError,
           INVALID_MODULE: CompilationError, INVALID_PIPELINE: CompilationError,
           COMPILATION_FAILED: CompilationError}.get(status, Error)
    return cls(status, message)


#===--- Names of arguments ------------------------------------------------===#

def _split_argument(message: str) -> tuple[str, str]:
    """The argument that a message begins with and what follows it; ("", "") where there is none."""
    before, *rest = message.split("'", 2)
    return (rest[0], rest[1]) if before == "argument " and len(rest) == 2 else ("", "")


def rename_argument(error: Error, names: dict[str, str]) -> None:
    """Changes the argument that an error begins with, and others in quotes, to what `names` has for them."""
    name, rest = _split_argument(error.args[0])
    if not name:
        return
    name = names.get(name, name)
    for known, own in names.items():
        rest = rest.replace(f"'{known}'", f"'{own}'")
    error.args = (f"argument '{name}'{rest}",)
    if isinstance(error, UnsupportedError):
        error.argument = name


def renames_arguments(**names: str) -> Callable[[_Function], _Function]:
    """Of a function that calls attention() and has other names for its arguments, which
    errors then say; names: its own by those of attention()."""
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def renamed(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Error as error:
                rename_argument(error, names)
                raise

        return cast(_Function, renamed)

    return decorate
