"""Kernels of this project, compiled before: manifests of `fa-compile` in one folder."""

import math
from pathlib import Path

import torch

import fa_mlir


class Kernels:
    def __init__(self, folder, table):
        """`table`: (head dim, causal) to names of manifests in `folder`."""
        self.folder = Path(folder)
        self.table = table
        self.loaded = {}

    def load(self, name):
        if name not in self.loaded:
            self.loaded[name] = fa_mlir.load(self.folder / f"{name}.json")
        return self.loaded[name]

    def names(self, case):
        return [name for name in self.table.get((case.head_dim, case.causal), ())
                if (self.folder / f"{name}.json").exists()]

    def make(self, name, case, q, k, v):
        """A launch with every output allocated before. Arguments go by their names in the
        manifest; a kernel with lengths for each batch item gets full ones."""
        kernel = self.load(name)
        output = torch.empty_like(q[..., :v.shape[-1]])
        values = {
            "query": q, "key": k, "value": v, "output": output,
            "lse": torch.empty(case.batch, case.query_heads, case.queries, device=q.device),
            "query_lengths": torch.full((case.batch,), case.queries, dtype=torch.int32, device=q.device),
            "key_lengths": torch.full((case.batch,), case.keys, dtype=torch.int32, device=q.device),
            "scale": 1 / math.sqrt(case.head_dim),
        }
        try:
            arguments = [values[argument.name] for argument in kernel.arguments]
        except KeyError as name:
            raise ValueError(f"kernel '{kernel.name}' has an argument {name}, which this benchmark "
                             f"does not pass; it passes {', '.join(values)}") from None

        def launch():
            kernel.launch(*arguments)
            return output
        return launch
