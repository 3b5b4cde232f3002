"""Ratios with their intervals, as text and as a plot."""

import numpy as np

SEED = 0
RESAMPLES = 2000


def ratio(own, other):
    """How much faster `own` is: the median of the ratios of each round, and the 95 % interval
    of that median by resampling the rounds."""
    ratios = np.array(other) / np.array(own)
    choice = np.random.default_rng(SEED).integers(len(ratios), size=(RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[choice], axis=1), [2.5, 97.5])
    return {"ratio": float(np.median(ratios)), "low": float(low), "high": float(high)}


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def means(entries):
    """Geometric means of the best own kernel's ratio to each peer, by mode and group of cases."""
    found = {}
    for entry in entries:
        for peer, value in entry["ratios"].items():
            found.setdefault((entry["mode"], entry["group"], peer), []).append(value["ratio"])
    return [{"mode": mode, "group": group, "peer": peer, "mean": geometric_mean(values),
             "cells": len(values)} for (mode, group, peer), values in found.items()]


def describe(entry):
    rates = "  ".join(f"{name} {rate:.0f}" for name, rate in entry["tflops"].items())
    ratios = "  ".join(f"to {peer} {value['ratio']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
                       for peer, value in entry["ratios"].items())
    return f"{entry['case']:26s} {entry['mode']:9s} {ratios} | TFLOP/s: {rates}"


def plot(results, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    entries = [e for e in results["cells"] if e["mode"] == "burst" and e["own"]]
    groups = list(dict.fromkeys(e["group"] for e in entries))
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(7 * columns, 3.4 * rows), squeeze=False)
    for axis, group in zip(axes.flat, groups):
        cells = [e for e in entries if e["group"] == group]
        names = list(dict.fromkeys(name for e in cells for name in e["tflops"]))
        place = np.arange(len(cells))
        for i, name in enumerate(names):
            own = any(name == e["own"] for e in cells)
            axis.bar(place + (i - (len(names) - 1) / 2) * 0.8 / len(names),
                     [e["tflops"].get(name, 0) for e in cells], 0.8 / len(names), label=name,
                     edgecolor="black" if own else "none", linewidth=0.8)
        axis.set_xticks(place, [e["case"].split()[-1] for e in cells])
        axis.set_title(group)
        axis.set_ylabel("TFLOP/s")
        axis.legend(fontsize=7, ncols=2)
    for axis in list(axes.flat)[len(groups):]:
        axis.axis("off")
    figure.suptitle(f"{results['device']}, {results['date']} (burst; visible pairs counted exactly)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
