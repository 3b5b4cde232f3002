"""StableHLO in NumPy: reads the generic text of a module and evaluates a function of it in float64.

Written from StableHLO's specification, without any of the compiler's code: the reference of what fa-import-stablehlo makes
of a text. Floats are doubles and nothing is rounded in between, as in fa-run's evaluator. `run(text, arguments)` returns the
results of @main.
"""

import re

import ml_dtypes
import numpy as np

FLOATS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


class Type:
    """A tensor's shape, with None for what is dynamic, and its element type."""

    def __init__(self, text):
        *sizes, self.element = re.fullmatch(r"tensor<(.*)>", text.strip()).group(1).split("x")
        self.shape = [None if size == "?" else int(size) for size in sizes]
        self.dtype = np.float64 if self.element in FLOATS else INTEGERS[self.element]


class Operation:
    def __init__(self, results, name, operands, attributes, regions, types):
        self.results, self.name, self.operands = results, name, operands
        self.attributes, self.regions, self.types = attributes, regions, types

    def text(self, key):
        """The value of an attribute, as text."""
        start = re.search(rf"(?<![\w.]){key} = ", self.attributes)
        if not start:
            return ""
        reader = Reader(self.attributes)
        reader.position = start.end()
        return reader.until(",}")

    def integers(self, key, within=None):
        text = self.text(within or key)
        if within:
            found = re.search(rf"{key} = \[(.*?)\]", text)
            text = found.group(1) if found else ""
        return [int(word) for word in re.findall(r"-?\d+", re.sub(r"array<i64:?|: *tensor.*|: i64", "", text))]


class Reader:
    """The generic form: every operation has its name in quotes, its operands, attributes, regions and types."""

    def __init__(self, text):
        self.source, self.position = text, 0

    def skip(self):
        self.position = re.compile(r"(\s|//[^\n]*\n)*").match(self.source, self.position).end()

    def at(self, word):
        self.skip()
        return self.source.startswith(word, self.position)

    def take(self, word):
        if not self.at(word):
            return False
        self.position += len(word)
        return True

    def match(self, pattern):
        self.skip()
        found = re.compile(pattern).match(self.source, self.position)
        assert found, f"expected {pattern} at {self.source[self.position:self.position + 80]!r}"
        self.position = found.end()
        return found.group(0)

    def until(self, ends):
        """Text up to one of `ends` outside of brackets and strings."""
        start, depth = self.position, 0
        while self.position < len(self.source):
            character = self.source[self.position]
            if character == '"':
                self.match(r'"(\\.|[^"\\])*"')
                continue
            if character == "-" and self.source[self.position + 1] == ">":
                self.position += 2
                continue
            if depth == 0 and character in ends:
                break
            depth += (character in "([{<") - (character in ")]}>")
            self.position += 1
        return self.source[start:self.position].strip()

    def operation(self):
        results = []
        if self.at("%"):
            name = self.match(r"%[\w]+")
            count = int(self.match(r":\d+")[1:]) if self.at(":") else 0
            results = [f"{name}#{i}" for i in range(count)] if count else [name]
            self.match("=")
        name = self.match(r'"[\w.]+"').strip('"')
        self.match(r"\(")
        operands = [word.strip() for word in self.until(")").split(",") if word.strip()]
        self.match(r"\)")
        attributes, regions = "", []
        if self.take("<{"):
            attributes += self.until("}")
            self.match("}>")
        if self.take("("):
            while not self.take(")"):
                regions.append(self.region())
                self.take(",")
        if self.take("{"):
            attributes += ", " + self.until("}")
            self.match("}")
        self.match(":")
        self.match(r"\(")
        self.until(")")
        self.match(r"\) ->")
        self.skip()
        if self.take("("):
            types = self.until(")")
            self.match(r"\)")
        else:
            types = self.match(r"[\w.!]+(<[^>]*>)?")
        found = re.findall(r"tensor<[^>]*>", types)
        return Operation(results, name, operands, attributes, regions, [Type(text) for text in found])

    def region(self):
        self.match("{")
        arguments = []
        if self.take("^"):
            arguments = re.findall(r"%\w+", self.match(r"\w+(\([^)]*\))?:"))
        operations = []
        while not self.take("}"):
            operations.append(self.operation())
        return arguments, operations


