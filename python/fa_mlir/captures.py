"""What a function of Python captures: found, compared from call to call, and replaced by other values.

`Walk` collects the tensors and numbers of a function, its leaves, and makes a fingerprint of the rest. `Rebuild` copies the
function with other leaves. `watch` makes a number that notes whether Python asks about it.
"""

from __future__ import annotations

import dis
import functools
import math
import operator
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

# Packages of which a function that reads an attribute is traced once: their functions do
# not change.
_FIXED = {"builtins", "cmath", "functools", "math", "numpy", "operator", "torch"}
# Functions of Python that read what no name in the code says.
_READERS = {"eval", "exec", "globals", "locals", "vars", "__import__"}


def is_wide(number: float | int) -> bool:
    """Whether it loses bits as a float, which is how operators take numbers. Such ones are
    constants of the code."""
    return isinstance(number, int) and abs(number) > 1 << 53


def is_same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and (left == right or left != left and right != right)


#===--- The walk ----------------------------------------------------------===#

@dataclass
class Walk:
    """leaves: tensors and numbers in the order met. is_known: whether the
    fingerprint says all that a trace depends on."""

    leaves: list = field(default_factory=list)
    is_known: bool = True
    #: Functions on the way, which may refer to themselves.
    seen: dict = field(default_factory=dict)

    def fingerprint(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            self.leaves.append(value)
            return "tensor", value.dtype, tuple([size if size < 2 else -1 for size in value.shape])
        if isinstance(value, bool) or value is None or isinstance(value, (str, torch.dtype, torch.device, bytes)):
            return value
        if isinstance(value, (int, float)):
            self.leaves.append(value)
            # Whether it is finite is asked without a sign of it.
            return type(value), "wide" if is_wide(value) else math.isfinite(value) or repr(value)
        if isinstance(value, types.FunctionType):
            return self.fingerprint_function(value)
        if isinstance(value, functools.partial):
            return "partial", self.fingerprint(value.func), self.fingerprint(value.args), self.fingerprint(
                _sort(value.keywords))
        if _is_sequence(value):
            return type(value), tuple([self.fingerprint(item) for item in value])
        if not _is_fixed(value):
            self.is_known = False
        return id(value)

    def fingerprint_function(self, function: Any) -> Any:
        if id(function) in self.seen:
            return "seen", self.seen[id(function)]
        if _is_permanent(function):
            return id(function)
        self.seen[id(function)] = len(self.seen)
        # Code is compared by value, and so kept alive.
        parts: list[Any] = [function.__code__]
        for cell in function.__closure__ or ():
            try:
                parts.append(self.fingerprint(cell.cell_contents))
            except ValueError:
                parts.append("empty")
        parts.append(self.fingerprint(function.__defaults__ or ()))
        parts += [self.fingerprint(_sort(named)) for named in (function.__kwdefaults__ or {}, function.__dict__)]
        names, has_readers = _find_globals(function.__code__)
        if has_readers:
            self.is_known = False
        for name in names:
            if name in function.__globals__:
                parts.append(self.fingerprint(function.__globals__[name]))
        return tuple(parts)


def _sort(named: dict) -> tuple:
    return tuple(sorted(named.items(), key=operator.itemgetter(0)))


def _is_sequence(value: Any) -> bool:
    """Whether the items are all there is to a list or a tuple."""
    return type(value) in (tuple, list, torch.Size) or isinstance(value, tuple) and hasattr(value, "_fields")


def _is_permanent(function: Any) -> bool:
    """Whether it is a function of torch by a name, which does not change. What torch makes of a user's
    functions, as and_masks does, has no name, and their captures."""
    module = function.__module__ or ""
    if module.partition(".")[0] != "torch":
        return False
    found: Any = sys.modules.get(module)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _is_fixed(value: Any) -> bool:
    """Whether what is read of a value is the same in every call. Attributes of a user's
    modules and classes may be set in between."""
    if isinstance(value, types.BuiltinFunctionType):
        # A method is bound to what it reads.
        return value.__self__ is None or isinstance(value.__self__, types.ModuleType)
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _FIXED
    if isinstance(value, type):
        return value.__module__.partition(".")[0] in _FIXED
    return isinstance(value, (torch._ops.OpOverloadPacket, torch._ops.OpOverload))


@functools.lru_cache(maxsize=1024)
def _find_globals(code: types.CodeType) -> tuple[tuple[str, ...], bool]:
    """Names of globals that code reads, that of nested functions too, and whether it reads
    more than they say."""
    names, has_readers = [], False
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.append(instruction.argval)
            has_readers |= instruction.argval in _READERS
        elif instruction.opname == "IMPORT_NAME":
            has_readers |= instruction.argval.partition(".")[0] not in _FIXED
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, is_reader = _find_globals(constant)
            names += inner
            has_readers |= is_reader
    return tuple(dict.fromkeys(names)), has_readers


class Rebuild:
    """A copy of a function whose leaves are others, in the order of the walk."""

    def __init__(self, leaves: list):
        self.leaves = iter(leaves)
        self.seen: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return next(self.leaves)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, (int, float)):
            return next(self.leaves)
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if isinstance(value, functools.partial):
            function, arguments = self.value(value.func), self.value(value.args)
            return functools.partial(function, *arguments, **dict(self.value(_sort(value.keywords))))
        if _is_sequence(value):
            items = [self.value(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def function(self, function: Any) -> Any:
        if id(function) in self.seen:
            return self.seen[id(function)]
        if _is_permanent(function):
            return function
        cells = tuple([types.CellType() for _ in function.__closure__ or ()])
        scope = dict(function.__globals__)
        copy = types.FunctionType(function.__code__, scope, function.__name__, None, cells)
        self.seen[id(function)] = copy
        for cell, original in zip(cells, function.__closure__ or ()):
            try:
                contents = original.cell_contents
            except ValueError:
                continue
            cell.cell_contents = self.value(contents)
        copy.__defaults__ = self.value(function.__defaults__ or ())
        copy.__kwdefaults__ = dict(self.value(_sort(function.__kwdefaults__ or {})))
        copy.__dict__.update(self.value(_sort(function.__dict__)))
        for name in _find_globals(function.__code__)[0]:
            if name in function.__globals__:
                scope[name] = self.value(function.__globals__[name])
        return copy


#===--- Numbers that decide -----------------------------------------------===#

_PAIRS = ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or",
          "xor", "lshift", "rshift")
_PAIRS_BY_NAME = {f"__{prefix}{name}__": (getattr(operator, f"__{name}__"), bool(prefix)) for name in _PAIRS
                  for prefix in ("", "r")}
_QUESTIONS = [f"__{name}__" for name in (
    "bool", "hash", "int", "float", "index", "str", "repr", "format", "round", "trunc", "floor", "ceil", "neg", "pos",
    "abs", "invert", "divmod", "rdivmod", "getnewargs")] + ["is_integer", "as_integer_ratio", "hex", "bit_length"]


class _Watched(torch.SymFloat, torch.SymInt):
    """To torch a number, as a symbol is; to Python, and to what C code reads, an object that is asked."""

    #: Of what symbols are made: this is none of them.
    node = NotImplemented

    def __init__(self, number: float | int):
        self.number = number


class Unwatch(TorchFunctionMode):
    """In it functions of torch see numbers that are watched as they are."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*unwatch(args), **unwatch(kwargs or {}))


def unwatch(value: Any) -> Any:
    return tree_map_only(_Watched, operator.attrgetter("number"), value)


def watch(number: float | int, asked: list[str]) -> Any:
    """The same number, which adds to `asked` what Python itself does with it: a function that
    compares it, say, may do something else for the next one. What torch computes with it, as with
    sizes of tensors, is in the graph, as of a number under `Unwatch`. No float or int of Python:
    C code reads those without asking."""
    base: type = type(number)

    def answer_pair(name: str, call: Callable, is_reflected: bool) -> Callable:
        original = getattr(base, name)

        def answer(self, other, *more):
            if isinstance(other, torch.Tensor):
                return NotImplemented
            if isinstance(other, (torch.SymInt, torch.SymFloat)) and not isinstance(other, _Watched):
                return call(other, number) if is_reflected else call(number, other)
            asked.append(name)
            return original(number, unwatch(other), *more)
        return answer

    def answer_alone(name: str) -> Callable:
        original = getattr(base, name)

        def answer(self, *more):
            asked.append(name)
            return original(number, *more)
        return answer

    methods: dict[str, Any] = {name: answer_pair(name, *pair) for name, pair in _PAIRS_BY_NAME.items()
                               if hasattr(base, name)}
    methods.update((name, answer_alone(name)) for name in _QUESTIONS if hasattr(base, name))
    # For isinstance.
    methods["__class__"] = property(lambda self: base)
    return type("Watched", (_Watched,), methods)(number)
