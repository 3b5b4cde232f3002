"""Score functions and masks of Python, traced to regions.

`trace` walks a function and what it captures (captures.py): tensors and numbers are leaves,
which become arguments of the compiled code; the rest, with the code of functions, is its
fingerprint. What was traced is kept by that, so a repeated call costs the walk alone.
The trace is by make_fx, as FlexAttention's; regions.py turns the graph into text.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import linecache
import math
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental import _config as shapes_config
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, make_fx
from torch.overrides import TorchFunctionMode

from .arguments import requires_gradient
from .captures import Rebuild, Unwatch, Walk, is_same, is_wide, unwatch, watch
from .errors import UnsupportedError
from .problem import Traced
from .regions import ELEMENTS, POSITIONS, Body, Refused, Table, Scalar, find_range, unsupported
from .rules import evaluate

aten = torch.ops.aten
_BUFFERS = {aten.new_zeros.default, aten.new_empty.default}
_ARGUMENTS = {"score": "sbhij", "mask": "bhij"}
_MOST_KEPT = 1024
# Of one function, for values that decide.
_MOST_VARIANTS = 64
_TORCH_FOLDER, _OWN_FOLDER = os.path.dirname(torch.__file__), os.path.dirname(__file__)


@dataclass
class _Template:
    """What was traced for one fingerprint. baked: values of the numbers that the
    trace depends on, by place; unseen: of those that left no trace, which may have chosen
    something that another value does not; leaves: places of those that are captures."""

    baked: dict[int, Any]
    unseen: dict[int, Any]
    clause: str
    leaves: list[int]
    names: list[str]
    #: Tensors that the walk did not find, as attributes of objects.
    others: list[torch.Tensor]
    #: Of the tensors among the leaves, where the trace depends on them.
    shapes: list[tuple[int, ...]] | None

    def is_of(self, leaves: list) -> bool:
        numbers = (*self.baked.items(), *self.unseen.items())
        return all(is_same(leaves[place], value) for place, value in numbers) and (
            self.shapes is None or self.shapes == _find_shapes(leaves))


def _find_shapes(leaves: list) -> list[tuple[int, ...]]:
    return [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]


# make_fx changes torch.nn.Module while it traces.
_lock = threading.RLock()
_templates: dict[tuple, list[_Template]] = {}


#===--- The trace ---------------------------------------------------------===#

_DECOMPOSED = [aten.silu, aten.gelu, aten.softplus, aten.leaky_relu, aten.elu, aten.mish, aten.addcmul, aten.addcdiv, aten.lerp,
               aten.logaddexp, aten.square, aten.log_sigmoid_forward, aten.xlogy, aten.deg2rad, aten.rad2deg, aten.frac,
               aten.selu, aten.celu, aten.heaviside, aten.nan_to_num, aten.sgn, aten.logit]


_LINE = "fa_mlir_line"
# Of a node under torch.no_grad or inference_mode.
_STOPPED = "fa_mlir_stopped"
# Of what runs, where it is not on the stack.
_place: contextvars.ContextVar = contextvars.ContextVar("place", default=None)


@contextlib.contextmanager
def at_line(place: tuple[str, int] | None) -> Iterator[None]:
    """Within it operations come from a line of a file."""
    token = _place.set(place or _place.get())
    try:
        yield
    finally:
        _place.reset(token)


class _Lines(TorchFunctionMode):
    """Notes on each node of the graph in the making which line of the user's it is
    of, and whether it takes no gradient: make_fx keeps neither for functions that are no modules."""

    # As the function set it. torch.autograd.Function, which indices use, turns gradients off without a call seen here.
    _is_grad_enabled = True

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is torch._C._set_grad_enabled:
            self._is_grad_enabled = torch.is_grad_enabled()
        mode = get_proxy_mode()
        if mode is not None:
            place = self._find_place()
            is_stopped = torch.is_inference_mode_enabled() or not (self._is_grad_enabled or torch.is_grad_enabled())
            for node in reversed(mode.tracer.graph.nodes):
                if _LINE in node.meta:
                    break
                node.meta[_LINE], node.meta[_STOPPED] = place, is_stopped
        return result

    @staticmethod
    def _find_place() -> tuple[str, int] | None:
        if place := _place.get():
            return place
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and not _is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        return (frame.f_code.co_filename, frame.f_lineno) if frame else None


def find_size(size: Any) -> int:
    """A size, or one that a symbol of another's trace stands for."""
    if isinstance(size, int):
        return size
    return size.node.hint if size.node.hint is not None else 2


