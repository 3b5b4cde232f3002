"""Which kernels are measured: kernels.json, by form, problem, head dim and element type.

A derived kernel comes from a text in problems/, a written one from a schedule in
examples/schedules. "chip" is what a form is compiled for. "values" has what else is put
into a text, by its name there: a kernel for each combination.
"""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FORMS = ("sm_90a", "sm_80")


@dataclass(frozen=True)
class Kernel:
    """One kernel: `name` is that of its files, `kind` is "derived" or "written"."""

    name: str
    kind: str
    form: str
    chip: str
    problem: str
    head_dim: int
    element: str
    values: tuple = ()  # of names and numbers

    def text(self, root):
        """The MLIR of a derived kernel's problem, or of a schedule; `root` is the repository."""
        if self.kind == "written":
            return (Path(root) / "examples" / "schedules" / f"{self.name}.mlir").read_text()
        template = (FOLDER / "problems" / f"{self.problem}.mlir.in").read_text()
        for name, value in (("HEAD_DIM", self.head_dim), ("ELEMENT", self.element), *self.values):
            template = template.replace(name, str(value))
        return template


def combine(values):
    """Every choice of one value for each name."""
    return [tuple(zip(values, chosen)) for chosen in itertools.product(*values.values())]


def suffix(values):
    return "".join(f"_{name.lower()}{value}" for name, value in values)


def kernels(form):
    """All kernels of a form, derived ones first."""
    table = json.loads((FOLDER / "kernels.json").read_text())[form]
    chip = table["chip"]
    derived = [Kernel(f"{form}_derived_{problem}_d{head_dim}_{element}{suffix(values)}", "derived", form, chip,
                      problem, head_dim, element, values)
               for group in table["derived"] for problem in group["problems"]
               for head_dim in group["head_dims"] for element in group["elements"]
               for values in combine(group.get("values", {}))]
    # Schedules by hand are all of bf16.
    written = [Kernel(name, "written", form, chip, entry["problem"], entry["head_dim"], "bf16")
               for entry in table["written"] for name in entry["kernels"]]
    return derived + written
