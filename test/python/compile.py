# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %python %s
"""compile() on arrays of numpy and others, against the definition in float64.

`text` is the function that is compiled, `expect` what it computes. `Compile` tests calls on each kind of array and each
way to compile, `Refusals` one message for each wrong use, `Threads` that threads wait for one compilation and not for
the lock.
"""

import json
import os
import tempfile
import threading
import unittest
from pathlib import Path

import ml_dtypes
import numpy

import fa_mlir
import fa_mlir.dialects

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED)
RANDOM = numpy.random.default_rng(SEED)

# Heads first, grouped, any lengths; the output in the usual order.
TEXT = """
!q = tensor<?x4x?x16xT>
!k = tensor<?x2x?x16xT>
!o = tensor<?x?x4x16xT>
func.func @attend(%query: !q, %key: !k, %value: !k, %scale: f32, %lengths: tensor<?xi32>) -> (!o, tensor<?x4x?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %query, %c0 : !q
  %n = tensor.dim %query, %c2 : !q
  %init = tensor.empty(%b, %n) : !o
  %lse_init = tensor.empty(%b, %n) : tensor<?x4x?xf32>
  %o, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !o, tensor<?x4x?xf32>)
      scale(%scale) key_lengths(%lengths : tensor<?xi32>) mask causal
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>}
  return %o, %lse : !o, tensor<?x4x?xf32>
}
"""


def text(dtype="f32"):
    return TEXT.replace("xT>", f"x{dtype}>")


