"""FlexAttention in the graphs of torch.compile: code that calls it stays as it is.

    model = torch.compile(model, backend="fa_mlir")             # the wheel's, before Inductor
    model = torch.compile(model, backend=fa_mlir.flex_backend)  # the same
    model = torch.compile(model, options={"pre_grad_custom_pass": fa_mlir.FlexPass()})

Each flex_attention of a graph of Dynamo's becomes fa_mlir's operator, with gradients;
its functions become regions, what they capture arguments. So changed lengths trace
and compile nothing.

`replace_flex_attention` finds the calls of a graph; `_Rewriter.run` rewrites one. `FlexPass` and
`flex_backend` put that into torch.compile.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from .errors import Error, UnsupportedError
from .flex import make_table
from .graph_regions import Opaque, read_region
from .planning import find_text
from .sdpa import UNSUPPORTED, count_override, fall_back

_MASKS = ("exact", "function")
# BLOCK_SIZE of torch's mask where none is given.
_NO_BLOCKS = 1 << 30


class _Rewriter:
    """Puts the operator in the place of one call."""

    def __init__(self, graph: Any, node: Any, block_mask: str):
        self.graph, self.node, self.block_mask = graph, node, block_mask
        self.query, self.key, self.value = node.args[:3]
        self.tensors: list[Any] = []
        self.numbers: list[Any] = []

    def example(self, value: Any) -> Any:
        return value.meta["example_value"] if isinstance(value, torch.fx.Node) else value

    def add(self, target: Any, *args: Any) -> Any:
        """A node, with its example."""
        node = self.graph.call_function(target, args)
        examples = torch.fx.node.map_arg(args, self.example)
        mode = self.example(self.query).fake_mode
        with mode, torch.enable_grad():
            node.meta["example_value"] = target(*examples)
        return node

    def add_region(self, name: str, module: Any, captured: list) -> tuple:
        """Its clause and the fields of its captures."""
        region = read_region(name, module, [self.example(value) for value in captured])
        fields = []
        for capture, place in region.captures:
            value, example = captured[place], self.example(captured[place])
            fields.append(region.describe(name, capture, example))
            if not isinstance(example, torch.Tensor):
                self.numbers.append(value)
                continue
            if example.dim() == 0:
                value = self.add(torch.Tensor.reshape, value, (1,))
            elif example.stride(-1) != 1:
                value = self.add(torch.Tensor.contiguous, value)
            self.tensors.append(value)
        return region.clause, tuple(fields)

    def module(self, node: Any) -> Any:
        return getattr(self.graph.owning_module, node.target)

    def add_score(self) -> tuple | None:
        module = self.module(self.node.args[3])
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        result = next(node for node in module.graph.nodes if node.op == "output").args[0]
        if (result[0] if isinstance(result, (tuple, list)) else result) is inputs[0]:
            return None
        return self.add_region("score", module, list(self.node.args[7]))

    def add_mask(self) -> tuple | None:
        mask = self.node.args[4]
        counts, indices, full_counts, full_indices = mask[2:6]
        rows, columns = int(self.example(mask[-3])), int(self.example(mask[-2]))
        module, captured = self.module(mask[-1]), list(self.node.args[8])
        if rows >= _NO_BLOCKS and columns >= _NO_BLOCKS:
            return None
        if self.block_mask == "function":
            return self.add_region("mask", module, captured)
        count = len(captured)
        captured.append(self.add(make_table, counts, indices))
        is_one = [self.example(indices).shape[i] == 1 for i in range(2)]
        has_full = full_counts is not None
        if has_full:
            captured.append(self.add(make_table, full_counts, full_indices))

        inner = Opaque(module)

        def visible(b, h, q, k, *values):
            place = 0 if is_one[0] else b, 0 if is_one[1] else h, q // rows, k // columns
            shown = values[count][place] & inner(b, h, q, k, *values[:count])
            return shown | values[count + 1][place] if has_full else shown

        return self.add_region("mask", visible, captured)

    def add_scale(self) -> str:
        scale, head_dim = self.example(self.node.args[5]), self.example(self.query).shape[-1]
        default = 1.0 / torch.sym_sqrt(head_dim)
        if isinstance(scale, torch.SymFloat) and isinstance(default, torch.SymFloat):
            is_default = scale.node.expr == default.node.expr
        else:
            is_default = scale == default
        if is_default:
            return ""
        self.numbers.append(self.node.args[5])
        return "positive" if scale > 0 else "any"

    def check(self) -> None:
        options = self.node.args[6]
        if options.get("OUTPUT_MAX"):
            raise UnsupportedError("return_aux", "with max_scores", "lse alone")
        types = {str(self.example(value).dtype) for value in (self.query, self.key, self.value)}
        if len(types) != 1 or not types <= {"torch.float16", "torch.bfloat16", "torch.float32"}:
            raise UnsupportedError("query, key, value", f"of {', '.join(sorted(types))}",
                                   "all float16, bfloat16 or float32")

    def run(self) -> None:
        self.check()
        with self.graph.inserting_before(self.node):
            scale = self.add_scale()
            score = self.add_score()
            mask = self.add_mask()
            operands = []
            batch = self.example(self.query).shape[0]
            for operand in (self.query, self.key, self.value):
                example = self.example(operand)
                if example.shape[0] != batch:
                    operand = self.add(torch.Tensor.expand, operand, (batch, -1, -1, -1))
                elif example.stride(-1) != 1:
                    operand = self.add(torch.Tensor.contiguous, operand)
                operands.append(operand)
            text = find_text(("bhsd", None, False, None, None, score, False, mask, scale, "", (), True))
            found = self.add(torch.ops.fa_mlir.attention.default, *operands, self.tensors or None, self.numbers or None,
                             text)
            output, lse = (self.add(_take, found, i) for i in range(2))
            # torch's is of base 2, but for one of its kernels.
            if self.node.args[6].get("BACKEND") != "FLASH":
                lse = self.add(torch.mul, lse, 1 / math.log(2.0))
            nothing = self.add(torch.Tensor.new_empty, lse, (0,))
        for user in list(self.node.users):
            user.replace_all_uses_with((output, lse, nothing)[user.args[1]])
            self.graph.erase_node(user)
        self.graph.erase_node(self.node)


def _take(values: Any, place: int) -> Any:
    return values[place]


def replace_flex_attention(graph: Any, block_mask: str = "exact", on_unsupported: str = "error") -> int:
    """Rewrites a graph of Dynamo's in place, as FlexPass; returns how many calls it replaced."""
    count = 0
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not torch.ops.higher_order.flex_attention:
            continue
        try:
            _Rewriter(graph, node, block_mask).run()
            count += 1
            count_override("flex_attention")
        except Error as error:
            fall_back(error, on_unsupported)
    if count:
        # More is left to later passes: they know which nodes have effects.
        for node in list(graph.nodes):
            if node.op == "get_attr" and not node.users:
                graph.erase_node(node)
        graph.owning_module.recompile()
    return count


