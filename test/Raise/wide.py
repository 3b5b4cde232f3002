"""What the tests of raising share: the types of a function, random arguments, and its results in float64.

fa-run writes results of the types they have; a function around it casts them to f64, so that nothing is lost.
"""

import os
import re
import subprocess

import ml_dtypes
import numpy as np

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
          "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def run(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stdout[-2000:]}{result.stderr[-3000:]}")
    return result.stdout


def main_types(text):
    """Argument and result types of the public function of printed text."""
    head = re.search(r"func\.func (?:public )?@(\w+)\((.*?)\)(?: -> (.*?))? (?:attributes \{.*?\} )?\{\n", text)
    types = lambda part: re.findall(r"(?:tensor<[^>]*>|\b(?:[if]\d+|bf16|index)\b)", part or "")
    return head.group(1), types(re.sub(r"%\w+:", "", head.group(2))), types(head.group(3))


def argument_specs(path, text):
    """Types of the public function's arguments, `2x3xf32`. A line `// arguments: ...` says them where sizes are dynamic."""
    said = re.search(r"^// arguments: (.*)$", path.read_text(), re.M)
    return said.group(1).split(", ") if said else [type.removeprefix("tensor<").rstrip(">") for type in main_types(text)[1]]


def random_array(rng, spec, empty_rows=False):
    """Standard normal; integers from 0 to 15; booleans, 7 of 10 true, and with `empty_rows` some rows without any."""
    *sizes, element = spec.split("x")
    shape = [int(size) for size in sizes]
    if element == "i1":
        rows = rng.random(shape[:-1] + [1]) < (0.9 if empty_rows else 1)
        return (rng.random(shape) < 0.7) & rows
    if element.startswith("i"):
        return rng.integers(0, 16, shape).astype(DTYPES[element])
    return rng.standard_normal(shape).astype(DTYPES[element])


def with_wide_entry(text):
    """The text with a function @wide that calls the public one and casts floats to f64."""
    name, arguments, results = main_types(text)
    wide = [re.sub(r"(bf16|f16|f32)(>?)$", r"f64\2", type) for type in results]
    parameters = ", ".join(f"%a{i}: {type}" for i, type in enumerate(arguments))
    names = ", ".join(f"%a{i}" for i in range(len(arguments)))
    count = f":{len(results)}" if len(results) > 1 else ""
    lines = [f"func.func @wide({parameters}) -> ({', '.join(wide)}) {{",
             f"  %r{count} = func.call @{name}({names}) : ({', '.join(arguments)}) -> ({', '.join(results)})"]
    values = [f"%r#{i}" if count else "%r" for i in range(len(results))]
    for i, (old, new) in enumerate(zip(results, wide)):
        if old != new:
            lines.append(f"  %w{i} = arith.extf {values[i]} : {old} to {new}")
            values[i] = f"%w{i}"
    lines += [f"  return {', '.join(values)} : {', '.join(wide)}", "}", ""]
    end = text.rindex("}")
    return text[:end] + "\n".join(lines) + text[end:], len(results)


def evaluate(fa_run, text, arguments, folder, name):
    """Results of the public function in float64."""
    source = os.path.join(folder, f"{name}.mlir")
    wide, count = with_wide_entry(text)
    with open(source, "w") as file:
        file.write(wide)
    return call([fa_run, source, "--entry=wide", "--target=reference", "--precision=float64"], arguments, count, folder, name)


def compute(fa_run, text, arguments, folder, name):
    """Results of the public function as machine code for this processor, of the types they have."""
    source = os.path.join(folder, f"{name}.mlir")
    with open(source, "w") as file:
        file.write(text)
    return call([fa_run, source, "--target=cpu"], arguments, len(main_types(text)[2]), folder, name)


def call(command, arguments, count, folder, name):
    """fa-run on arrays in files, and the arrays that it writes."""
    inputs = [os.path.join(folder, f"{name}.in{i}.npy") for i in range(len(arguments))]
    outputs = [os.path.join(folder, f"{name}.out{i}.npy") for i in range(count)]
    for path, argument in zip(inputs, arguments):
        np.save(path, argument)
    run([*command, "--seed=1", *(f"--input=@{path}" for path in inputs), *(f"--output=@{path}" for path in outputs)])
    results = [np.load(path) for path in outputs]
    # numpy writes a bf16 as two bytes without a meaning.
    return [each.view(ml_dtypes.bfloat16) if each.dtype.kind == "V" else each for each in results]


def difference(first, second):
    """Norm of the difference over that of `second` where both are finite; infinite where NaN and infinities differ."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    odd = ~np.isfinite(second)
    if first.shape != second.shape or not np.array_equal(first[odd], second[odd], equal_nan=True) or \
            not np.isfinite(first[~odd]).all():
        return np.inf
    norm = np.linalg.norm(second[~odd])
    return np.linalg.norm(first[~odd] - second[~odd]) / (norm if norm else 1)
