# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %fake_cuda %t
"""Functions of several kernels, each with machine code of its own: compiled, kept on disk, saved and loaded.

The assembler is one that copies its text, which the fake driver loads. `Images` compiles by it, `Refusals` damages what it made.
"""

import json
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

DRIVER, FOLDER = sys.argv[1], Path(sys.argv[2])
ROOT = Path(__file__).resolve().parents[2]
PTXAS = FOLDER / "ptxas"
PTXAS.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/test/Target/NVPTX/Inputs/fake-ptxas.py "$@"\n')
PTXAS.chmod(0o755)
os.environ.update(FA_PTXAS=str(PTXAS), FA_MLIR_CACHE_DIR=str(FOLDER / "cache"))

import fa_mlir
from fa_mlir import assembler, compilation
from fa_mlir.runtime import Runtime

# Caps up to 50 and others have a kernel each.
TEXT = """
!t = tensor<?x?x?x128xbf16>
func.func @attend(%query: !t, %key: !t, %value: !t, %init: !t, %cap: f32) -> !t {
  %o = fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t) score softcap(%cap)
  return %o : !t
}
"""
KERNELS = ["attend_kernel", "attend_kernel_0"]


def compile_text():
    return fa_mlir.compile(TEXT, target="cuda", chip="sm_90a")


def load(path):
    runtime = Runtime(driver=DRIVER)
    try:
        fa_mlir.load(path, runtime).prepare()
    finally:
        runtime.close()


class Images(unittest.TestCase):
    def check(self, compiled):
        listed = compiled.manifest["images"]["cubin"]
        self.assertEqual([image["kernel"] for image in listed], KERNELS)
        self.assertEqual(sum(image["bytes"] for image in listed), len(compiled.cubin))
        start = 0
        for image in listed:
            self.assertIn(f".visible .entry {image['kernel']}(", compiled.cubin[start:start + image["bytes"]].decode())
            start += image["bytes"]

    def test_one_of_each_kernel(self):
        self.check(compile_text())
        fa_mlir.clear_memory()
        before = fa_mlir.stats()["disk_hits"]
        self.check(compile_text())
        self.assertEqual(fa_mlir.stats()["disk_hits"], before + 1)

    def test_loaded_from_memory_and_from_files(self):
        compiled = compile_text()
        runtime = Runtime(driver=DRIVER)
        compiled.load(runtime).prepare()
        runtime.close()
        path = compiled.save(FOLDER / "saved", "x")
        self.assertEqual(json.loads(path.read_text())["images"]["cubin"], [
            dict(image, file=f"x.{image['kernel']}.cubin") for image in compiled.manifest["images"]["cubin"]])
        self.assertEqual(b"".join((path.parent / f"x.{kernel}.cubin").read_bytes() for kernel in KERNELS), compiled.cubin)
        load(path)

    def test_packaged(self):
        request = compilation.Request(TEXT.encode(), "cuda", "sm_90a", None, None, "auto", False)
        compilation.make_packaged(request, FOLDER / "packaged")
        fa_mlir.clear_memory()
        with mock.patch.object(compilation, "_PACKAGED", FOLDER / "packaged"):
            found = compile_text()
        self.assertEqual((found.ptx, fa_mlir.stats()["packaged_hits"]), ("", 1))
        self.check(found)
        fa_mlir.clear_memory()

    def test_another_assembler_makes_one_of_all(self):
        linker = mock.Mock(version="1.0")
        linker.assemble = lambda ptx, chip: ptx
        fa_mlir.clear_memory()
        with mock.patch.object(assembler, "find_ptxas", lambda: ""), \
                mock.patch.object(assembler, "find_nvjitlink", lambda: linker):
            compiled = compile_text()
        fa_mlir.clear_memory()
        self.assertNotIn("cubin", compiled.manifest["images"])
        path = compiled.save(FOLDER / "linked")
        self.assertEqual(json.loads(path.read_text())["images"]["cubin"], f"{compiled.name}.cubin")
        load(path)


class Refusals(unittest.TestCase):
    def test_images_that_are_damaged(self):
        path = compile_text().save(FOLDER / "damaged", "x")
        last = path.parent / f"x.{KERNELS[1]}.cubin"
        whole = last.read_bytes()
        for damaged, message in (whole[:-1], f"the cubin of kernel '{KERNELS[1]}' has {len(whole) - 1} bytes, expected {len(whole)}"), \
                (b"?" * len(whole), f"loading kernel '{KERNELS[1]}' on device 0"):
            last.write_bytes(damaged)
            with self.assertRaisesRegex(fa_mlir.Error, message):
                load(path)
        last.unlink()
        with self.assertRaisesRegex(fa_mlir.Error, f"cannot read '.*x.{KERNELS[1]}.cubin'"):
            load(path)

    def test_lists_without_a_kernel(self):
        path = compile_text().save(FOLDER / "missing", "x")
        manifest = json.loads(path.read_text())
        del manifest["images"]["cubin"][0]
        path.write_text(json.dumps(manifest))
        with self.assertRaisesRegex(fa_mlir.Error, f"expected a cubin of each kernel, there is none of '{KERNELS[0]}'"):
            load(path)

    def test_what_the_assembler_refuses(self):
        fa_mlir.clear_memory()
        said = {"FAKE_PTXAS_KERNEL": KERNELS[1], "FAKE_PTXAS_STATUS": "1", "FAKE_PTXAS_OUTPUT": "line 7; syntax"}
        with mock.patch.dict(os.environ, dict(said, FA_MLIR_CACHE_DIR="none")), \
                self.assertRaisesRegex(fa_mlir.CompilationError, "ptxas' failed for sm_90a: line 7; syntax"):
            compile_text()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
