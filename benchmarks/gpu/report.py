"""Ratios with their intervals, as text and as a plot."""

import datetime

import numpy as np

SEED = 0
RESAMPLES = 2000
# The faster of those that took part.
FASTER_OF = {"fa3 or fa4": ("fa3", "fa4"), "flex": ("flex-triton", "flex-flash"),
             "best peer": ("fa3", "fa4", "cudnn", "fa2")}


def ratio(own, other):
    """How much faster `own` is: the median of the ratios of each round, and the 95 % interval
    of that median by resampling the rounds."""
    ratios = np.array(other) / np.array(own)
    choice = np.random.default_rng(SEED).integers(len(ratios), size=(RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[choice], axis=1), [2.5, 97.5])
    return {"ratio": float(np.median(ratios)), "low": float(low), "high": float(high)}


def fastest(names, times):
    """Of the names that were timed the one with the least median, or None."""
    return min((name for name in names if name in times), key=lambda name: np.median(times[name]), default=None)


def compare(times, derived, written):
    """The fastest kernel of each kind, and its ratios to everybody else.

    `derived` and `written` name kernels of this project. Returns ({kind: name}, {kind: {other:
    ratio}}). A derived kernel's ratio to the fastest written one is called "written"; that to
    the faster of several others by a name in FASTER_OF."""
    own = {kind: name for kind, names in (("derived", derived), ("written", written))
           if (name := fastest(names, times))}
    others = {name: name for name in times if name not in (*derived, *written)}
    others |= {name: peer for name, peers in FASTER_OF.items() if (peer := fastest(peers, times))}
    ratios = {kind: {other: ratio(times[name], times[peer]) for other, peer in others.items()}
              for kind, name in own.items()}
    if len(own) == 2:
        ratios["derived"] = {"written": ratio(times[own["derived"]], times[own["written"]])} | ratios["derived"]
    return own, ratios


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def means(cells):
    """Geometric means of the ratios over each group of cells, by mode and kind of kernel."""
    found = {}
    for cell in cells:
        for kind, ratios in cell["ratios"].items():
            for other, value in ratios.items():
                found.setdefault((cell["mode"], cell["group"], kind, other), []).append(value["ratio"])
    return [{"mode": mode, "group": group, "kind": kind, "to": other, "mean": geometric_mean(values),
             "least": min(values), "cells": len(values)}
            for (mode, group, kind, other), values in found.items()]


def describe(cell):
    """One line: ratios of the derived kernel, of a written one where there is no other, then rates."""
    kind = next((kind for kind in ("derived", "written") if kind in cell["ratios"]), None)
    ratios = "  ".join(f"{other} {value['ratio']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
                       for other, value in cell["ratios"].get(kind, {}).items() if other not in FASTER_OF)
    rates = "  ".join(f"{name} {rate:.0f}" for name, rate in cell["tflops"].items())
    return f"{cell['case']:26s} {cell['mode']:9s} {kind or 'no kernel'} to {ratios} | TFLOP/s: {rates}"


def markdown(cells, kind="derived"):
    """A table of one kind's ratios: a line for each case, a column for each other."""
    cells = [cell for cell in cells if kind in cell["ratios"]]
    others = list(dict.fromkeys(other for cell in cells for other in cell["ratios"][kind]))
    lines = [f"| {kind} kernel, ratio to | {' | '.join(others)} | TFLOP/s |", "|---" * (len(others) + 2) + "|"]
    for cell in cells:
        values = [f"{value['ratio']:.3f} [{value['low']:.3f}, {value['high']:.3f}]" if value else ""
                  for value in (cell["ratios"][kind].get(other) for other in others)]
        mode = "" if cell["mode"] == "burst" else f" {cell['mode']}"
        lines.append(f"| {cell['case']}{mode} | {' | '.join(values)} | {cell['tflops'][cell['own'][kind]]:.0f} |")
    return "\n".join(lines)


def heading(results):
    """What a table is about: machine, date, code, and which way is better."""
    date = datetime.date.fromisoformat(results["date"])
    software = ", ".join(f"{name} {results[name]}" for name in ("driver", "cuda", "torch", "cudnn") if name in results)
    return (f"{results['device']}, {date.day} {date:%B %Y}, commit {results['commit']}; {software}.\n"
            "A ratio above 1 says that the kernel of this project is faster; in brackets its 95 % interval. "
            "TFLOP/s count visible pairs, higher is faster.")


def write(results, stem):
    """The table of each kind of kernel, and a plot."""
    tables = [markdown(results["cells"], kind) for kind in ("derived", "written")
              if any(kind in cell["ratios"] for cell in results["cells"])]
    stem.with_suffix(".md").write_text("\n\n".join([heading(results), *tables]) + "\n")
    try:
        plot(results, stem.with_suffix(".png"))
    except ImportError as error:
        print(f"no plot: {error}")


def rates(cell):
    """TFLOP/s by series: the fastest kernel of each kind, then everybody else."""
    others = next(iter(cell["ratios"].values()))
    return ({kind: cell["tflops"][name] for kind, name in cell["own"].items()}
            | {other: cell["tflops"][other] for other in others if other in cell["tflops"]})


def plot(results, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cells = [cell for cell in results["cells"] if cell["mode"] == "burst" and cell["own"]]
    if not cells:
        return
    groups = list(dict.fromkeys(cell["group"] for cell in cells))
    # The same colour for the same series in every group.
    series = list(dict.fromkeys(name for cell in cells for name in rates(cell)))
    colours = {name: f"C{i}" for i, name in enumerate(series)}
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    width = 7 if columns > 1 else 10
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, 3.4 * rows), squeeze=False)
    for axis, group in zip(axes.flat, groups):
        found = [(cell["label"], rates(cell)) for cell in cells if cell["group"] == group]
        for place, (_, values) in enumerate(found):
            for i, (name, value) in enumerate(values.items()):
                axis.bar(place + (i - (len(values) - 1) / 2) * 0.8 / len(values), value, 0.8 / len(values),
                         color=colours[name], edgecolor="black" if name in ("derived", "written") else "none", linewidth=0.8)
        axis.set_xticks(range(len(found)), [label for label, _ in found])
        axis.set_title(group)
        axis.set_ylabel("TFLOP/s")
    for axis in list(axes.flat)[len(groups):]:
        axis.axis("off")
    figure.suptitle(f"{results['device']}, {results['date']} (burst; visible pairs counted exactly)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colours[name]) for name in series]
    figure.legend(handles, series, loc="lower center", ncols=len(series), fontsize=8)
    figure.tight_layout(rect=(0, 0.12 / rows, 1, 1))
    figure.savefig(path, dpi=110)
