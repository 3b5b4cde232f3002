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
_MOST_PAIRS = 4096
_SIGNS = " ▒█"


@dataclass
class Explanation:
    """str() of it is a page; its fields are the parts.

    target: "cpu" or a chip; problem: the MLIR that is compiled; remarks: of passes,
    which say the configuration and the key ranges of the mask; picture: which blocks
    of the first batch item and head are full, partial or empty; visible: the share of
    visible pairs there; operations: floating-point operations of the call, visible
    pairs alone; seconds: measured, None where it was not run; kernel: what was
    compiled; unsupported: why it was not.
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


def _find_visible(kind: Any, queries: int, keys: int, lengths: tuple[int, int], options: dict) -> Any:
    """Whether each pair of the first batch item and head is visible."""
    import numpy

    shift = lengths[1] - lengths[0]
    i, j = numpy.arange(min(queries, _MOST_PAIRS))[:, None], numpy.arange(min(keys, _MOST_PAIRS))[None]
    visible = (i < lengths[0]) & (j < lengths[1])
    causal, window, mask = (options.get(name) for name in ("causal", "window", "mask"))
    diagonal = 0 if causal == "top_left" else shift
    if causal:
        visible = visible & (j <= i + diagonal)
    if window:
        left, right = (queries + keys if size is None or size < 0 else size for size in window)
        visible = visible & (j >= i + diagonal - left) & (j <= i + diagonal + right)
    if callable(mask):
        import torch

        from .tracing import TransformGetItemToIndex
        zero = torch.zeros((), dtype=torch.int64)
        with torch.no_grad(), TransformGetItemToIndex():
            rows = torch.vmap(torch.vmap(lambda q, k: mask(zero, zero, q, k), (None, 0)), (0, None))
            shown = rows(torch.arange(i.shape[0]), torch.arange(j.shape[1]))
        visible = visible & shown.expand(visible.shape).cpu().numpy()
    elif mask is not None:
        array = mask.detach().cpu().numpy() if kind is TorchArrays else mask
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)[0, 0, :_MOST_PAIRS, :_MOST_PAIRS]
        visible = visible & array
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
    visible = _find_visible(kind, queries, keys, lengths, options)
    share = float(visible.mean()) if visible.size else 0.0
    operations = 2.0 * batch * operands[0].shape[heads] * share * queries * keys * (
        operands[0].shape[3] + operands[2].shape[3])
    found = Explanation(target or "cpu", assembler.describe(compilation._describe_assembler).strip().splitlines()[-1],
                        "", draw(visible), share, operations)
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
