"""explain(): what a call of attention() compiles to and why, for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import operator
from .attention import NumpyArrays, TorchArrays, _as_numpy, _find_torch, attention, find_text, plan
from .errors import Error
from .problem import Types, from_text, write_forward

if TYPE_CHECKING:
    from .compiler import Diagnostic

_PICTURE = 32
# Beyond it a picture shows the first queries and keys.
_MOST_SHOWN = 4096
# Beyond it pairs are counted in some of the queries.
_MOST_COUNTED = _MOST_SHOWN**2
_SIGNS = " ▒█"


@dataclass
class Explanation:
    """str() of it is a page; its fields are the parts.

    target: "cpu" or a chip; problem: the MLIR that is compiled; remarks: of passes,
    which say the configuration and the key ranges of the mask; picture: which blocks
    of the first batch item and head are full, partial or empty; visible: the share of
    visible pairs of all there, which beyond 4096 x 4096 pairs is estimated of a mask that
    is a function or an array, by whole rows; operations: floating-point operations of
    the call, visible pairs alone; seconds: measured, None where it was not run; kernel:
    what was compiled; unsupported: why it was not.
    """

    target: str
    assembler: str
    problem: str
    picture: str
    visible: float
    operations: float
    remarks: list[Diagnostic] = field(default_factory=list)
    kernel: Any = None
    seconds: float | None = None
    unsupported: str = ""

    @property
    def ptx(self) -> str:
        return getattr(self.kernel, "ptx", "")

    def __str__(self) -> str:
        lines = [f"target: {self.target}" + (f", assembled by {self.assembler}" if self.target != "cpu" else "")]
        if self.unsupported:
            lines += ["not supported: " + self.unsupported]
        lines += [f"visible pairs: {100 * self.visible:.1f} %, {self.operations:.3g} operations"]
        if self.seconds is not None:
            lines += [f"measured: {self.seconds * 1e3:.3f} ms, {self.operations / self.seconds / 1e12:.3f} TFLOP/s"]
        lines += ["", "queries down, keys across; full █, partial ▒:", *("|" + row + "|" for row in
                                                                         self.picture.splitlines()), ""]
        lines += [f"{remark.pass_name}: {remark.message}" for remark in self.remarks]
        return "\n".join([*lines, "", self.problem])


def _find_ranges(rows: Any, keys: int, lengths: tuple[int, int], options: dict) -> tuple[Any, Any]:
    """The first key that each query may see by lengths, causal and window, and the one
    behind the last."""
    import numpy

    causal, window = options.get("causal"), options.get("window")
    diagonal = rows + (0 if causal == "top_left" else lengths[1] - lengths[0])
    first, end = numpy.zeros_like(rows), numpy.where(rows < lengths[0], min(keys, lengths[1]), 0)
    if causal:
        end = numpy.minimum(end, diagonal + 1)
    left, right = window or (None, None)
    if left is not None and left >= 0:
        first = numpy.maximum(first, diagonal - left)
    if right is not None and right >= 0:
        end = numpy.minimum(end, diagonal + right + 1)
    return first, numpy.maximum(end, first)


def _measure_share(kind: Any, queries: int, keys: int, lengths: tuple[int, int], options: dict) -> float:
    """The share of pairs of the first batch item and head that are visible."""
    import numpy

    if not queries or not keys:
        return 0.0
    if options.get("mask") is None:
        first, end = _find_ranges(numpy.arange(queries), keys, lengths, options)
        return float((end - first).sum()) / (queries * keys)
    # Rows in the middle of parts of one size.
    count = max(1, min(queries, _MOST_COUNTED // keys))
    rows = (2 * numpy.arange(count) + 1) * queries // (2 * count)
    return float(_find_visible(kind, rows, keys, lengths, options).mean())


def _find_visible(kind: Any, rows: Any, keys: int, lengths: tuple[int, int], options: dict,
                  shown: int | None = None) -> Any:
    """Whether each pair of some queries and the first `shown` keys is visible, of the first
    batch item and head."""
    import numpy

    first, end = _find_ranges(rows, keys, lengths, options)
    j, mask = numpy.arange(keys if shown is None else shown)[None], options.get("mask")
    visible = (j >= first[:, None]) & (j < end[:, None])
    if callable(mask):
        import torch

        from .tracing import TransformGetItemToIndex
        zero = torch.zeros((), dtype=torch.int64)
        with torch.no_grad(), TransformGetItemToIndex():
            ask = torch.vmap(torch.vmap(lambda q, k: mask(zero, zero, q, k), (None, 0)), (0, None))
            answers = ask(torch.from_numpy(rows), torch.arange(j.shape[1]))
        visible = visible & answers.expand(visible.shape).cpu().numpy()
    elif mask is not None:
        array = mask.detach().cpu().numpy() if kind is TorchArrays else mask
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)[0, 0]
        visible = visible & array[rows if array.shape[0] > 1 else slice(None), :j.shape[1]]
    return visible


def draw(visible: Any, size: int = _PICTURE) -> str:
    """A picture of at most size x size blocks."""
    import numpy

    rows, columns = (max(1, -(-length // size)) for length in visible.shape)
    lines = []
    for top in range(0, visible.shape[0], rows):
        line = ""
        for left in range(0, visible.shape[1], columns):
            block = visible[top:top + rows, left:left + columns]
            line += _SIGNS[int(numpy.any(block)) + int(numpy.all(block))]
        lines.append(line)
    return "\n".join(lines)


def explain(query: Any, key: Any, value: Any, *, chip: str | None = None, measure: bool = True,
            **options: Any) -> Explanation:
    """What attention(query, key, value, **options) does: print it.

    chip: explain for a GPU such as "sm_90a" instead of where the tensors are; nothing
    runs then. measure: run the call five times. A call that has no form is explained
    too: `unsupported` says why.
    """
    import numpy

    from . import assembler, compilation

    torch = _find_torch()
    kind: Any = TorchArrays if torch is not None and isinstance(query, torch.Tensor) else NumpyArrays
    layout, wants_lse = options.get("layout", "bshd"), options.get("return_lse", False) or options.get("sink") is not None
    operands = [query, key, value] if kind is TorchArrays else list(map(_as_numpy, (query, key, value)))
    if len(operands[0].shape) == 3:
        operands = [operand[None] for operand in operands]
    heads = 1 if layout == "bhsd" else 2
    batch, queries, keys = operands[0].shape[0], operands[0].shape[3 - heads], operands[1].shape[3 - heads]
    lengths = tuple(int(options[name][0]) if options.get(name) is not None else size
                    for name, size in (("query_lengths", queries), ("key_lengths", keys)))
    names = ("score", "mask", "causal", "window", "softcap", "alibi", "bias", "scale", "query_lengths", "key_lengths")
    is_cuda = kind is TorchArrays and query.is_cuda
    target = chip or (operator._find_chip(query.get_device()) if is_cuda else None)
    picture = draw(_find_visible(kind, numpy.arange(min(queries, _MOST_SHOWN)), keys, lengths, options,
                                 min(keys, _MOST_SHOWN)))
    share = _measure_share(kind, queries, keys, lengths, options)
    operations = 2.0 * batch * operands[0].shape[heads] * share * queries * keys * (
        operands[0].shape[3] + operands[2].shape[3])
    found = Explanation(target or "cpu", assembler.describe(compilation._describe_assembler).strip().splitlines()[-1],
                        "", picture, share, operations)
    try:
        decided, _, _ = plan(kind, *operands, *[options.get(name) for name in names], layout, wants_lse)
        types = Types(kind.type(operands[0]), operands[0].shape[3], operands[2].shape[3])
        found.problem = write_forward(from_text(find_text(decided)), types)
        found.kernel = operator.compile_text(found.problem, target)
        found.remarks = found.kernel.remarks
        if measure and (chip is None or is_cuda and chip == operator._find_chip(query.get_device())):
            found.seconds = _measure(torch if is_cuda else None, query, key, value, options)
    except Error as error:
        found.unsupported = str(error)
        found.remarks = error.diagnostics
    return found


def _measure(torch: Any, query: Any, key: Any, value: Any, options: dict) -> float:
    import statistics
    import time

    times = []
    for _ in range(6):
        if torch is not None:
            torch.cuda.synchronize()
        start = time.perf_counter()
        attention(query, key, value, **options)
        if torch is not None:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])
