"""Random functions of what is computed for each element beside attention: before it, of its result, and of neither.

Read `ElementwiseSampler.sample`, which makes a few steps, then `generic`, whose operands are the same, repeated or
in another order, and `body`, the lines of one.
"""

import random

ELEMENTS = ["f32", "f32", "bf16", "f16"]
SHAPES = [(2, 9, 2, 16), (1, 70, 4, 64), (2, 33, 2, 24)]
# Without jumps, to either side of which roundings may fall.
UNARY = ["math.tanh", "math.absf", "math.sin", "arith.negf", "math.exp2", "math.erf"]
BINARY = ["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf"]


class ElementwiseSampler:
    """The text of one function. Values are names by their shapes; all have one type of elements."""

    TARGETS = (["--target=cpu"], ["--target=interpret", "--chip=sm_80"], ["--target=interpret", "--chip=sm_90a"])

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.element = self.rng.choice(ELEMENTS)
        self.shape = self.rng.choice(SHAPES)
        self.dynamic = self.rng.random() < 0.4
        self.count, self.lines = 0, []
        self.values, self.arguments = {self.shape: ["%a", "%b"]}, []
        for dims in ((3,), (1,), (2, 3), (1, 3), (0, 1, 2)):
            shape = tuple(self.shape[dim] for dim in dims)
            self.arguments.append((f"%x{len(self.arguments)}", shape))
            self.values.setdefault(shape, []).append(self.arguments[-1][0])

    def emit(self, text):
        self.count += 1
        self.lines.append(text.replace("{}", f"%v{self.count}"))
        return f"%v{self.count}"

    def type_of(self, shape, element=None):
        # The length is known at run time alone.
        sizes = ["?" if self.dynamic and shape == self.shape and dim == 1 else str(size) for dim, size in enumerate(shape)]
        return "tensor<" + "".join(size + "x" for size in sizes) + (element or self.element) + ">"

    def empty(self, shape, element=None):
        size = "%length" if self.dynamic and shape == self.shape else ""
        return self.emit(f"{{}} = tensor.empty({size}) : {self.type_of(shape, element)}")

    def pick(self, shape):
        return self.rng.choice(self.values[shape][-3:])

    def body(self, scalars, loops):
        """Lines of a body and what they yield: bounded, so that nothing overflows."""
        lines, values = [], list(scalars)

        def compute(text):
            """A line. Returns the name of its value, an index, an integer or a condition, which no later step picks."""
            lines.append(f"%s{self.count}_{len(lines)} = {text}")
            return f"%s{self.count}_{len(lines) - 1}"

        def add(text):
            """A line that computes a value of the elements, which later steps may pick."""
            values.append(compute(text))

        element = self.element
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.choice(["unary", "binary", "binary", "index", "choose", "capture", "integer", "table", "rest"])
            x, y = self.rng.choice(values), self.rng.choice(values)
            if kind == "unary":
                add(f"{self.rng.choice(UNARY)} {x} : {element}")
            elif kind == "binary":
                add(f"{self.rng.choice(BINARY)} {x}, {y} : {element}")
            elif kind == "capture":
                add(f"arith.mulf {x}, %factor : {element}")
            else:
                index = compute(f"linalg.index {self.rng.randrange(loops)} : index")
                if kind == "index":
                    integer = compute(f"arith.index_cast {index} : index to i32")
                    add(f"arith.sitofp {integer} : i32 to {element}")
                elif kind == "table":
                    # Of 5 elements: beyond them a load reads 0 on a GPU, and nothing may on a CPU.
                    place = compute(f"arith.remui {index}, %five : index")
                    add(f"tensor.extract %table[{place}] : tensor<5x{element}>")
                elif kind == "rest":
                    place = compute(f"arith.remui {index}, %five : index")
                    divisor = compute(f"tensor.extract %divisors[{place}] : tensor<5xi32>")
                    integer = compute(f"arith.index_cast {index} : index to i32")
                    rest = compute(f"{self.rng.choice(['arith.remsi', 'arith.floordivsi'])} {integer}, {divisor} : i32")
                    add(f"arith.sitofp {rest} : i32 to {element}")
                elif kind == "integer":
                    number = compute(f"arith.remui {index}, %three : index")
                    low = compute(f"arith.cmpi eq, {number}, %one : index")
                    add(f"arith.select {low}, {x}, {y} : {element}")
                else:
                    low = compute(f"arith.cmpi ult, {index}, %limit : index")
                    add(f"arith.select {low}, {x}, {y} : {element}")
        lines.append(f"%s{self.count}_last = math.tanh {values[-1]} : {element}")
        return lines, f"%s{self.count}_last"

    def generic(self, shape):
        """Operands that are repeated, in another order, or the same; one result or two."""
        loops = len(shape)
        names = [f"d{dim}" for dim in range(loops)]

        def get_map(dims):
            return f"affine_map<({', '.join(names)}) -> ({', '.join(names[dim] for dim in dims)})>"

        operands = []
        for _ in range(self.rng.randint(1, 3)):
            if self.rng.random() < 0.5:
                operands.append((self.pick(shape), shape, range(loops)))
                continue
            # Those whose sizes some dimensions have, in any order.
            fitting = [(other, dims) for other in self.values if other != self.shape and len(other) <= loops
                       for dims in [self.match(other, shape)] if dims is not None]
            if fitting:
                other, dims = self.rng.choice(fitting)
                operands.append((self.pick(other), other, dims))
        results = self.rng.choice([1, 1, 1, 2])
        inits = [self.pick(shape) if self.rng.random() < 0.3 else self.empty(shape) for _ in range(results)]
        reads = [not init.startswith("%v") or init in self.values[shape] for init in inits]
        self.count += 1
        number = self.count
        scalars = [f"%e{number}_{k}" for k in range(len(operands) + results)]
        known = scalars[:len(operands)] + [s for s, is_read in zip(scalars[len(operands):], reads) if is_read]
        lines, last = self.body(known or ["%factor"], loops)
        types = [self.type_of(other) for _, other, _ in operands]
        result = self.type_of(shape)
        maps = [get_map(dims) for _, _, dims in operands] + [get_map(range(loops))] * results
        ins = f"ins({', '.join(o[0] for o in operands)} : {', '.join(types)}) " if operands else ""
        yielded = [last] + [known[0] if known else "%factor"] * (results - 1)
        several, iterators = f":{results}" if results > 1 else "", ", ".join(['"parallel"'] * loops)
        self.lines.append(
            f"%g{number}{several} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} {ins}"
            f"outs({', '.join(inits)} : {', '.join([result] * results)}) {{")
        self.lines.append(f"^bb0({', '.join(f'{s}: {self.element}' for s in scalars)}):")
        self.lines += [*lines, f"linalg.yield {', '.join(yielded)} : {', '.join([self.element] * results)}", "} -> " + (
            result if results == 1 else f"({', '.join([result] * results)})")]
        made = [f"%g{number}"] if results == 1 else [f"%g{number}#{k}" for k in range(results)]
        self.values[shape] += made

    def match(self, other, shape):
        dims, free = [], list(range(len(shape)))
        if self.dynamic and shape == self.shape and shape[1] in other:
            return None
        for size in other:
            place = next((dim for dim in free if shape[dim] == size), None)
            if place is None:
                return None
            free.remove(place)
            dims.append(place)
        return dims

    def attention(self):
        kind = self.type_of(self.shape)
        q, k, v = (self.pick(self.shape) for _ in range(3))
        init = self.empty(self.shape)
        mask = self.rng.choice(["", " mask causal"])
        # It is returned: without attention there is no work for a kernel.
        self.attended = self.emit(
            f"{{}} = fa.attention ins({q}, {k}, {v} : {kind}, {kind}, {kind}) outs({init} : {kind}){mask}")
        self.values[self.shape].append(self.attended)

    def sample(self):
        self.lines += ["%one = arith.constant 1 : index", "%three = arith.constant 3 : index", "%five = arith.constant 5 : index"]
        if self.dynamic:
            self.lines.append(f"%length = tensor.dim %a, %one : {self.type_of(self.shape)}")
        steps = ["attention"] + ["elements"] * self.rng.randint(1, 4) + ["attention"] * self.rng.randint(0, 1)
        self.rng.shuffle(steps)
        for step in steps:
            if step == "attention":
                self.attention()
            elif self.rng.random() < 0.2:
                x, kind = self.pick(self.shape), self.type_of(self.shape)
                self.values[self.shape].append(self.emit(f"{{}} = {self.rng.choice(BINARY)} {x}, {self.pick(self.shape)} : {kind}"))
            else:
                self.generic(self.shape if self.rng.random() < 0.7 else self.rng.choice(list(self.values)))
        results = [(name, shape) for shape, names in self.values.items() for name in names if name[1] in "vg"]
        results = [(self.attended, self.shape), results[-1], *self.rng.sample(results[:-1], min(len(results) - 1, self.rng.randint(0, 2)))]
        arguments = [f"{name}: {self.type_of(self.shape)}" for name in ("%a", "%b")]
        arguments += [f"{name}: {self.type_of(shape)}" for name, shape in self.arguments]
        arguments += [f"%factor: {self.element}", "%limit: index", f"%table: tensor<5x{self.element}>", "%divisors: tensor<5xi32>"]
        types = ", ".join(self.type_of(shape) for _, shape in results)
        return "\n".join([f"func.func @f({', '.join(arguments)}) -> ({types}) {{", *self.lines,
                          f"return {', '.join(name for name, _ in results)} : {types}", "}"]) + "\n"

    def inputs(self):
        def write(shape):
            return "--input=" + "".join(f"{size}x" for size in shape) + self.element

        shapes = [self.shape, self.shape, *(shape for _, shape in self.arguments)]
        bound = {"f32": "2e-5", "f16": "1e-2", "bf16": "6e-2"}[self.element]
        return [*map(write, shapes), f"--input={self.element}=0.75", "--input=index=5", f"--input=5x{self.element}", "--input=5xi32=[3,1,7,2,5]",
                f"--bound={bound}"]
