"""Errors of the launcher, one class for each way of acting on them."""

INVALID_ARGUMENT = 6
OUT_OF_MEMORY = 7
NAMES = {
    1: "no driver",
    2: "driver too old",
    3: "wrong architecture",
    4: "invalid manifest",
    5: "invalid image",
    INVALID_ARGUMENT: "invalid argument",
    OUT_OF_MEMORY: "out of memory",
    8: "launch limit",
    9: "driver error",
}


class Error(RuntimeError):
    """What the runtime refused or could not do. Nothing was launched.

    status: the FaStatus of fa-c/Runtime.h; kind: its name.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.kind = NAMES.get(status, "unknown")


class ArgumentError(Error, ValueError):
    """An argument of a wrong type, shape, stride, alignment or device."""


class OutOfMemoryError(Error, MemoryError):
    """No memory, or no tile counter, is left on the device."""


def make_error(status, message):
    cls = {INVALID_ARGUMENT: ArgumentError, OUT_OF_MEMORY: OutOfMemoryError}.get(status, Error)
    return cls(status, message)
