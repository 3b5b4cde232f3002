"""Interprets schedules of gradients whose blocks come from tables, for masks that leave few, all or no blocks."""

import pathlib
import random
import subprocess
import sys
import tempfile

failures = 0
runs = 0
draw = random.Random(5)


def interpret(entry, inputs, head_dim, clauses):
    """Interprets the schedule of `entry` and compares it with float64."""
    global failures, runs
    text = pathlib.Path(sys.argv[1]).read_text().replace("HEAD_DIM", str(head_dim)).replace("CLAUSES", clauses)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        result = subprocess.run(
            ["fa-run", file.name, "--chip=" + sys.argv[2], "--entry=" + entry, "--target=interpret", "--verify", *inputs],
            capture_output=True,
            text=True,
        )
    runs += 1
    if result.returncode or "verified all rows" not in result.stdout:
        failures += 1
        print("failed:", entry, head_dim, clauses, *inputs)
        print(result.stdout + result.stderr)


def run(entry, batch, queries, keys, heads, kv_heads, *more, head_dim=64, clauses=""):
    of_queries = f"{batch}x{queries}x{heads}x{head_dim}xbf16"
    of_keys = f"{batch}x{keys}x{kv_heads}x{head_dim}xbf16"
    shapes = [of_queries, of_keys, of_keys, of_queries, f"{batch}x{heads}x{queries}xf32", of_queries, of_queries, of_keys, of_keys]
    interpret(entry, ["--input=" + text for text in [*shapes, *more]], head_dim, clauses)


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


def sparse(batch, heads, queries, keys, density):
    rows, columns = -(-queries // 64), -(-keys // 64)
    count = batch * heads * rows * columns
    return table((batch, heads, rows, columns), (int(draw.random() < density) for _ in range(count)), "i8")


deterministic = "{deterministic}"
for clauses in ("", deterministic):
    for size in (1, 130, 5000):
        run("documents", 2, 400, 400, 2, 1, pack(2, 400, size), clauses=clauses)
    # More than one group of blocks for a row of the table, of which some are passed over.
    run("documents", 1, 1300, 200, 1, 1, pack(1, 1300, 300), clauses=clauses)
    run("documents", 1, 200, 1300, 1, 1, pack(1, 1300, 300), clauses=clauses)
    for left in (77, 2**62):
        run("window_documents", 1, 500, 500, 2, 1, pack(1, 500, 150), f"index={left}", clauses=clauses)
    run("lengths_documents", 3, 300, 400, 2, 1, pack(3, 400, 70), "3xi32=[300,129,0]", "3xi32=[400,200,50]", clauses=clauses)
    for heads, kv_heads in ((2, 2), (4, 2)):
        run("sparse_heads", 2, 320, 300, heads, kv_heads, sparse(2, heads, 320, 300, 0.3), clauses=clauses)
    run("padding", 2, 200, 600, 2, 2, table((600,), (int(i % 300 < 140) for i in range(600))), clauses=clauses)
    # No block is left.
    run("padding", 1, 200, 300, 1, 1, table((300,), [0] * 300), clauses=clauses)
    run("documents", 1, 300, 300, 1, 1, pack(1, 300, 90), head_dim=128, clauses=clauses)
run("documents", 1, 300, 300, 2, 1, pack(1, 300, 120), head_dim=192)
print(f"{runs - failures} of {runs} runs verified")
sys.exit(failures != 0)
