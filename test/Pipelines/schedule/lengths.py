"""Runs attention of several configurations with numbers of keys on both sides of where they begin."""

import subprocess
import sys

TARGET = ["--target=cpu"] if sys.argv[2] == "cpu" else ["--target=interpret", "--chip=" + sys.argv[2]]
failures = runs = 0


def run(entry, *inputs):
    global failures, runs
    result = subprocess.run(
        ["fa-run", sys.argv[1], "--entry=" + entry, "--verify", *TARGET, *("--input=" + text for text in inputs)], capture_output=True, text=True)
    runs += 1
    if result.returncode or "verified all rows" not in result.stdout:
        failures += 1
        print("failed:", entry, *inputs)
        print(result.stdout + result.stderr)


def shapes(batch, queries, keys, heads, kv_heads, head_dim=64):
    query, key = f"{batch}x{queries}x{heads}x{head_dim}xbf16", f"{batch}x{keys}x{kv_heads}x{head_dim}xbf16"
    return [query, key, key, query, f"{batch}x{heads}x{queries}xf32"]


def all_forms():
    for keys in (0, 1, 299, 300, 301, 500):
        run("full", *shapes(2, 150, keys, 2, 1))
    for keys in (99, 100, 399, 400, 450):
        run("causal", *shapes(2, keys, keys, 2, 2), f"2xi32=[{keys},{keys // 3}]")
    for queries, keys in ((49, 300), (50, 199), (50, 200), (129, 300), (130, 299), (130, 300)):
        run("by_queries", *shapes(1, queries, keys, 2, 1))
    for keys in (299, 300, 420):
        ids = ",".join(str(i // 70) for i in range(keys))
        run("documents", *shapes(1, keys, keys, 2, 1), f"1x{keys}xi32=[{ids}]")
        run("one_tile", *shapes(1, 128, keys, 1, 1))
    run("known", *shapes(1, 128, 300, 2, 2)[:4])


def wide():
    for queries in (149, 150):
        run("wide_full", *shapes(1, queries, 353, 2, 1, 128))
    for keys in (199, 200, 352, 353, 700):
        run("wide_full", *shapes(1, 200, keys, 2, 1, 128))
        run("wide_causal", *shapes(1, keys, keys, 3, 1, 128))
        run("wide_causal", *shapes(1, 130, keys, 2, 2, 128))


def gradients():
    for queries, keys, heads in ((159, 210, 2), (160, 199, 1), (160, 200, 1), (160, 200, 2), (399, 401, 2), (400, 401, 1)):
        query, key = (f"1x{rows}x{count}x128xbf16" for rows, count in ((queries, heads), (keys, 1)))
        run("gradients", query, key, key, query, f"1x{heads}x{queries}xf32", query, query, key, key)


gradients() if "gradient" in sys.argv[1] else wide() if sys.argv[1].endswith("_sm_90a.mlir") else all_forms()
print(f"{runs - failures} of {runs} runs verified")
