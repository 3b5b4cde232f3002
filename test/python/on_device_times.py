"""Parts of on_device.py that time: a call on the host, a first call, assemblers, kernels. Tables go to stdout."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import fa_mlir
from on_device_inputs import make_inputs


def time_in_turns(calls, rounds=31, count=100):
    """Microseconds of this thread that each call takes, by name: medians over rounds of `count`."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (call, gradient) in calls.items():
            with torch.set_grad_enabled(gradient):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(count):
                    call()
                times[name].append((time.perf_counter() - start) / count * 1e6)
                torch.cuda.synchronize()
    # The first one compiles and loads.
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def host_time():
    from torch.nn.functional import scaled_dot_product_attention

    inputs = make_inputs(1, 128, 128, 2, 2, 64)
    out = torch.empty_like(inputs[0])
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    first = [tensor.detach().transpose(1, 2).contiguous() for tensor in inputs]
    turned = [tensor.detach().requires_grad_() for tensor in first]
    fa_mlir.attention(*inputs)
    from fa_mlir.attention import _plain_calls, find_text
    short = _plain_calls["bshd", "bottom_right", False]
    operator = torch.ops.fa_mlir.attention.default
    text = find_text(("bshd", "bottom_right", False, None, None, None, False, None, "", "", (), True))

    def below(call):
        with torch._C._AutoDispatchBelowAutograd():
            return call()

    calls = {"fa_mlir.attention, no gradient": (lambda: fa_mlir.attention(*inputs, causal="bottom_right"), False),
             "fa_mlir.attention, to be differentiated": (lambda: fa_mlir.attention(*leaves, causal="bottom_right"), True),
             "fa_mlir.attention, into out": (lambda: fa_mlir.attention(*inputs, causal="bottom_right", out=out), False),
             "short way alone": (lambda: short(*inputs), False),
             "operator, with lse": (lambda: below(lambda: operator(*inputs, None, None, text)), False),
             "torch.relu": (lambda: torch.relu(inputs[0]), False),
             "torch.empty_like": (lambda: torch.empty_like(inputs[0]), False)}
    timed = time_in_turns(calls)
    # By themselves: choosing the backend is no part of a call.
    for backend in torch.nn.attention.SDPBackend.CUDNN_ATTENTION, torch.nn.attention.SDPBackend.FLASH_ATTENTION:
        for suffix, operands, gradient in ("", first, False), (", to be differentiated", turned, True):
            with torch.nn.attention.sdpa_kernel(backend):
                call = lambda: scaled_dot_product_attention(*operands, is_causal=True)
                timed[f"SDPA, {backend.name}{suffix}"] = time_in_turns({"": (call, gradient)})[""]
    print("\n| host time of a call, lower is better | us |\n|---|---|")
    for name, microseconds in timed.items():
        print(f"| {name} | {microseconds:.1f} |")
    for name, most in ("fa_mlir.attention, no gradient", 10), ("fa_mlir.attention, to be differentiated", 20):
        assert timed[name] <= most, f"{name}: {timed[name]:.1f} us, expected at most {most}"


def first_call():
    """In processes of their own: a kernel of the wheel, one that is compiled, and the same found on disk."""
    script = ("import torch, time; q = torch.randn(1, 256, 4, 128, device='cuda', dtype=torch.bfloat16);"
              "torch.cuda.synchronize(); a = time.time(); import fa_mlir; b = time.time();"
              "fa_mlir.attention(q, q, q, causal='bottom_right'{}); torch.cuda.synchronize();"
              "stats = fa_mlir.stats();"
              "print(f'{{b - a:.3f}} {{time.time() - b:.3f}}', *[stats[name] for name in"
              "('compilations', 'packaged_hits', 'disk_hits')])")
    print("\n| process | import, s | first call, s | compilations | of the wheel | of the disk |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("common call", ""), ("compiled", ", softcap=3.0"), ("kept on disk", ", softcap=3.0"),
                              ("compiled, without a score function", ", scale=0.3")):
            done = subprocess.run([sys.executable, "-c", script.format(options)], capture_output=True, text=True,
                                  env=dict(os.environ, FA_MLIR_CACHE_DIR=folder))
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
            print(f"| {name} | " + " | ".join(done.stdout.split()) + " |")


