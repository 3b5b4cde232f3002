"""Checks of on_device.py that meet torch's own machinery: graphs, streams, compilation, export, gradients' rules.

`list_machinery` has one function for each check and returns them by name: a new check is one more. First come graphs
and streams, then torch.compile and its operators, then rules of gradients, processes and export. `capture` makes a
graph.
"""

import os
import sys
import warnings

import torch

import fa_mlir
from fa_mlir.problem import make_deterministic
from on_device_inputs import expect, make_inputs, relative_error


def capture(step):
    """A graph of what `step` launches, which ran once before, and its result there."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()
    return graph, result


def find_compiler():
    """One that links the shared standard library: with a static one beside it torch crashes as
    it loads its package of any model, in std::regex of parse_device_str."""
    import shutil
    import subprocess
    for name in filter(None, (os.environ.get("CXX"), "/usr/bin/g++", "g++", "clang++")):
        path = shutil.which(name)
        if path and os.path.isabs(subprocess.run([path, "-print-file-name=libstdc++.so"], capture_output=True,
                                                 text=True).stdout.strip()):
            return path
    raise RuntimeError("no C++ compiler with a shared libstdc++ is on PATH")


def list_machinery():
    """Each check's name and function."""
    def graph():
        inputs = make_inputs()
        captured, output = capture(lambda: fa_mlir.attention(*inputs, causal="bottom_right"))
        for _ in range(3):
            for tensor in inputs:
                tensor.normal_()
            captured.replay()
            torch.cuda.synchronize()
            assert torch.equal(output, fa_mlir.attention(*inputs, causal="bottom_right"))

    def graph_of_decoding():
        """A replayed step of decoding takes the lengths and pages that are there by then."""
        lengths = torch.tensor([1, 700, 33, 2048, 512], device="cuda", dtype=torch.int32)
        others = [1, 1, 1, 1, 1], [2048, 3, 2000, 1, 129], [0, 2047, 64, 65, 300]
        table = torch.randperm(200, device="cuda")[:5 * 32].reshape(5, 32).int()
        pool = [torch.randn(200, 64, 2, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        query, key, value = make_inputs(5, 1, 2048, 8, 2, 128)

        def check_pages():
            key, value = (tensor[table.long()].flatten(1, 2) for tensor in pool)
            return expect(query, key, value, key_lengths=lengths)[0]

        steps = [(lambda: fa_mlir.attention(query, key, value, key_lengths=lengths),
                  lambda: expect(query, key, value, key_lengths=lengths)[0]),
                 (lambda: fa_mlir.attention(query, *pool, key_pages=table, key_lengths=lengths), check_pages)]
        with torch.no_grad():
            for step, expected in steps:
                captured, output = capture(step)
                for numbers in others:
                    lengths.copy_(torch.tensor(numbers))
                    table.copy_(torch.randperm(200, device="cuda")[:5 * 32].reshape(5, 32))
                    query.normal_()
                    captured.replay()
                    torch.cuda.synchronize()
                    error = relative_error(output, expected())
                    assert error < 6e-3, f"{numbers}: {error}"
                    assert torch.equal(output, step())

    def one_key():
        """A row of one key is the key's value, and its gradients of query and key are 0: under a softcap too."""
        for options in {}, {"softcap": 15.0}:
            inputs = make_inputs(keys=1, gradient=True)
            output = fa_mlir.attention(*inputs, **options)
            assert torch.equal(output, inputs[2].repeat_interleave(2, 2).expand_as(output))
            found = torch.autograd.grad(output, inputs[:2], torch.randn_like(output))
            most = max(float(gradient.abs().max()) for gradient in found)
            assert most < 1e-3, f"{options}: {most}"

    def streams():
        side = torch.cuda.Stream()
        for _ in range(20):
            with torch.cuda.stream(side):
                inputs = make_inputs(queries=1000, keys=1000)
                output = fa_mlir.attention(*inputs)
            side.synchronize()
            assert relative_error(output, expect(*inputs)[0]) < 6e-3

    def compiled():
        function = torch.compile(lambda *operands: fa_mlir.attention(*operands, causal="bottom_right"), fullgraph=True,
                                 dynamic=True)
        counts = []
        for length in 128, 200, 333, 1024:
            inputs = make_inputs(queries=length, keys=length)
            assert torch.equal(function(*inputs), fa_mlir.attention(*inputs, causal="bottom_right"))
            counts.append(fa_mlir.stats()["compilations"])
        assert len(set(counts)) == 1, counts
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1

    def opcheck():
        from fa_mlir.attention import TorchArrays, find_text, plan
        inputs = make_inputs()
        decided, tensors, given = plan(TorchArrays, *inputs, None, None, "bottom_right", (9, 0), None, None, None, None,
                                       None, None, "bshd", True)
        torch.library.opcheck(torch.ops.fa_mlir.attention.default, (*inputs, tensors or None, given or None, find_text(decided)))

    def functions_in_graphs():
        table = torch.randn(4, 64, device="cuda", requires_grad=True)
        step = lambda query, key, value: fa_mlir.attention(
            query, key, value, score=lambda s, b, h, q, k: s + table[h, (q - k) % 64], mask=lambda b, h, q, k: q >= k)
        compiled, kernels = torch.compile(step, fullgraph=True, dynamic=True), []
        for length in 200, 300, 777:
            inputs = make_inputs(queries=length, keys=length)
            assert relative_error(compiled(*inputs), step(*inputs).double()) < 1e-6
            kernels.append(fa_mlir.stats()["compilations"])
        assert len(set(kernels)) == 1, kernels

    def flex_pass():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        step = lambda query, key, value, mask: flex_attention(query, key, value, lambda s, b, h, q, k: s * 0.5, mask,
                                                              enable_gqa=True)
        ours, theirs = torch.compile(step, backend=fa_mlir.flex_backend, dynamic=True), torch.compile(step)
        for length in 256, 384, 1000:
            inputs = [tensor.transpose(1, 2).contiguous().requires_grad_() for tensor in make_inputs(queries=length, keys=length)]
            mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, length, length)
            one, other = ours(*inputs, mask), theirs(*inputs, mask)
            assert relative_error(one, other.double()) < 6e-3
            weights = torch.randn_like(one)
            for got, right in zip(torch.autograd.grad(one, inputs, weights), torch.autograd.grad(other, inputs, weights)):
                assert relative_error(got, right.double()) < 2e-2

    def registry():
        inputs = [tensor.transpose(1, 2).contiguous() for tensor in make_inputs(key_heads=4)]
        fa_mlir.register_flash_attention_impl()
        torch.nn.attention.activate_flash_attention_impl("fa_mlir")
        # Gradients of queries are sums in any order without it.
        torch.use_deterministic_algorithms(True)
        try:
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
                for causal in False, True:
                    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
                    got = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
                    right = fa_mlir.attention(*leaves, layout="bhsd", causal="top_left" if causal else None)
                    assert torch.equal(got, right)
                    weights = torch.randn_like(got)
                    for one, other in zip(torch.autograd.grad(got, leaves, weights),
                                          torch.autograd.grad(right, leaves, weights)):
                        assert torch.equal(one, other)
        finally:
            torch.use_deterministic_algorithms(False)
            torch.nn.attention.restore_flash_attention_impl()

    def record_stream():
        """Memory of inputs is not reused before the launch has read it."""
        side = torch.cuda.Stream()
        for _ in range(20):
            inputs = make_inputs(1, 4000, 4000)
            expected = fa_mlir.attention(*inputs)
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(20):
                    output = fa_mlir.attention(*inputs)
            for tensor in inputs:
                tensor.record_stream(side)
            shapes = [tensor.shape for tensor in inputs]
            del inputs, tensor
            for shape in shapes:
                torch.full(shape, torch.nan, device="cuda", dtype=torch.bfloat16)
            torch.cuda.current_stream().wait_stream(side)
            assert torch.equal(output, expected)

    def dropout_in_graphs():
        """Each replay drops others, as torch's generator says."""
        inputs = make_inputs()
        step = lambda: fa_mlir.attention(*inputs, dropout_p=0.5)
        captured, output = capture(step)
        seen = []
        for _ in range(3):
            captured.replay()
            torch.cuda.synchronize()
            seen.append(output.clone())
        assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])

    def device_guard():
        """The current device stays, whatever device the tensors are on."""
        if torch.cuda.device_count() > 1:
            inputs = [tensor.to("cuda:1") for tensor in make_inputs()]
            with torch.cuda.device(0):
                output = fa_mlir.attention(*inputs)
                assert torch.cuda.current_device() == 0
            assert torch.equal(output.to("cuda:0"), fa_mlir.attention(*[tensor.to("cuda:0") for tensor in inputs]))

    def autocast():
        inputs = make_inputs(dtype=torch.float32)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert fa_mlir.attention(*inputs).dtype == torch.bfloat16

    def other_device():
        if torch.cuda.device_count() > 1:
            inputs = [tensor.to("cuda:1") for tensor in make_inputs()]
            assert fa_mlir.attention(*inputs).device == inputs[0].device

    def lengths_do_not_compile():
        call = lambda *sizes: fa_mlir.attention(*make_inputs(*sizes), causal="bottom_right", window=(sizes[1], 0))
        call(2, 300, 300, 4, 2)
        before = fa_mlir.stats()["compilations"]
        for sizes in (1, 64, 900, 8, 8), (5, 2, 77, 6, 1), (3, 4096, 4096, 2, 2):
            call(*sizes)
        assert fa_mlir.stats()["compilations"] == before
        # One query has code of its own, for these heads.
        for sizes in (5, 1, 77, 6, 1), (2, 1, 900, 6, 1):
            call(*sizes)
        assert fa_mlir.stats()["compilations"] == before + 1

    def empty():
        """No queries, no keys, no batch, and tensors without a batch."""
        for batch, queries, keys in (2, 0, 5), (2, 5, 0), (0, 5, 5):
            inputs = make_inputs(batch, queries, keys)
            output, lse = fa_mlir.attention(*inputs, return_lse=True)
            assert output.shape == inputs[0].shape and lse.shape == (batch, 4, queries)
            assert not output.any() and bool((lse == -torch.inf).all())
        inputs = make_inputs(1)
        assert torch.equal(fa_mlir.attention(*[tensor[0] for tensor in inputs]), fa_mlir.attention(*inputs)[0])

    def opcheck_backward():
        from fa_mlir.attention import TorchArrays, find_text, plan
        inputs = make_inputs()
        decided, *_ = plan(TorchArrays, *inputs, None, None, "bottom_right", None, None, None, None, None, None, None, "bshd", True)
        text = find_text(decided)
        output, lse = torch.ops.fa_mlir.attention(*inputs, None, None, text)
        torch.library.opcheck(torch.ops.fa_mlir.attention_backward.default, (
            *inputs, output, lse, torch.randn_like(output), torch.randn_like(lse), None, None, make_deterministic(text),
            "query,key,value"))

    def opcheck_gradient():
        from fa_mlir.attention import TorchArrays, find_text, plan
        inputs = make_inputs(gradient=True)
        decided, *_ = plan(TorchArrays, *inputs, None, None, "bottom_right", None, None, None, None, None, None, None, "bshd", True,
                           deterministic=True)
        torch.library.opcheck(torch.ops.fa_mlir.attention.default, (*inputs, None, None, find_text(decided)))

    def gradcheck():
        inputs = make_inputs(1, 3, 4, 2, 1, 8, torch.float32, True)
        assert torch.autograd.gradcheck(
            lambda *operands: fa_mlir.attention(*operands, causal="bottom_right", return_lse=True), inputs, eps=1e-2,
            atol=5e-3, rtol=5e-2, nondet_tol=1e-5)

    def checkpointing():
        """What is recomputed is the same, dropout too."""
        from torch.utils.checkpoint import checkpoint
        for options in {"causal": "bottom_right"}, {"dropout_p": 0.3}:
            inputs = make_inputs(gradient=True)
            step = lambda *operands: fa_mlir.attention(*operands, deterministic=True, **options)
            found = []
            for call in step, lambda *operands: checkpoint(step, *operands, use_reentrant=False):
                torch.manual_seed(7)
                output = call(*inputs)
                found.append((output, *torch.autograd.grad(output.float().square().sum(), inputs)))
            assert all(torch.equal(one, other) for one, other in zip(*found))

    def fork():
        """A child of a process that used the GPU runs on the CPU; torch refuses it the GPU."""
        import subprocess
        script = """import os, sys, faulthandler, torch, fa_mlir
inputs = [torch.randn(2, 300, 4, 32) for _ in range(3)]
fa_mlir.attention(*[tensor.cuda() for tensor in inputs])
first = fa_mlir.attention(*inputs).numpy()
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(60, exit=True)
    again = fa_mlir.attention(*inputs).numpy()
    try:
        fa_mlir.attention(*[tensor.cuda() for tensor in inputs])
    except RuntimeError as error:
        os._exit(0 if (again == first).all() and "fork" in str(error) else 3)
    os._exit(4)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"""
        subprocess.run([sys.executable, "-c", script], check=True)

    def out():
        inputs = make_inputs()
        given = torch.full((2, 300, 5, 64), torch.nan, device="cuda", dtype=torch.bfloat16)[:, :, :4]
        assert fa_mlir.attention(*inputs, out=given) is given
        assert torch.equal(given, fa_mlir.attention(*inputs))

    def heads_first():
        inputs = make_inputs(gradient=True)
        expected = fa_mlir.attention(*inputs, causal="top_left", deterministic=True)
        turned = [tensor.detach().transpose(1, 2).contiguous().requires_grad_() for tensor in inputs]
        got = fa_mlir.attention(*turned, causal="top_left", layout="bhsd", deterministic=True)
        assert torch.equal(got.transpose(1, 2), expected)
        weights = torch.randn_like(expected)
        for one, other in zip(torch.autograd.grad(expected, inputs, weights),
                              torch.autograd.grad(got, turned, weights.transpose(1, 2))):
            assert torch.equal(one, other.transpose(1, 2))

    def deterministic():
        inputs = make_inputs(2, 2000, 2000, 8, 8, 128, gradient=True)
        found = []
        for _ in range(4):
            output = fa_mlir.attention(*inputs, causal="bottom_right", deterministic=True)
            found.append(torch.autograd.grad(output.float().square().sum(), inputs))
        assert all(torch.equal(one, other) for each in found[1:] for one, other in zip(found[0], each))

    def deterministic_captures():
        """Slopes, a number of each query, and with warn_only what threads add to in any order."""
        inputs, slopes = make_inputs(2, 700, 700, 8, 2, 128, gradient=True), torch.rand(8, device="cuda", requires_grad=True)
        rows, table = (torch.randn(8, size, device="cuda", requires_grad=True) for size in (700, 32))
        weights = torch.randn_like(inputs[0])
        differentiate = lambda leaf, **options: torch.autograd.grad(
            fa_mlir.attention(*inputs, causal="bottom_right", **options), [*inputs, leaf], weights)
        of_distances = lambda s, b, h, i, j: s + table[h, (i - j) % 32]
        torch.use_deterministic_algorithms(True)
        try:
            for leaf, options in (slopes, {"alibi": slopes}), (rows, {"score": lambda s, b, h, i, j: s + rows[h, i]}):
                first, *others = [differentiate(leaf, **options) for _ in range(4)]
                assert all(torch.equal(one, other) for each in others for one, other in zip(first, each))
            try:
                differentiate(table, score=of_distances)
                raise AssertionError("a table of distances was summed in one order")
            except fa_mlir.UnsupportedError as error:
                assert "in any order" in str(error)
            torch.use_deterministic_algorithms(True, warn_only=True)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                differentiate(table, score=of_distances)
            assert any("in any order" in str(each.message) for each in caught)
        finally:
            torch.use_deterministic_algorithms(False)

    def graph_of_a_step():
        """Forward and backward in one graph."""
        inputs = make_inputs(gradient=True)
        weights = torch.randn_like(inputs[0])
        step = lambda: torch.autograd.grad(fa_mlir.attention(*inputs, causal="bottom_right", deterministic=True), inputs, weights)
        captured, found = capture(step)
        for _ in range(3):
            with torch.no_grad():
                for tensor in inputs:
                    tensor.normal_()
            captured.replay()
            torch.cuda.synchronize()
            assert all(torch.equal(one, other) for one, other in zip(found, step()))

    def explained():
        inputs = make_inputs(1, 2048, 2048, 8, 8, 128)
        found = fa_mlir.explain(*inputs, causal="bottom_right")
        assert found.seconds and found.target.startswith("sm_") and not found.unsupported
        print(str(found)[:1200])

    def numpy_and_others():
        """DLPack of another package, through torch."""
        import numpy
        inputs = [numpy.random.randn(2, 50, 4, 32).astype("float32") for _ in range(3)]
        on_device = fa_mlir.attention(*[torch.from_numpy(array).cuda() for array in inputs])
        assert relative_error(torch.from_numpy(fa_mlir.attention(*inputs)), on_device.cpu().double()) < 2e-6

    def exported():
        class Model(torch.nn.Module):
            def forward(self, query, key, value):
                return fa_mlir.attention(query, key, value, causal="bottom_right", softcap=3.0) + 1

        inputs = make_inputs()
        with torch.no_grad():
            expected = Model()(*inputs)
            program = torch.export.export(Model(), tuple(inputs))
            assert torch.equal(program.module()(*inputs), expected)

    def packaged():
        """Compiled ahead of time and loaded, in a process of its own."""
        import subprocess
        script = """import torch, fa_mlir
class Model(torch.nn.Module):
    def forward(self, query, key, value):
        return fa_mlir.attention(query, key, value, causal="bottom_right", softcap=3.0) + 1
inputs = [torch.randn(2, 300, heads, 64, device="cuda", dtype=torch.bfloat16) for heads in (4, 2, 2)]
with torch.no_grad():
    expected = Model()(*inputs)
    loaded = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(torch.export.export(Model(), tuple(inputs))))
    assert torch.equal(loaded(*inputs), expected)"""
        subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ, CXX=find_compiler()))

    return list(locals().items())