def constant(op):
    type, text = op.types[0], op.text("value")
    body = re.match(r"dense<(.*?)> *: ", text, re.S).group(1)
    raw = np.dtype(FLOATS.get(type.element) or INTEGERS[type.element])

    def number(word):
        if word in ("true", "false"):
            return word == "true"
        if word.startswith("0x") and type.element in FLOATS:
            return np.array(int(word, 16), dtype=f"u{raw.itemsize}").view(raw)[()]
        return raw.type(float(word)) if type.element in FLOATS else int(word)

    if body.startswith('"'):
        data = np.frombuffer(bytes.fromhex(body.strip('"')[2:]), dtype=raw)
    elif body.startswith("["):
        data = np.array([number(word) for word in re.findall(r"[^\[\],\s]+", body)], dtype=raw)
    else:
        data = np.array(number(body), dtype=raw)
    data = data.astype(type.dtype)
    return np.broadcast_to(data, type.shape) if data.size == 1 else data.reshape(type.shape)


def contraction(op, left, right):
    """Loops: batch, free of the left, free of the right, contracted; one letter each."""
    numbers = lambda key: op.integers(key, "dot_dimension_numbers")
    sides = [left, right]
    if left.dtype != np.float64:
        sides = [side.astype(np.int64) for side in sides]
    letters, names = iter("abcdefghijklmnopqrstuvwxyz"), [{}, {}]
    out = ""
    for i, j in zip(numbers("lhs_batching_dimensions"), numbers("rhs_batching_dimensions")):
        names[0][i] = names[1][j] = next(letters)
        out += names[0][i]
    for i, j in zip(numbers("lhs_contracting_dimensions"), numbers("rhs_contracting_dimensions")):
        names[0][i] = names[1][j] = next(letters)
    for side, named in zip(sides, names):
        for dim in range(side.ndim):
            if dim not in named:
                named[dim] = next(letters)
                out += named[dim]
    spec = ["".join(named[dim] for dim in range(side.ndim)) for side, named in zip(sides, names)]
    return np.einsum(f"{spec[0]},{spec[1]}->{out}", *sides, optimize=True)


def erf(x):
    from math import erf as scalar
    return np.vectorize(scalar, otypes=[np.float64])(x)


def quotient(a, b):
    if a.dtype == np.float64:
        return a / b
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, -1, (np.abs(a) // np.abs(safe)) * np.sign(a) * np.sign(safe))


def remainder(a, b):
    return np.fmod(a, b) if a.dtype == np.float64 else np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))


def logical(function, integer):
    """Arithmetic of i1 is logic."""
    return lambda a, b: function(a, b) if a.dtype == np.bool_ else integer(a, b)


ELEMENTWISE = {
    "abs": np.abs, "add": logical(np.logical_or, np.add), "and": np.bitwise_and, "atan2": np.arctan2, "cbrt": np.cbrt,
    "ceil": np.ceil, "clamp": lambda low, x, high: np.minimum(np.maximum(low, x), high), "cosine": np.cos,
    "divide": quotient, "exponential": np.exp, "exponential_minus_one": np.expm1, "floor": np.floor,
    "is_finite": np.isfinite, "log": np.log, "log_plus_one": np.log1p, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "maximum": np.maximum, "minimum": np.minimum, "multiply": logical(np.logical_and, np.multiply), "negate": np.negative,
    "not": np.invert, "or": np.bitwise_or, "power": np.power, "remainder": remainder,
    "round_nearest_afz": lambda x: np.trunc(x + np.copysign(0.5, x)), "round_nearest_even": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "select": np.where, "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift, "sign": np.sign, "sine": np.sin, "sqrt": np.sqrt, "subtract": np.subtract,
    "tan": np.tan, "tanh": np.tanh, "xor": np.bitwise_xor, "erf": erf, "square": np.square,
}
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal,
               "LT": np.less}


