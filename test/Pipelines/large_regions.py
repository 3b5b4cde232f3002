"""Compiles regions of many operations that use what they compute more than once, within a bound of seconds.

A walk over operands that forgets what it saw takes 2 to the power of their number of steps; one that recurses needs a
stack as deep as a chain is long.
"""

import argparse
import resource
import subprocess


def steps(count, *lines):
    """`lines` for each step, of %a{n} and %b{n}, which give %a{m} and %b{m}."""
    each = "\n      ".join(lines)
    return "\n      ".join(
        each.replace("{n}", str(i)).replace("{m}", str(i + 1)).replace("{c}", str(1000 + i))
        for i in range(count // len(lines))
    )


def last(count, *lines):
    return count // len(lines)


def attention(score="", mask="", before="", options="", arguments=""):
    score = score and f"score(%s, %b, %h, %i, %j){score}"
    mask = mask and f"mask(%b, %h, %i, %j){mask}"
    return f"""!mem = memref<?x?x?x64xbf16>
func.func @attention(%query: !mem, %key: !mem, %value: !mem, {arguments}%output: !mem) {{
  %one = arith.constant 1 : index
  %keys = memref.dim %key, %one : !mem
  {before}
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) {options}
    {score} {mask}
  return
}}
"""


def region(count, start, lines, end, captures=""):
    """A region that starts with %a0 and %b0 and ends with `end`, where {l} is the last step."""
    return f"""{captures} {{
      {start}
      {steps(count, *lines)}
      {end.replace("{l}", str(last(count, *lines)))}
    }}"""


REAL = "%a0 = arith.addf %s, %s : f32\n      %b0 = arith.mulf %s, %s : f32"
REAL_END = "fa.yield %a{l} : f32"
POSITIONS = "%a0 = arith.subi %i, %j : index\n      %b0 = arith.maxsi %i, %j : index"
QUERIES = "%b0 = fa.key_length : index\n      %a0 = arith.subi %b0, %i : index"
LENGTHS = "%a0 = fa.query_length : index\n      %b0 = fa.key_length : index"
WORDS = """%i32 = arith.index_cast %i : index to i32
      %j32 = arith.index_cast %j : index to i32
      %a0 = arith.subi %i32, %j32 : i32
      %b0 = arith.addi %j32, %i32 : i32"""
REAL_OF_INDEX = """%word = arith.index_cast %a{l} : index to i32
      %real = arith.sitofp %word : i32 to f32
      %sum = arith.addf %s, %real : f32
      fa.yield %sum : f32"""
REAL_OF_WORD = """%real = arith.sitofp %a{l} : i32 to f32
      %sum = arith.addf %s, %real : f32
      fa.yield %sum : f32"""
BELOW = """%v = arith.cmpi sle, %j, %a{l} : index
      fa.yield %v : i1"""
AT_LEAST_0 = """%zero = arith.constant 0 : index
      %v = arith.cmpi sge, %a{l}, %zero : index
      fa.yield %v : i1"""
CAUSAL = "%a0 = arith.cmpi sle, %j, %i : index\n      %w = arith.addi %j, %i : index\n      %b0 = arith.cmpi sle, %w, %i : index"
FLAG_END = "fa.yield %a{l} : i1"

# Each step uses both values before it, %a twice.
CHAIN = ["%a{m} = arith.addf %a{n}, %a{n} : f32"]
LADDER = ["%a{m} = arith.addf %a{n}, %b{n} : f32", "%b{m} = arith.mulf %a{n}, %b{n} : f32"]
MINIMA = ["%a{m} = arith.minimumf %a{n}, %b{n} : f32", "%b{m} = arith.mulf %a{m}, %b{n} : f32"]


def sums(type):
    return [f"%a{{m}} = arith.addi %a{{n}}, %a{{n}} : {type}"]


def bounds(type):
    return [
        f"%c{{n}} = arith.constant {{c}} : {type}",
        f"%l{{n}} = arith.minsi %a{{n}}, %c{{n}} : {type}",
        f"%b{{m}} = arith.subi %a{{n}}, %b{{n}} : {type}",
        f"%a{{m}} = arith.maxsi %l{{n}}, %b{{m}} : {type}",
    ]


def cases(count):
    yield "score-chain", attention(score=region(count, REAL, CHAIN, REAL_END))
    yield "score-ladder", attention(score=region(count, REAL, LADDER, REAL_END))
    yield "score-minima", attention(score=region(count, REAL, MINIMA, REAL_END))
    for name, start, type, end in (
        ("index", POSITIONS, "index", REAL_OF_INDEX),
        ("word", WORDS, "i32", REAL_OF_WORD),
        ("length", LENGTHS, "index", REAL_OF_INDEX),
    ):
        yield f"score-{name}-sums", attention(score=region(count, start, sums(type), end))
        yield f"score-{name}-bounds", attention(score=region(count, start, bounds(type), end))
    for name, start, end in (("query", QUERIES, BELOW), ("pair", POSITIONS, AT_LEAST_0), ("length", LENGTHS, BELOW)):
        yield f"mask-{name}-sums", attention(mask=region(count, start, sums("index"), end))
        yield f"mask-{name}-bounds", attention(mask=region(count, start, bounds("index"), end))
    word = WORDS + "\n      %zero = arith.constant 0 : i32"
    end = "%v = arith.cmpi sge, %a{l}, %zero : i32\n      fa.yield %v : i1"
    yield "mask-word-sums", attention(mask=region(count, word, sums("i32"), end))
    yield "mask-word-bounds", attention(mask=region(count, word, bounds("i32"), end))
    flags = ["%a{m} = arith.xori %a{n}, %b{n} : i1", "%b{m} = arith.andi %a{m}, %b{n} : i1"]
    yield "mask-flags", attention(mask=region(count, CAUSAL, flags, FLAG_END))
    # Each two of them are nothing: what folds is not asked to be analysed again.
    folded = ["%a{m} = arith.xori %a{n}, %b0 : i1"]
    yield "mask-folds", attention(mask=region(count, CAUSAL, folded, FLAG_END))
    chosen = ["%t{n} = arith.select %a{n}, %b{n}, %a{n} : i1", "%a{m} = arith.ori %t{n}, %b{n} : i1",
              "%b{m} = arith.xori %t{n}, %b{n} : i1"]
    yield "mask-choices", attention(mask=region(count, CAUSAL, chosen, FLAG_END))
    compared = ["%c{n} = arith.constant {c} : index", "%e{n} = arith.addi %i, %c{n} : index",
                "%v{n} = arith.cmpi slt, %j, %e{n} : index", "%b{m} = arith.xori %b{n}, %v{n} : i1",
                "%a{m} = arith.ori %a{n}, %b{m} : i1"]
    yield "mask-comparisons", attention(mask=region(count, CAUSAL, compared, FLAG_END))
    limits = ["%c{n} = arith.constant {c} : index", "%e{n} = arith.addi %i, %c{n} : index",
              "%v{n} = arith.cmpi slt, %j, %e{n} : index", "%a{m} = arith.andi %a{n}, %v{n} : i1"]
    yield "mask-limits", attention(mask=region(count, CAUSAL, limits, FLAG_END))
    # A sum of many terms of which none is linear.
    terms = ["%c{n} = arith.constant {c} : index", "%t{n} = arith.maxsi %i, %c{n} : index",
             "%a{m} = arith.addi %a{n}, %t{n} : index"]
    yield "mask-terms", attention(mask=region(count, QUERIES, terms, BELOW))
    # What the caller computes: the scale, and captured numbers.
    real = "%a0 = math.absf %x : f32\n  %b0 = math.exp %x : f32\n  "
    yield "scale-chain", attention(before=real + steps(count, *CHAIN), arguments="%x: f32, ",
                                   options=f"scale(%a{last(count, *CHAIN)})")
    yield "scale-ladder", attention(before=real + steps(count, *LADDER), arguments="%x: f32, ",
                                    options=f"scale(%a{last(count, *LADDER)})")
    for type in ("index", "i32"):
        start = "%a0 = arith.addi %keys, %one : index\n  %b0 = arith.subi %keys, %one : index\n  "
        if type == "i32":
            start = "%a0 = arith.index_cast %keys : index to i32\n  %b0 = arith.constant 3 : i32\n  "
        for name, lines in (("sums", sums(type)), ("bounds", bounds(type))):
            body = f""" captures(%x = %a{last(count, *lines)} : {type}) {{
      %at = {"arith.addi %x, %i : index" if type == "index" else "arith.index_cast %x : i32 to index"}
      %v = arith.cmpi sle, %j, %at : index
      fa.yield %v : i1
    }}"""
            yield f"captured-{type}-{name}", attention(before=start + steps(count, *lines), mask=body)
    # Places in captured memory.
    loaded = region(count, QUERIES, bounds("index"), """%x = memref.load %m[%a{l}] : memref<?xf32>
      %sum = arith.addf %s, %x : f32
      fa.yield %sum : f32""", captures=" captures(%m = %memory : memref<?xf32>)")
    yield "score-place", attention(score=loaded, arguments="%memory: memref<?xf32>, ")


PIPELINES = {
    "cpu": "-fa-to-cpu",
    "sm_90a": "-fa-to-schedule=chip=sm_90a",
    "sm_80": "-fa-to-schedule=chip=sm_80",
    "ptx": "-fa-to-ptx=chip=sm_90a",
    "canonicalize": "-canonicalize",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--pipelines", nargs="+", default=["cpu", "sm_90a", "sm_80"], choices=list(PIPELINES))
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--names", nargs="+")
    arguments = parser.parse_args()
    passed = failed = 0

    def limit():
        """Seconds of processors, whatever else the machine does."""
        resource.setrlimit(resource.RLIMIT_CPU, (arguments.seconds, arguments.seconds))

    for name, text in cases(arguments.count):
        if arguments.names and name not in arguments.names:
            continue
        if arguments.print:
            print(text)
            continue
        for pipeline in arguments.pipelines:
            if pipeline == "cpu" and name.startswith("mask-length"):
                continue  # affine::isValidSymbol of MLIR asks for operands again and again
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            result = subprocess.run(["fa-opt", "-", PIPELINES[pipeline], "-o", "/dev/null"], input=text,
                                    capture_output=True, text=True, preexec_fn=limit)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            answer = "ok" if not result.returncode else f"exit {result.returncode}: {result.stderr[:300]}"
            passed, failed = passed + (answer == "ok"), failed + (answer != "ok")
            print(f"{name} {pipeline} {seconds:.1f} s {answer}", flush=True)
    if not arguments.print:
        print(f"{passed} passed, {failed} failed")


main()
