"""Runs problems whose sizes are all dynamic, each by one schedule, for many sizes."""

import subprocess
import sys

failures = 0
runs = 0


def run(entry, batch, queries, keys, heads, kv_heads, *more, lse=True):
    """Interprets the schedule of `entry` and compares it with float64."""
    global failures, runs
    shapes = [
        f"{batch}x{queries}x{heads}x64xbf16",
        f"{batch}x{keys}x{kv_heads}x64xbf16",
        f"{batch}x{keys}x{kv_heads}x64xbf16",
        f"{batch}x{queries}x{heads}x64xbf16",
    ]
    if lse:
        shapes.append(f"{batch}x{heads}x{queries}xf32")
    inputs = ["--input=" + text for text in shapes + list(more)]
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


def lengths():
    for queries, keys in ((0, 5), (5, 0), (1, 1), (1, 300), (17, 17), (300, 1), (300, 17), (70, 333)):
        for entry in ("full", "causal", "sinks"):
            run(entry, 1, queries, keys, 2, 1)
    run("causal", 0, 4, 4, 2, 2)
    run("causal", 2, 65, 70, 0, 0)
    run("lengths", 4, 200, 300, 4, 2, "4xi32=[200,129,0,1]", "4xi32=[300,17,40,0]")
    run("lengths", 3, 0, 300, 2, 2, "3xi32=[0,0,0]", "3xi32=[300,17,40]")


def scores():
    for shape in ("1x1x1x1", "2x1x1x1", "1x4x1x1", "1x1x70x1", "1x1x1x90", "2x4x70x90"):
        run("bias", 2, 70, 90, 4, 2, shape + "xf32", lse=False)
    for scale in ("0.2", "-0.2", "0.0"):
        run("alibi", 1, 100, 130, 4, 2, "4xf32=[0.5,0.25,0.125,0.0625]", "f32=" + scale, lse=False)


def masks():
    run("block_sparse", 1, 100, 130, 2, 2, "4x5xi32=[1,0,0,0,0, 0,0,0,0,0, 1,1,1,1,1, 0,1,0,1,0]")
    # A negative size is unlimited, and so is one that no sum of 32 bits holds.
    sizes = (0, 0), (40, 0), (5, 5), (-1, 5), (5, -1), (-1, -1), (0, 2**31 - 1), (2**31 - 1, 2**31 - 1), (2**40, 2**40)
    for left, right in sizes:
        run("window", 1, 140, 333, 2, 2, f"index={left}", f"index={right}")


lengths()
scores()
masks()
print(f"{runs - failures} of {runs} runs verified")
sys.exit(failures != 0)
