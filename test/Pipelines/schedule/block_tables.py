"""Interprets schedules whose key blocks come from a table, for masks that leave few, all or no blocks."""

import random
import subprocess
import sys
import tempfile

import numpy

failures = 0
runs = 0
draw = random.Random(7)


def interpret(entry, inputs):
    """Interprets the schedule of `entry` and compares it with float64."""
    global failures, runs
    result = subprocess.run(
        ["fa-run", sys.argv[1], "--chip=" + sys.argv[2], "--entry=" + entry, "--target=interpret", "--verify", *inputs],
        capture_output=True,
        text=True,
    )
    runs += 1
    if result.returncode or "verified all rows" not in result.stdout:
        failures += 1
        print("failed:", entry, *inputs)
        print(result.stdout + result.stderr)


def run(entry, batch, queries, keys, heads, kv_heads, *more):
    shapes = [
        f"{batch}x{queries}x{heads}x64xbf16",
        f"{batch}x{keys}x{kv_heads}x64xbf16",
        f"{batch}x{keys}x{kv_heads}x64xbf16",
        f"{batch}x{queries}x{heads}x64xbf16",
        f"{batch}x{heads}x{queries}xf32",
    ]
    interpret(entry, ["--input=" + text for text in shapes + list(more)])


def table(shape, values, kind="i32"):
    return "x".join(map(str, shape)) + f"x{kind}=[" + ",".join(map(str, values)) + "]"


def pack(batch, length, size):
    """Document ids: rows of documents of about `size` tokens, in no order of ids."""
    rows = []
    for _ in range(batch):
        ids, name = [], 50
        while len(ids) < length:
            name = (name * 7 + 3) % 101
            ids += [name] * draw.randint(max(1, size // 2), size * 3 // 2)
        rows += ids[:length]
    return table((batch, length), rows)


def documents():
    for size in (1, 40, 130, 300, 5000):
        for entry in ("documents", "causal_documents"):
            run(entry, 2, 640, 640, 2, 1, pack(2, 640, size))
    # Ids that come again, that nobody else has, and too few of them.
    run("documents", 1, 500, 500, 1, 1, table((1, 500), (i // 60 % 3 for i in range(500))))
    run("documents", 1, 400, 700, 2, 2, pack(1, 700, 128))
    run("causal_documents", 1, 700, 400, 2, 2, pack(1, 700, 90))
    run("documents", 1, 300, 300, 1, 1, table((1, 100), (5 + i // 50 for i in range(100))))
    # More than one group of key blocks for a row of the table, of which some are passed over.
    for entry, size in (("documents", 300), ("causal_documents", 700), ("documents", 1100)):
        run(entry, 1, 200, 2300, 1, 1, pack(1, 2300, size))
    for left in (0, 77, 256):
        run("window_documents", 1, 600, 600, 2, 1, pack(1, 600, 150), f"index={left}")
    run("prefix_documents", 2, 300, 300, 2, 1, pack(2, 300, 100), "2xi32=[200,3]")
    run("lengths_documents", 3, 300, 400, 2, 1, pack(3, 400, 70), "3xi32=[300,129,0]", "3xi32=[400,200,50]")


def tables_of_blocks():
    run("block_sparse", 2, 300, 500, 2, 1, table((10, 11), (int(draw.random() < 0.2) for _ in range(110))))
    run("block_sparse", 1, 300, 500, 2, 2, table((10, 11), [0] * 110))
    run("block_sparse", 1, 300, 500, 2, 2, table((10, 11), [1] * 110))
    run("sparse_heads", 2, 320, 512, 4, 2, table((2, 4, 5, 8), (int(draw.random() < 0.3) for _ in range(320)), "i8"))


def others():
    run("padding", 2, 200, 600, 2, 2, table((600,), (int(i % 300 < 140) for i in range(600))))
    for queries, keys in ((400, 900), (1, 1000), (129, 128), (5, 1), (0, 300), (300, 0)):
        run("custom", 1, queries, keys, 2, 1)
    run("custom", 0, 10, 10, 2, 2)


def by_least_and_greatest():
    """Numbers by which whole blocks are seen, hidden or neither, below 0 too, and too few of them."""
    tables = {
        "of blocks": [(-7, 3, -7, 0, -1)[i // 128 % 5] for i in range(600)],
        "ascending": [i // 50 - 6 for i in range(600)],
        "descending": [4 - i // 90 for i in range(600)],
        "one off": [-3 if i == 300 else -4 for i in range(600)],
        "of any order": [draw.randint(-9, 9) for _ in range(600)],
        "large": [(-(2**31), 2**31 - 1, -1)[i // 200] for i in range(600)],
    }
    for entry in ("ordered", "near", "either", "opposite", "one_of_two"):
        for ids in tables.values():
            run(entry, 1, 400, 600, 1, 1, table((1, 600), ids))
        run(entry, 1, 200, 300, 1, 1, table((1, 130), [-5] * 130))


def not_loaded():
    """A product with a probability of 0 would make NaN of values that are NaN."""
    value = numpy.random.default_rng(1).standard_normal((1, 768, 1, 64)).astype(numpy.float16)
    value[:, 128:384] = numpy.nan
    value[:, 640:] = numpy.nan
    valid = table((768,), (int(not (128 <= i < 384 or i >= 640)) for i in range(768)))
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        numpy.save(file.name, value)
        shapes = ["1x200x1x64xf16", "1x768x1x64xf16", "@" + file.name, "1x200x1x64xf16", "1x1x200xf32", valid]
        interpret("padding_f16", ["--input=" + text for text in shapes])


documents()
tables_of_blocks()
others()
by_least_and_greatest()
not_loaded()
print(f"{runs - failures} of {runs} runs verified")
sys.exit(failures != 0)
