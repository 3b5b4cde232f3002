"""What a launcher does with a manifest for one call, on the machine of ptx_machine.py."""

import json
import os
import subprocess
import tempfile

import numpy as np
from ptx_machine import Block, Kernel, Memory

OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "equal": lambda a, b: int(a == b),
    "select": lambda a, b, c: b if a else c,
}


def strides_of(shape):
    return tuple(int(np.prod(shape[dim + 1 :])) for dim in range(len(shape)))


def compile_problem(compiler, problem):
    """The PTX and the manifest for sm_80 of the one function of a problem."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.mlir")
        with open(path, "w") as file:
            file.write(problem)
        command = [compiler, path, "-chip=sm_80", "-images=ptx", "-o", folder]
        subprocess.run(command, check=True, env={**os.environ, "FA_PTXAS": "none"})
        with open(os.path.join(folder, "problem.ptx")) as ptx, open(os.path.join(folder, "problem.json")) as manifest:
            return ptx.read(), json.load(manifest)


class Call:
    """Tensors in memory, values from them, and a workspace that holds a pattern at first."""

    def __init__(self, manifest):
        self.manifest, self.memory = manifest, Memory()
        # Of an A100.
        self.addresses, self.values, self.tensors = {}, {"multiprocessors": 108}, {}

    def add(self, name, bits):
        """Adds a tensor; returns its places in memory."""
        address, places = self.memory.add_tensor(bits, strides_of(bits.shape))
        self.tensors[name] = bits, address
        return places

    def run(self, text):
        """Executes all blocks of all launches; returns how many launches there are."""
        self.bind()
        launches = [*self.manifest["before"], self.manifest]
        for launch in launches:
            kernel = Kernel(text, launch["kernel"])
            for number in range(self.get(launch["grid"][0])):
                Block(kernel, self.memory, list(self.parameters(launch)), number, {}).run()
        return len(launches)

    def bind(self):
        for argument in self.manifest["arguments"]:
            name, (bits, address) = argument["name"], self.tensors[argument["name"]]
            self.addresses[name] = address
            for dim, (size, stride) in enumerate(zip(bits.shape, strides_of(bits.shape))):
                self.values[f"{name}.dim.{dim}"], self.values[f"{name}.stride.{dim}"] = size, stride
                if isinstance(argument["shape"][dim], str):
                    self.values.setdefault(argument["shape"][dim], size)
        for value in self.manifest["values"]:
            self.values[value["name"]] = OPERATIONS[value["op"]](*map(self.get, value["operands"]))
        for requirement in self.manifest["requirements"]:
            assert self.get(requirement["condition"]), requirement["message"]
        for workspace in self.manifest.get("workspaces", []):
            words = np.full(self.get(workspace["bytes"]) // 4, 0x7F7F7F7F, np.uint32)
            self.addresses[workspace["name"]] = self.memory.add_tensor(words, (1,))[0]

    def get(self, operand):
        return self.values[operand] if isinstance(operand, str) else operand

    def parameters(self, launch):
        for parameter in launch["parameters"]:
            kind = "workspace" if "workspace" in parameter else "pointer" if "pointer" in parameter else None
            yield self.addresses[parameter[kind]] if kind else self.get(next(iter(parameter.values())))
