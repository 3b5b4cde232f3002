"""Counters of Nsight Compute (`ncu`) over single launches: a program runs itself under the profiler, launches each
thing behind a marker, and reads back what was counted."""

import csv
import glob
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARM_LAUNCHES = 3
# In the name of the kernel that torch.cuda._sleep launches.
MARKER = "spin_kernel"


def find():
    places = [shutil.which("ncu"), "/usr/local/cuda/bin/ncu", *sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"))]
    return next((place for place in places if place and Path(place).exists()), None)


def counted(launch):
    """In the program under the profiler: one launch, counted after others have warmed up."""
    import torch
    for _ in range(WARM_LAUNCHES):
        launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda._sleep(1)
    launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def parse(text):
    """A list of kernels for each launch, from a CSV page: each kernel its name and the values of its metrics, None
    where the profiler has none. A launch is what follows a marker."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError("no table of counters: " + " ".join(text.split())[-400:])
    launches, last = [], None
    for row in csv.DictReader(lines[start:]):
        is_marker = MARKER in row["Kernel Name"]
        if row["ID"] != last:
            last = row["ID"]
            if is_marker:
                launches.append([])
            else:
                launches[-1].append({"kernel": row["Kernel Name"]})
        if not is_marker:
            try:
                launches[-1][-1][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
            except ValueError:
                launches[-1][-1][row["Metric Name"]] = None
    return launches


def run(profiler, metrics, options, expected):
    """Runs this program with `options` under the profiler. Raises ValueError where it failed or not `expected`
    launches were counted."""
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        # Clocks as they are: what is counted does not change with them, times are those of users.
        command = [profiler, "--profile-from-start", "off", "--clock-control", "none", "--metrics", ",".join(metrics),
                   "--csv", "--page", "details", "--print-units", "base", "--log-file", log.name,
                   sys.executable, sys.argv[0], *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True)
        text = log.read()
    if done.returncode:
        raise ValueError(f"exit status {done.returncode}: " + " ".join((text + done.stderr).split())[-400:])
    launches = parse(text)
    if len(launches) != expected:
        raise ValueError(f"{len(launches)} launches were counted, expected {expected}")
    return launches
