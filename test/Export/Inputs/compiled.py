"""Kernels that fa-compile wrote, launched on the fake driver: what the tests of manifests share.

    SCRIPT DRIVER FOLDER

FOLDER has the manifests.
"""

import ctypes
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/Inputs"))
from device_array import DeviceArray, dense
from fake_driver import FakeDriver

import fa_mlir

DRIVER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
BYTES = {"pointer": 8, "i1": 1, "i8": 1, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "workspace": 8, "counter": 8,
         "tensor_map": 128}


def kinds_of(launch):
    """What each parameter of a launch is passed as."""
    return [next(kind for kind in parameter if kind in BYTES) for parameter in launch["parameters"]]


class CompiledTest(unittest.TestCase):
    def setUp(self):
        self.driver = FakeDriver(DRIVER)
        self.driver.Reset()
        self.runtime = fa_mlir.Runtime(driver=DRIVER)
        self.base = self.driver.library.fakeBase(0)

    def tearDown(self):
        self.runtime.close()

    def launches_of(self, call):
        """The names of the kernels that a call launches, and the number that each gets first."""
        before = self.driver.GetLaunchCount()
        call()
        launches = [self.driver.library.fakeGetLaunch(i).contents for i in range(before, self.driver.GetLaunchCount())]
        return [(launch.kernel.decode(), launch.parameter(0, ctypes.c_int32)) for launch in launches]

    def load(self, name, sizes=None):
        """The manifest `name` and its kernel, whose machine code says what the fake driver has to know: the kernels'
        names and the sizes of their parameters, those of the manifest unless given."""
        with open(os.path.join(FOLDER, name + ".json")) as file:
            manifest = json.load(file)
        manifest["chip"], manifest["images"] = "sm_90a", {"cubin": name + ".fake"}
        with open(os.path.join(FOLDER, name + ".fake"), "w") as file:
            for launch in [*manifest.get("before", []), manifest]:
                of_launch = sizes or [BYTES[kind] for kind in kinds_of(launch)]
                file.write(f"fake-kernel: {launch['kernel']} {launch['block'][0]} 0 {' '.join(map(str, of_launch))}\n")
        path = os.path.join(FOLDER, "fake.json")
        with open(path, "w") as file:
            json.dump(manifest, file)
        return manifest, fa_mlir.load(path, self.runtime)
