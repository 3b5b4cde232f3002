"""explain(): what a call of attention() compiles to and why, for people.

Read `explain`, at the end. `_list_sequences` finds the rows and keys of each batch
item, `_count_visible` and `_find_picture` which pairs of them are visible.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import entries
from .arguments import OPTIONAL_ARRAYS, NumpyArrays, TorchArrays, as_numpy, check_operands, check_window
from .attention import _find_torch, attention, cast_operands, plan_call
from .errors import ArgumentError, Error
from .problem import Types, find_rows_and_heads, from_text, write_forward

if TYPE_CHECKING:
    from .compiler import Diagnostic

_PICTURE = 32
# Beyond it a picture shows the first queries and keys.
_MOST_SHOWN = 4096
# Beyond it pairs are counted in some of the queries.
_MOST_COUNTED = _MOST_SHOWN**2
_SIGNS = " ▒█"
# Operations a second of tensor cores with 16-bit types, and bytes a second of DRAM, of an
# A100 and an H200 by their data sheets.
_RATES = {"sm_80": (312e12, 2.0e12), "sm_90a": (989e12, 4.8e12)}
# What long problems reach of the first (benchmarks/results), and a launch.
_REACHED, _LAUNCH = 0.7, 5e-6


@dataclass
class Explanation:
    """str() of it is a page; its fields are the parts.

    target: "cpu" or a chip; problem: the MLIR that is compiled; remarks: of passes,
    which say the configuration and the key ranges of the mask; picture: which blocks
    of the first head are full, partial or empty, of the first batch item, or of all rows
    and keys where both are packed; block: queries and keys of a sign in it; visible: the share of visible pairs of all within a
    batch item, which beyond 4096 x 4096 pairs is estimated of a mask that
    is a function or an array, by whole rows; operations: floating-point operations of
    the call, visible pairs alone; predicted: seconds, by these or by the bytes that are
    read and written, whichever take longer, for 16-bit types on an A100 or H200, else
    None; seconds: measured, None where it was not run; kernel: what was compiled;
    unsupported: why it was not.
    """

    target: str
    assembler: str
    problem: str
    picture: str
    block: tuple[int, int]
    visible: float
    operations: float
    remarks: list[Diagnostic] = field(default_factory=list)
    kernel: Any = None
    predicted: float | None = None
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
        if self.predicted is not None:
            lines += [f"predicted: {self.predicted * 1e3:.3f} ms"]
        if self.seconds is not None:
            lines += [f"measured: {self.seconds * 1e3:.3f} ms, {self.operations / self.seconds / 1e12:.3f} TFLOP/s"]
        rows, keys = self.block
        lines += ["", f"queries down, keys across, a sign for {rows} x {keys} of them; full █, partial ▒:",
                  *("|" + row + "|" for row in self.picture.splitlines()), ""]
        lines += [f"{remark.pass_name}: {remark.message}" for remark in self.remarks]
        return "\n".join([*lines, "", self.problem])


@dataclass(frozen=True)
class _Sequence:
    """A batch item: queries and keys there is room for, how many there are, and where
    the first ones are in memory that several share."""

    batch: int
    sizes: tuple[int, int]
    lengths: tuple[int, int]
    first: tuple[int, int] = (0, 0)


def _list_sequences(operands: list, options: dict) -> list[_Sequence]:
    """operands: query, key and value of rank 4, or 3 where there are starts."""
    rows_dim, _ = find_rows_and_heads(options["layout"])
    starts = [_find_numbers(options[name]) for name in ("query_starts", "key_starts")]
    lengths = [_find_numbers(options[name]) for name in ("query_lengths", "key_lengths")]
    batch = len(starts[0]) - 1 if starts[0] is not None else operands[0].shape[0]
    found = []
    for item in range(batch):
        sizes, first = [], []
        for operand, begins, length in zip(operands, starts, lengths):
            if begins is not None:
                # Starts that are wrong give no rows, or those that there are.
                start, end = (min(max(each, 0), operand.shape[0]) for each in begins[item:item + 2])
                first.append(start)
                sizes.append(max(0, end - start))
                continue
            first.append(0)
            if length is not None and operand is operands[1] and options["key_pages"] is not None:
                sizes.append(min(max(length[item], 0), operand.shape[1] * options["key_pages"].shape[1]))
            else:
                sizes.append(operand.shape[rows_dim])
        there = [size if length is None else min(size, max(length[item], 0)) for size, length in zip(sizes, lengths)]
        found.append(_Sequence(item, (sizes[0], sizes[1]), (there[0], there[1]), (first[0], first[1])))
    return found


def _find_numbers(array: Any) -> list[int] | None:
    return None if array is None else [int(number) for number in array]


def _find_ranges(rows: Any, sequence: _Sequence, options: dict) -> tuple[Any, Any]:
    """The first key that each query may see by lengths, causal and window, and the one
    behind the last."""
    import numpy

    causal, window, (queries, keys) = options["causal"], options["window"], sequence.lengths
    diagonal = rows + (0 if causal == "top_left" else keys - queries)
    first, end = numpy.zeros_like(rows), numpy.where(rows < queries, keys, 0)
    if causal:
        end = numpy.minimum(end, diagonal + 1)
    left, right = (-1, -1) if window is None else check_window(window)
    if left >= 0:
        first = numpy.maximum(first, diagonal - left)
    if right >= 0:
        end = numpy.minimum(end, diagonal + right + 1)
    return first, numpy.maximum(end, first)


def _count_visible(kind: Any, sequences: list[_Sequence], options: dict) -> float:
    """The visible pairs of the first head."""
    import numpy

    pairs = 0.0
    if options["mask"] is None:
        for (sizes, lengths), count in Counter((each.sizes, each.lengths) for each in sequences).items():
            first, end = _find_ranges(numpy.arange(sizes[0]), _Sequence(0, sizes, lengths), options)
            pairs += count * int((end - first).sum())
        return pairs
    budget = _MOST_COUNTED // max(1, sum(each.sizes[1] for each in sequences))
    for sequence in sequences:
        queries, keys = sequence.sizes
        if not queries or not keys:
            continue
        # Rows in the middle of parts of one size.
        count = max(1, min(queries, budget))
        rows = (2 * numpy.arange(count) + 1) * queries // (2 * count)
        pairs += float(_find_visible(kind, rows, sequence, options).mean()) * queries * keys
    return pairs


def _find_visible(kind: Any, rows: Any, sequence: _Sequence, options: dict, shown: int | None = None) -> Any:
    """Whether each pair of some queries and the first `shown` keys of a sequence is
    visible, of the first head."""
    import numpy

    first, end = _find_ranges(rows, sequence, options)
    j, mask = numpy.arange(sequence.sizes[1] if shown is None else shown)[None], options["mask"]
    visible = (j >= first[:, None]) & (j < end[:, None])
    if callable(mask):
        import torch

        from .tracing import TransformGetItemToIndex
        item, head = torch.tensor(sequence.batch), torch.zeros((), dtype=torch.int64)
        with torch.no_grad(), TransformGetItemToIndex():
            ask = torch.vmap(torch.vmap(lambda q, k: mask(item, head, q, k), (None, 0)), (0, None))
            answers = ask(torch.from_numpy(rows), torch.arange(j.shape[1]))
        visible = visible & answers.expand(visible.shape).cpu().numpy()
    elif mask is not None:
        array = mask.detach().cpu().numpy() if kind is TorchArrays else mask
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)
        array = array[sequence.batch if array.shape[0] > 1 else 0, 0]
        visible = visible & array[rows if array.shape[0] > 1 else slice(None), :j.shape[1]]
    return visible


def _find_picture(kind: Any, sequences: list[_Sequence], options: dict) -> Any:
    """Whether pairs are visible: of the first batch item that has any, or, where
    queries and keys are packed, of all rows and keys."""
    import numpy

    there = [each for each in sequences if each.sizes[0] and each.sizes[1]]
    if options["query_starts"] is None or options["key_starts"] is None:
        there = there[:1]
    ends = [max((each.first[i] + each.sizes[i] for each in there), default=0) for i in range(2)]
    rows, keys = (min(end, _MOST_SHOWN) for end in ends)
    picture = numpy.zeros((rows, keys), bool)
    for each in there:
        top, left = each.first
        height, width = min(each.sizes[0], rows - top), min(each.sizes[1], keys - left)
        if height > 0 and width > 0:
            picture[top:top + height, left:left + width] = _find_visible(kind, numpy.arange(height), each, options, width)
    return picture


def find_block(visible: Any, size: int = _PICTURE) -> tuple[int, int]:
    """Queries and keys of each block of a picture of at most size x size."""
    rows, columns = (max(1, -(-length // size)) for length in visible.shape)
    return rows, columns


def draw(visible: Any) -> str:
    import numpy

    rows, columns = find_block(visible)
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
    """What attention(query, key, value, **options) does, as text to print.

    chip: explain for a GPU such as "sm_90a" instead of where the tensors are; nothing
    runs then. measure: run the call five times. A call that has no form is explained
    too: `unsupported` says why. Raises ArgumentError for what is wrong, as attention().
    Another chip than that of the tensors has the plan of where they are: pages and
    padded head dims may differ.
    """
    from . import assembler, compilation

    torch = _find_torch()
    kind: Any = TorchArrays if torch is not None and isinstance(query, torch.Tensor) else NumpyArrays
    given = _bind(options)
    if kind is TorchArrays:
        operands = cast_operands(query, key, value)
    else:
        operands = list(map(as_numpy, (query, key, value), ("query", "key", "value")))
        given.update((name, as_numpy(given[name], name)) for name in ("mask", *OPTIONAL_ARRAYS) if not callable(given[name]))
    own_chip = entries.find_chip(query.get_device()) if kind is TorchArrays and query.is_cuda else None
    target = chip or own_chip
    found = Explanation(target or "cpu", assembler.describe(compilation._describe_assembler).strip().splitlines()[-1],
                        problem="", picture="", block=(0, 0), visible=0.0, operations=0.0)
    try:
        call = plan_call(*operands, **given)
        if all(given[name] is None for name in ("query_starts", "key_starts", "key_pages")):
            operands = [operand[None] if len(operand.shape) == 3 else operand for operand in operands]
            query_operand, key_operand, value_operand = operands
            check_operands(query_operand, key_operand, value_operand, given["layout"], kind)
        sequences = _list_sequences(operands, given)
        _count_and_draw(found, kind, operands, sequences, given)
        types = _compile(found, from_text(call.text), kind, call.operands, target)
        found.predicted = _predict(target, types, sequences, operands, given["layout"], found.operations)
        if measure and chip in (None, own_chip):
            found.seconds = _measure(torch if own_chip else None, query, key, value, options)
    except ArgumentError:
        raise
    except Error as error:
        found.unsupported = str(error)
        found.remarks = error.diagnostics
    return found


def _count_and_draw(found: Explanation, kind: Any, operands: list, sequences: list[_Sequence], given: dict) -> None:
    """Adds visible pairs, operations and the picture."""
    pairs = _count_visible(kind, sequences, given)
    picture = _find_picture(kind, sequences, given)
    found.picture, found.block = draw(picture), find_block(picture)
    found.visible = pairs / max(1, sum(each.sizes[0] * each.sizes[1] for each in sequences))
    _, heads_dim = find_rows_and_heads(given["layout"], len(operands[0].shape))
    heads = operands[0].shape[heads_dim]
    found.operations = 2.0 * heads * pairs * (operands[0].shape[-1] + operands[2].shape[-1])


def _compile(found: Explanation, specification: Any, kind: Any, operands: list, target: str | None) -> Types:
    """Adds the kernel, and returns the types that it has."""
    types = Types(kind.type(operands[0]), operands[0].shape[-1], operands[2].shape[-1])
    found.problem = write_forward(specification, types)
    entries.check_element(types.element, kind.type(operands[2]))
    found.kernel = entries.compile_forward(specification, types, target)
    found.remarks = found.kernel.remarks
    if target and not found.kernel.cubin:
        found.assembler = "the driver"
    return types


def _predict(target: str | None, types: Types, sequences: list[_Sequence], operands: list, layout: str,
             operations: float) -> float | None:
    if target not in _RATES or types.element == "f32":
        return None
    rate, bandwidth = _RATES[target]
    heads, key_heads = (operand.shape[find_rows_and_heads(layout, len(operand.shape))[1]] for operand in operands[:2])
    # Queries, keys, values and the output, 2 bytes each.
    rows = sum(each.sizes[0] * heads + each.sizes[1] * key_heads for each in sequences)
    return _LAUNCH + max(operations / (_REACHED * rate), 2 * rows * (types.head_dim + types.value_head_dim) / bandwidth)


def _bind(options: dict) -> dict[str, Any]:
    """All options of attention(): as given, else as it has them."""
    known = {name: parameter.default for name, parameter in inspect.signature(attention).parameters.items()
             if parameter.kind is parameter.KEYWORD_ONLY}
    for name in options:
        if name not in known:
            raise TypeError(f"explain() got an unexpected keyword argument '{name}', expected one of "
                            + ", ".join(sorted(known)))
    return {**known, **options}


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
