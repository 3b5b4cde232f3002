#!/usr/bin/env python3
"""Tries the launcher on a GPU of sm_90: attention kernels, torch and threads.

    python3 test/python/gpu_runtime_trial.py --reference DIR --out DIR

DIR of --reference holds forward_d128_{full,causal,full_plain}.cubin and
launch.py, which launches them without this runtime. Needs torch, numpy,
build/lib/libFARuntimeCUDA.so (or what FA_RUNTIME_LIBRARY names) and
build/bin/fa-launch-overhead, but neither LLVM nor a compiler. Runs
cuda_runtime.py first. Prints one line a check and `N passed, N failed` last, and
writes trial.json with the figures to --out.
"""

import argparse
import json
import math
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "python"))

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--reference", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--overhead", default=os.path.join(ROOT, "build/bin/fa-launch-overhead"))
options = parser.parse_args()

import torch

import fa_mlir

sys.path.insert(0, options.reference)
import launch as reference

HEAD_DIM = 128
# By name: keys per tile, bytes of shared memory, whether blocks take several tiles.
KERNELS = {
    "forward_d128_full": (128, 229632, True),
    "forward_d128_causal": (128, 229632, True),
    "forward_d128_full_plain": (176, 213248, False),
}
OUTPUT_BOUND, LSE_BOUND = 6e-3, 1e-4
C_API_BOUND_US, PYTHON_BOUND_US = 3.0, 30.0

figures, results = {}, []


def record(name, passed, detail=""):
    results.append({"check": name, "passed": bool(passed), "detail": str(detail)})
    print(f"{'pass' if passed else 'FAIL'}  {name}  {detail}", flush=True)


