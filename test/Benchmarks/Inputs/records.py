"""Holds the record of a run that is cut off to the cells that it measured. Without a GPU: what times is replaced."""

import json
import sys
import types
from pathlib import Path

torch = types.ModuleType("torch")
torch.bfloat16, torch.float16, torch.float32 = "bf16", "f16", "f32"
sys.modules["torch"] = torch
sys.path.insert(0, str(Path(sys.argv[1]) / "benchmarks/gpu"))
import bench  # noqa: E402
import device  # noqa: E402

folder = Path(sys.argv[2])
device.describe = lambda kernels: {"date": "2026-01-02", "commit": device.commit(kernels), "device": "NVIDIA Some GPU"}


class Contestant:
    def __init__(self, name, milliseconds):
        self.name, self.milliseconds = name, milliseconds
        self.host_microseconds, self.late_samples = 1, 0


def burst(contestants, rounds):
    return {contestant.name: [contestant.milliseconds] * rounds for contestant in contestants}


def cut_off(contestants, rounds):
    raise KeyboardInterrupt


def measure(run, case):
    prepared = [(Contestant("mine", 1.0), 0.0), (Contestant("fa3", 2.0), 0.0)]
    run.measure(prepared, ["mine"], [], 1e9, case=case, group="some", label=case)


(folder / "kernels").mkdir(parents=True)
(folder / "kernels/commit").write_text("abc1234\n")
run = bench.Bench(0, {"burst": 3}, folder / "kernels", folder / "new", "part")
record = folder / "new/some-gpu-part.json"
bench.timing.burst = burst
measure(run, "first")
measure(run, "second")
bench.timing.burst = cut_off
try:
    measure(run, "third")
    raise AssertionError("the third cell is not cut off")
except KeyboardInterrupt:
    pass
written = json.loads(record.read_text())
assert [cell["case"] for cell in written["cells"]] == ["first", "second"], written
assert written["cells"][0]["ratios"]["derived"]["fa3"]["ratio"] == 2.0, written
# A record says which code made the kernels, where that is known.
assert written["commit"] == "abc1234" and device.commit(folder) == "unknown", written
assert [path.name for path in record.parent.iterdir()] == [record.name]
print("records hold what was measured")
