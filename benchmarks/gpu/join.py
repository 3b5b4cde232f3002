#!/usr/bin/env python3
"""Joins the records of several runs of run.py or masks.py into one summary: JSON, table and plot.

    python3 benchmarks/gpu/join.py RUN.json... --out benchmarks/results/h200-sm_90a-bf16

All runs are of one device and one commit, so that the cells may stand in one table. A cell that two
runs measured is that of the later file. With `--renew` runs of other commits renew cells, and the table
names all commits. Needs no GPU.
"""

import argparse
import json
import sys
from pathlib import Path

import bars
import report

# What a run says about itself; runs may differ in it, and each keeps its own.
OF_RUN = ("date", "commit", "device", "multiprocessors", "torch", "cuda", "cudnn", "driver", "seed", "notes")
# What has to be equal for one table.
COMMON = ("commit", "device", "torch", "cuda", "cudnn", "driver")


def commits(records):
    """All of them, in the order of the runs; of runs that were joined before, those that they name."""
    found = [commit for record in records for commit in record.get("commit", "unknown").split(", ")]
    return ", ".join(dict.fromkeys(found))


def join(records, renews=False):
    """One record of all cells; raises ValueError where two runs do not belong together."""
    runs = [run for record in records for run in record.get("runs", [record])]
    runs = [{name: run[name] for name in OF_RUN if name in run} for run in runs]
    if renews:
        records = [record | {"commit": commits(records)} for record in records]
    for name in COMMON:
        found = list(dict.fromkeys(record.get(name, "unknown") for record in records))
        if len(found) > 1:
            raise ValueError(f"the runs differ in {name}: {' and '.join(map(str, found))}; expected one")
    cells = list({(cell["case"], cell["mode"]): cell for record in records for cell in record["cells"]}.values())
    newest = max(records, key=lambda record: record["date"])
    return ({name: newest[name] for name in ("date", *COMMON) if name in newest}
            | {"runs": runs,
               "means": report.means(cells), "bars": bars.judge(cells), "cells": cells})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="JSON files of runs")
    parser.add_argument("--out", type=Path, required=True, help="path of the summary, without its ending")
    parser.add_argument("--renew", action="store_true", help="let later runs of another commit renew cells")
    arguments = parser.parse_args()
    try:
        results = join([json.loads(path.read_text()) for path in arguments.runs], arguments.renew)
    except ValueError as error:
        sys.exit(f"error: {error}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    report.write(results, arguments.out)
    bars.show(results["bars"])


if __name__ == "__main__":
    main()
