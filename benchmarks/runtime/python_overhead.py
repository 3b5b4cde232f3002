"""Time of a call of fa_mlir without a GPU: what Python and the launcher take.

    build/bin/fa-compile examples/schedules/sm_90a_causal.mlir -o build/kernels
    FA_RUNTIME_LIBRARY=build/lib/libFARuntimeCUDA.so PYTHONPATH=python \\
        python3 benchmarks/runtime/python_overhead.py build/kernels/sm_90a_causal.json \\
        --driver build/unittests/Runtime/libFAFakeCUDA.so

Tensors are torch's on the CPU, which say that they are on device 0; the driver
only records. So neither the device's allocator nor its driver is in the figures:
they compare versions of the package. Prints microseconds a call, the least and
the median of 15 runs: with all arguments in their order, with outputs given by
name, and with outputs that torch allocates.
"""

import argparse
import json
import os
import statistics
import tempfile
import time

import torch

import fa_mlir
from fa_mlir.tensors import Torch

PARAMETER_BYTES = {"tensor_map": 128, "i32": 4, "i64": 8, "f32": 4, "pointer": 8, "counter": 8}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i32": torch.int32}


class DeviceTensor(torch.Tensor):
    """Memory of the CPU that says it is on device 0."""

    is_cuda = True
    __torch_function__ = torch._C._disabled_torch_function_impl

    def get_device(self):
        return 0


def on_device(tensor):
    return tensor.as_subclass(DeviceTensor)


def stand_in():
    """Lets the package see DeviceTensor where it asks torch for device memory."""
    empty_strided = torch.empty_strided

    def make(shape, strides, dtype, device):
        return on_device(empty_strided(shape, strides, dtype=dtype))

    torch.empty_strided = make
    Torch.get().current_stream = lambda device: 0


def load(path, driver):
    """The kernel of a manifest, with an image that the driver takes."""
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    sizes = [next(size for kind, size in PARAMETER_BYTES.items() if kind in parameter)
             for parameter in manifest["parameters"]]
    manifest["images"] = {"cubin": "image.cubin"}
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "image.cubin"), "w", encoding="utf-8") as file:
        file.write(f"fake-kernel: {manifest['kernel']} 384 0 {' '.join(map(str, sizes))}\n")
    copied = os.path.join(folder, "manifest.json")
    with open(copied, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    return fa_mlir.load(copied, fa_mlir.Runtime(driver=driver))


def make_values(kernel, sizes):
    """A value for each argument; a dim that has no size has 2."""
    values = []
    for argument in kernel.arguments:
        if argument.is_scalar:
            values.append(0.1 if argument.is_float else 1)
            continue
        shape = [dim if isinstance(dim, int) else sizes.get(dim, 2) for dim in argument.shape]
        values.append(on_device(torch.zeros(shape, dtype=TYPES[argument.type])))
    return values


def measure(call, runs=15, calls=300):
    call()
    samples = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - start) / calls * 1e6)
    return f"{min(samples):.1f} {statistics.median(samples):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--driver", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    stand_in()
    kernel = load(options.manifest, options.driver)
    values = make_values(kernel, {"batch": 1, "queries": 16, "keys": 16, "heads": 8, "kv_heads": 2})
    outputs = {a.name: value for a, value in zip(kernel.arguments, values) if a.is_output}
    inputs = [value for a, value in zip(kernel.arguments, values) if not a.is_output]
    print("all arguments:", measure(lambda: kernel.launch(*values)), "us")
    print("outputs given:", measure(lambda: kernel(*inputs, **outputs)), "us")
    print("outputs allocated:", measure(lambda: kernel(*inputs)), "us")


if __name__ == "__main__":
    main()
