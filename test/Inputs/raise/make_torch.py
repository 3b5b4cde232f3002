#!/usr/bin/env python3
"""Writes texts of this folder again: attention as torch programs spell it, by torch-mlir.

    pip install torch==2.12.1 torch-mlir==20261001 && python3 make_torch.py [--check] [FOLDER]

--check compares with what is there and writes nothing. Each function of `PROGRAMS` is one file; its first line says how many
`fa.attention` a correct raise gives. Names that hold `neg` have none.
"""

import argparse
import math
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import torch
import torch.nn.functional as F
from torch_mlir import fx

TORCH, TORCH_MLIR = "2.12.1", "20261001"
PROGRAMS = {}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def tensor(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def heads(dtype=torch.float32, count=4, kv_heads=4, queries=128):
    return tensor(2, count, queries, 64, dtype=dtype), *(tensor(2, kv_heads, 128, 64, dtype=dtype) for _ in range(2))


def program(expected, *arguments):
    def register(function):
        PROGRAMS[function.__name__] = (function, arguments, expected)
        return function
    return register


def scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


@program(1, *heads())
def torch_sdpa_f32(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads(torch.float16))
def torch_sdpa_f16(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads())
def torch_sdpa_scale(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=0.2, is_causal=True)


@program(1, *heads(queries=1))
def torch_sdpa_one_query(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads())
def torch_softmax_dropout_eval(q, k, v):
    return F.dropout(scores(q, k).softmax(-1), 0.1, training=False) @ v


@program(1, *heads(), tensor(4))
def torch_alibi_slopes(q, k, v, slopes):
    position = torch.arange(128)
    distance = (position[None, :] - position[:, None]).to(torch.float32)
    return (scores(q, k) + slopes[:, None, None] * distance).softmax(-1) @ v


@program(1, tensor(8, 128, 64), tensor(8, 128, 64), tensor(8, 128, 64))
def torch_bmm(q, k, v):
    return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.125, dim=-1), v)


@program(1, *heads())
def torch_masked_fill_causal(q, k, v):
    keep = torch.ones(128, 128, dtype=torch.bool).tril()
    return scores(q, k).masked_fill(~keep, float("-inf")).softmax(-1) @ v


@program(0, *heads())
def torch_neg_softmax_heads(q, k, v):
    return scores(q, k).softmax(1) @ v


@program(0, *heads())
def torch_neg_sigmoid(q, k, v):
    return torch.sigmoid(scores(q, k)) @ v


@program(0, *heads())
def torch_neg_layer_norm_probs(q, k, v):
    return F.layer_norm(scores(q, k), (128,)) @ v


@program(0, *heads())
def torch_neg_average_of_heads(q, k, v):
    p = scores(q, k).softmax(-1)
    return p @ v, p.mean(1)


def dump(name):
    function, arguments, expected = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = fx.export_and_import(Program(function), *arguments, output_type="linalg-on-tensors")
    return f"// from torch-{TORCH}+torch-mlir-{TORCH_MLIR} | fa.attention expected: {expected}\n{module}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    found = torch.__version__.split("+")[0], version("torch-mlir")
    if found != (TORCH, TORCH_MLIR):
        sys.exit(f"error: torch {found[0]} and torch-mlir {found[1]} are installed, expected {TORCH} and {TORCH_MLIR}")
    differing = 0
    for name in PROGRAMS:
        path, text = options.folder / f"{name}.linalg.mlir", dump(name)
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differing += 1
            print(f"{path.name} differs")
    print(f"{len(PROGRAMS)} texts, {differing} differ" if options.check else f"{len(PROGRAMS)} texts written")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