def expect(query, key, value, scale, lengths):
    query, key, value = (array.astype(numpy.float64) for array in (query, key, value))
    key, value = (numpy.repeat(array, query.shape[1] // array.shape[1], axis=1) for array in (key, value))
    scores = scale * numpy.einsum("bhid,bhjd->bhij", query, key)
    i, j = numpy.arange(query.shape[2])[:, None], numpy.arange(key.shape[2])[None]
    visible = j[None] <= i[None] + lengths[:, None, None] - query.shape[2]
    visible &= j[None] < lengths[:, None, None]
    scores = numpy.where(visible[:, None], scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    output = numpy.einsum("bhij,bhjd->bihd", weights / total, value)
    return output, (numpy.log(total) + scores.max(-1, keepdims=True))[..., 0]


def make_inputs(batch=2, queries=7, keys=19, dtype=numpy.float32):
    query = RANDOM.standard_normal((batch, 4, queries, 16)).astype(dtype)
    key, value = (RANDOM.standard_normal((batch, 2, keys, 16)).astype(dtype) for _ in range(2))
    lengths = RANDOM.integers(queries, keys + 1, batch).astype(numpy.int32)
    return query, key, value, 0.3, lengths


class OnlyDLPack:
    """An array that shows nothing but DLPack."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("an old one")
        return self.array.__dlpack__(**options)


class Compile(unittest.TestCase):
    def check(self, inputs, got, bound=2e-6):
        output, lse = expect(*inputs)
        error = numpy.linalg.norm(got[0].astype(numpy.float64) - output) / numpy.linalg.norm(output)
        self.assertLess(error, bound)
        self.assertLess(numpy.abs(got[1] - lse).max(), 1e-4)

    def test_numpy(self):
        attend = fa_mlir.compile(text())
        self.assertEqual([argument.name for argument in attend.arguments],
                         ["query", "key", "value", "scale", "lengths", "output", "lse"])
        for sizes in (2, 7, 19), (1, 1, 1), (3, 40, 200):
            inputs = make_inputs(*sizes)
            got = attend(*inputs)
            self.assertEqual(got[0].shape, (sizes[0], sizes[1], 4, 16))
            self.check(inputs, got)
        # Without elements there is nothing to do.
        empty = attend(*make_inputs(0))
        self.assertEqual(empty[0].shape, (0, 7, 4, 16))

    def test_types_of_16_bits(self):
        for name, dtype, bound in ("f16", numpy.float16, 1e-3), ("bf16", ml_dtypes.bfloat16, 6e-3):
            inputs = make_inputs(dtype=dtype)
            got = fa_mlir.compile(text(name))(*inputs)
            self.assertEqual(got[0].dtype, dtype)
            self.check(inputs, got, bound)

    def test_strides_and_given_outputs(self):
        attend = fa_mlir.compile(text())
        query, key, value, scale, lengths = make_inputs()
        wide = numpy.full((2, 19, 2, 48), numpy.nan, numpy.float32)
        wide[..., 16:32] = key.transpose(0, 2, 1, 3)
        view = wide[..., 16:32].transpose(0, 2, 1, 3)
        output = numpy.full((2, 7, 5, 16), numpy.nan, numpy.float32)[:, :, :4]
        got = attend(query, view, value=value, scale=scale, lengths=lengths, output=output)
        self.assertIs(got[0], output)
        self.check((query, key, value, scale, lengths), got)
        self.assertTrue(numpy.isnan(output.base[:, :, 4]).all())

    def test_dlpack(self):
        attend = fa_mlir.compile(text())
        inputs = make_inputs()
        for versioned in True, False:
            wrapped = [OnlyDLPack(array, versioned) for array in inputs[:3]]
            self.check(inputs, attend(*wrapped, *inputs[3:]))
        read_only = numpy.zeros((2, 7, 4, 16), numpy.float32)
        read_only.flags.writeable = False
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'output' .*read-?only"):
            attend(*inputs, output=OnlyDLPack(read_only))

    def test_remarks(self):
        attend = fa_mlir.compile(text())
        ranges = [remark for remark in attend.remarks if remark.pass_name == "fa-specialize-mask"]
        self.assertEqual([(remark.severity, remark.outcome) for remark in ranges], [("remark", "passed")])
        self.assertIn("key ranges of the mask: full, partial", ranges[0].message)
        # They come with code that was found on disk, too.
        fa_mlir.clear_memory()
        self.assertEqual(fa_mlir.compile(text()).remarks, attend.remarks)

    def test_kernels(self):
        compiled = fa_mlir.compile(text("bf16"), target="cuda", chip="sm_90a", images="ptx")
        self.assertEqual(compiled.chip, "sm_90a")
        self.assertIn(".target sm_90a", compiled.ptx)
        self.assertEqual(compiled.cubin, b"")
        with tempfile.TemporaryDirectory() as folder:
            path = compiled.save(folder)
            self.assertEqual(json.loads(path.read_text())["images"], {"ptx": f"{compiled.name}.ptx"})
        self.assertTrue(compiled.remarks)

    def test_modules_and_pipelines(self):
        with fa_mlir.Context() as context:
            module = fa_mlir.Module(context, text())
            self.assertEqual(module.count("fa.attention"), 1)
            bytecode = module.print("bytecode")
            generic = module.print("generic")
            module.run("fa-to-level2")
            self.assertEqual(module.count("fa.online_attention"), 1)
        with self.assertRaisesRegex(ValueError, "closed"):
            context.diagnostics()
        inputs = make_inputs()
        self.check(inputs, fa_mlir.compile(bytecode)(*inputs))
        self.check(inputs, fa_mlir.compile(generic, pipeline="canonicalize,cse")(*inputs))

        class Foreign:
            """A module of another package's MLIR."""
            class operation:
                @staticmethod
                def get_asm(print_generic_op_form, enable_debug_info):
                    return generic

        self.check(inputs, fa_mlir.compile(Foreign)(*inputs))

    def test_raising(self):
        source = (ROOT / "test/CAPI/Inputs/raise.mlir").read_text()
        with fa_mlir.Context() as context:
            raised, remarks = fa_mlir.Module(context, source).raise_attention()
        self.assertEqual(raised, 1)
        self.assertEqual([remark.line for remark in remarks], [16])
        query = RANDOM.standard_normal((8, 16, 32)).astype(numpy.float32)
        key = RANDOM.standard_normal((8, 16, 32)).astype(numpy.float32)
        value = RANDOM.standard_normal((8, 16, 32)).astype(numpy.float32)
        scores = query.astype(float) @ key.astype(float).transpose(0, 2, 1)
        # Without the one that is refused, whose softmax no pass lowers.
        one = "\n".join(line for line in source.replace(", %o2 :", " :").splitlines()
                        if not line.lstrip().startswith(("%s2", "%p2", "%o2")))
        one = one.replace("-> (tensor<8x16x32xf32>, tensor<8x16x32xf32>)", "-> tensor<8x16x32xf32>")
        one = one.replace(": tensor<8x16x32xf32>, tensor<8x16x32xf32>\n}", ": tensor<8x16x32xf32>\n}")
        got = fa_mlir.compile(one, pipeline="fa-raise-attention")(query, key, value)
        weights = numpy.exp(scores - scores.max(2, keepdims=True))
        expected = (weights / weights.sum(2, keepdims=True)) @ value
        self.assertLess(numpy.linalg.norm(got - expected) / numpy.linalg.norm(expected), 2e-6)


class Refusals(unittest.TestCase):
    def refuse(self, error, message, function, *arguments, **named):
        with self.assertRaisesRegex(error, message) as caught:
            function(*arguments, **named)
        return caught.exception

    def test_sources(self):
        error = self.refuse(fa_mlir.CompilationError, "module:1:1: error: custom op 'func.fun' is unknown",
                            fa_mlir.compile, "func.fun")
        self.assertEqual((error.kind, error.diagnostics[0].line), ("invalid module", 1))
        error = self.refuse(fa_mlir.CompilationError, "no option 'chop', expected one of chip, peepholes",
                            fa_mlir.compile, text(), pipeline="fa-to-schedule{chop=1}")
        self.assertEqual(error.kind, "invalid pipeline")
        error = self.refuse(fa_mlir.CompilationError, "has no public function '@other', .* attend",
                            fa_mlir.compile, text(), entry="other")
        self.assertEqual(error.kind, "compilation failed")
        self.refuse(TypeError, "the source is a int, expected text", fa_mlir.compile, 3)
        for path in Path("nowhere.mlir"), "nowhere.mlir":
            self.refuse(FileNotFoundError, "nowhere", fa_mlir.compile, path)
        self.refuse(ValueError, "the target is 'tpu', expected one of cpu, cuda", fa_mlir.compile, "", target="tpu")
        self.refuse(ValueError, "chip='sm_80' is for target='cuda'", fa_mlir.compile, "", chip="sm_80")
        self.refuse(ValueError, "images are 'elf', expected one of auto", fa_mlir.compile, text(), target="cuda",
                    images="elf")
        self.refuse(fa_mlir.ArgumentError, "argument 'chip' is 'sm_12', expected one of sm_80", fa_mlir.compile, text(),
                    target="cuda", chip="sm_12")
        with fa_mlir.Context() as context:
            self.refuse(ValueError, "form is 'xml'", fa_mlir.Module(context, text()).print, "xml")

    def test_texts(self):
        """What is no text, or has a zero, which would end it in C."""
        self.refuse(TypeError, "the pipeline is a int, expected text", fa_mlir.compile, text(), pipeline=3)
        self.refuse(ValueError, r"the pipeline is 'cse\\x00x', expected text without zeros", fa_mlir.compile, text(),
                    pipeline="cse\0x")
        self.refuse(TypeError, "the entry is a int, expected text", fa_mlir.compile, text(), entry=3)
        self.refuse(TypeError, "the chip is a int, expected text", fa_mlir.compile, text(), target="cuda", chip=80)
        with fa_mlir.Context() as context:
            module = fa_mlir.Module(context, text())
            self.refuse(TypeError, "the operation is a NoneType, expected text", module.count, None)
            self.refuse(TypeError, "the text of options is a dict, expected text", module.raise_attention, {})
            self.refuse(TypeError, "the source is a int, expected text or bytecode", fa_mlir.Module, context, 3)
        self.refuse(TypeError, "the context is a NoneType, expected fa_mlir.Context", fa_mlir.Module, None, text())

    def test_a_closed_context(self):
        context = fa_mlir.Context()
        module = fa_mlir.Module(context, text())
        context.close()
        context.close()
        self.refuse(ValueError, "the context is closed", fa_mlir.Module, context, text())
        self.refuse(ValueError, "the context is closed", context.diagnostics)
        for call in (module.print, module.compile_function, module.compile_kernel, module.raise_attention,
                     lambda: module.run("cse"), lambda: module.count("fa.attention")):
            self.refuse(ValueError, "the context is destroyed", call)

    def test_packages_without_mlir(self):
        self.refuse(ImportError, "'json' is no MLIR package: .*; expected one .* such as jaxlib.mlir",
                    fa_mlir.dialects.bind, "json")

    def test_arguments(self):
        attend = fa_mlir.compile(text())
        query, key, value, scale, lengths = make_inputs()
        good = (query, key, value, scale, lengths)
        argument = fa_mlir.ArgumentError
        self.refuse(TypeError, "takes 5 inputs, got 6", attend, *good, 1)
        self.refuse(TypeError, "misses argument 'lengths'", attend, *good[:4])
        self.refuse(TypeError, "no argument 'mask'; there are query, key", attend, *good, mask=1)
        self.refuse(TypeError, "got argument 'key' twice", attend, *good, key=key)
        self.refuse(argument, "'query' is an array, got list", attend, [1], *good[1:])
        self.refuse(argument, "'query' has type f64, expected f32", attend, query.astype(float), *good[1:])
        self.refuse(argument, "'query' has dtype complex64, expected one of float16", attend,
                    query.astype(numpy.complex64), *good[1:])
        self.refuse(argument, "'query' has rank 3, expected 4", attend, query[0], *good[1:])
        self.refuse(argument, "'query' has rank 0", attend, query[0, 0, 0, 0][None].reshape(()), *good[1:])
        self.refuse(argument, "'query' has stride 2 in dim 3, expected 1", attend,
                    numpy.repeat(query, 2, axis=3)[..., ::2], *good[1:])
        self.refuse(argument, "'key' has dim 0 .batch. of size 1, expected 2", attend, query, key[:1], *good[2:])
        self.refuse(argument, "'scale' is a number of type f32, got str", attend, query, key, value, "x", lengths)
        self.refuse(argument, "'lengths' has the length 20 for batch item 1, expected 0 to 19", attend, query, key,
                    value, scale, numpy.array([7, 20], numpy.int32))
        packed = numpy.zeros(query.size * 4 + 2, numpy.uint8)[2:2 + query.size * 4].view(numpy.float32)
        self.refuse(argument, "no multiple of 4 bytes", attend, packed.reshape(query.shape), *good[1:])
        record = numpy.zeros(query.shape, numpy.dtype([("a", numpy.float32), ("b", numpy.uint8)]))["a"]
        self.refuse(argument, "stride of 5 bytes, expected a multiple", attend, record, *good[1:])
        output = numpy.zeros((2, 7, 4, 16), numpy.float32)
        output.flags.writeable = False
        self.refuse(argument, "'output' is written, but its memory is read-only", attend, *good, output=output)
        self.refuse(argument, "'output' has dim 1 .queries. of size 6, expected 7", attend, *good,
                    output=numpy.zeros((2, 6, 4, 16), numpy.float32))


class Threads(unittest.TestCase):
    def test_one_compilation_for_all_that_wait(self):
        source = text().replace("@attend", f"@attend_{SEED}")
        before = fa_mlir.stats()
        barrier = threading.Barrier(8)
        found, inputs = [], make_inputs()
        expected = expect(*inputs)[0]

        def work():
            barrier.wait()
            function = fa_mlir.compile(source)
            for _ in range(20):
                output, _ = function(*inputs)
                found.append((function, numpy.abs(output - expected).max() < 1e-5))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 160)
        self.assertEqual(len({id(function) for function, _ in found}), 1)
        self.assertTrue(all(right for _, right in found))
        after = fa_mlir.stats()
        self.assertEqual(after["compilations"] - before["compilations"], 1)
        self.assertEqual(sum(after[name] - before[name] for name in ("joined", "memory_hits")), 7)

    def test_two_contexts(self):
        """Each thread has what its own context said."""
        found = {}

        def work(name):
            with fa_mlir.Context() as context:
                for i in range(20):
                    module = fa_mlir.Module(context, text().replace("@attend", f"@{name}"))
                    module.run("fa-to-level2")
                    try:
                        module.run(f"fa-no-{name}-{i}")
                    except fa_mlir.CompilationError as error:
                        found.setdefault(name, []).append(f"'fa-no-{name}-{i}' does not refer" in str(error))

        threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {"first": [True] * 20, "second": [True] * 20})

    def test_an_error_reaches_all_that_wait(self):
        source = f"func.func @broken_{SEED}() -> i32 {{\n  return\n}}"
        errors = []
        barrier = threading.Barrier(4)

        def work():
            barrier.wait()
            try:
                fa_mlir.compile(source)
            except fa_mlir.CompilationError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(errors), 4)
        self.assertIn("'func.return' op has 0 operands", errors[0])

    def test_the_interpreter_lock_is_released(self):
        """Another thread counts while a compilation runs."""
        counted, done = 0, threading.Event()

        def count():
            nonlocal counted
            while not done.is_set():
                counted += 1

        thread = threading.Thread(target=count)
        source = text().replace("@attend", f"@released_{SEED}").encode()
        with fa_mlir.Context() as context:
            module = fa_mlir.Module(context, source)
            thread.start()
            before = counted
            module.compile_function()
            during = counted - before
            done.set()
        thread.join()
        self.assertGreater(during, 1000)


if __name__ == "__main__":
    unittest.main()
