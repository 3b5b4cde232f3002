#!/usr/bin/env python3
"""Compiles, runs, verifies and times every file of examples/ and prints one
table. Examples run on the GPU where there is one, else on the CPU: the table
says which. The exit status is 0 only if every example was verified.

Everything shown comes from `fa-run --verify --bench --json`; run that command
by hand to see more of one example.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
SECONDS_AN_EXAMPLE = 120


@dataclass
class Outcome:
    """One example: what fa-run reported, or why it did not get that far."""
    name: str
    shows: str
    report: dict = field(default_factory=dict)
    problem: str = ""

    @property
    def verified(self):
        return not self.problem and self.report.get("verify", {}).get("passed") is True


def first_sentence(path):
    """What an example shows: the first sentence of its head comment."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//") or not line[2:].strip():
            break
        lines.append(line[2:].strip())
    text = " ".join(lines)
    return re.split(r"(?<=[.:])(?<! al\.)\s", text)[0].rstrip(".:")


def run_example(program, path):
    outcome = Outcome(path.stem, first_sentence(path))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [program, path.relative_to(ROOT), "--verify", "--bench", f"--json={report}"]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                                  errors="replace", timeout=SECONDS_AN_EXAMPLE)
        except subprocess.TimeoutExpired:
            outcome.problem = f"no result after {SECONDS_AN_EXAMPLE} s"
            return outcome
        if report.exists():
            outcome.report = json.loads(report.read_text())
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            errors = [line for line in said if "error" in line]
            outcome.problem = f"exit status {done.returncode}: {(errors or said)[0]}"
        elif "verify" not in outcome.report:
            outcome.problem = "fa-run wrote no report of its verification"
    return outcome


def in_unit(seconds):
    if seconds is None:
        return ""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def error_of(result):
    """The error in the measure that the bound is stated in."""
    return result["relative_error" if result["measure"] == "relative" else "largest_error"]


def column(report, cell):
    """One line for each result of the function."""
    return "\n".join(cell(result) for result in report.get("verify", {}).get("results", []))


def make_table(outcomes):
    table = Table(title="fa-mlir examples: compiled, run and compared with a float64 evaluation",
                  title_justify="left", row_styles=["", "dim"])
    for heading, justify in (("example", "left"), ("shows", "left"), ("query, key, value", "left"),
                             ("target", "left"), ("compile", "right"), ("median", "right"),
                             ("GFLOP/s", "right"), ("error", "right"), ("bound", "right"),
                             ("verdict", "left")):
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading not in ("shows",))
    for outcome in outcomes:
        report, bench = outcome.report, outcome.report.get("bench", {})
        speed = bench.get("gflops_per_second")
        shapes = dict.fromkeys(report.get("arguments", [])[:3])
        table.add_row(
            outcome.name, outcome.shows, "\n".join(shapes), report.get("target", ""),
            in_unit(report.get("compile_seconds")), in_unit(bench.get("median_seconds")),
            "" if speed is None else f"{speed:.1f}",
            column(report, lambda result: f"{error_of(result):.1e}"),
            column(report, lambda result: f"{result['bound']:.0e}"),
            "[green]verified[/]" if outcome.verified else "[bold red]FAILED[/]")
    return table


def describe_targets(outcomes):
    """Which target the examples ran on, and why some did not take a GPU."""
    counts = Counter(outcome.report["target"] for outcome in outcomes if "target" in outcome.report)
    chips = sorted({outcome.report["chip"] for outcome in outcomes if "chip" in outcome.report})
    reasons = {}
    for outcome in outcomes:
        if "not_on_gpu" in outcome.report:
            reasons.setdefault(outcome.report["not_on_gpu"], []).append(outcome.name)
    parts = [f"{count} on {target}" for target, count in sorted(counts.items())]
    line = "Targets used: " + (", ".join(parts) or "none")
    if chips:
        line += f", with schedules for {', '.join(chips)}"
    elif not reasons:
        line += " (no CUDA device on this machine)"
    return [line] + [f"not on the GPU: {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def run_all(program, paths, console):
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    outcomes = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=len(paths))
        for path in paths:
            progress.update(task, description=f"{path.stem:20}")
            if not console.is_terminal:
                print(f"[{len(outcomes) + 1}/{len(paths)}] {path.stem}", file=sys.stderr, flush=True)
            outcomes.append(run_example(program, path))
            progress.advance(task)
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    arguments = parser.parse_args()
    program = arguments.build.resolve() / "bin/fa-run"
    paths = sorted((ROOT / "examples").glob("*.mlir"))
    if not program.exists():
        print(f"error: there is no {program}; build it with 'make build'", file=sys.stderr)
        return 1
    if not paths:
        print(f"error: there is no .mlir file in {ROOT / 'examples'}", file=sys.stderr)
        return 1

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 150)
    outcomes = run_all(program, paths, console)
    console.print(make_table(outcomes))
    failed = [outcome for outcome in outcomes if not outcome.verified]
    for outcome in failed:
        reason = outcome.problem or "a result differs by more than its bound"
        console.print(f"{outcome.name}: {reason}", markup=False, highlight=False)
    for line in describe_targets(outcomes):
        console.print(line, markup=False, highlight=False)
    console.print(f"{len(outcomes) - len(failed)} of {len(outcomes)} examples verified. One by hand: "
                  f"{program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program} "
                  f"examples/{outcomes[0].name}.mlir --verify", markup=False, highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