def find_table_shape(tensor: Any) -> tuple[int, ...]:
    """The sizes in the type of a captured tensor, -1 where they are unknown: 0 and 1 alone are known. Of a scalar (1,)."""
    sizes = map(find_size, tensor.shape)
    return tuple([size if size < 2 else -1 for size in sizes]) or (1,)


def _make_graph(name: str, function: Callable, leaves: list) -> torch.fx.GraphModule:
    """The graph of a function on scalars; tensors among the leaves are inputs."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def scalars(*inputs):
        pair, given = inputs[:len(_ARGUMENTS[name])], iter(inputs[len(_ARGUMENTS[name]):])
        rebuilt = Rebuild([next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]).value(function)
        # Gradients are on, so that they are off only where the function itself turns them off.
        with torch.enable_grad(), _Lines(), TransformGetItemToIndex(), Unwatch():
            return unwatch(rebuilt(*pair))

    decompositions: Any = get_decompositions(_DECOMPOSED)
    # Sizes that are the same now may differ later: each is a symbol of its own. Whoever traces the call has no part in it.
    with (_lock, torch.inference_mode(False), torch.no_grad(), shapes_config.patch(use_duck_shape=False),
          temporarily_clear_interpreter_stack(), unset_fake_temporarily(), disable_proxy_modes_tracing()):
        # Sizes of 2 and more are symbols; the values of these are not.
        examples = [torch.zeros((), dtype=torch.int64) for _ in "bhij"]
        if name == "score":
            examples.insert(0, torch.zeros((), dtype=torch.float32))
        for shape, dtype in [(list(map(find_size, tensor.shape)), tensor.dtype) for tensor in tensors]:
            examples.append(torch.empty(shape, dtype=dtype) if math.prod(shape) < 1 << 20 else
                            torch.empty((1,), dtype=dtype).expand(shape))
        graph = make_fx(scalars, tracing_mode="symbolic", decomposition_table=decompositions,
                        _allow_non_fake_inputs=True)(*examples)
    # Decompositions make buffers that nobody reads, as that of logsigmoid on CUDA. What Python read (.item(), int)
    # has no reader in the graph either, and stays to be refused.
    for node in reversed(graph.graph.nodes):
        if node.target in _BUFFERS and not node.users:
            graph.graph.erase_node(node)
    return graph


def _depends_on_sizes(graph: torch.fx.GraphModule) -> bool:
    """Whether the function took another way, or none, for other sizes of tensors."""
    value = next(node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder")
    return bool(value.fake_mode.shape_env.guards)


def _find_constants(graph: torch.fx.GraphModule) -> tuple[list, list]:
    """What a graph is but for its numbers, and these."""
    numbers: list[Any] = []
    structure: list[Any] = []

    def add(value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return value.name
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(value)
            return type(value)
        if isinstance(value, (tuple, list)):
            return tuple([add(item) for item in value])
        return str(value)

    for node in graph.graph.nodes:
        if node.op == "get_attr" and (number := _get_number(graph, node)) is not None:
            structure.append(("number", add(number)))
            continue
        structure.append((node.op, str(node.target), add(node.args), add(tuple(sorted(node.kwargs.items())))))
    return structure, numbers


def _get_number(graph: torch.fx.GraphModule, node: Any) -> float | int | bool | None:
    """That of an attribute which torch made of a number."""
    tensor = getattr(graph, node.target)
    if not isinstance(tensor, torch.Tensor) or tensor.dim() or tensor.device.type != "cpu":
        return None
    return tensor.item() if type(tensor) is torch.Tensor and tensor.dtype in ELEMENTS else None


def _differ(value: float | int) -> float | int:
    """Another number of the same kind."""
    return value + 3 if isinstance(value, int) else value * 1.375 + 0.0625 if math.isfinite(value) else 1.5


def _lift(name: str, function: Callable, leaves: list, graph: torch.fx.GraphModule) -> dict[int, list[int]]:
    """Numbers among the leaves that the graph has as they are, with the places of
    its constants where they stand. Others stay in the code: Python compares them,
    or computes with them before."""
    structure, constants = _find_constants(graph)
    lifted: dict[int, list[int]] = {}
    if _depends_on_sizes(graph):
        return lifted
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) or is_wide(leaf):
            continue
        other = _differ(leaf)
        asked: list[str] = []
        try:
            changed = _make_graph(name, function, [*leaves[:place], watch(other, asked), *leaves[place + 1:]])
        except Exception:
            continue
        if asked:
            continue
        changed_structure, changed_constants = _find_constants(changed)
        if changed_structure != structure:
            continue
        places = [i for i, (one, two) in enumerate(zip(constants, changed_constants)) if not is_same(one, two)]
        if all(is_same(constants[i], leaf) and is_same(changed_constants[i], other) for i in places):
            lifted[place] = places
    return lifted


def _leaves_no_grad(node: Any) -> bool:
    """Whether a value of a block without gradients is read behind it."""
    return bool(node.meta.get(_STOPPED)) and not all(user.meta.get(_STOPPED) for user in node.users)


def _is_user_file(file: str) -> bool:
    return not file.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<"))


def _describe_line(node: Any, function: Callable) -> str:
    """The line of the user's code that made a node."""
    if place := node.meta.get(_LINE):
        file, line = place
        source = linecache.getline(file, line).strip()
        return f"{file}:{line}" + (f": {source}" if source else "")
    code = _get_code(function)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def _describe_failure(error: Exception, function: Callable) -> str:
    code = _get_code(function)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_user_file(frame.filename):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def _get_code(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__code__", None)


_READ = ("a value of a pair that Python reads (if, and, or, not, a chain of comparisons, min, max, math, int, .item(), an index "
         "of a list or of a numpy array): write & | ~, torch.where, torch.minimum and others of torch, and index a torch tensor, without slices beside the value")


def _takes_arguments(name: str, function: Callable) -> bool:
    try:
        inspect.signature(function).bind(*_ARGUMENTS[name])
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def _describe_error(error: Exception) -> str:
    """What a trace stopped at, in the words of who wrote the function. What torch says takes pages."""
    text = str(error).strip()
    if "data-dependent" in text:
        return _READ
    return f"what cannot be traced ({type(error).__name__}: {text.splitlines()[0] if text else 'no message'})"


def _write(name: str, function: Callable, leaves: list) -> _Template:
    """Traces a function, and writes its clause."""
    try:
        graph = _make_graph(name, function, leaves)
    except (UnsupportedError, NameError):
        raise
    except Exception as error:
        if isinstance(error, TypeError) and not _takes_arguments(name, function):
            taken = ("the score, " if name == "score" else "") + "batch, head, query and key"
            raise unsupported(name, f"the arguments {inspect.signature(function)}", _describe_failure(error, function),
                              f"{len(_ARGUMENTS[name])}: {taken}, in this order", "take these, also those it does not read") from error
        raise unsupported(name, _describe_error(error), _describe_failure(error, function)) from error
    lifted = _lift(name, function, leaves, graph)
    numbers_by_place = {i: place for place, places in lifted.items() for i in places}
    body = Body()
    # What each argument of the region is called, and of what it is made.
    captures: list[str] = []
    names: list[str] = []
    places: list[int] = []
    others: list[torch.Tensor] = []
    values: dict[Any, Any] = {}

    def capture(type: str) -> str:
        captures.append(f"%c{len(captures)} = %{name}_{len(names)} : {type}")
        names.append(f"{name}_{len(names)}")
        return f"%c{len(captures) - 1}"

    def add_table(tensor: Any) -> Any:
        if tensor.dtype not in ELEMENTS:
            raise UnsupportedError(name, f"a function that captures a tensor of {tensor.dtype}",
                                   "one of " + ", ".join(map(str, ELEMENTS)), "convert it with .to()")
        if tensor.dim() > 6:
            raise UnsupportedError(name, f"a function that captures a tensor of rank {tensor.dim()}", "at most 6")
        shape = find_table_shape(tensor)
        text = "".join("?x" if size < 0 else f"{size}x" for size in shape)
        text = f"tensor<{text}{ELEMENTS[tensor.dtype]}>"
        table = Table(capture(text), text, tensor.dtype, shape, (None,) * len(shape), tuple(range(len(shape))))
        if tensor.dim():
            return table
        return body.index(table, body.constant(0, torch.int64))

    lifted_scalars = {}
    for place in sorted(lifted):
        if not lifted[place]:
            continue
        is_float = isinstance(leaves[place], float)
        dtype = torch.float32 if is_float else torch.int64
        scalar = Scalar(capture("f32" if is_float else "index"), dtype, None, *find_range(dtype))
        lifted_scalars[place] = scalar
        places.append(place)
    tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    inputs = iter([*_ARGUMENTS[name], *tensors])
    constants_seen = 0

    def lift(value: Any) -> Any:
        nonlocal constants_seen
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            place = numbers_by_place.get(constants_seen)
            constants_seen += 1
            return value if place is None else lifted_scalars[place]
        if isinstance(value, (tuple, list)):
            return type(value)([lift(item) for item in value]) if type(value) in (tuple, list) else tuple(
                [lift(item) for item in value])
        return value

    result: Any = None
    for node in graph.graph.nodes:
        try:
            if node.op == "placeholder":
                lift(node.args)
                given = next(inputs)
                if isinstance(given, str):
                    dtype = torch.float32 if given == "s" else torch.int64
                    values[node] = Scalar(f"%{given}", dtype, None, *(find_range(dtype) if given == "s" else POSITIONS))
                elif node.users:
                    values[node] = add_table(leaves[given])
                    places.append(given)
            elif node.op == "get_attr":
                tensor = getattr(graph, node.target)
                number = _get_number(graph, node)
                if number is not None:
                    number = lift(number)
                    values[node] = body.cast(number, tensor.dtype) if isinstance(number, Scalar) else body.constant(
                        number, tensor.dtype)
                    continue
                values[node] = add_table(tensor)
                others.append(tensor)
                places.append(-len(others))
            elif node.op == "output":
                result = lift(node.args[0])
            else:
                arguments = lift(node.args)
                named = dict(lift(tuple(sorted(node.kwargs.items()))))
                values[node] = evaluate(body, _Node(node, arguments, named), values)
                if _leaves_no_grad(node):
                    values[node] = body.stop_gradient(values[node])
        except Refused as refused:
            what = _READ if node.target is aten._local_scalar_dense.default else str(refused)
            raise unsupported(name, what, _describe_line(node, function)) from None
    if isinstance(result, (tuple, list, str)) or result is None:
        raise unsupported(name, f"a result of {type(result).__name__}", _describe_line(node, function), "one scalar for each pair",
                          "return it")
    result = values[result] if isinstance(result, torch.fx.Node) else result
    if isinstance(result, Table):
        raise unsupported(name, "a tensor as a result", _describe_line(node, function))
    dtype = torch.float32 if name == "score" else torch.bool
    result = body.cast(result, dtype) if isinstance(result, Scalar) else body.constant(result, dtype)
    text = "f32" if name == "score" else "i1"
    arguments = ", ".join("%" + letter for letter in _ARGUMENTS[name])
    clause = f"({arguments})" + (f" captures({', '.join(captures)})" if captures else "") + " {\n"
    clause += "".join(f"        {line}\n" for line in [*body.lines, f"fa.yield {result.name} : {text}"]) + "      }"
    baked = {place: leaf for place, leaf in enumerate(leaves)
             if not isinstance(leaf, torch.Tensor) and place not in lifted}
    unseen = {place: leaves[place] for place in lifted if not lifted[place]}
    shapes = _find_shapes(leaves) if _depends_on_sizes(graph) else None
    return _Template(baked, unseen, clause, places, names, others, shapes)


class _Node:
    """A node with numbers lifted from its arguments."""

    def __init__(self, node: Any, args: Any, kwargs: dict):
        self.target, self.meta, self.args, self.kwargs = node.target, node.meta, args, kwargs


def trace(name: str, function: Any, query: Any = None) -> Traced:
    """The clause of a function, `name` being score or mask."""
    walk = Walk()
    # Integers become floats of the default type where they are divided.
    key = (name, torch.get_default_dtype(), walk.fingerprint(function))
    leaves = walk.leaves
    if not walk.leaves and not walk.is_known:
        leaves = []
    kept = _templates.get(key, ()) if walk.is_known else ()
    template = next((candidate for candidate in tuple(kept) if candidate.is_of(leaves)), None)
    if template is None:
        template = _write(name, function, leaves)
        if walk.is_known and not template.others:
            if len(_templates) >= _MOST_KEPT:
                _templates.clear()
            variants = _templates.setdefault(key, [])
            if len(variants) >= _MOST_VARIANTS:
                variants.clear()
            variants.append(template)
    if template.others and torch._C._are_functorch_transforms_active():
        # Which of them a transform follows is not known.
        raise UnsupportedError(name, "a function that reads tensors of an object under torch.func", "tensors that it captures",
                               "take them into variables outside of the function")
    values: list[Any] = []
    captures: list[tuple] = []
    for capture, place in zip(template.names, template.leaves):
        value = leaves[place] if place >= 0 else template.others[-place - 1]
        if isinstance(value, torch.Tensor):
            if value.dim() == 0:
                value = value.reshape(1)
            elif value.stride(-1) != 1 and value.shape[-1] > 1:
                value = value.contiguous()
            shape = find_table_shape(value)
            gradient = requires_gradient(value) and value.dtype.is_floating_point and name == "score"
            if isinstance(query, torch.Tensor) and value.device != query.device:
                raise UnsupportedError(name, f"a function that captures a tensor on {value.device}", str(query.device),
                                       "move it there")
            captures.append((capture, ELEMENTS[value.dtype], shape, gradient))
            values.append(value)
        else:
            captures.append((capture, "f32" if isinstance(value, float) else "index", None, False))
            values.append(float(value))
    return Traced(template.clause, tuple(captures), values)
