#!/usr/bin/env python3
"""Raises 1,000 attentions in 2 seconds of processor time; raising them again changes nothing.

    python3 many.py --opt build/bin/fa-opt [--seconds 2] [--count 1000] [FILE...]

Each text of one attention becomes a module of 1,000 functions, and one function of 1,000 attentions in a chain where its result
can be its first argument. The time is that of fa-opt, less what it takes to read the text: the pass, and what is printed then.
The last line is `N passed, N failed`.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from corpus import FOLDER, TO_LINALG
from wide import run

FILES = ["torch_sdpa_causal_bf16.linalg.mlir", "torch_sdpa_gqa_causal_bf16.linalg.mlir", "jax_dpa_causal_gqa_bf16.stablehlo.mlir"]
SIGNATURE = re.compile(r"func\.func (?:private |public )?@(\w+)\((.*?)\) -> \(?(tensor<[^>]*>)")


def spell(opt, path):
    """One function as linalg, its attribute aliases, its name, its arguments' types, and its result's."""
    text = run([opt, str(path), *TO_LINALG.get(path.name.split(".")[-2], [])])
    aliases = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    name, arguments, result = SIGNATURE.search(text).groups()
    function = text[text.index("func.func"):text.rindex("}")].replace("func.func public", "func.func")
    return aliases, function, name, re.findall(r"tensor<[^>]*>", arguments), result


def side_by_side(spelled, count):
    aliases, function, name, *_ = spelled
    return f"{aliases}\nmodule {{\n" + "".join(function.replace(f"@{name}(", f"@{name}_{i}(") for i in range(count)) + "}\n"


def chain(opt, spelled, count):
    aliases, function, name, types, result = spelled
    if types[0] != result:
        return None
    parameters = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
    lines, last = [], "%a0"
    for i in range(count):
        operands = ", ".join([last, *(f"%a{k}" for k in range(1, len(types)))])
        lines.append(f"%r{i} = func.call @{name}({operands}) : ({', '.join(types)}) -> {result}")
        last = f"%r{i}"
    main = f"func.func @all({parameters}) -> {result} {{\n" + "\n".join(lines) + f"\nreturn {last} : {result}\n}}\n"
    function = function.replace("func.func", "func.func private", 1)
    return run([opt, "-", "--inline", "--symbol-dce"], input=f"{aliases}\nmodule {{\n{function}{main}}}\n")


def timed(command):
    """Its output, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files or [FOLDER / name for name in FILES]:
            spelled = spell(options.opt, path)
            for shape, text in (("functions", side_by_side(spelled, options.count)),
                                ("a chain", chain(options.opt, spelled, options.count))):
                if text is None:
                    continue
                source, raised = Path(folder) / "source.mlir", Path(folder) / "raised.mlir"
                source.write_text(text)
                command = [options.opt, "--mlir-disable-threading"]
                output, seconds = timed([*command, str(source), "--fa-raise-attention"])
                # Functions that nobody calls are dropped once they are read.
                source.write_text(re.sub(r"func\.func @", "func.func private @", text))
                seconds -= timed([*command, str(source), "--symbol-dce"])[1]
                raised.write_text(output)
                raised_count = len(re.findall(r" = fa\.attention ", output))
                again = run([options.opt, str(raised), "--fa-raise-attention"])
                problems = [problem for problem, wrong in (
                    (f"{raised_count} attentions, expected {options.count}", raised_count != options.count),
                    (f"above {options.seconds:g} s", seconds > options.seconds),
                    ("raising again changes the text", again != output)) if wrong]
                passed, failed = passed + (not problems), failed + bool(problems)
                print(f"{'FAILED ' if problems else ''}{path.name}, {shape}: {seconds:.2f} s {'; '.join(problems)}".rstrip())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
