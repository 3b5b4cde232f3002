"""Executes the PTX of kernels by mma.sync and cp.async: all threads of a block step by step, in numpy.

It knows the instructions that these kernels are compiled to, and fails at any other one. Copies are done where they
are started, so it proves addresses, bounds and values, and nothing about waits and most barriers. Every access is checked:
global memory belongs to a tensor byte by byte, addresses are aligned to the access, branches are uniform, and the eight
rows of a matrix that ldmatrix reads are in different banks.
"""

import operator
import re
import subprocess

import numpy as np

UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
SHARED_BASE = 1024
COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compile_to_ptx(fa_opt, schedule):
    """The PTX of a file with one kernel."""
    command = [fa_opt, schedule, "--fagpu-to-ptx=format=isa"]
    module = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    escaped = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', module).group(1)
    return re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), escaped).replace("\\\\", "\\")


def to_float(bits):
    return np.ascontiguousarray(bits, np.uint32).view(np.float32)


def from_float(values):
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


def encode(values, element):
    """f32 to the bits of f16 or bf16, to the nearest even."""
    values = np.ascontiguousarray(values, np.float32)
    if element == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)


def decode(bits, element):
    """The bits of f16 or bf16 to f32."""
    bits = np.ascontiguousarray(bits).astype(np.uint16)
    return bits.view(np.float16).astype(np.float32) if element == "f16" else to_float(bits.astype(np.uint32) << 16)


class Memory:
    """Global memory. Bytes that belong to no tensor hold a pattern, and are not to be touched."""

    BASE, PADDING = 1 << 32, 4096

    def __init__(self):
        self.bytes, self.owned = np.zeros(0, np.uint8), np.zeros(0, bool)

    def add_tensor(self, bits, strides):
        """Puts elements at `strides` (in elements). Returns the address and the place of each element's first byte."""
        size = bits.dtype.itemsize
        start = (len(self.bytes) + self.PADDING + 255) // 256 * 256
        end = start + (sum((n - 1) * s for n, s in zip(bits.shape, strides)) + 1) * size + self.PADDING
        grown = np.full(end, 0xFF, np.uint8), np.zeros(end, bool)
        grown[0][: len(self.bytes)], grown[1][: len(self.owned)] = self.bytes, self.owned
        self.bytes, self.owned = grown
        indices = np.indices(bits.shape)
        places = start + size * sum(index * stride for index, stride in zip(indices, strides))
        raw = np.ascontiguousarray(bits).view(np.uint8).reshape(*bits.shape, size)
        for byte in range(size):
            self.bytes[places + byte], self.owned[places + byte] = raw[..., byte], True
        return self.BASE + start, places

    def read_tensor(self, places, dtype):
        raw = np.stack([self.bytes[places + byte] for byte in range(np.dtype(dtype).itemsize)], -1)
        return np.ascontiguousarray(raw).view(dtype)[..., 0]

    def _places(self, addresses):
        places = addresses - self.BASE
        inside = (places >= 0) & (places < len(self.bytes))
        assert inside.all() and self.owned[places].all(), "touches global memory of no tensor"
        return places

    def read(self, addresses):
        return self.bytes[self._places(addresses)]

    def write(self, addresses, values):
        self.bytes[self._places(addresses)] = values


