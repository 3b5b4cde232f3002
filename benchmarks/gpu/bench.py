"""A run that compares contestants: checks each output first, then times what is right in turns.

The record is written after each cell, so that a run that is cut off leaves what it measured.
"""

import json
import os

import torch

import device
import report
import timing

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
BOUND = {"bf16": 6e-3, "f16": 1e-3, "f32": 2e-6}
PEER_BOUND = {"bf16": 2e-2, "f16": 2e-2, "f32": 1e-4}


class Bench:
    """Collects cells. `rounds` has the number of rounds of each mode; `kernels` is the folder of kernels,
    `folder` and `part` say where the record goes."""

    def __init__(self, seed, rounds, kernels, folder, part):
        self.seed = seed
        self.machine = device.describe(kernels)
        self.stem = device.stem(folder, self.machine, part)
        self.rounds = rounds
        self.notes = []
        self.cells = []
        # Own kernels that gave no right result.
        self.failed = []
        self.is_stopped = False

    def note(self, text):
        self.notes.append(text)
        print("note:", text, flush=True)

    def prepare(self, case, name, make, reference, bound, is_own=False):
        """A contestant of which the output is right, with its error, or None. `make` gives a
        function that launches once and returns the output, or None where it does not take the case."""
        if self.is_stopped:
            return None
        try:
            launch = make()
            if launch is None:
                return None
            error = reference.error(launch())
            if error < bound:
                return timing.Contestant(name, launch), error
            problem = f"{name} is wrong on {case}: relative error {error:.2e}, bound {bound:.0e}"
        except Exception as exception:  # one that refuses a case is no reason to stop
            text = " ".join(f"{type(exception).__name__}: {exception}".split())
            problem = f"{name} failed on {case}: {text}"[:300]
        self.note(problem)
        self.failed += [name] if is_own else []
        self.look_at_device()
        return None

    def look_at_device(self):
        """Stops the run where an error has left the device unusable to this process."""
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            self.is_stopped = True
            self.note("the device takes no more work from this process; the run ends here")

    def measure(self, prepared, derived, written, operations, **key):
        """Times what `prepare` gave, in each mode, and keeps a cell for each. `key` says what the
        cell is: at least case, group and label."""
        prepared = [entry for entry in prepared if entry]
        if not prepared or self.is_stopped:
            return
        contestants = [contestant for contestant, _ in prepared]
        for mode, rounds in self.rounds.items():
            times = getattr(timing, mode)(contestants, rounds)
            own, ratios = report.compare(times, derived, written)
            medians = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
            self.cells.append(key | {
                "mode": mode, "own": own, "ratios": ratios,
                "tflops": {name: operations / value / 1e9 for name, value in medians.items()},
                "milliseconds": times, "errors": {contestant.name: error for contestant, error in prepared},
                "host_microseconds": {c.name: c.host_microseconds for c in contestants},
                "late_samples": {c.name: c.late_samples for c in contestants if c.late_samples}})
            print(report.describe(self.cells[-1]), flush=True)
            self.save()

    def save(self, **more):
        """The JSON of the cells so far, in place of the one before."""
        results = self.machine | {"seed": self.seed, "notes": self.notes, "means": report.means(self.cells),
                                  "cells": self.cells} | more
        self.stem.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.stem.with_suffix(".json.part")
        unfinished.write_text(json.dumps(results, indent=1) + "\n")
        os.replace(unfinished, self.stem.with_suffix(".json"))
        return results

    def write(self, **more):
        """The JSON, a plot and a table in markdown; prints the means and the table."""
        results = self.save(**more)
        for mean in results["means"]:
            print(f"{mean['mode']:9s} {mean['group']:24s} {mean['kind']} to {mean['to']:10s} geometric mean "
                  f"{mean['mean']:.3f}, least {mean['least']:.3f} of {mean['cells']}")
        report.write(results, self.stem)
        print(f"written to {self.stem}.json")
        return results