# ------------------------------------------------------------------------------------------------ manifests
def tensor_map(name, rows):
    """A copy of such a box brings `rows` rows of one head, in two panels of 64 columns."""
    return {"tensor_map": name, "swizzle": 128, "dims": [
        {"size": 64, "box": 64},
        {"size": "queries", "stride": f"{name}.stride.1", "box": rows},
        {"size": HEAD_DIM // 64, "stride": 64, "box": HEAD_DIM // 64},
        {"size": "heads", "stride": f"{name}.stride.2", "box": 1},
        {"size": "batch", "stride": f"{name}.stride.0", "box": 1}]}


def make_manifest(name, most_blocks="multiprocessors", chip="sm_90a"):
    keys, shared_memory, is_persistent = KERNELS[name]
    tensor = {"dtype": "bf16", "shape": ["batch", "queries", "heads", HEAD_DIM],
              "strides": ["?", "?", "?", 1]}
    return {
        "version": 1, "kernel": "attn", "chip": chip,
        "images": {"cubin": os.path.join(os.path.abspath(options.reference), name + ".cubin")},
        "block": [384], "shared_memory": shared_memory,
        "arguments": [
            {"name": "query", **tensor}, {"name": "key", **tensor}, {"name": "value", **tensor},
            {"name": "output", **tensor, "output": True},
            {"name": "lse", "dtype": "f32", "shape": ["batch", "heads", "queries"],
             "strides": "contiguous", "output": True},
            {"name": "scale", "dtype": "f32", "default": 1 / math.sqrt(HEAD_DIM)}],
        "values": [
            {"name": "blocks", "op": "ceildiv", "operands": ["queries", 128]},
            {"name": "rows", "op": "mul", "operands": ["heads", "batch"]},
            {"name": "tiles", "op": "mul", "operands": ["blocks", "rows"]},
            {"name": "resident", "op": "min", "operands": ["tiles", most_blocks]},
            {"name": "scale2", "op": "mul", "operands": ["scale", math.log2(math.e)]}],
        "parameters": [
            tensor_map("query", 64), tensor_map("key", keys), tensor_map("value", keys),
            tensor_map("output", 64), {"pointer": "lse"}, {"i32": "queries"}, {"i32": "heads"},
            {"i32": "batch"}, {"i32": "blocks"}, {"i32": "tiles"}, {"f32": "scale2"}, {"counter": 4}],
        "grid": ["resident" if is_persistent else "tiles"],
    }


def load(name, runtime=None, **variant):
    path = os.path.join(manifests.name, "-".join([name, *map(str, variant.values())]) + ".json")
    with open(path, "w") as file:
        json.dump(make_manifest(name, **variant), file, indent=1)
    return fa_mlir.load(path, runtime)


# ------------------------------------------------------------------------------------------------ inputs, references
def make_inputs(batch, queries, heads):
    return [torch.randn(batch, queries, heads, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
            for _ in range(3)]


def make_outputs(query):
    """Poisoned, so that what is not written is seen."""
    batch, queries, heads, _ = query.shape
    return (torch.full_like(query, math.nan),
            torch.full((batch, heads, queries), math.nan, device="cuda"))


def run(kernel, inputs, **named):
    output, lse = make_outputs(inputs[0])
    kernel(*inputs, output=output, lse=lse, **named)
    return output, lse


def run_bare(name, inputs):
    launch, output, lse = prototypes[name].bind(*inputs)
    launch()
    return output, lse


def equal(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right))


def errors(outputs, inputs, is_causal, samples=3):
    """Relative error of the output and absolute one of lse, against float64, of some heads."""
    query, key, value = inputs
    batch, queries, heads, dim = query.shape
    difference = norm = lse_error = 0.0
    for _ in range(samples):
        b, h = random.randrange(batch), random.randrange(heads)
        scores = query[b, :, h].double() @ key[b, :, h].double().T / math.sqrt(dim)
        if is_causal:
            scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
        expected = torch.softmax(scores, -1) @ value[b, :, h].double()
        difference += float((outputs[0][b, :, h].double() - expected).square().sum())
        norm += float(expected.square().sum())
        lse = torch.logsumexp(scores, -1)
        lse_error = max(lse_error, float((outputs[1][b, h].double() - lse).abs().max()))
    return math.sqrt(difference / norm), lse_error


# ------------------------------------------------------------------------------------------------ parts
def part_small_kernels():
    process = subprocess.run([sys.executable, os.path.join(HERE, "cuda_runtime.py")], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                             env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python")))
    lines = process.stdout.strip().splitlines()
    record("cuda_runtime.py", process.returncode == 0, lines[-1] if lines else "no output")
    if process.returncode:
        print(process.stdout)


def part_numerics():
    for name, kernel in kernels.items():
        worst, worst_lse, same = 0.0, 0.0, True
        for shape in ((1, 128, 1), (2, 500, 3), (3, 1000, 16), (1, 1024, 32), (2, 2048, 16), (1, 4000, 5)):
            inputs = make_inputs(*shape)
            outputs = run(kernel, inputs)
            error, lse_error = errors(outputs, inputs, "causal" in name)
            worst, worst_lse = max(worst, error), max(worst_lse, lse_error)
            same &= equal(outputs, run_bare(name, inputs))
            same &= equal(outputs, run(kernel, inputs))
        # A NaN fails the comparison.
        record(f"{name}: error", worst <= OUTPUT_BOUND and worst_lse <= LSE_BOUND,
               f"output {worst:.2e}, lse {worst_lse:.2e}")
        record(f"{name}: equal to the bare launch and to a rerun", same)
        figures[name] = {"output_error": worst, "lse_error": worst_lse}


def part_strides():
    for name, kernel in kernels.items():
        packed = torch.randn(2, 700, 3, 6, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
        heads_first = [torch.randn(2, 6, 700, HEAD_DIM, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
                       for _ in range(3)]
        for kind, inputs in (("packed", packed.unbind(2)), ("heads first", heads_first)):
            outputs = run(kernel, inputs)
            record(f"{name}: {kind} inputs", equal(outputs, run_bare(name, [x.contiguous() for x in inputs])))
        allocated = kernel(*heads_first)
        record(f"{name}: allocated outputs", equal(allocated, outputs), tuple(allocated[0].shape))


def part_overhead():
    process = subprocess.run([options.overhead], text=True, capture_output=True, timeout=120)
    if process.returncode:
        record("C API overhead", False, process.stderr.strip())
    else:
        figures["c_api"] = measured = json.loads(process.stdout)
        for mode in ("device_given", "device_of_pointers", "64_shapes_in_turn"):
            record(f"C API over a bare launch, {mode}", measured[mode]["over_bare_us"] <= C_API_BOUND_US,
                   f"{measured[mode]['over_bare_us']:.2f} us {measured[mode]['interval_us']} "
                   f"over {measured['bare_us']:.2f}")

    kernel = kernels["forward_d128_causal"]
    inputs = make_inputs(1, 128, 1)
    output, lse = make_outputs(inputs[0])
    bare = prototypes["forward_d128_causal"].bind(*inputs)[0]
    scale = 1 / math.sqrt(HEAD_DIM)
    calls = {
        "bare, by ctypes and torch's stream": bare,
        "launch(all arguments)": lambda: kernel.launch(*inputs, output, lse, scale),
        "kernel(outputs given)": lambda: kernel(*inputs, output=output, lse=lse),
        "kernel(outputs allocated)": lambda: kernel(*inputs),
    }
    samples = {name: [] for name in calls}
    for round_number in range(45):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(100):
                call()
            if round_number >= 4:
                samples[name].append((time.perf_counter() - start) / 100 * 1e6)
    torch.cuda.synchronize()
    figures["python_us"] = medians = {name: statistics.median(s) for name, s in samples.items()}
    for name, microseconds in medians.items():
        record(f"Python: {name}", name.startswith("bare") or microseconds <= PYTHON_BOUND_US,
               f"{microseconds:.1f} us")


def part_streams():
    """Small grids, so that several launches are resident and all take tiles."""
    for name in ("forward_d128_full", "forward_d128_causal"):
        kernel = load(name, most_blocks=24)
        work = []
        for i in range(6):
            inputs = make_inputs(1, 512 + 128 * i, 16)
            work.append((torch.cuda.Stream(), inputs, make_outputs(inputs[0]), run_bare(name, inputs)))
        torch.cuda.synchronize()
        good = True
        for _ in range(20):
            for stream, inputs, outputs, _ in work:
                with torch.cuda.stream(stream):
                    outputs[0].fill_(math.nan)
                    outputs[1].fill_(math.nan)
                    kernel(*inputs, output=outputs[0], lse=outputs[1])
            torch.cuda.synchronize()
            good &= all(equal(outputs, expected) for _, _, outputs, expected in work)
        record(f"{name}: six streams at once", good)


def part_graph():
    for name in ("forward_d128_full", "forward_d128_causal"):
        kernel = load(name, most_blocks=24)
        inputs, others = make_inputs(2, 1000, 8), make_inputs(1, 700, 8)
        first, second, third = (make_outputs(x[0]) for x in (inputs, others, inputs))
        side = torch.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            main = torch.cuda.current_stream()
            side.wait_stream(main)
            kernel(*inputs, output=first[0], lse=first[1])
            with torch.cuda.stream(side):
                kernel(*others, output=second[0], lse=second[1])
            main.wait_stream(side)
            kernel(*inputs, output=third[0], lse=third[1])
        good = True
        eager_stream = torch.cuda.Stream()
        for _ in range(20):
            for tensor in (*inputs, *others):
                tensor.normal_()
            for tensor in (*first, *second, *third):
                tensor.fill_(math.nan)
            torch.cuda.synchronize()
            graph.replay()
            with torch.cuda.stream(eager_stream):
                eager = run(kernel, others)
            torch.cuda.synchronize()
            expected = run_bare(name, inputs)
            good &= equal(first, expected) and equal(third, expected)
            good &= equal(second, eager) and equal(second, run_bare(name, others))
        record(f"{name}: graph with two branches, replayed beside a launch", good)
        del graph
        record(f"{name}: after the graph is gone", equal(run(kernel, inputs), run_bare(name, inputs)))


def part_threads():
    kernel = kernels["forward_d128_causal"]
    problems = [make_inputs(1, 300 + 50 * i, 4) for i in range(4)]
    expected = [run_bare("forward_d128_causal", inputs) for inputs in problems]
    torch.cuda.synchronize()
    good = [False] * len(problems)

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            outputs = [run(kernel, problems[index]) for _ in range(100)]
            torch.cuda.current_stream().synchronize()
            good[index] = all(equal(output, expected[index]) for output in outputs)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(problems))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record("four threads", all(good))


def part_many_shapes():
    name = "forward_d128_causal"
    kernel = kernels[name]
    elements = 3 * 1500 * 4 * HEAD_DIM
    memory = [torch.randn(elements, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    lse_memory = torch.empty(3 * 4 * 1500, device="cuda")
    torch.cuda.synchronize()
    free, resident = torch.cuda.mem_get_info()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    good, worst = True, 0.0
    start = time.perf_counter()
    for i in range(10000):
        batch, queries, heads = random.randint(1, 3), random.randint(1, 1500), random.randint(1, 4)
        count = batch * queries * heads
        *inputs, output = (m[:count * HEAD_DIM].view(batch, queries, heads, HEAD_DIM) for m in memory)
        lse = lse_memory[:count].view(batch, heads, queries)
        kernel.launch(*inputs, output, lse, 1 / math.sqrt(HEAD_DIM))
        if i % 500 == 499:
            good &= equal((output, lse), run_bare(name, inputs))
            worst = max(worst, errors((output, lse), inputs, True, 1)[0])
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    record("10,000 launches of changing shapes", good and worst <= OUTPUT_BOUND,
           f"{seconds:.1f} s, output error {worst:.2e}")
    taken = (free - torch.cuda.mem_get_info()[0]) >> 20
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) >> 10
    # torch keeps what the checks allocate: 20 float64 problems.
    record("memory after 10,000 launches", taken <= 512 and grown <= 128,
           f"{taken} MiB on the device, {grown} MiB on the host")
    workspace = kernel.runtime.workspace_size()
    figures["workspace_bytes"] = workspace
    record("workspace", 0 < workspace <= fa_mlir.WORKSPACE_LIMIT < 1 << 20, f"{workspace} bytes")


def part_errors():
    name = "forward_d128_causal"
    kernel = kernels[name]
    inputs = make_inputs(1, 256, 2)
    query, key, value = inputs
    expected = run_bare(name, inputs)
    flat = torch.zeros(1 << 17, device="cuda", dtype=torch.bfloat16)
    wide = flat.as_strided((1, 256, 2, HEAD_DIM), (67584, 264, 132, 1))
    cases = {
        "type": ((query.half(), key, value), "argument 'query' has type f16, expected bf16"),
        "rank": ((query[0], key, value), "argument 'query' has rank 3, expected 4"),
        "head dim": ((query[..., :64], key, value), "has dim 3 of size 64, expected 128"),
        "lengths": ((query, key[:, :100], value), r"has dim 1 \(queries\) of size 100, expected 256"),
        "host": ((query.cpu(), key, value), "argument 'query' is on device 'cpu', expected a CUDA device"),
        "address": ((flat[4:65540].view(1, 256, 2, HEAD_DIM), key, value), "no multiple of 16 bytes"),
        "stride": ((wide, key, value), "expected a multiple of 16 below 2.40; the nearest are"),
        "inner stride": ((query.transpose(2, 3).contiguous().transpose(2, 3), key, value),
                         "has stride 2 in dim 3, expected 1"),
    }
    for case, (wrong, pattern) in cases.items():
        message = ""
        try:
            kernel(*wrong, output=torch.empty_like(query), lse=expected[1].clone())
        except fa_mlir.ArgumentError as error:
            message = str(error)

        record(f"error: {case}", re.search(pattern, message), message)
        record(f"error: {case}, the next call", equal(run(kernel, inputs), expected))
    for chip in ("sm_80", "sm_100a"):
        try:
            load(name, chip=chip)(*inputs)
            record(f"error: compiled for {chip}", False, "launched")
        except fa_mlir.Error as error:
            record(f"error: compiled for {chip}", error.kind == "wrong architecture", error)
    torch.cuda.synchronize()
    record("error: no error was left behind", equal(run(kernel, inputs), expected))


os.makedirs(options.out, exist_ok=True)
manifests = tempfile.TemporaryDirectory()
figures["device"] = torch.cuda.get_device_name()
figures["torch"] = torch.__version__
torch.manual_seed(int(time.time()))
kernels = {name: load(name) for name in KERNELS}
prototypes = {name: reference.Prototype(name) for name in KERNELS}
for part in (part_numerics, part_overhead, part_strides, part_streams, part_graph, part_threads,
             part_many_shapes, part_errors, part_small_kernels):
    began = time.perf_counter()
    try:
        part()
    except Exception as error:  # noqa: BLE001 the other parts still say something
        traceback.print_exc()
        record(part.__name__, False, repr(error)[:300])
    print(f"      {part.__name__}: {time.perf_counter() - began:.1f} s", flush=True)
failed = sum(not result["passed"] for result in results)
with open(os.path.join(options.out, "trial.json"), "w") as file:
    json.dump({"figures": figures, "results": results}, file, indent=1)
print(json.dumps(figures, indent=1))
print(f"{len(results) - failed} passed, {failed} failed")
sys.exit(failed != 0)