def assemblers():
    """By who assembles a kernel, in processes of their own: seconds of a first call, time and code."""
    script = """import pathlib, sys, time, statistics, torch, fa_mlir
from fa_mlir import assembler, compilation
from fa_mlir.compilation import CompiledKernel
from fa_mlir.problem import Specification, Types, write_forward
compilation._PACKAGED = pathlib.Path("nowhere")
if sys.argv[1] == "nvJitLink":
    # Also of kernels that the package leaves to the driver.
    assembler.NvJitLink.takes = lambda self, ptx: True
element, head_dim, mask = sys.argv[2], int(sys.argv[3]), sys.argv[4]
q, k, v = (torch.randn(4, 4096, 16, head_dim, device="cuda", dtype=getattr(torch, element)) for _ in range(3))
torch.cuda.synchronize()
start = time.perf_counter()
made = fa_mlir.compile(write_forward(Specification(mask=mask, lse=False), Types(
    {"bfloat16": "bf16", "float32": "f32"}[element], head_dim, head_dim)), target="cuda", chip=sys.argv[5])
kernel = made.load()
output = kernel(q, k, v)
torch.cuda.synchronize()
first = time.perf_counter() - start
times = []
for _ in range(12):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(); kernel(q, k, v, output=output); end.record(); torch.cuda.synchronize()
    times.append(begin.elapsed_time(end))
print(f"{first:.2f} {statistics.median(times[2:]):.3f} {len(made.cubin)}")"""
    ways = {"ptxas": {}, "nvJitLink": {"FA_PTXAS": "none"}, "driver": {"FA_PTXAS": "none", "FA_NVJITLINK": "none"}}
    print("\n| kernel, lower is better | assembler | first call, s | 4 x 4,096 tokens, 16 heads, ms | bytes of code |\n|---|---|---|---|---|")
    for problem in (("bfloat16", "128", "causal", "sm_90a"), ("bfloat16", "64", "", "sm_90a"),
                    ("bfloat16", "128", "causal", "sm_80"), ("float32", "64", "causal", "sm_90a")):
        for name, options in ways.items():
            done = subprocess.run([sys.executable, "-c", script, name, *problem], capture_output=True, text=True,
                                  env=dict(os.environ, FA_MLIR_CACHE_DIR="none", CUDA_CACHE_DISABLE="1", **options))
            said = " | ".join(done.stdout.split()) if not done.returncode else done.stderr.strip().splitlines()[-1][:120]
            print(f"| {' '.join(problem)} | {name} | {said} |")


def speed():
    print("\n| bf16, causal, higher is better | ours, TFLOP/s | SDPA cuDNN | SDPA FLASH |\n|---|---|---|---|")
    for head_dim, length in (128, 4096), (128, 16384), (64, 8192):
        inputs = make_inputs(max(1, 16384 // length), length, length, 16, 16, head_dim)
        first = [tensor.transpose(1, 2).contiguous() for tensor in inputs]
        flops = 2 * inputs[0].shape[0] * 16 * (length * (length + 1) // 2) * 2 * head_dim
        calls = [lambda: fa_mlir.attention(*inputs, causal="bottom_right")]
        for backend in torch.nn.attention.SDPBackend.CUDNN_ATTENTION, torch.nn.attention.SDPBackend.FLASH_ATTENTION:
            def call(backend=backend):
                with torch.nn.attention.sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(*first, is_causal=True)
            calls.append(call)
        cells = []
        for call in calls:
            times = []
            for _ in range(15):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                call()
                end.record()
                torch.cuda.synchronize()
                times.append(start.elapsed_time(end))
            cells.append(f"{flops / statistics.median(times[3:]) / 1e9:.0f}")
        print(f"| head dim {head_dim}, {length} tokens | " + " | ".join(cells) + " |")
