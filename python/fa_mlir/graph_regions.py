"""Functions of Python under torch.compile: from a graph of Dynamo's to a region.

`attention(score=, mask=)` calls `trace_region` where Dynamo traces it. That is an operator of higher
order which never gets into a graph: Dynamo makes a graph of the function, here it becomes a
clause, and the tensors and numbers that it captures become arguments of the
operator. `read_region` does the same for FlexAttention's graphs (flex_pass.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import tracing as tracing_context
from torch._ops import HigherOrderOperator

from . import tracing
from .arguments import are_transforms_traced
from .errors import UnsupportedError
from .regions import ELEMENTS
from .tracing import find_size, find_table_shape


_PLACE = re.compile(r'File "(.*)", line (\d+)')


@dataclass(frozen=True)
class Region:
    """clause: as of tracing.Traced; captures: (name, place of what is captured)."""

    clause: str
    captures: list[tuple[str, int]]

    def describe(self, name: str, capture: str, example: Any) -> tuple:
        """The fields of a problem.Capture."""
        if not isinstance(example, torch.Tensor):
            return capture, "f32" if _is_float(example) else "index", None, False
        shape = find_table_shape(example)
        gradient = (example.requires_grad or are_transforms_traced()) and example.dtype.is_floating_point and name == "score"
        return capture, ELEMENTS[example.dtype], shape, gradient


def _is_float(number: Any) -> bool:
    return isinstance(number, (float, torch.SymFloat))


def _make_example(value: Any) -> Any:
    """Of a graph's value one that has its type, and sizes below 2."""
    if isinstance(value, torch.Tensor):
        return torch.empty((), dtype=value.dtype).expand([find_size(size) for size in value.shape])
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        hint: Any = value.node.hint
        return float(hint) if _is_float(value) else int(hint)
    return value


class _Lines(torch.fx.Interpreter):
    """Runs a graph, and tells the tracer of which line of the user's each node is."""

    def run_node(self, node: Any) -> Any:
        places = _PLACE.findall(node.stack_trace or "")
        with tracing.at_line((places[-1][0], int(places[-1][1])) if places else None):
            return super().run_node(node)


class Opaque:
    """A function whose own captures the tracer leaves alone."""

    def __init__(self, function: Callable):
        self._function = _Lines(function).run if isinstance(function, torch.fx.GraphModule) else function

    def __call__(self, *args: Any) -> Any:
        result = self._function(*args)
        # As graphs return it.
        return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result


def read_region(name: str, function: Callable, examples: list) -> Region:
    """The region of `function`, score or mask by `name`, which is given its arguments
    and then values like `examples`."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    with tracing_context(None), unset_fake_temporarily(), disable_proxy_modes_tracing():
        captured = tuple(map(_make_example, examples))
        leaves = [value for value in captured if not isinstance(value, bool)]
        if len(leaves) != len(captured):
            raise UnsupportedError(name, "a function that captures a boolean that changes", "numbers and tensors")

        inner = Opaque(function)

        def call(*pair):
            return inner(*pair, *captured)

        template = tracing._write(name, call, leaves)
    if template.others:
        raise UnsupportedError(name, "a function with tensors that its graph does not name", "captured tensors")
    if template.shapes is not None and any(isinstance(size, torch.SymInt) for example in examples
                                           if isinstance(example, torch.Tensor) for size in example.shape):
        raise UnsupportedError(name, "a function that does something else for other sizes of a captured tensor",
                               "sizes that are computed with", "torch._dynamo.mark_static makes them constants")
    for place in template.baked:
        if isinstance(examples[place], (torch.SymInt, torch.SymFloat)):
            raise UnsupportedError(name, "a function that depends on a number in another way than by its value",
                                   "numbers that are added, compared and the like",
                                   "torch._dynamo.config.automatic_dynamic_shapes = False makes it a constant")
    return Region(template.clause, list(zip(template.names, template.leaves)))


def take_numbers(module: torch.fx.GraphModule, examples: list) -> set[int]:
    """Places of captured numbers that torch 2.11 hands a graph as tensors without dims,
    which it reads. They become numbers, in the graph and among the examples."""
    places = [node for node in module.graph.nodes if node.op == "placeholder"][-len(examples):] if examples else []
    found = set()
    for i, place in enumerate(places):
        reads = list(place.users)
        if not reads or any(node.op != "call_method" or node.target != "item" for node in reads):
            continue
        found.add(i)
        examples[i] = reads[0].meta["example_value"]
        for node in reads:
            node.replace_all_uses_with(place)
            module.graph.erase_node(node)
    if found:
        module.recompile()
    return found


#===--- attention() under Dynamo ------------------------------------------===#

class _TraceRegion(HigherOrderOperator):
    """(name, function, query) to (clause, captures, values), in Dynamo alone."""

    def __init__(self) -> None:
        super().__init__("fa_mlir_trace_region")

    def __call__(self, name: str, function: Callable, query: Any) -> tuple:
        # Where Dynamo broke the graph.
        traced = torch.compiler.disable(tracing.trace)(name, function, query)
        return traced.clause, traced.captures, traced.values


trace_region = _TraceRegion()


def _add_to_dynamo() -> None:
    from torch._dynamo import exc
    from torch._dynamo.variables import higher_order_ops
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.builder import wrap_fx_proxy
    from torch._dynamo.variables.lists import TupleVariable
    from torch._dynamo.variables.tensor import SymNodeVariable

    # Its name until torch 2.10.
    unimplemented = getattr(exc, "unimplemented_v2", exc.unimplemented)

    class TraceRegionVariable(higher_order_ops.FlexAttentionHigherOrderVariable):
        _HOP_NAME = "fa_mlir.attention"

        def _call_function(self, tx, args, kwargs):
            name, function, query = args
            name = name.as_python_constant()
            spelled = {"score": "score_mod", "mask": "mask_fn"}[name]
            body, lifted = self.create_wrapped_node(tx, query, function, spelled)
            module = tx.output.nn_modules[body.node.target]
            given = [proxy.node.meta["example_value"] for proxy in lifted]
            examples = list(given)
            numbers = take_numbers(module, examples)
            try:
                region = read_region(name, module, examples)
            except UnsupportedError as error:
                unimplemented(gb_type="fa_mlir: a function without a form", context=str(function),
                              explanation=str(error), hints=[], from_exc=error)
            captures, values = [], []
            for capture, place in region.captures:
                proxy, example = lifted[place], examples[place]
                captures.append(region.describe(name, capture, example))
                if isinstance(example, torch.Tensor):
                    if proxy.node.op != "placeholder":
                        # It is put back.
                        proxy.node.meta.pop("example_value")
                    value = wrap_fx_proxy(tx, proxy, example_value=example)
                    if example.dim() == 0:
                        value = value.call_method(tx, "reshape", [VariableTracker.build(tx, 1)], {})
                    elif example.stride(-1) != 1 and find_size(example.shape[-1]) > 1:
                        value = value.call_method(tx, "contiguous", [], {})
                elif place in numbers:
                    value = wrap_fx_proxy(tx, proxy, example_value=given[place]).call_method(tx, "item", [], {})
                else:
                    value = SymNodeVariable.create(tx, proxy, example)
                values.append(value)
            return TupleVariable([VariableTracker.build(tx, region.clause), VariableTracker.build(tx, tuple(captures)),
                                  TupleVariable(values)])

    higher_order_ops._hop_name_to_variable_class["fa_mlir_trace_region"] = TraceRegionVariable


_add_to_dynamo()
