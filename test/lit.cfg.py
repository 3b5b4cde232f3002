"""Configuration of the lit suite: tools, substitutions and features.

First functions that look at this machine, then where tools are found (fa-mlir's links where it is built), then what
%names in RUN lines stand for. Features come last: what a test REQUIRES, with a note for each that is missing, and the
sanitizers.
"""

import ctypes
import glob
import os
import platform
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "FA"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fa_build_root, "test")


def find_cuda_program(name):
    """A program of the CUDA toolkit: from PATH, from the toolkit's usual place,
    or from the PyPI packages in the venv."""
    candidates = [shutil.which(name), f"/usr/local/cuda/bin/{name}"]
    venv = os.path.dirname(os.path.dirname(config.fa_python))
    candidates += glob.glob(f"{venv}/lib/python3*/site-packages/nvidia/*/bin/{name}")
    return next((path for path in candidates if path and os.path.exists(path)), None)


def has_cuda_device():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


def processor_flags():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


# The tools as links to the program that holds them all, which starts in 8 ms where
# each by itself takes 30: tests start thousands. Not where that program is missing, as
# in an instrumented build, or older than what it is linked of.
quick_tools = os.path.join(config.test_exec_root, "quick-tools")
one_program = os.path.join(config.fa_tools_dir, "fa-mlir")
parts = glob.glob(os.path.join(config.fa_library_dir, "*.a")) + glob.glob(
    os.path.join(config.fa_build_root, "tools/*/CMakeFiles/*-sources.dir/**/*.o"), recursive=True)
if os.path.exists(one_program) and os.path.getmtime(one_program) >= max(map(os.path.getmtime, parts), default=0):
    os.makedirs(quick_tools, exist_ok=True)
    for name in ("fa-opt", "fa-run", "fa-compile", "fa-grid"):
        link = os.path.join(quick_tools, name)
        if not os.path.lexists(link):
            os.symlink(one_program, link)
else:
    lit_config.note("no fa-mlir as new as what it is linked of: each tool starts by itself")
    quick_tools = config.fa_tools_dir

# Tools of the project and of the distribution, by full path.
search_dirs = [quick_tools, config.fa_tools_dir, config.llvm_tools_dir]
llvm_config.with_environment("PATH", search_dirs, append_path=True)
# Tests run side by side, so that numpy's threads would only wait for each other.
config.environment["OPENBLAS_NUM_THREADS"] = "1"
# The seed of random tests, which draw and print one where none is given.
llvm_config.with_system_environment(["FA_TEST_SEED"])
tools = [
    "fa-lsp-server",
    "fa-opt",
    ToolSubst("fa-run", unresolved="ignore"),
    ToolSubst("fa-compile", unresolved="ignore"),
    ToolSubst("fa-grid", unresolved="ignore"),
    "FileCheck",
    "count",
    "not",
    "split-file",
    ToolSubst("mlir-translate"),
    ToolSubst("%llc", command=os.path.join(config.llvm_tools_dir, "llc")),
]
llvm_config.add_tool_substitutions(tools, search_dirs)

config.substitutions += [
    ("%python", config.fa_python),
    ("%mutate", f"{config.fa_python} {config.test_source_root}/Inputs/mutate.py"),
    ("%fa_src_root", config.fa_source_root),
    ("%fa_obj_root", config.fa_build_root),
    ("%fa_grid", os.path.join(quick_tools, "fa-grid")),
    ("%fa_lib_dir", config.fa_library_dir),
    ("%fa_plugin", os.path.join(config.fa_library_dir, "FAPlugin.so")),
    ("%llvm_lib_dir", config.llvm_library_dir),
    ("%cxx", config.cxx_compiler),
    # How a project in a test is configured: as this one was.
    ("%cmake_compilers", " ".join([
        "-DCMAKE_C_COMPILER=" + config.c_compiler,
        "-DCMAKE_CXX_COMPILER=" + config.cxx_compiler,
        "-DCMAKE_CXX_COMPILER_LAUNCHER=" + (shutil.which("ccache") or ""),
        "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22",
    ])),
    ("%cmake", config.cmake_command),
]

# Features. What is missing is said, so that a skipped test is not silent.
flags = processor_flags()
if {"avx2", "fma"} <= flags:
    config.available_features.add("avx2")
if "avx512f" in flags:
    config.available_features.add("avx512")
else:
    lit_config.note("no AVX-512 in this processor: tests that run it are skipped")

ptxas = find_cuda_program("ptxas")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
    # The compiler looks on PATH by itself, not in the tests' Python environment.
    config.environment.setdefault("FA_PTXAS", ptxas)
else:
    lit_config.note("no ptxas on this machine: tests that assemble PTX are skipped")

nvdisasm = find_cuda_program("nvdisasm")
if nvdisasm:
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%nvdisasm", nvdisasm))
else:
    lit_config.note("no nvdisasm on this machine: tests that read machine code are skipped")

# Front ends in the tests' Python environment, whose examples run live.
for feature, package in (("jax", "jax"), ("onnx", "onnx"), ("torch-mlir", "torch_mlir")):
    if glob.glob(os.path.join(os.path.dirname(os.path.dirname(config.fa_python)), "lib/python3*/site-packages", package)):
        config.available_features.add(feature)
    else:
        lit_config.note(f"no {package} in the tests' Python environment: its live example is skipped")

if has_cuda_device():
    config.available_features.add("cuda")
    # Tests that measure what they take of the device run one at a time.
    lit_config.parallelism_groups["cuda"] = 1
    compute_sanitizer = find_cuda_program("compute-sanitizer")
    if compute_sanitizer:
        config.available_features.add("compute-sanitizer")
        config.substitutions.append(("%compute_sanitizer", compute_sanitizer))
    else:
        lit_config.note("no compute-sanitizer on this machine: tests that run it are skipped")
else:
    lit_config.note("no CUDA device on this machine: tests that run on one are skipped")

# libMLIR.so is not instrumented, while the parts of its allocators that are
# inlined into our code are: poisoning memory by hand would give false reports.
# A host that is not instrumented, such as mlir-opt or Python, loads what is with
# the sanitizers' runtime before it.
in_host = ""
sanitize_flags = ""
# The Python of tests that load a library of this project.
config.fa_host_python = config.fa_python
if config.fa_sanitizer:
    config.available_features.add("sanitizer")
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_leaks=1"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
    runtime = subprocess.check_output(
        [config.cxx_compiler,
         f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"], text=True)
    in_host = f"env LD_PRELOAD={runtime.strip()} "
    # Python itself leaks when it ends.
    options = config.environment["ASAN_OPTIONS"] + ":detect_leaks=0"
    config.fa_host_python = f"{in_host}ASAN_OPTIONS={options} {config.fa_python}"
    sanitize_flags = " ".join(f"-fsanitize={name}" for name in config.fa_sanitizer.split(";"))
config.substitutions += [
    ("%mlir-opt", in_host + os.path.join(config.llvm_tools_dir, "mlir-opt")),
    ("%sanitize_flags", sanitize_flags),
]
