# REQUIRES: torch
# RUN: rm -rf %t.cache %t.store
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s %t.store
"""Attention on DTensors of two processes: batches and heads stay where they are."""

import os
import subprocess
import sys
import types

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
    # Heads that do not come in equal parts stay whole; so does the one head of all queries.
    for heads, key_heads in (12, 3), (6, 3), (4, 1), (12, 4):
        inputs = [torch.randn(2, 9, count, 16) for count in (heads, key_heads, key_heads)]
        got = fa_mlir.attention(*[distribute_tensor(tensor, mesh, [Shard(2) if key_heads > 1 else Shard(0)])
                                  for tensor in inputs])
        assert (got.placements == (Shard(2),)) == (key_heads % 2 == 0), (heads, key_heads, got.placements)
        assert torch.allclose(got.full_tensor(), fa_mlir.attention(*inputs), atol=1e-5), (heads, key_heads)
    check_meshes()
    dist.destroy_process_group()


def check_meshes():
    """Which heads are shared over meshes of more dims: torch refuses fewer heads than parts itself."""
    from fa_mlir.sharding import _divides

    for sizes, heads, right in (((2, 4), 8, True), ((2, 4), 12, False), ((8, 4), 8, True), ((2, 2), 2, True),
                                ((2, 2), 6, False), ((3,), 6, True), ((2,), 1, True)):
        mesh = types.SimpleNamespace(ndim=len(sizes), size=sizes.__getitem__)
        assert _divides(mesh, heads) == right, (sizes, heads)


if __name__ == "__main__":
    store = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        work(int(sys.argv[2]), store)
    else:
        processes = [subprocess.Popen([sys.executable, __file__, store, str(rank)]) for rank in range(2)]
        sys.exit(any([process.wait() for process in processes]))