class Kernel:
    """The instructions of an entry of a module, of the first one if none is named, and its constant tables."""

    def __init__(self, text, entry=r"\w+"):
        self.tables = {}
        for name, size, words in re.findall(r"\.global \.align \d+ \.b8 (\w+)\[(\d+)\] = \{([^}]*)\};", text):
            self.tables[name] = np.zeros(int(size), np.uint8)
            values = [int(word) for word in words.split(",")]
            self.tables[name][: len(values)] = values
        text = text[re.search(rf"\.visible \.entry {entry}\(", text).start() :]
        self.parameters, body = re.search(r"\((.*?)\)\s*\n.*?\{(.*?)\n\}", text, re.S).groups()
        self.threads = int(re.search(r"\.maxntid (\d+)", text).group(1))
        self.instructions, self.labels = [], {}
        for statement in re.sub(r"//[^\n]*", "", body).split(";"):
            self._add(" ".join(statement.split()))

    def _add(self, statement):
        # Labels, and the braces of inline text with registers of its own.
        while match := re.match(r"(\$L\w+):\s*|\{\s+(?=\.reg)|\{(?=\s*\.reg)|\}\s*", statement):
            if match.group(1):
                self.labels[match.group(1)] = len(self.instructions)
            statement = statement[match.end() :].strip()
        if not statement or statement.startswith("."):
            return
        predicate = re.match(r"@(!?)(%\w+)\s+", statement)
        if predicate:
            statement = statement[predicate.end() :]
        name, _, rest = statement.partition(" ")
        operands = re.findall(r"(\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*)(?:,|$)", rest)
        self.instructions.append((predicate and predicate.groups(), name, [text.strip() for text in operands]))


