"""Calls of JAX's and torch's functions, taken apart into arrays and traced, for jit().

`Jax` and `Torch` each take a call: `leaves` are its arrays, `key` says what a trace
depends on, and `trace` gives the text of a function on the arrays alone.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Traced:
    """text: a module with one function on arrays of rank 1 and more; pipeline: its
    passes; finish: the call's result, of the function's results and the leaves."""

    text: str
    pipeline: str
    finish: Callable[[list, list], Any]


def _shape_in(shape: tuple) -> tuple:
    """Compiled functions have no arrays of rank 0."""
    return tuple(shape) or (1,)


#===--- JAX ---------------------------------------------------------------===#

class Jax:
    """A call of a JAX function."""

    def __init__(self, function: Callable, arguments: tuple, named: dict):
        try:
            self._jax = importlib.import_module("jax")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("jit takes functions of JAX, which is not installed, or of torch with its tensors: "
                                      "pip install jax", name="jax") from error
        leaves, self._structure = self._jax.tree_util.tree_flatten((arguments, named))
        self._function = function
        # Python's numbers take the type of what they meet.
        self._weak = [isinstance(leaf, (bool, int, float)) or getattr(leaf, "weak_type", False) for leaf in leaves]
        self.leaves = [self._convert(leaf) for leaf in leaves]
        self.key = self._structure, tuple((tuple(leaf.shape), str(leaf.dtype), weak)
                                          for leaf, weak in zip(self.leaves, self._weak))

    def _convert(self, leaf: Any) -> Any:
        numpy = importlib.import_module("numpy")
        if isinstance(leaf, (bool, int, float)):
            return numpy.asarray(self._jax.numpy.asarray(leaf))
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(f"an argument is of type {type(leaf).__name__}, expected arrays, numbers and containers "
                            "of them")
        # As JAX does: 64 bits are 32, unless jax_enable_x64 is set.
        dtype = self._jax.dtypes.canonicalize_dtype(leaf.dtype)
        return leaf if dtype == leaf.dtype else numpy.asarray(leaf, dtype)

    def trace(self) -> Traced:
        jax, shapes = self._jax, [tuple(leaf.shape) for leaf in self.leaves]
        made: list = []

        def flat(*leaves):
            arrays = [leaf.reshape(shape) for leaf, shape in zip(leaves, shapes)]
            arguments, named = jax.tree_util.tree_unflatten(self._structure, arrays)
            results, structure = jax.tree_util.tree_flatten(self._function(*arguments, **named))
            results = [jax.numpy.asarray(result) for result in results]
            made.append((structure, [result.shape for result in results]))
            return tuple(result.reshape(_shape_in(result.shape)) for result in results)

        specs = [jax.ShapeDtypeStruct(_shape_in(leaf.shape), leaf.dtype, weak_type=weak)
                 for leaf, weak in zip(self.leaves, self._weak)]
        module = jax.jit(flat, keep_unused=True).lower(*specs).compiler_ir("stablehlo")
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
        structure, shapes_out = made[-1]

        def finish(results: list, _: list) -> Any:
            return jax.tree_util.tree_unflatten(
                structure, [result.reshape(shape) for result, shape in zip(results, shapes_out)])

        return Traced(text, "fa-import-stablehlo,fa-raise-attention", finish)


#===--- torch -------------------------------------------------------------===#

@functools.cache
def _pytree() -> Any:
    return importlib.import_module("torch.utils._pytree")


def has_tensor(arguments: Any) -> bool:
    """Whether containers hold a tensor of torch, which is loaded."""
    tensor = sys.modules["torch"].Tensor
    return any(isinstance(leaf, tensor) for leaf in _pytree().tree_leaves(arguments))


class Torch:
    """A call of a torch function or module. Its leaves are the module's parameters and
    buffers, then the tensors among the arguments; other arguments are constants."""

    def __init__(self, function: Any, arguments: tuple, named: dict):
        self._torch = importlib.import_module("torch")
        self._function = function
        self._is_module = isinstance(function, self._torch.nn.Module)
        every, self._structure = _pytree().tree_flatten((arguments, named))
        is_tensor = [isinstance(each, self._torch.Tensor) for each in every]
        self._constants = tuple(None if tensor else each for each, tensor in zip(every, is_tensor))
        self._places = [i for i, tensor in enumerate(is_tensor) if tensor]
        self._names: list[str] = []
        self.leaves: list = []
        if self._is_module:
            for name, tensor in [*function.named_parameters(), *function.named_buffers()]:
                self._names.append(name)
                self.leaves.append(tensor.detach())
        self.leaves += [every[i].detach() for i in self._places]
        modes = tuple(module.training for module in function.modules()) if self._is_module else ()
        self.key = (str(self._structure), repr(self._constants), modes,
                    tuple((tuple(leaf.shape), str(leaf.dtype)) for leaf in self.leaves))

    def _call(self, leaves: list) -> Any:
        count = len(self._names)
        every = list(self._constants)
        for i, leaf in zip(self._places, leaves[count:]):
            every[i] = leaf
        arguments, named = _pytree().tree_unflatten(every, self._structure)
        if not self._is_module:
            return self._function(*arguments, **named)
        state = dict(zip(self._names, leaves))
        return self._torch.func.functional_call(self._function, state, arguments, named)

    def _export(self) -> tuple[Any, Any, list]:
        """The exported program, and the structure and the shapes of its results."""
        torch, shapes, made = self._torch, [leaf.shape for leaf in self.leaves], []

        module: Any = torch.nn.Module

        class Flat(module):
            """The function of its parameters, too: these may change."""

            def forward(flat, *tensors):
                leaves = [tensor.reshape(shape) for tensor, shape in zip(tensors, shapes)]
                results, structure = _pytree().tree_flatten(self._call(leaves))
                for result in results:
                    if not isinstance(result, torch.Tensor):
                        raise TypeError(f"the function returns a {type(result).__name__}, expected tensors and "
                                        "containers of them")
                made.append((structure, [result.shape for result in results]))
                return tuple(result.reshape(_shape_in(result.shape)) for result in results)

        flat = Flat()
        flat.train(getattr(self._function, "training", True))
        inputs = tuple(leaf.reshape(_shape_in(leaf.shape)) for leaf in self.leaves)
        program = torch.export.export(flat, inputs, strict=False)
        # Checks of shapes that the key has, which torch-mlir cannot read.
        graph = program.graph_module.graph
        for node in list(graph.nodes):
            if node.op == "call_module" and node.target == "_guards_fn":
                graph.erase_node(node)
        program.graph_module.recompile()
        return program, *made[-1]

    def trace(self) -> Traced:
        try:
            fx = importlib.import_module("torch_mlir.fx")
            decompositions = importlib.import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table()
        except ImportError as error:
            raise ImportError(f"jit of torch needs torch-mlir: {error}; pip install torch-mlir==20261001") from error
        program, structure, shapes = self._export()
        program = program.run_decompositions(decompositions)
        text = str(fx.export_and_import(program, output_type="linalg-on-tensors", decomposition_table={}))
        # Tensors that it changes in place are results, too.
        signature = program.graph_signature
        inputs = list(signature.user_inputs)
        changed = [inputs.index(output.target) if output.target in inputs else None
                   for output in signature.output_specs]

        def finish(results: list, leaves: list) -> Any:
            for i, result in zip(changed, results):
                if i is not None:
                    leaves[i].copy_(result.reshape(leaves[i].shape))
            results = [result for i, result in zip(changed, results) if i is None]
            results = [result.reshape(shape) for result, shape in zip(results, shapes)]
            return _pytree().tree_unflatten(results, structure)

        return Traced(text, "fa-raise-attention", finish)