class FlexPass(CustomGraphPass):
    """A pass of Inductor before gradients, for its option "pre_grad_custom_pass".

    block_mask: "exact" honours the blocks of a BlockMask, whatever made it, by tables;
    "function" is the caller's word that they are those of its mask_mod, as
    create_block_mask makes them, so that the compiler skips blocks by the function.
    on_unsupported: as of override_sdpa; override_counts() counts both.
    """

    def __init__(self, block_mask: str = "exact", on_unsupported: str = "error"):
        if block_mask not in _MASKS:
            raise ValueError(f"block_mask is {block_mask!r}, expected one of {', '.join(_MASKS)}")
        if on_unsupported not in UNSUPPORTED:
            raise ValueError(f"on_unsupported is {on_unsupported!r}, expected one of {', '.join(UNSUPPORTED)}")
        self.block_mask, self.on_unsupported = block_mask, on_unsupported

    def __call__(self, graph: Any) -> None:
        replace_flex_attention(graph, self.block_mask, self.on_unsupported)

    def uuid(self) -> Any:
        return get_hash_for_files((__file__,), extra=self.block_mask + self.on_unsupported)


def flex_backend(module: Any, inputs: list, *, inner: Any = "inductor", block_mask: str = "exact",
                 on_unsupported: str = "error", mode: str | None = None, options: dict | None = None) -> Any:
    """A backend of torch.compile: FlexPass, then `inner`, a backend or its name.

    Other values than the defaults are given by functools.partial, or where it is named
    by options={"block_mask": "function"}; other options go to `inner`.
    """
    options = dict(options or {})
    own = {"block_mask": block_mask, "on_unsupported": on_unsupported, "inner": inner}
    own.update((name, options.pop(name)) for name in list(own) if name in options)
    FlexPass(own["block_mask"], own["on_unsupported"])(module.graph)
    inner = own["inner"]
    if inner == "inductor":
        from torch._inductor import compile as compile_inductor
        from torch._inductor import list_mode_options

        return compile_inductor(module, inputs, options={**(list_mode_options(mode) if mode else {}), **options})
    call = torch._dynamo.lookup_backend(inner) if isinstance(inner, str) else inner
    return functools.partial(call, **({"options": options} if options else {}))(module, inputs)
