"""Makes the portable bundle: one folder that runs without LLVM.

    scripts/make_bundle.py --build build --output build/bundle/fa-mlir [--archive]

It holds one program for all tools (LLVM and MLIR are linked in, glibc is not),
the launcher's library and Python package, lit, the examples, the tests for a
GPU and benchmarks. It runs on x86-64 Linux with glibc 2.36 or later; lit and the
tests need Python 3.10. With --archive also FOLDER.tar.xz, of at most 40 MiB.
"""

import argparse
import os
import shutil
import subprocess
import sys

import lit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = ("fa-opt", "fa-run", "fa-compile", "fa-grid", "FileCheck")
# Every system has these, of its own version; they belong together.
GLIBC = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so")
TESTS = ("test/lit.cfg.py", "test/Integration/GPU", "test/Integration/CPU/numeric_grid.py",
         "test/Integration/CPU/grid", "test/python/cuda_runtime.py", "test/python/Inputs",
         "test/python/lit.local.cfg", "test/Pipelines/schedule/Inputs",
         "test/Interpreter/Inputs/decode.mlir", "test/Target/NVPTX/Inputs/paged.mlir.in")
ARCHIVE_LIMIT = 40 << 20

LIT = """#!/usr/bin/env python3
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "python"))
from lit.main import main

main()
"""

SITE_CONFIG = """# Made by scripts/make_bundle.py: the tests of the bundle, where it lies.

import os
import sys

import lit.llvm

bundle = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
config.fa_source_root = bundle
config.fa_build_root = os.environ.get("FA_TEST_OUTPUT", os.path.join(bundle, "output"))
config.fa_tools_dir = config.llvm_tools_dir = os.path.join(bundle, "bin")
config.fa_library_dir = config.llvm_library_dir = os.path.join(bundle, "lib")
config.fa_python = sys.executable
config.fa_sanitizer = ""
config.cmake_command = config.c_compiler = config.cxx_compiler = ""

lit.llvm.initialize(lit_config, config)
lit_config.load_config(config, os.path.join(bundle, "test/lit.cfg.py"))
"""

README = """# fa-mlir, portable

Runs on x86-64 Linux with glibc 2.36 or later; no LLVM is needed. Tests and benchmarks need Python 3.10, and
PyTorch where they run on a GPU; the numeric grid needs numpy and ml_dtypes alone.

    bin/fa-run examples/causal.mlir --verify
    bin/fa-compile examples/schedules/sm_90a_causal.mlir -o kernels
    bin/fa-run examples/schedules/sm_90a_causal.mlir --target=cuda --verify --input=...
    bin/lit -v test
    python3 test/Integration/CPU/numeric_grid.py --program bin/fa-grid --target=cuda

`PYTHONPATH=python` gives `fa_mlir`, which launches what `fa-compile` writes; it finds lib/libFARuntimeCUDA.so by
`FA_RUNTIME_LIBRARY`. Docs are in docs/.
"""


def copy(source, target):
    """A file or a folder, without what Python leaves behind."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "results"))
    else:
        shutil.copy2(source, target)


def needed_libraries(program):
    """What the loader takes for a program, by name, without glibc."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        name = os.path.basename(line.split()[0])
        if not name.startswith(GLIBC):
            found[name] = line.split("=>")[1].split()[0]
    return found


def write(path, text, executable=False):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


def make(build, output):
    shutil.rmtree(output, ignore_errors=True)
    program = os.path.join(output, "bin/fa-mlir")
    copy(os.path.join(build, "bin/fa-mlir"), program)
    for tool in TOOLS:
        os.symlink("fa-mlir", os.path.join(output, "bin", tool))
    for name, path in needed_libraries(program).items():
        copy(os.path.realpath(path), os.path.join(output, "lib", name))
    copy(os.path.join(build, "lib/libFARuntimeCUDA.so"), os.path.join(output, "lib/libFARuntimeCUDA.so"))
    copy(os.path.join(ROOT, "python/fa_mlir"), os.path.join(output, "python/fa_mlir"))
    copy(os.path.dirname(lit.__file__), os.path.join(output, "python/lit"))
    for name in ("LICENSE", "docs", "examples", "benchmarks", *TESTS):
        copy(os.path.join(ROOT, name), os.path.join(output, name))
    write(os.path.join(output, "bin/lit"), LIT, executable=True)
    write(os.path.join(output, "test/lit.site.cfg.py"), SITE_CONFIG)
    write(os.path.join(output, "README.md"), README)

    outside = [f"{name} ({path})" for name, path in needed_libraries(program).items()
               if not os.path.realpath(path).startswith(os.path.realpath(output) + os.sep)]
    if outside:
        sys.exit("error: the program takes libraries from outside of the bundle: " + ", ".join(outside))


def archive(output):
    path = output + ".tar.xz"
    subprocess.run(["tar", "--create", "--file", path, "--use-compress-program", "xz -6 -T0",
                    "--directory", os.path.dirname(output), os.path.basename(output)], check=True)
    size = os.path.getsize(path)
    print(f"{path}: {size / (1 << 20):.1f} MiB")
    if size > ARCHIVE_LIMIT:
        sys.exit(f"error: {path} has {size} bytes, expected at most {ARCHIVE_LIMIT}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--output", default=os.path.join(ROOT, "build/bundle/fa-mlir"))
    parser.add_argument("--archive", action="store_true")
    options = parser.parse_args()
    output = os.path.abspath(options.output)
    make(os.path.abspath(options.build), output)
    print(f"{output}: {sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(output) for name in names if not os.path.islink(os.path.join(folder, name))) / (1 << 20):.0f} MiB")
    if options.archive:
        archive(output)


if __name__ == "__main__":
    main()
