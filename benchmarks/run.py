#!/usr/bin/env python3
"""Compares the code of this project with PyTorch's scaled_dot_product_attention
and with fa-naive, on the CPU.

Contestants take turns within one run, on the same number of threads, so that the
ratios mean something on a busy machine. A ratio above 1 says that this project is
faster. Results go to benchmarks/results as JSON and as a plot.
"""

import os

# Idle threads of one contestant must not spin while another one runs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import argparse
import datetime
import json
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

import cases
from contestants import Compiled, Torch

ROOT = Path(__file__).resolve().parent.parent
# The scores of fa-naive: it is left out where they would be larger.
NAIVE_BYTES = 1 << 30


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            flags = Path("/proc/cpuinfo").read_text()
            width = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE"
            return f"{name} ({width})"
    return platform.processor()


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def measure(runs, seconds):
    """Median seconds of each contestant: they take turns until about `seconds` have
    gone by, at least three rounds after one that does not count."""
    first = {name: run() for name, run in runs.items()}
    rounds = int(min(30, max(3, seconds / sum(first.values()))))
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return {name: statistics.median(values) for name, values in times.items()}


def check_equal(case, *contestants):
    """Outputs agree: a fast wrong answer is no result."""
    output, other = (contestant.output(case) for contestant in contestants)
    error = np.linalg.norm(output - other) / np.linalg.norm(other)
    bound = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[case.element]
    if error > bound:
        sys.exit(f"error: {case.name}: outputs differ by {error:.1e}")


class Bench:
    def __init__(self, arguments):
        self.seconds = arguments.seconds
        self.ours = Compiled(arguments.build, arguments.threads)
        self.naive = Compiled(arguments.build, arguments.threads, ["--fa-naive"])
        self.earlier = Compiled(arguments.before, arguments.threads) if arguments.before else None
        self.torch = Torch(arguments.threads) if "speed" in arguments.only else None
        self.lines = []

    def row(self, case, times, **ratios):
        rate = {name: case.operations / t / 1e9 for name, t in times.items()}
        entry = {"case": case.name, "seconds": times,
                 "gflops_per_second": {k: round(v, 1) for k, v in rate.items()},
                 "ratios": {k: round(v, 3) for k, v in ratios.items()}}
        self.lines.append(entry)
        text = "  ".join(f"{k} {v:.2f}" for k, v in ratios.items())
        speed = "  ".join(f"{k} {v:.1f}" for k, v in rate.items())
        print(f"{case.name:26s} {text:42s} GFLOP/s: {speed}", flush=True)

    def speed(self):
        """Full and causal attention of one size take turns too."""
        print("ratios: seconds of the other over ours")
        for full, causal in cases.speed_cases():
            runs = {}
            for case in (full, causal):
                runs[case, "fa"] = self.ours.prepare(case)
                runs[case, "torch"] = self.torch.prepare(case)
                if 4 * case.heads * case.length ** 2 <= NAIVE_BYTES:
                    runs[case, "naive"] = self.naive.prepare(case)
            times = measure(runs, 2 * self.seconds)
            for case in (full, causal):
                check_equal(case, self.ours, self.torch)
                own = {name: t for (c, name), t in times.items() if c == case}
                ratios = {f"to {name}": t / own["fa"] for name, t in own.items() if name != "fa"}
                if case is causal:
                    ratios["time of full"] = own["fa"] / times[full, "fa"]
                self.row(case, own, **ratios)

    def elements(self):
        """f16 and bf16 beside f32 of the same problem."""
        for group in cases.element_cases():
            times = measure({case.element: self.ours.prepare(case) for case in group},
                            self.seconds)
            for case in group[1:]:
                self.row(case, {"fa": times[case.element], "fa f32": times["f32"]},
                         **{"speed of f32": times["f32"] / times[case.element]})

    def window(self):
        windowed, full = cases.window_cases()
        times = measure({"fa": self.ours.prepare(windowed), "full": self.ours.prepare(full)},
                        self.seconds)
        self.row(windowed, {"fa": times["fa"]}, **{"time of full": times["fa"] / times["full"]})

    def before(self):
        """Each cell of the other parts beside the same of another build."""
        for case in dict.fromkeys(case for group in [*cases.speed_cases(), *cases.element_cases(), cases.window_cases()]
                                  for case in group):
            times = measure({"fa": self.ours.prepare(case), "before": self.earlier.prepare(case)}, self.seconds)
            check_equal(case, self.ours, self.earlier)
            self.row(case, times, **{"to before": times["before"] / times["fa"]})

    def memory(self):
        """Bytes that a call takes beyond inputs and outputs: the highest resident size
        during the call less that of before and the mapped arrays."""
        case = cases.memory_case()
        contestant = Compiled(self.ours.build, self.ours.threads)
        run = contestant.prepare(case)
        server, _ = contestant.server_of(case)
        status = Path(f"/proc/{server.process.pid}/status")
        read = lambda key: 1024 * int(re.search(rf"{key}:\s+(\d+) kB", status.read_text())[1])
        before = read("VmRSS")
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
        seconds = run()
        arrays = 4 * int(np.prod(case.shape)) * 4
        extra = (read("VmHWM") - before - arrays) / 2**20
        print(f"{case.name:26s} {extra:.1f} MiB beyond inputs and outputs")
        self.lines.append({"case": case.name + " memory", "seconds": {"fa": seconds},
                           "mebibytes_beyond_arrays": round(extra, 1)})

    def compile_seconds(self):
        return [round(seconds, 3) for _, seconds in self.ours.servers.values()]


