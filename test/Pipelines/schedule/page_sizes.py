"""Interprets one decoding problem with pages of many sizes, as scheduled and as planned, and compares it with float64."""

import random
import subprocess
import sys
from pathlib import Path

FOLDER, CHIP = Path(sys.argv[1]), sys.argv[2]
SIZES = [int(size) for size in sys.argv[3].split(",")]
TEXT = """!q = memref<?x2x8x64xbf16>
!pool = memref<?xROWSx2x64xbf16>
func.func @decode(%q: !q, %k: !pool, %v: !pool, %o: !q, %lengths: memref<?xi32>, %table: memref<?x?xi32>) {
  fa.attention ins(%q, %k, %v : !q, !pool, !pool) outs(%o : !q)
      key_lengths(%lengths : memref<?xi32>) key_pages(%table : memref<?x?xi32>) mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>CONFIG}
  return
}
"""
LENGTHS = [150, 0, 64, 277]


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        print(result.stdout + result.stderr)
    return result


def table(rows, rng):
    """Pages in any order, entries past a length that are none, and one page too many for a key of the last sequence."""
    columns = max(1, -(-max(LENGTHS) // rows))
    used = [-(-length // rows) for length in LENGTHS]
    pages = rng.sample(range(sum(used) + 3), sum(used))
    entries, lost = [], rng.randrange(used[-1])
    for number, count in enumerate(used):
        row = [pages.pop() for _ in range(count)]
        if number == len(used) - 1:
            row[lost] = sum(used) + 3
        entries += row + [rng.choice([-1, 70000])] * (columns - count)
    return sum(used) + 3, columns, entries


failures = runs = 0
for size in SIZES:
    # 0 rows: as many as the call says.
    rows = size or 5
    config = ", config = #fa.config<query_block = 64, key_block = 48, key_splits = 2>" if size in (12, 24) else ""
    text = TEXT.replace("ROWS", str(size or "?")).replace("CONFIG", config)
    problem, schedule, planned = (FOLDER / f"{size}.{kind}.mlir" for kind in ("problem", "schedule", "planned"))
    problem.write_text(text)
    run("fa-opt", problem, f"-fa-to-schedule=chip={CHIP}", "-o", schedule)
    run("fa-opt", schedule, "--pass-pipeline=builtin.module(fagpu-plan)", "-o", planned)
    pool, columns, entries = table(rows, random.Random(size))
    batch = len(LENGTHS)
    inputs = [f"{batch}x2x8x64xbf16", *[f"{pool}x{rows}x2x64xbf16"] * 2, f"{batch}x2x8x64xbf16", f"{batch}xi32={LENGTHS}".replace(" ", ""),
              f"{batch}x{columns}xi32={entries}".replace(" ", "")]
    for text in (schedule, planned):
        done = run("fa-run", text, "--entry=decode", "--target=interpret", "--verify", f"--against={problem}",
                   *["--input=" + each for each in inputs])
        runs += 1
        if done.returncode or "verified all rows" not in done.stdout:
            failures += 1
            print("failed:", text, *inputs)
print(f"{runs - failures} of {runs} runs verified")
sys.exit(failures != 0)
