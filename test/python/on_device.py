"""fa_mlir on torch's CUDA tensors: numbers, host time, graphs, streams, compilation.

    pip install --target=FOLDER --no-deps fa_mlir-*.whl
    PYTHONPATH=FOLDER python test/python/on_device.py [--only NAME] [--seed N] [--share I/N]

--share takes every N-th check from the I-th on, so that N processes do all of them.

It needs a GPU, torch 2.10 and nothing else of this project. What passed and failed is
counted in the last line; tables go to stdout. A gradient that the compiler has no GPU
form for counts as "no form", by name.
"""

import argparse
import os
import sys
import traceback

import torch

import fa_mlir
from on_device_inputs import BOUNDS, expect, make_inputs, relative_error
from on_device_machinery import list_machinery
from on_device_times import assemblers, first_call, host_time, speed

RESULTS = {"passed": [], "failed": [], "no form": []}
# Which checks are this process's: every `count`-th from `first` on.
SHARE = {"first": 0, "count": 1, "next": 0}


def run(name, function):
    SHARE["next"] += 1
    if (SHARE["next"] - 1 - SHARE["first"]) % SHARE["count"]:
        return
    run_part(name, function)


def run_part(name, function):
    try:
        function()
        RESULTS["passed"].append(name)
    except fa_mlir.UnsupportedError as error:
        RESULTS["no form"].append(name)
        print(f"no form: {name}: {str(error)[:300]}")
    except Exception:
        RESULTS["failed"].append(name)
        print(f"FAILED: {name}")
        traceback.print_exc(limit=6, file=sys.stdout)


#===--- Numbers -----------------------------------------------------------===#

def make_cases():
    slopes = lambda: torch.rand(4, device="cuda") * 0.3
    yield "full", {}, {}
    yield "causal", {}, {"causal": "bottom_right"}
    yield "causal, more keys", {"keys": 517}, {"causal": "bottom_right"}
    yield "top left", {"keys": 200}, {"causal": "top_left"}
    yield "window", {}, {"causal": "bottom_right", "window": (70, 0)}
    yield "window, top left", {"keys": 411}, {"causal": "top_left", "window": (70, 5)}
    yield "softcap", {}, {"softcap": 5.0}
    yield "alibi", {}, {"alibi": slopes(), "causal": "bottom_right"}
    yield "bias", {}, {"bias": torch.randn(300, 300, device="cuda")}
    yield "bias of 16 bits", {"queries": 304, "keys": 304}, {
        "bias": torch.randn(2, 4, 304, 304, device="cuda", dtype=torch.bfloat16)}
    yield "boolean mask", {}, {"mask": torch.rand(2, 1, 1, 300, device="cuda") < 0.7}
    yield "scale", {}, {"scale": 0.3}
    yield "negative scale", {}, {"scale": -0.05}
    yield "lengths", {}, {"key_lengths": torch.tensor([300, 111], device="cuda", dtype=torch.int32),
                          "causal": "bottom_right"}
    yield "sink", {}, {"sink": torch.randn(4, device="cuda")}
    yield "one query", {"queries": 1, "keys": 1000}, {"causal": "bottom_right"}
    for head_dim in 40, 96, 128, 192, 256:
        yield f"head dim {head_dim}", {"head_dim": head_dim}, {"causal": "bottom_right"}
    table = torch.randn(4, 64, device="cuda") * 0.1
    yield "own score", {}, {"score": lambda s, b, h, i, j: s + table[h, (i - j) % 64]}


def check_numbers(dtype, sizes, options, gradient):
    inputs = make_inputs(dtype=dtype, gradient=gradient, **sizes)
    more = [options[name] for name in ("alibi", "bias", "sink") if gradient and options.get(name) is not None]
    for tensor in more:
        tensor.requires_grad_(True)
    try:
        got = fa_mlir.attention(*inputs, return_lse=True, **options)
        expected = expect(*inputs, **options)
        bound = BOUNDS[dtype]
        if gradient:
            weights = [torch.randn_like(tensor) for tensor in got]
            found = torch.autograd.grad(got, inputs + more, weights)
            right = torch.autograd.grad(expected, inputs + more, [tensor.double() for tensor in weights])
            # The reference's own inputs to the gradient are rounded too.
            for name, one, other in zip(["query", "key", "value", "captures", "captures"], found, right):
                error, most = relative_error(one, other), 3 * max(bound, BOUNDS[one.dtype])
                assert error < most, f"gradient of {name}: {error}, expected below {most}"
        error = relative_error(got[0].detach(), expected[0].detach())
        assert error < bound, f"output: {error}, expected below {bound}"
        error = float((got[1] - expected[1]).detach().abs().nan_to_num(0).max())
        assert error < 1e-3, f"lse: {error}, expected below 1e-3"
    finally:
        for tensor in more:
            tensor.requires_grad_(False)