class Module:
    def __init__(self, text):
        module = Reader(text).operation()
        (_, functions), = module.regions
        self.functions = {function.text("sym_name").strip('"'): function.regions[0] for function in functions}

    def call(self, name, arguments):
        names, operations = self.functions[name]
        return self.block(operations, dict(zip(names, arguments)))

    def block(self, operations, values):
        """The values that the block's terminator takes."""
        for op in operations:
            operands = [values[name] for name in op.operands]
            if op.name in ("func.return", "stablehlo.return"):
                return operands
            with np.errstate(all="ignore"):
                results = self.evaluate(op, operands, values)
            for name, result, type in zip(op.results, results, op.types):
                values[name] = np.asarray(result).astype(type.dtype, copy=False)

    def region(self, region, arguments, values):
        names, operations = region
        return self.block(operations, {**values, **dict(zip(names, arguments))})

    def evaluate(self, op, operands, values):
        name = op.name.split(".")[1]
        if op.name == "func.call":
            return self.call(op.text("callee").strip('"@'), operands)
        if hasattr(self, f"_{name}"):
            return getattr(self, f"_{name}")(op, operands, values)
        return [ELEMENTWISE[name](*operands)]

    def _constant(self, op, operands, values):
        return [constant(op)]

    def _convert(self, op, operands, values):
        return [operands[0] != 0 if op.types[0].element == "i1" else operands[0]]

    def _compare(self, op, operands, values):
        return [COMPARISONS[re.search(r"direction (\w+)", op.text("comparison_direction")).group(1)](*operands)]

    def _dot_general(self, op, operands, values):
        return [contraction(op, *operands)]

    def _reduce(self, op, operands, values):
        """Element by element of the reduced dimensions, as the region is any function."""
        count, dims = len(op.results), op.integers("dimensions")
        inputs, inits = operands[:count], operands[count:]
        kept = [dim for dim in range(inputs[0].ndim) if dim not in dims]
        rows = [np.transpose(x, dims + kept).reshape([-1] + [x.shape[dim] for dim in kept]) for x in inputs]
        state = [np.broadcast_to(init, rows[0].shape[1:]) for init in inits]
        for i in range(rows[0].shape[0]):
            state = self.region(op.regions[0], state + [row[i] for row in rows], values)
        return state

    def _broadcast_in_dim(self, op, operands, values, shape=None):
        operand, dims = operands[0], op.integers("broadcast_dimensions")
        shape = shape or op.types[0].shape
        places = [1] * len(shape)
        for dim, size in zip(dims, operand.shape):
            places[dim] = size
        return [np.broadcast_to(operand.reshape(places), shape)]

    def _dynamic_broadcast_in_dim(self, op, operands, values):
        return self._broadcast_in_dim(op, operands, values, [int(size) for size in operands[1]])

    def _reshape(self, op, operands, values):
        return [operands[0].reshape(op.types[0].shape)]

    def _dynamic_reshape(self, op, operands, values):
        return [operands[0].reshape([int(size) for size in operands[1]])]

    def _transpose(self, op, operands, values):
        return [operands[0].transpose(op.integers("permutation"))]

    def _iota(self, op, operands, values, shape=None):
        shape, dim = shape or op.types[0].shape, op.integers("iota_dimension")[0]
        places = [1] * len(shape)
        places[dim] = shape[dim]
        return [np.broadcast_to(np.arange(shape[dim]).reshape(places), shape)]

    def _dynamic_iota(self, op, operands, values):
        return self._iota(op, operands, values, [int(size) for size in operands[0]])

    def _get_dimension_size(self, op, operands, values):
        return [operands[0].shape[op.integers("dimension")[0]]]

    def _concatenate(self, op, operands, values):
        return [np.concatenate(operands, axis=op.integers("dimension")[0])]

    def _slice(self, op, operands, values):
        bounds = zip(op.integers("start_indices"), op.integers("limit_indices"), op.integers("strides"))
        return [operands[0][tuple(slice(*bound) for bound in bounds)]]

    def _window(self, whole, starts, sizes):
        starts = [min(max(int(start), 0), total - size) for start, total, size in zip(starts, whole.shape, sizes)]
        return tuple(slice(start, start + size) for start, size in zip(starts, sizes))

    def _dynamic_slice(self, op, operands, values):
        return [operands[0][self._window(operands[0], operands[1:], op.types[0].shape)]]

    def _dynamic_update_slice(self, op, operands, values):
        result = operands[0].copy()
        result[self._window(result, operands[2:], operands[1].shape)] = operands[1]
        return [result]

    def _pad(self, op, operands, values):
        amounts = list(zip(op.integers("edge_padding_low"), op.integers("edge_padding_high")))
        return [np.pad(operands[0], amounts, constant_values=operands[1])]

    def _optimization_barrier(self, op, operands, values):
        return operands

    def _custom_call(self, op, operands, values):
        assert op.text("call_target_name") == '"shape_assertion"' and operands[0], op.text("error_message")
        return []

    def _while(self, op, operands, values):
        state = operands
        while self.region(op.regions[0], state, values)[0]:
            state = self.region(op.regions[1], state, values)
        return state


def run(text, arguments):
    return Module(text).call("main", [np.asarray(a, np.float64 if a.dtype.kind in "fV" else a.dtype) for a in arguments])
