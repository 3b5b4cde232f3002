"""How attention is sharded: DTensors of batches or heads stay where they are.

Loaded when torch.distributed.tensor is. A call whose regions read captures or absolute
indices, other than by their spellings, is replicated, since a shard would see others.
"""

from __future__ import annotations

import math
import re
from itertools import combinations

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._op_schema import RuntimeSchemaInfo
from torch.distributed.tensor.experimental import register_sharding

from .problem import Specification, find_rows_and_heads, from_text

_SPELLED = re.compile(r"(causal|causal_top_left|window\(%left, %right\)|softcap\(%cap\)|\s)*")


def _divides(mesh: DeviceMesh, heads: int) -> bool:
    """Whether heads are in equal parts over whichever dims of a mesh share them: else key
    heads go to other devices than their query heads. torch itself shares no fewer heads
    than there are parts."""
    sizes = [mesh.size(dim) for dim in range(mesh.ndim)]
    parts = [math.prod(chosen) for count in range(len(sizes)) for chosen in combinations(sizes, count + 1)]
    return all(heads % part == 0 or heads < part for part in parts)


def _find_dims(specification: Specification, query: DTensorSpec, key: DTensorSpec,
               tensors: object) -> tuple[int, ...]:
    """Dims of query, key, value and output that may be sharded."""
    is_spelled = _SPELLED.fullmatch(specification.score) and _SPELLED.fullmatch(specification.mask)
    if tensors or not is_spelled or specification.starts or specification.pages:
        return ()
    _, heads = find_rows_and_heads(specification.layout)
    if not all(_divides(query.mesh, spec.shape[heads]) for spec in (query, key)):
        return (0,)
    return 0, heads


def _lse_placement(specification: Specification, dim: int) -> object:
    if not specification.lse:
        return Replicate()
    return Shard(0 if dim == 0 else 1)


@register_sharding(torch.ops.fa_mlir.attention.default)
def shard_attention(query, key, value, tensors, numbers, text):
    specification = from_text(text)
    others = [Replicate()] * len(tensors or ())
    found = [([Replicate()] * 2, [Replicate()] * 3 + others)]
    for dim in _find_dims(specification, query, key, tensors):
        found.append(([Shard(dim), _lse_placement(specification, dim)], [Shard(dim)] * 3))
    return found


def _remember_specifications() -> None:
    """torch keeps decisions by shapes and, of other arguments, by integers alone: one for causal
    attention would be taken for a mask that reads the batch."""
    operator = torch.ops.fa_mlir.attention.default
    propagator = DTensor._op_dispatcher.sharding_propagator
    names = [argument.name for argument in operator._schema.arguments]
    propagator.register_op_strategy(operator, propagator.op_strategy_funcs[operator],
                                    RuntimeSchemaInfo(names.index("specification"), needs_pytree=True))


_remember_specifications()


def differentiate(call, operands, output, lse, output_gradient, lse_gradient, tensors, text):
    """The list of gradients that `call` gives, on the shards of the output. torch has
    no rule for operators that return a list."""
    specification = from_text(text)
    mesh, placements = output.device_mesh, output.placements
    rows = [_lse_placement(specification, placement.dim) if isinstance(placement, Shard) else placement
            for placement in placements]

    def take(tensor, wanted):
        if tensor is None:
            return None
        if not isinstance(tensor, DTensor):
            tensor = DTensor.from_local(tensor, mesh, [Replicate()] * mesh.ndim)
        return tensor.redistribute(mesh, wanted).to_local()

    found = call(*[take(tensor, placements) for tensor in operands], take(output, placements), take(lse, rows),
                 take(output_gradient, placements), take(lse_gradient, rows),
                 [take(tensor, [Replicate()] * mesh.ndim) for tensor in tensors] or None)
    # Captures are whole, and so is then all else.
    return [DTensor.from_local(gradient, mesh, placements, run_check=False) for gradient in found]