class Block:
    """The threads of one block."""

    def __init__(self, kernel, memory, parameters, number, tables):
        self.kernel, self.memory, self.parameters, self.number = kernel, memory, parameters, number
        self.count = kernel.threads
        self.threads = np.arange(self.count)
        self.shared = np.full(232448, 0xFF, np.uint8)
        self.registers, self.tables = {}, tables

    def run(self):
        position = 0
        while position < len(self.kernel.instructions):
            predicate, name, operands = self.kernel.instructions[position]
            position += 1
            active = np.ones(self.count, bool)
            if predicate:
                active = self.registers[predicate[1]].astype(bool) != (predicate[0] == "!")
            if name.startswith("bra"):
                assert active.all() or not active.any(), "branches apart"
                if active.all():
                    position = self.kernel.labels[operands[0]]
                continue
            if name == "ret":
                return
            try:
                self.execute(name, name.split("."), operands, active)
            except Exception as error:
                raise RuntimeError(f"{name} {', '.join(operands)}: {error}") from error

    # Operands.

    def value(self, operand, bits):
        special = {"%tid.x": self.threads, "%ctaid.x": self.number, "fagpu_shared_memory": SHARED_BASE}
        if operand in self.registers:
            return self.registers[operand]
        if operand in special or operand in self.tables:
            number = special.get(operand, self.tables.get(operand))
        else:
            number = int(operand[2:], 16) if operand.startswith("0f") else int(operand, 0)
        if isinstance(number, int):
            number = number & ((1 << bits) - 1)
        return np.full(self.count, number, bool if bits == 1 else UNSIGNED[bits])

    def set(self, register, values, active):
        before = self.registers.get(register, np.zeros(self.count, values.dtype))
        self.registers[register] = np.where(active, values, before)

    def addresses(self, operand):
        base, _, offset = operand.strip("[]").replace(" ", "").partition("+")
        return self.value(base, 64).astype(np.int64) + int(offset or 0)

    @staticmethod
    def list(operand):
        return [name.strip() for name in operand.strip("{}").split(",")]

    # Memory.

    def read(self, space, addresses, size, active):
        assert (addresses[active] % size == 0).all(), f"an address is no multiple of {size}"
        values = np.zeros((self.count, size), np.uint8)
        for byte in range(size):
            at = addresses[active] + byte
            values[active, byte] = self.memory.read(at) if space == "global" else self.shared[at - SHARED_BASE]
        return values

    def write(self, space, addresses, values, active):
        size = values.shape[1]
        assert (addresses[active] % size == 0).all(), f"an address is no multiple of {size}"
        for byte in range(size):
            at = addresses[active] + byte
            if space == "global":
                self.memory.write(at, values[active, byte])
            else:
                assert (at >= SHARED_BASE).all(), "outside of shared memory"
                self.shared[at - SHARED_BASE] = values[active, byte]

    def copy(self, name, operands, active):
        size = int(operands[2])
        assert size == 16 if ".cg." in name else size in (4, 8, 16), "a size that cp.async does not take"
        there = np.full(self.count, size)
        if len(operands) > 3:
            last = self.value(operands[3], 32)
            # A predicate ignores the source, a number is how much of it there is.
            there = np.where(last, 0, size) if last.dtype == bool else last.astype(np.int64)
        source, values = self.addresses(operands[1]), np.zeros((self.count, size), np.uint8)
        assert (source[active & (there > 0)] % size == 0).all(), f"a source is no multiple of {size}"
        for byte in range(size):
            reading = active & (there > byte)
            values[reading, byte] = self.memory.read(source[reading] + byte)
        self.write("shared", self.addresses(operands[0]), values, active)

    def load(self, parts, operands, bits, active):
        registers = self.list(operands[0])
        space = "shared" if "shared" in parts else "global"
        raw = self.read(space, self.addresses(operands[1]), bits // 8 * len(registers), active)
        for register, word in zip(registers, np.split(raw, len(registers), 1)):
            values = np.ascontiguousarray(word).view(UNSIGNED[bits])[:, 0]
            self.set(register, values.astype(np.uint32) if bits == 8 else values, active)

    def store(self, parts, operands, bits, active):
        words = [self.value(name, bits).astype(UNSIGNED[bits]) for name in self.list(operands[1])]
        raw = np.concatenate([np.ascontiguousarray(word).view(np.uint8).reshape(self.count, -1) for word in words], 1)
        self.write("shared" if "shared" in parts else "global", self.addresses(operands[0]), raw, active)

    def add(self, operands, active):
        """Adds f32 words to global memory; several threads may add to one word."""
        for number, name in enumerate(self.list(operands[1])):
            addresses, words = self.addresses(operands[0]) + 4 * number, to_float(self.value(name, 32))
            for thread in np.flatnonzero(active):
                one = self.threads == thread
                sum_ = to_float(self.read("global", addresses, 4, one).view(np.uint32)[:, 0]) + words
                self.write("global", addresses, from_float(sum_).view(np.uint8).reshape(-1, 4), one)

    # Matrices: lane 4 r + c of a warp holds row r, columns 2 c and 2 c + 1 of 8x8.

    def load_matrices(self, parts, operands, active):
        addresses = self.addresses(operands[1])
        for rows in addresses.reshape(-1, 8):
            assert len(set(rows // 16 % 8)) == 8, "rows of a matrix share banks"
        raw = self.read("shared", addresses, 16, active).view(np.uint16).reshape(-1, 4, 8, 8)
        for number, register in enumerate(self.list(operands[0])):
            matrix = raw[:, number].swapaxes(1, 2) if "trans" in parts else raw[:, number]
            self.set(register, np.ascontiguousarray(matrix).view(np.uint32).reshape(-1), active)

    def multiply(self, parts, operands, active):
        element = "bf16" if "bf16" in parts else "f16"
        result, a, b, c = (self.list(operand) for operand in operands)
        warps, quad = self.count // 32, (self.threads // 32, self.threads % 32 // 4, self.threads % 4)
        left, right, sums = (np.zeros((warps, *shape), np.float32) for shape in ((16, 16), (8, 16), (16, 8)))
        warp, row, column = quad
        for number, name in enumerate(a):
            at = (warp, row + 8 * (number % 2), 2 * column + 8 * (number // 2))
            self._spread(left, at, name, element)
        for number, name in enumerate(b):
            self._spread(right, (warp, row, 2 * column + 8 * number), name, element)
        places = [(warp, row + 8 * (number // 2), 2 * column + number % 2) for number in range(4)]
        for name, at in zip(c, places):
            sums[at] = to_float(self.value(name, 32))
        sums += np.matmul(left, right.swapaxes(1, 2))
        for name, at in zip(result, places):
            self.set(name, from_float(sums[at]), active)

    def _spread(self, matrix, at, register, element):
        pair = self.value(register, 32)
        warp, row, column = at
        matrix[warp, row, column] = decode(pair & 0xFFFF, element)
        matrix[warp, row, column + 1] = decode(pair >> 16, element)

    # Everything else.

    def execute(self, name, parts, operands, active):
        kind = parts[0]
        bits = int((re.findall(r"\.[busf](\d+)", name) or ["32"])[-1])
        if name == "bar.red.or.pred":
            assert active.all() and self.value(operands[2], 32)[0] == self.count, "not all threads meet"
            return self.set(operands[0], np.full(self.count, self.value(operands[3], 1).any()), active)
        if kind == "bar" or name.startswith(("cp.async.commit", "cp.async.wait")):
            return
        if name.startswith("cp.async"):
            return self.copy(name, operands, active)
        if name.startswith("ld.param"):
            number = int(re.search(r"_param_(\d+)", operands[1]).group(1))
            return self.set(operands[0], self.value(str(self.parameters[number]), bits), active)
        matrix = {"ldmatrix": self.load_matrices, "mma": self.multiply}
        if kind in matrix:
            return matrix[kind](parts, operands, active)
        if name.startswith("red.global.add"):
            size = 4 * len(self.list(operands[1]))
            assert (self.addresses(operands[0])[active] % size == 0).all(), f"an address is no multiple of {size}"
            return self.add(operands, active)
        if kind in ("ld", "st"):
            return (self.load if kind == "ld" else self.store)(parts, operands, bits, active)
        if kind == "mov" and "{" in operands[0] + operands[1]:
            return self.split(operands, bits, active)
        if kind == "cvt":
            return self.set(operands[0], self.convert(parts, operands), active)
        if kind == "setp":
            return self.set(operands[0], self.compare(parts, operands, bits), active)
        if "pred" in parts:
            values = [self.value(operand, 1).astype(bool) for operand in operands[1:]]
            known = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
            return self.set(operands[0], known[kind](*values) if kind != "mov" else values[0], active)
        compute = self.compute_floats if "f32" in parts and kind != "selp" else self.compute_integers
        return self.set(operands[0], compute(kind, parts, operands, bits), active)

    def split(self, operands, bits, active):
        if operands[0].startswith("{"):
            registers, whole = self.list(operands[0]), self.value(operands[1], bits)
            each = bits // len(registers)
            for number, register in enumerate(registers):
                part = whole.astype(np.uint64) >> np.uint64(number * each)
                self.set(register, part.astype(UNSIGNED[each]), active)
            return
        words = self.list(operands[1])
        each = bits // len(words)
        whole = sum(self.value(w, each).astype(np.uint64) << np.uint64(n * each) for n, w in enumerate(words))
        self.set(operands[0], whole.astype(UNSIGNED[bits]), active)

    def convert(self, parts, operands):
        if parts[-2] in ("bf16x2", "f16x2"):
            high, low = (encode(to_float(self.value(name, 32)), parts[-2][:-2]) for name in operands[1:])
            return high.astype(np.uint32) << 16 | low
        to, source = parts[-2], parts[-1]
        width = int(re.sub(r"\D", "", source))
        values = self.value(operands[1], width)
        if source == "f32":
            values = to_float(values)
        elif source in ("f16", "bf16"):
            values = decode(values, source)
        elif source[0] == "s":
            values = values.astype(UNSIGNED[width]).view(SIGNED[width])
        if to == "f32":
            return from_float(values)
        if to in ("f16", "bf16"):
            return encode(values, to)
        return values.astype(UNSIGNED[int(to[1:])])

    def integers(self, operand, parts, bits):
        values = self.value(operand, bits).astype(UNSIGNED[bits])
        return values.view(SIGNED[bits]) if any(re.fullmatch(r"s\d+", part) for part in parts) else values

    def compare(self, parts, operands, bits):
        if "f32" not in parts:
            a, b = (self.integers(operand, parts, bits) for operand in operands[1:3])
            return COMPARISONS[parts[1]](a, b)
        a, b = (to_float(self.value(operand, 32)) for operand in operands[1:3])
        unordered = np.isnan(a) | np.isnan(b)
        if parts[1] in ("nan", "num"):
            return unordered == (parts[1] == "nan")
        ordered = COMPARISONS[parts[1][:2]](a, b)
        return ordered | unordered if parts[1].endswith("u") else ordered & ~unordered

    def compute_floats(self, kind, parts, operands, bits):
        values = [to_float(self.value(operand, 32)) for operand in operands[1:]]
        known = {
            "mov": lambda a: a,
            "fma": lambda a, b, c: a.astype(np.float64) * b + c,
            "add": operator.add,
            "sub": operator.sub,
            "mul": operator.mul,
            "max": np.maximum if "NaN" in parts else np.fmax,
            "min": np.minimum if "NaN" in parts else np.fmin,
            "neg": operator.neg,
            "ex2": np.exp2,
            "lg2": np.log2,
            "rcp": np.reciprocal,
        }
        return from_float(known[kind](*values))

    def compute_integers(self, kind, parts, operands, bits):
        if kind == "shfl":
            lanes = self.threads ^ int(operands[2]) if "bfly" in parts else self.threads & ~31
            return self.value(operands[1], 32)[lanes]
        if kind == "redux":
            reduced = {"min": np.minimum, "max": np.maximum}[parts[2]]
            warps = self.value(operands[1], 32).astype(np.uint32).view(np.int32).reshape(-1, 32)
            return np.repeat(reduced.reduce(warps, axis=1), 32).view(np.uint32)
        if kind == "selp":
            chosen = self.value(operands[3], 1).astype(bool)
            return np.where(chosen, self.value(operands[1], bits), self.value(operands[2], bits))
        if kind in ("shl", "shr"):
            amount = self.value(operands[2], 32).astype(UNSIGNED[bits])
            shifted = self.integers(operands[1], parts, bits)
            assert (amount < bits).all(), "shifts by all bits"
            amount = amount.astype(shifted.dtype)
            return (shifted << amount if kind == "shl" else shifted >> amount).view(UNSIGNED[bits])
        if kind == "bfe":
            field = self.value(operands[1], bits) >> UNSIGNED[bits](int(operands[2]))
            return field & UNSIGNED[bits]((1 << int(operands[3])) - 1)
        values = [self.integers(operand, parts, bits) for operand in operands[1:]]
        if "wide" in parts:
            bits = 2 * bits
            factors = [factor.astype((SIGNED if factor.dtype.kind == "i" else UNSIGNED)[bits]) for factor in values[:2]]
            values = factors + [self.value(operand, bits).astype(factors[0].dtype) for operand in operands[3:]]
        known = {
            "mov": lambda a: a,
            "cvta": lambda a: a,
            "add": operator.add,
            "sub": operator.sub,
            "mul": operator.mul,
            "mad": lambda a, b, c: a * b + c,
            "min": np.minimum,
            "max": np.maximum,
            "div": lambda a, b: np.trunc(a / b).astype(a.dtype),
            "rem": np.fmod,
            "and": operator.and_,
            "or": operator.or_,
            "xor": operator.xor,
            "not": operator.invert,
            "neg": operator.neg,
        }
        if "hi" in parts:
            assert kind == "mul" and bits == 32, "not known"
            wide = (SIGNED if values[0].dtype.kind == "i" else UNSIGNED)[64]
            upper = values[0].astype(wide) * values[1].astype(wide) >> wide(32)
            return upper.astype(values[0].dtype).view(UNSIGNED[bits])
        return known[kind](*values).view(UNSIGNED[bits])