def plot(results, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [e for e in results["cases"] if "to torch" in e.get("ratios", {})]
    labels = [e["case"].replace("f32 ", "") for e in rows]
    place = np.arange(len(rows))
    figure, axes = plt.subplots(figsize=(10, 0.36 * len(rows) + 1.6))
    for shift, name, color in ((-0.2, "fa", "tab:blue"), (0.2, "torch", "tab:orange")):
        axes.barh(place + shift, [e["gflops_per_second"][name] for e in rows], 0.38,
                  label=name, color=color)
    for y, entry in zip(place, rows):
        axes.text(1, y - 0.2, f"{entry['ratios']['to torch']:.2f}x", va="center",
                  color="white", fontsize=8)
    axes.set_yticks(place, labels)
    axes.invert_yaxis()
    axes.set_xlabel("GFLOP/s (f32, 8 heads; causal pairs counted exactly)")
    axes.set_title(f"{results['processor']}, {results['threads']} threads, {results['date']}")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--before", type=Path, help="build folder of another commit, to compare with: --only before")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=10, help="for each case, about")
    parts = ["speed", "elements", "window", "memory"]
    parser.add_argument("--only", nargs="+", choices=[*parts, "before"], default=parts)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results")
    arguments = parser.parse_args()
    if "before" in arguments.only and not arguments.before:
        parser.error("--only before: --before says no build folder")
    arguments.build = arguments.build.resolve()
    arguments.before = arguments.before and arguments.before.resolve()
    load = round(os.getloadavg()[0], 1)
    bench = Bench(arguments)
    for part in arguments.only:
        getattr(bench, part)()
    results = {"date": datetime.date.today().isoformat(), "commit": commit(), "processor": processor(),
               "threads": arguments.threads, "load_at_start": load, "torch": bench.torch and bench.torch.torch.__version__,
               "compile_seconds": bench.compile_seconds(), "cases": bench.lines}
    slug = re.sub(r"[^a-z0-9]+", "-", results["processor"].lower()).strip("-")
    # The record is of the usual parts.
    stem = f"{slug}-{arguments.threads}t" + ("-before" if "before" in arguments.only else "")
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / f"{stem}.json").write_text(json.dumps(results, indent=1) + "\n")
    if "speed" in arguments.only:
        plot(results, arguments.results / f"{stem}.png")
    print(f"written to {arguments.results / stem}.json")


if __name__ == "__main__":
    main()
