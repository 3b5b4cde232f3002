# REQUIRES: torch
# RUN: rm -rf %t.cache %t.store
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s %t.store
"""Attention on DTensors of two processes: batches and heads stay where they are."""

import os
import subprocess
import sys

import torch


def work(rank, store):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import fa_mlir

    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    inputs = [torch.randn(2, 9, heads, 16, requires_grad=True) for heads in (4, 2, 2)]
    weights = torch.randn(2, 9, 4, 16)
    for options, stays in (({"causal": "bottom_right", "softcap": 2.0, "window": (4, 0)}, True),
                           ({"mask": lambda b, h, q, k: q + b >= k}, False)):
        expected = fa_mlir.attention(*inputs, **options)
        right = torch.autograd.grad(expected, inputs, weights)
        for dim in 0, 2:
            given = [distribute_tensor(tensor.detach(), mesh, [Shard(dim)]).requires_grad_() for tensor in inputs]
            got = fa_mlir.attention(*given, **options)
            assert got.placements == ((Shard(dim) if stays else Replicate()),), got.placements
            found = torch.autograd.grad(got, given, distribute_tensor(weights, mesh, got.placements))
            assert torch.allclose(got.full_tensor(), expected, atol=1e-5)
            for one, other in zip(found, right):
                assert torch.allclose(one.full_tensor(), other, atol=1e-5)
    dist.destroy_process_group()


if __name__ == "__main__":
    store = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        work(int(sys.argv[2]), store)
    else:
        processes = [subprocess.Popen([sys.executable, __file__, store, str(rank)]) for rank in range(2)]
        sys.exit(any([process.wait() for process in processes]))