def numbers():
    for dtype in torch.bfloat16, torch.float16, torch.float32:
        for name, sizes, options in make_cases():
            for gradient in False, True:
                run(f"numbers, {str(dtype)[6:]}, {name}{', gradient' if gradient else ''}",
                    lambda: check_numbers(dtype, sizes, options, gradient))


#===--- Sequences, pages, dropout -----------------------------------------===#
# Against the same call on the CPU, whose numbers have tests of their own.

def check_on_cpu(dtype, inputs, tensors, gradient, **options):
    """inputs and what `tensors` names are moved to the CPU, in float32."""
    for tensor in inputs:
        tensor.requires_grad_(gradient)
    got = fa_mlir.attention(*inputs, return_lse=True, **tensors, **options)
    leaves = [tensor.detach().float().cpu().requires_grad_(gradient) for tensor in inputs]
    moved = {name: tensor.cpu() for name, tensor in tensors.items()}
    expected = fa_mlir.attention(*leaves, return_lse=True, **moved, **options)
    error = relative_error(got[0].detach().cpu(), expected[0].detach().double())
    assert error < BOUNDS[dtype], f"output: {error}, expected below {BOUNDS[dtype]}"
    error = float((got[1].cpu() - expected[1]).detach().nan_to_num(0).abs().max())
    assert error < 1e-3, f"lse: {error}, expected below 1e-3"
    if gradient:
        weights = torch.randn_like(got[0])
        found = torch.autograd.grad(got[0], inputs, weights)
        right = torch.autograd.grad(expected[0], leaves, weights.float().cpu())
        for name, one, other in zip(("query", "key", "value"), found, right):
            error = relative_error(one.cpu(), other.double())
            assert error < 3 * BOUNDS[dtype], f"gradient of {name}: {error}, expected below {3 * BOUNDS[dtype]}"


def sequences():
    starts = torch.tensor([0, 100, 100, 613, 700], device="cuda", dtype=torch.int32)
    key_starts = torch.tensor([0, 130, 150, 650, 1100], device="cuda", dtype=torch.int32)
    state = torch.tensor([1 << 40 | 12345, 99], device="cuda")
    for dtype in torch.bfloat16, torch.float16, torch.float32:
        for gradient in False, True:
            def packed():
                inputs = [torch.randn(rows, heads, 64, device="cuda", dtype=dtype)
                          for rows, heads in ((700, 4), (1100, 2), (1100, 2))]
                for options in {}, {"causal": "bottom_right"}, {"causal": "bottom_right", "window": (64, 0)}:
                    check_on_cpu(dtype, inputs, {"query_starts": starts, "key_starts": key_starts}, gradient, **options)

            def dropout():
                check_on_cpu(dtype, make_inputs(dtype=dtype), {"dropout_state": state}, gradient, dropout_p=0.3,
                             causal="bottom_right")

            name = str(dtype)[6:] + (", gradient" if gradient else "")
            run(f"sequences, packed, {name}", packed)
            run(f"sequences, dropout, {name}", dropout)

        def pages():
            table = torch.randperm(64, device="cuda")[:24].reshape(2, 12).int()
            pool = [torch.randn(64, 64, 2, 64, device="cuda", dtype=dtype) for _ in range(2)]
            lengths = torch.tensor([700, 33], device="cuda", dtype=torch.int32)
            for queries in 1, 16:
                query = torch.randn(2, queries, 4, 64, device="cuda", dtype=dtype)
                with torch.no_grad():
                    check_on_cpu(dtype, [query, *pool], {"key_pages": table, "key_lengths": lengths}, False,
                                 causal="bottom_right")

        run(f"sequences, pages, {str(dtype)[6:]}", pages)


def machinery():
    for name, function in list_machinery():
        run(f"machinery, {name}", function)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {function.__name__: function for function in (numbers, sequences, machinery, host_time, first_call,
                                                         assemblers, speed)}
    parser.add_argument("--only", choices=parts, action="append")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--share", default="0/1")
    options = parser.parse_args()
    SHARE["first"], SHARE["count"] = map(int, options.share.split("/"))
    torch.manual_seed(options.seed)
    print(f"seed {options.seed}, torch {torch.__version__}, {torch.cuda.get_device_name()}, fa_mlir at {fa_mlir.__file__}")
    for name in options.only or parts:
        run_part(name, parts[name])
    print(f"\n{len(RESULTS['no form'])} without a GPU form")
    for name in RESULTS["failed"]:
        print("failed:", name)
    print(f"{len(RESULTS['passed'])} passed, {len(RESULTS['failed'])} failed")
    return bool(RESULTS["failed"])


if __name__ == "__main__":
    sys.exit(main())
