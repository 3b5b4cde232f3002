"""Holds what the benchmarks report to numbers that are known."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(sys.argv[1]) / "benchmarks/gpu"))
import bars  # noqa: E402
import join  # noqa: E402
import profiler  # noqa: E402
import report  # noqa: E402
import traffic  # noqa: E402


def near(value, expected, tolerance=1e-12):
    assert abs(value - expected) <= tolerance, (value, expected)


def check_ratio():
    # Drift that both share cancels: each round is a ratio of its own.
    own = np.linspace(1.0, 2.0, 11)
    value = report.ratio(own, 1.25 * own)
    for key in ("ratio", "low", "high"):
        near(value[key], 1.25)
    # One bad round moves neither the median nor its interval.
    other = own.copy()
    other[3] *= 40
    value = report.ratio(own, other)
    near(value["high"], 1.0)
    # The interval of a median covers the median of what the rounds are drawn from about 95 times in 100.
    random = np.random.default_rng(7)
    rounds = [report.ratio(np.ones(15), random.lognormal(0, 0.05, 15)) for _ in range(400)]
    covered = np.mean([value["low"] <= 1 <= value["high"] for value in rounds])
    assert 0.90 <= covered <= 0.99, covered
    # And it narrows with the number of rounds, as the root of it.
    wide = np.mean([value["high"] - value["low"] for value in rounds])
    narrow = np.mean([value["high"] - value["low"] for value in (
        report.ratio(np.ones(60), random.lognormal(0, 0.05, 60)) for _ in range(100))])
    assert 0.35 < narrow / wide < 0.7, narrow / wide


def check_compare():
    times = {"mine": [2.0, 2.0], "hand a": [3.0, 3.0], "hand b": [1.0, 1.0], "fa3": [4.0, 4.0], "fa4": [3.0, 3.0]}
    own, ratios = report.compare(times, ["mine"], ["hand a", "hand b"])
    assert own == {"derived": "mine", "written": "hand b"}, own
    # A derived kernel is held to the fastest of those written by hand, and to the faster of two peers.
    near(ratios["derived"]["written"]["ratio"], 0.5)
    near(ratios["derived"]["fa3"]["ratio"], 2.0)
    near(ratios["derived"]["fa3 or fa4"]["ratio"], 1.5)
    near(ratios["written"]["fa4"]["ratio"], 3.0)
    assert "flex" not in ratios["derived"] and "hand a" not in ratios["derived"], ratios
    # Without a kernel of this project there is nothing to compare.
    assert report.compare({"fa3": [1.0]}, ["mine"], []) == ({}, {})


def cell(length, ratio, width, **key):
    value = {"ratio": ratio, "low": ratio - width, "high": ratio + width}
    return {"case": f"length {length}", "group": "bf16 d128 full", "part": "forward", "mode": "burst", "form": "sm_90a",
            "element": "bf16", "head_dim": 128, "length": length, "ratios": {"derived": {"written": value}}} | key


def check_bars():
    cells = [cell(512, 0.98, 0.005), cell(1024, 0.98, 0.02), cell(2048, 1.1, 0.01)]
    verdict, = bars.judge(cells)
    # Below its bar with the whole interval, 0.99: one cell. The second may reach it.
    assert list(verdict["short"]) == ["length 512"] and not verdict["holds"], verdict
    near(verdict["mean"], (0.98 * 0.98 * 1.1) ** (1 / 3))
    verdict, = bars.judge(cells[1:])
    assert verdict["holds"], verdict
    # A mean below its bar is short without a cell that is.
    value = cells[1]["ratios"]["derived"]["written"]
    named = {verdict["what"]: verdict for verdict in bars.judge([cell(512, 1, 0, ratios={"derived": {"fa3": value}})])}
    assert not named["d128 to FlashAttention-3, burst"]["holds"], named
    assert named["d128 to FlashAttention-3"]["holds"], named
    # A score function is held to bars of its own.
    softcap = cell(8192, 0.9, 0.01, part="masks", case="softcap", ratios={"derived": {"fa3": value}})
    assert [verdict["what"] for verdict in bars.judge([softcap])] == ["softcap to FlashAttention-3"]
    means, = report.means(cells)
    assert means["cells"] == 3 and means["least"] == 0.98, means


def check_markdown():
    found = cell(512, 1.2, 0.1, own={"derived": "mine"}, tflops={"mine": 512.4})
    lines = report.markdown([found]).splitlines()
    assert lines[-1] == "| length 512 | 1.200 [1.100, 1.300] | 512 |", lines


def check_join():
    first = {"date": "2026-01-02", "commit": "abc", "device": "NVIDIA Some GPU", "seed": 1, "notes": ["slow"],
             "cells": [cell(512, 1.0, 0.01), cell(1024, 1.1, 0.01)]}
    second = first | {"date": "2026-01-03", "seed": 2, "notes": [], "cells": [cell(512, 1.2, 0.01)]}
    joined = join.join([first, second])
    # A cell of both is the later run's; what each run says about itself stays.
    assert [value["ratios"]["derived"]["written"]["ratio"] for value in joined["cells"]] == [1.2, 1.1], joined
    assert joined["date"] == "2026-01-03" and [run["seed"] for run in joined["runs"]] == [1, 2], joined
    near(joined["means"][0]["mean"], (1.2 * 1.1) ** 0.5)
    assert "2 January 2026, commit abc" in report.heading(first), report.heading(first)
    try:
        join.join([first, second | {"commit": "def"}])
        raise AssertionError("runs of two commits are joined")
    except ValueError as error:
        assert "differ in commit: abc and def" in str(error), error
    # Unless the later one renews cells; the table names both, and runs stay as they were.
    renewed = join.join([joined, second | {"commit": "def", "seed": 3}], renews=True)
    assert renewed["commit"] == "abc, def", renewed
    assert [(run["commit"], run["seed"]) for run in renewed["runs"]] == [("abc", 1), ("abc", 2), ("def", 3)], renewed
    assert join.join([renewed, second | {"commit": "def"}], renews=True)["commit"] == "abc, def"


def check_rates():
    # One series for each kind of own kernel, and one for each other that took part.
    value = {"ratio": 1.0, "low": 1.0, "high": 1.0}
    found = cell(512, 1.2, 0.1, own={"derived": "mine", "written": "hand b"},
                 ratios={"derived": {"written": value, "fa3": value, "fa3 or fa4": value}, "written": {"fa3": value}},
                 tflops={"mine": 5, "hand a": 3, "hand b": 4, "fa3": 2})
    assert report.rates(found) == {"derived": 5, "written": 4, "fa3": 2}, report.rates(found)


def check_counts():
    header = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
    rows = [(0, "spin_kernel(long)", 99), (1, "attention", 1000), (2, "combine", 24), (3, "spin_kernel(long)", 99),
            (4, "softmax", 7)]
    lines = [f'"{i}","{name}","{metric}","byte","{value:,}"' for i, name, value in rows for metric in traffic.METRICS]
    first, second = map(traffic.add_up, profiler.parse("\n".join(["==PROF== Connected", header, *lines])))
    assert first["dram_read"] == first["l2"] == 1024 and first["kernels"] == ["attention", "combine"], first
    assert second["dram_written"] == 7 and second["kernels"] == ["softmax"], second
    try:
        profiler.parse("==ERROR== no permission")
        raise AssertionError("no error")
    except ValueError as error:
        assert "no permission" in str(error)
    assert traffic.least_bytes(8192, 16) == 8192 * 16 * (4 * 256 + 4)


check_ratio()
check_compare()
check_bars()
check_markdown()
check_join()
check_rates()
check_counts()
print("good")
