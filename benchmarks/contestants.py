"""The programs that are compared. Each prepares a case and returns a function
that runs it once and gives the seconds it took."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/Integration/CPU"))

from cases import ELEMENTS  # noqa: E402
from grid.server import Server  # noqa: E402


class Compiled:
    """Code of this project, in a process of its own with one module each."""

    def __init__(self, build, threads, passes=()):
        self.build, self.threads, self.passes = build, threads, passes
        self.folder = Path(tempfile.mkdtemp(prefix="fa-bench-"))
        self.servers = {}

    def server_of(self, case):
        """The process that holds the function of a case, and compile seconds."""
        text = case.function()
        if text not in self.servers:
            module = self.folder / f"{len(self.servers)}.mlir"
            module.write_text(text)
            if self.passes:
                lowered = module.with_suffix(".lowered.mlir")
                subprocess.run([self.build / "bin/fa-opt", *self.passes, module, "-o", lowered],
                               check=True)
                module = lowered
            server = Server([self.build / "bin/fa-grid"], self.threads)
            self.servers[text] = server, server.load(module=str(module))["seconds"]
        return self.servers[text]

    def prepare(self, case):
        server, _ = self.server_of(case)
        data = self.data_of(case)
        inputs = case.inputs()
        size = inputs[0].nbytes
        with open(data, "wb") as file:
            for array in inputs:
                array.tofile(file)
            file.write(bytes(size))
        strides = [int(np.prod(case.shape[i + 1:])) for i in range(4)]
        view = lambda k: {"offset": k * size, "shape": list(case.shape), "strides": strides}
        arguments = [view(0), view(1), view(2)]
        if case.mask == "window":
            arguments += [{"value": case.window}, {"value": 0}]
        request = {"data": str(data), "arguments": arguments, "results": [view(3)]}
        return lambda: server.run(request)["seconds"]

    def data_of(self, case):
        return self.folder / case.name.replace(" ", "-")

    def output(self, case):
        """What the last run computed. Ends the use of the case."""
        size = int(np.prod(case.shape))
        raw = np.fromfile(self.data_of(case), ELEMENTS[case.element])
        self.data_of(case).unlink()
        return raw[3 * size:].reshape(case.shape).astype(np.float32)


class Module:
    """One module in a process of its own, which reads its arrays from a file and writes results there."""

    def __init__(self, build, threads, folder, text):
        self.folder = folder
        module = Path(tempfile.mkstemp(suffix=".mlir", dir=folder)[1])
        module.write_text(text)
        self.server = Server([build / "bin/fa-grid"], threads)
        self.compile_seconds = self.server.load(module=str(module))["seconds"]

    def prepare(self, arrays, results):
        """A function that runs it once and gives the seconds it took. `results` are (shape, element type)."""
        self.data = Path(tempfile.mkstemp(dir=self.folder)[1])
        views, self.bytes = [], 0
        for shape, kind in [(array.shape, array.dtype) for array in arrays] + results:
            self.bytes = -(-self.bytes // 64) * 64
            strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
            views.append({"offset": self.bytes, "shape": list(shape), "strides": strides})
            self.bytes += int(np.prod(shape)) * np.dtype(kind).itemsize
        with open(self.data, "wb") as file:
            for array, view in zip(arrays, views):
                file.seek(view["offset"])
                array.tofile(file)
            file.truncate(self.bytes)
        self.results = list(zip(results, views[len(arrays):]))
        request = {"data": str(self.data), "arguments": views[:len(arrays)], "results": views[len(arrays):]}
        return lambda: self.server.run(request)["seconds"]

    def outputs(self):
        """The results of the last run."""
        return [np.fromfile(self.data, kind, int(np.prod(shape)), offset=view["offset"]).reshape(shape)
                for (shape, kind), view in self.results]

    def end(self):
        self.server.process.kill()
        self.server.process.wait()
        self.data.unlink()


class Torch:
    """torch.nn.functional.scaled_dot_product_attention on CPU."""

    def __init__(self, threads):
        import torch
        self.torch = torch
        self.results = {}
        torch.set_num_threads(threads)

    def prepare(self, case):
        torch = self.torch
        kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        tensors = [torch.from_numpy(a.astype(np.float32)).to(kind[case.element])
                   for a in case.inputs()]
        attention = torch.nn.functional.scaled_dot_product_attention

        def run():
            start = time.perf_counter()
            self.results[case] = attention(*tensors, is_causal=case.mask == "causal")
            return time.perf_counter() - start

        return run

    def output(self, case):
        return self.results.pop(case).float().numpy()
