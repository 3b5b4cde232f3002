"""Rules of copies, constants and captured tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from ..regions import Body, Refused, Scalar, Table
from .registry import aten, convert, rule


@rule(aten._to_copy.default, aten.to.dtype, torch.ops.prims.convert_element_type.default, aten.clone.default,
       aten.alias.default, aten.lift_fresh_copy.default, aten.lift_fresh.default,
       aten.scalar_tensor.default, torch.sym_float, torch.sym_int, aten.contiguous.default)
def _copy(body: Body, value: Any, *_args: Any, dtype: Any, **_: Any) -> Any:
    return value if isinstance(value, Table) else convert(body, value, dtype)


@rule(aten.detach.default)
def _detach(body: Body, value: Any, *, dtype: Any, **_: Any) -> Any:
    return body.stop_gradient(_copy(body, value, dtype=dtype))


@rule(aten.full.default)
def _full(body: Body, _size: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return convert(body, value, dtype)


@rule(aten.new_full.default)
def _new_full(body: Body, _like: Any, _size: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return convert(body, value, dtype)


@rule(aten.full_like.default)
def _full_like(body: Body, _like: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return convert(body, value, dtype)


@rule(aten.zeros_like.default, aten.zeros.default, aten.new_zeros.default)
def _zeros(body: Body, *_args: Any, dtype: Any, **_: Any) -> Scalar:
    return body.constant(0, dtype)


@rule(aten.ones_like.default, aten.ones.default, aten.new_ones.default)
def _ones(body: Body, *_args: Any, dtype: Any, **_: Any) -> Scalar:
    return body.constant(1, dtype)


def _check_table(table: Any, what: str) -> Table:
    if not isinstance(table, Table):
        raise Refused(f"{what} of a scalar")
    return table


@rule(aten.index.Tensor)
def _index(body: Body, table: Any, indices: Any, **_: Any) -> Any:
    skipped = 0
    for index in indices:
        if index is None:
            skipped += 1
            continue
        if isinstance(index, Scalar) and index.dtype == torch.bool:
            raise Refused("an index of bool, expected integers")
        table = body.index(_check_table(table, "an index"),
                           convert(body, index, index.dtype if isinstance(index, Scalar) else torch.int64), skipped)
    return table


@rule(aten.select.int)
def _select(body: Body, table: Any, dim: int, index: Any, **_: Any) -> Any:
    return body.index(_check_table(table, "an index"), convert(body, index, torch.int64), dim)


@rule(aten.slice.Tensor)
def _slice(body: Body, table: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1, **_: Any) -> Table:
    if start not in (None, 0) or end not in (None, 2**63 - 1) or step != 1:
        raise Refused("a slice of a captured tensor but the whole dim, expected an index, or a slice made outside")
    return _check_table(table, "a slice")


@rule(aten.permute.default)
def _permute(body: Body, table: Any, order: Any, **_: Any) -> Table:
    table = _check_table(table, "a permutation")
    return replace(table, dims=tuple([table.dims[dim] for dim in order]))


@rule(aten.transpose.int, aten.t.default)
def _transpose(body: Body, table: Any, one: int = 0, other: int = -1, **_: Any) -> Table:
    dims = list(_check_table(table, "a transpose").dims)
    if dims:
        dims[one], dims[other] = dims[other], dims[one]
    return replace(table, dims=tuple(dims))


@rule(aten.sym_size.int)
def _size(body: Body, table: Any, dim: int, **_: Any) -> Scalar:
    table = _check_table(table, "the size")
    return body.size(table, table.dims[dim])
