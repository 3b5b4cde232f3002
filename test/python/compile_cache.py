# RUN: %python %s
"""The disk cache of compile(), and compilation in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, sys
import numpy
import fa_mlir
text = sys.argv[1]
try:
    function = fa_mlir.compile(text)
    a = numpy.arange(4, dtype=numpy.float32)
    result = function(a, a).tolist()
except fa_mlir.Error as error:
    result = [error.kind, str(error), [d.line for d in error.diagnostics]]
print(json.dumps([result, fa_mlir.stats()]))
"""
TEXT = """
func.func @FUNCTION(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
DOUBLE = [0.0, 2.0, 4.0, 6.0]


def run(cache, name="sum", text=TEXT, **environment):
    """Compiles and calls in a process of its own: the result, and what is not 0."""
    variables = dict(os.environ, FA_MLIR_CACHE_DIR=str(cache), **environment)
    printed = subprocess.run([sys.executable, "-c", PROGRAM, text.replace("FUNCTION", name)], env=variables,
                             check=True, capture_output=True, text=True)
    if printed.stderr:
        raise AssertionError(printed.stderr)
    result, stats = json.loads(printed.stdout)
    return result, {key: count for key, count in stats.items() if count}


class Cache(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "cache"

    def files(self):
        return sorted(self.folder.glob("??/*.fac"))

    def test_is_found_again_and_may_be_moved(self):
        self.assertEqual(run(self.folder), (DOUBLE, {"compilations": 1, "disk_misses": 1}))
        self.assertEqual(run(self.folder), (DOUBLE, {"disk_hits": 1}))
        moved = self.folder.with_name("moved")
        shutil.move(self.folder, moved)
        self.assertEqual(run(moved), (DOUBLE, {"disk_hits": 1}))
        # Another text is another key.
        self.assertEqual(run(moved, "other")[1], {"compilations": 1, "disk_misses": 1})

    def test_nothing_is_left_of_writing(self):
        # A process ended while it wrote, two hours ago.
        abandoned = self.folder / "00/.x.tmp"
        abandoned.parent.mkdir(parents=True)
        abandoned.touch()
        os.utime(abandoned, (time.time() - 7200,) * 2)
        run(self.folder)
        self.assertEqual([path.suffix for path in self.folder.rglob("*") if path.is_file()], [".fac"])

    def test_files_that_vanish_are_no_error(self):
        # As where another process renames its own between the listing and the look at it.
        for name in "00/.x.tmp", "00/x.fac":
            gone = self.folder / name
            gone.parent.mkdir(parents=True, exist_ok=True)
            gone.symlink_to("nothing")
        self.assertEqual(run(self.folder)[1], {"compilations": 1, "disk_misses": 1})
        self.assertEqual(run(self.folder)[1], {"disk_hits": 1})

    def test_damage_is_compiled_again(self):
        run(self.folder)
        path, = self.files()
        whole = path.read_bytes()
        for damaged in (b"", whole[:100], whole[:-1], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b"x" + whole):
            path.write_bytes(damaged)
            self.assertEqual(run(self.folder), (DOUBLE, {"compilations": 1, "disk_corrupted": 1, "disk_misses": 1}))
            self.assertEqual(path.read_bytes()[:16], whole[:16])
            self.assertEqual(run(self.folder)[1], {"disk_hits": 1})

    def test_is_bounded(self):
        run(self.folder, "first_")
        size = self.files()[0].stat().st_size
        limit = {"FA_MLIR_CACHE_SIZE": str(3 * size + size // 2)}
        for name in "second", "third_":
            run(self.folder, name, **limit)
        self.assertEqual(run(self.folder, "first_", **limit)[1], {"disk_hits": 1})
        # The second is now the one not used for longest.
        self.assertEqual(run(self.folder, "fourth", **limit)[1],
                         {"compilations": 1, "disk_misses": 1, "disk_evictions": 1})
        self.assertLessEqual(sum(path.stat().st_size for path in self.files()), 3 * size + size // 2)
        self.assertEqual(run(self.folder, "first_", **limit)[1], {"disk_hits": 1})
        self.assertIn("compilations", run(self.folder, "second", **limit)[1])

    def test_a_folder_that_cannot_be_written(self):
        self.folder.mkdir()
        blocked = self.folder / "file"
        blocked.write_text("no folder")
        self.assertEqual(run(blocked), (DOUBLE, {"compilations": 1, "disk_misses": 1, "disk_errors": 1}))

    def test_none_and_xdg(self):
        self.assertEqual(run("none"), (DOUBLE, {"compilations": 1}))
        self.assertEqual(run("", XDG_CACHE_HOME=str(self.folder))[1], {"compilations": 1, "disk_misses": 1})
        self.assertEqual(len(list((self.folder / "fa-mlir").glob("??/*.fac"))), 1)

    def test_a_process_of_its_own(self):
        mode = {"FA_MLIR_COMPILE": "process"}
        self.assertEqual(run(self.folder, **mode), (DOUBLE, {"compilations": 1, "disk_misses": 1, "processes": 1}))
        self.assertEqual(run(self.folder), (DOUBLE, {"disk_hits": 1}))
        result, _ = run(self.folder, text="func.func @f() -> i32 {\n  return\n}", **mode)
        self.assertEqual(result[0], "invalid module")
        self.assertIn("module:2:3: error: 'func.return' op has 0 operands", result[1])
        self.assertEqual(result[2], [2])

    def test_the_end_of_that_process_is_an_error(self):
        """A crash of the compiler is an error of compile(), not its end."""
        package = self.folder / "fa_mlir"
        shutil.copytree(ROOT / "python/fa_mlir", package)
        (package / "child.py").write_text("import os, signal\ndef main():\n    os.kill(os.getpid(), signal.SIGABRT)\n")
        result, _ = run("none", FA_MLIR_COMPILE="process", PYTHONPATH=str(self.folder))
        self.assertEqual(result[0], "compilation failed")
        self.assertIn("the compiler's process ended with status -6", result[1])

    def test_wrong_settings(self):
        for variable, value, message in (("FA_MLIR_COMPILE", "fork", "expected thread or process"),
                                         ("FA_MLIR_CACHE_SIZE", "1G", "expected a number of bytes")):
            with self.assertRaises(subprocess.CalledProcessError) as caught:
                run(self.folder, **{variable: value})
            self.assertIn(message, caught.exception.stderr)


if __name__ == "__main__":
    unittest.main()
