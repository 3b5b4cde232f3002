"""Kernels of this project, compiled before: manifests of `fa-compile` in one folder."""

import math
from pathlib import Path

import torch

import fa_mlir
import table


class Kernels:
    def __init__(self, folder, form):
        self.folder = Path(folder)
        self.form = form
        self.table = [kernel for kernel in table.kernels(form)
                      if (self.folder / f"{kernel.name}.json").exists()]
        self.loaded = {}

    def find(self, problem, head_dim, element):
        """The kernels of the folder that serve a problem, derived ones first."""
        return [kernel for kernel in self.table
                if (kernel.problem, kernel.head_dim, kernel.element) == (problem, head_dim, element)]

    def also(self, kernels):
        """Those of `kernels`, which another folder has, that this one has too."""
        names = {kernel.name for kernel in self.table}
        return [kernel for kernel in kernels if kernel.name in names]

    @staticmethod
    def outputs(q, k, v):
        """Where a launch writes, full of NaN."""
        batch, queries, heads, _ = q.shape
        return {"output": torch.full_like(q[..., :v.shape[-1]], math.nan),
                "lse": torch.full((batch, heads, queries), math.nan, device=q.device)}

    @staticmethod
    def workspace(device=0):
        """Bytes that the launcher holds on the device beside the kernels' code."""
        return fa_mlir.Runtime.shared().workspace_size(device)

    def load(self, kernel):
        if kernel.name not in self.loaded:
            self.loaded[kernel.name] = fa_mlir.load(self.folder / f"{kernel.name}.json")
        return self.loaded[kernel.name]

    def arguments(self, kernel, q, k, v, **values):
        """The arguments of a launch by their names in the manifest. Tensors are (batch, sequence, heads,
        head dim); outputs are allocated; a kernel with lengths of batch items gets full ones.
        `values` has what is given beside: those of score and mask."""
        known = self.outputs(q, k, v) | {
            "query": q, "key": k, "value": v,
            "query_lengths": torch.full(q.shape[:1], q.shape[1], dtype=torch.int32, device=q.device),
            "key_lengths": torch.full(k.shape[:1], k.shape[1], dtype=torch.int32, device=q.device),
            "scale": 1 / math.sqrt(q.shape[-1])} | values
        names = [argument.name for argument in self.load(kernel).arguments]
        missing = [name for name in names if name not in known]
        if missing:
            raise ValueError(f"kernel '{kernel.name}' has an argument '{missing[0]}', which this benchmark does "
                             f"not pass; it passes {', '.join(known)}")
        return {name: known[name] for name in names}

    def make(self, kernel, q, k, v, **values):
        """A launch with these arguments, which returns the output."""
        loaded, arguments = self.load(kernel), self.arguments(kernel, q, k, v, **values)
        in_order = list(arguments.values())

        def launch():
            loaded.launch(*in_order)
            return arguments["output"]
        return launch

    def make_packed(self, kernel, output, **values):
        """The same of packed sequences: `output` and `values` by their names in the manifest."""
        loaded = self.load(kernel)
        known = values | {"output": output, "scale": 1 / math.sqrt(output.shape[-1])}
        in_order = [known[argument.name] for argument in loaded.arguments]

        def launch():
            loaded.launch(*in_order)
            return output
        return launch
