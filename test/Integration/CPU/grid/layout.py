"""How the arrays of a problem lie in one file, which compiled code works on.

Every byte that belongs to no array, and every output before it is written, is
0xFF: NaN in f16, bf16 and f32. Four-dimensional arrays may have gaps between
rows, as packed and padded tensors do.
"""

from dataclasses import dataclass

import numpy as np

ALIGNMENT = 64


def valid_rows(problem, array, dims):
    """True where a row is not past its query length."""
    valid = np.ones(array.shape, bool)
    if "query_lengths" in problem.arrays:
        items = np.moveaxis(valid, (dims.index("b"), dims.index("s")), (0, 1))
        for item, length in zip(items, problem.arrays["query_lengths"]):
            item[length:] = False
    return valid


@dataclass
class View:
    offset: int  # bytes
    shape: tuple
    strides: tuple  # elements
    dtype: np.dtype

    def of(self, data):
        """The array in `data`, a byte array, without a copy."""
        return np.ndarray(self.shape, self.dtype, data.data, self.offset,
                          [stride * self.dtype.itemsize for stride in self.strides])

    def as_json(self):
        return {"offset": self.offset, "shape": list(self.shape),
                "strides": list(self.strides)}


class Layout:
    """Arguments and results of a problem in a byte array."""

    def __init__(self, problem):
        self.problem = problem
        self.end = 0
        self.arguments = []  # (View, array) or a scalar
        function, placement = problem.function, problem.placement
        for name, kind in function.arguments():
            if kind.startswith("tensor"):
                array = problem.arrays[name]
                self.arguments.append((self.place(array, *placement.get(name, ())), array))
            else:
                self.arguments.append(problem.scalars[name])
        self.results = [self.place(problem.initial_output, *placement["output"])]
        if function.lse:
            self.results.append(self.place(problem.initial_lse))

    def place(self, array, order=None, gap=0):
        """Space for an array whose dims lie in this order from the outermost to the
        innermost, with `gap` unused elements after each innermost row."""
        shape = array.shape
        order = list(range(len(shape))) if order is None else order
        strides = [1] * len(shape)
        pitch = 1
        for level, dim in enumerate(reversed(order)):
            strides[dim] = pitch
            pitch = pitch * shape[dim] + (gap if level == 0 else 0)
        # Gaps also move the first element off its alignment.
        begin = -(-self.end // ALIGNMENT) * ALIGNMENT + gap * array.itemsize
        count = (1 + sum((n - 1) * s for n, s in zip(shape, strides))
                 if all(shape) else 0)
        self.end = begin + count * array.itemsize
        return View(begin, shape, tuple(strides), array.dtype)

    def fill(self):
        """The bytes before the run."""
        data = np.full(self.end + ALIGNMENT, 0xFF, np.uint8)
        for argument in self.arguments:
            if isinstance(argument, tuple):
                view, array = argument
                view.of(data)[...] = array
        return data

    def request(self, data_file):
        arguments = [a[0].as_json() if isinstance(a, tuple) else {"value": a}
                     for a in self.arguments]
        return {"data": str(data_file), "arguments": arguments,
                "results": [view.as_json() for view in self.results]}

    def fill_in_place(self):
        """The bytes before a run of the function on memrefs, whose destinations hold what
        rows past a length keep."""
        data = self.fill()
        problem = self.problem
        initial = [problem.initial_output, problem.initial_lse]
        for view, dims, before in zip(self.results, [problem.function.dims[3], "bhs"], initial):
            past = ~valid_rows(problem, before, dims)
            view.of(data)[past] = before[past]
        return data

    def request_in_place(self, data_file):
        request = self.request(data_file)
        arguments = request["arguments"]
        destinations = len(self.results)
        arguments[len(arguments) - destinations:] = request["results"]
        request["results"] = []
        return request

    def changed_outside_results(self, before, after):
        """Number of bytes that changed although they belong to no result."""
        changed = before != after
        for view in self.results:
            bytes_view = np.ndarray(
                (*view.shape, view.dtype.itemsize), bool, changed.data, view.offset,
                [*(stride * view.dtype.itemsize for stride in view.strides), 1])
            bytes_view[...] = False
        return int(np.count_nonzero(changed))
