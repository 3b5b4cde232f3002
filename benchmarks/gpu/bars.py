"""Which cells fall short of the speed that is wanted (bars.json).

A bar holds for the derived kernels' cells that it names: "each" is for every cell, "mean" for
the geometric mean. A cell falls short when the 95 % interval of its ratio lies below the bar.
"""

import json
from pathlib import Path

import report


def takes(bar, cell):
    """A bar names what it is about; what it does not name is any, and the part is "forward". "plain"
    leaves grouped heads and few queries on many keys out."""
    return (bar.get("part", "forward") == cell["part"]
            and bar.get("mode", cell["mode"]) == cell["mode"]
            and bar.get("form", cell.get("form")) == cell.get("form")
            and bar.get("element", cell["element"]) == cell["element"]
            and cell["head_dim"] in bar.get("head_dims", [cell["head_dim"]])
            and bar.get("case", cell["case"]) == cell["case"]
            and bar.get("group", cell["group"]) == cell["group"]
            and cell["length"] >= bar.get("least_length", 0)
            and not (bar.get("plain") and ("grouped" in cell["group"] or "prefill" in cell["group"]))
            and bar["to"] in cell["ratios"].get("derived", {}))


def judge(cells):
    """For each bar that some cell is about, in each mode: what was reached, and who falls short."""
    verdicts = []
    for bar in json.loads((Path(__file__).parent / "bars.json").read_text()):
        for mode in dict.fromkeys(cell["mode"] for cell in cells):
            found = [(cell["case"], cell["ratios"]["derived"][bar["to"]]) for cell in cells
                     if cell["mode"] == mode and takes(bar, cell)]
            if not found:
                continue
            ratios = [value["ratio"] for _, value in found]
            short = {case: value for case, value in found if "each" in bar and value["high"] < bar["each"]}
            mean = report.geometric_mean(ratios)
            verdicts.append({"what": bar["what"], "mode": mode, "each": bar.get("each"), "least": min(ratios),
                             "wanted_mean": bar.get("mean"), "mean": mean, "cells": len(found), "short": short,
                             "holds": not short and mean >= bar.get("mean", 0)})
    return verdicts


def show(verdicts):
    for verdict in verdicts:
        wanted = [f"{name} {value}" for name, value in (("each", verdict["each"]), ("mean", verdict["wanted_mean"]))
                  if value is not None]
        print(f"{'holds' if verdict['holds'] else 'SHORT'}: {verdict['what']} ({verdict['mode']}): least "
              f"{verdict['least']:.3f}, mean {verdict['mean']:.3f} of {verdict['cells']}; wanted {', '.join(wanted)}")
        for case, value in verdict["short"].items():
            print(f"    {case}: {value['ratio']:.3f} [{value['low']:.3f}, {value['high']:.3f}]")
