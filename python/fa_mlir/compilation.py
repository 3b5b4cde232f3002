"""compile(): from text or a module to something that can be called.

A compilation is looked up in memory, then among the wheel's kernels, then on disk
(cache.py), and done once for all who ask for the same at the same time. What is made is
one entry of bytes, whichever way it came: by this process, by a child, or from disk.

Caching. The key is the library's build, the text, the chip, the assembler and what
else decides the code (Request); for a CPU its name. So another version, ptxas or machine
misses, and nothing stale is found. FA_MLIR_CACHE_DIR names the folder, which many
processes may share: files are written aside and renamed. Damaged ones are made again.
stats() counts all of it.

Deployment without a compiler, in three ways:

- Fill a cache where the compiler is, run the program with FA_MLIR_CACHE_DIR there once
  for each kind of call, and ship the folder: no GPU is needed for
  compile(text, target="cuda", chip="sm_90a").
- compile(...).save(folder) writes a manifest and images; fa_mlir.load(path), or
  fa-c/Runtime.h from C, runs them with the driver alone (docs/Runtime.md).
- For a CPU fa-opt --fa-to-cpu, mlir-translate and llc make an object file, which links
  with no part of MLIR (docs/Embedding.md).
"""

from __future__ import annotations

import collections
import functools
import hashlib
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, overload

from . import assembler
from .cache import DiskCache
from .compiler import Context, Diagnostic, Library, Module
from .errors import COMPILATION_FAILED, Error, make_error
from .host import Function
from .kernel import Kernel
from .runtime import Runtime

TARGETS = ("cpu", "cuda")
# Results that stay in memory, the last ones used.
_MOST_KEPT = 256
_COUNTERS = ("compilations", "memory_hits", "joined", "packaged_hits", "disk_hits", "disk_misses", "disk_corrupted",
             "disk_evictions", "disk_errors", "processes")

_lock = threading.Lock()
_counts: collections.Counter = collections.Counter()
_kept: collections.OrderedDict[str, Any] = collections.OrderedDict()
_running: dict[str, Future] = {}


def _count(name: str) -> None:
    with _lock:
        _counts[name] += 1


def stats() -> dict[str, int]:
    """What compile() did since the process began.

    compilations: by this process or a child (processes); memory_hits, disk_hits,
    packaged_hits (kernels that came with the wheel): found; joined: waited for the same
    compilation in another thread; disk_misses, disk_corrupted (found damaged, and
    compiled again), disk_evictions, disk_errors (a folder that cannot be written).
    """
    with _lock:
        return {name: _counts[name] for name in _COUNTERS}


def clear_memory() -> None:
    """Forgets results that are in memory; those in use stay usable."""
    with _lock:
        _kept.clear()


@dataclass(frozen=True)
class Request:
    """What a compilation depends on besides the library."""

    source: bytes
    target: str
    chip: str | None
    pipeline: str | None
    entry: str | None
    images: str
    allow_unregistered: bool

    def key(self, is_packaged: bool = False) -> str:
        """With `is_packaged`, of code that came with the package, whatever made it."""
        library = Library.shared()
        machine = library.host_cpu
        if is_packaged:
            machine = "package"
        elif self.target == "cuda":
            machine = assembler.describe(_describe_assembler) if self.images != "ptx" else ""
        fields = dict(asdict(self), source=hashlib.sha256(self.source).hexdigest(), machine=machine,
                      library=library.build_id)
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _describe_assembler(path: str) -> str:
    """What ptxas says of itself."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return _ask_assembler(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache
def _ask_assembler(path: str, _time: int, _size: int) -> str:
    try:
        return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return path


class CompiledKernel:
    """A kernel for GPUs of one architecture, as text and images. No GPU is needed
    to make or save it.

    compiled(*arguments, **named) launches it on CUDA tensors, as fa_mlir.Kernel.
    remarks: what the passes said when it was compiled.
    """

    def __init__(self, manifest: bytes, ptx: bytes, cubin: bytes, remarks: list[Diagnostic]):
        self.manifest: dict = json.loads(manifest)
        #: "" of a kernel that came with the package.
        self.ptx = ptx.decode()
        #: b"" where nothing made it: the driver assembles `ptx`. Where each kernel has one, as the
        #: manifest lists, they follow each other.
        self.cubin = cubin
        self.remarks = list(remarks)
        self.name: str = self.manifest["kernel"]
        self.chip: str = self.manifest["chip"]
        self._manifest = manifest
        self._lock = threading.Lock()
        self._kernel: Kernel | None = None

    def __repr__(self) -> str:
        return f"<fa_mlir.CompiledKernel {self.name} for {self.chip}>"

    def load(self, runtime: Runtime | None = None) -> Kernel:
        """The kernel in a runtime, that of the process unless another is given."""
        return Kernel.from_images(runtime or Runtime.shared(), self._manifest, self.ptx.encode(), self.cubin)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            if self._kernel is None:
                self._kernel = self.load()
        return self._kernel(*arguments, **named)

    def save(self, folder: str | os.PathLike, name: str | None = None) -> Path:
        """Writes NAME.json, NAME.ptx and NAME.cubin, or NAME.KERNEL.cubin for each kernel, for
        fa_mlir.load; returns the path of the first."""
        folder, name = Path(folder), name or self.name
        folder.mkdir(parents=True, exist_ok=True)
        images: dict[str, Any] = {}
        if self.ptx:
            images["ptx"] = f"{name}.ptx"
            (folder / images["ptx"]).write_text(self.ptx)
        listed = self.manifest["images"].get("cubin")
        if self.cubin and isinstance(listed, list):
            images["cubin"] = [dict(image, file=f"{name}.{image['kernel']}.cubin") for image in listed]
            start = 0
            for image in images["cubin"]:
                (folder / image["file"]).write_bytes(self.cubin[start:start + image["bytes"]])
                start += image["bytes"]
        elif self.cubin:
            images["cubin"] = f"{name}.cubin"
            (folder / images["cubin"]).write_bytes(self.cubin)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(dict(self.manifest, images=images), indent=2) + "\n")
        return path


#===--- Entries -----------------------------------------------------------===#

def _pack(parts: list[bytes], remarks: list[Diagnostic]) -> bytes:
    header = {"sizes": [len(part) for part in parts], "remarks": [asdict(remark) for remark in remarks]}
    return b"".join([json.dumps(header).encode(), b"\n", *parts])


def _unpack(entry: bytes) -> tuple[list[bytes], list[Diagnostic]]:
    line, _, rest = entry.partition(b"\n")
    header = json.loads(line)
    parts = []
    for size in header["sizes"]:
        parts.append(rest[:size])
        rest = rest[size:]
    return parts, [Diagnostic(**remark) for remark in header["remarks"]]


def _compile_kernel(module: Module, request: Request) -> tuple[bytes, bytes, bytes]:
    """Manifest, PTX and cubin, which nvJitLink makes where there is no ptxas, or nobody."""
    images = request.images
    linker = None if images == "ptx" or assembler.find_ptxas() else assembler.find_nvjitlink()
    if linker is None:
        return module.compile_kernel(request.entry, request.chip, images)
    manifest, ptx, _ = module.compile_kernel(request.entry, request.chip, "ptx")
    return manifest, ptx, linker.assemble(ptx, json.loads(manifest)["chip"]) if linker.takes(ptx) else b""


def compile_entry(request: Request) -> bytes:
    """Compiles in this process."""
    with Context(request.allow_unregistered) as context:
        module = Module(context, request.source)
        remarks = module.run(request.pipeline) if request.pipeline else []
        if request.target == "cpu":
            parts = [module.compile_function(request.entry)]
        else:
            parts = list(_compile_kernel(module, request))
        remarks += context.diagnostics()
        return _pack(parts, remarks)


_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from fa_mlir.child import main; main()"


def _compile_in_child(request: Request) -> bytes:
    """Compiles in a process of its own, whose end is an error of this one."""
    fields = dict(asdict(request), source=request.source.hex())
    package = Path(__file__).resolve().parents[1]
    child = subprocess.run([sys.executable, "-c", _CHILD, str(package)], input=json.dumps(fields).encode(),
                           capture_output=True)
    if child.returncode:
        said = child.stderr.decode(errors="replace").strip() or "nothing"
        raise make_error(COMPILATION_FAILED,
                         f"the compiler's process ended with status {child.returncode}; it said: {said}")
    kind, _, rest = child.stdout.partition(b"\n")
    if kind == b"entry":
        return rest
    failure = json.loads(rest)
    error = make_error(failure["status"], failure["message"])
    error.diagnostics = [Diagnostic(**diagnostic) for diagnostic in failure["diagnostics"]]
    raise error


def _make_entry(request: Request) -> bytes:
    mode = os.environ.get("FA_MLIR_COMPILE", "")
    if mode not in ("", "thread", "process"):
        raise ValueError(f"FA_MLIR_COMPILE is '{mode}', expected thread or process")
    _count("compilations")
    if mode != "process":
        return compile_entry(request)
    _count("processes")
    return _compile_in_child(request)


def _open(request: Request, entry: bytes) -> Function | CompiledKernel:
    parts, remarks = _unpack(entry)
    if request.target == "cpu":
        return Function(parts[0], remarks)
    manifest, ptx, cubin = parts
    return CompiledKernel(manifest, ptx, cubin, remarks)


# Kernels of common problems, by scripts/make_kernels.py.
_PACKAGED = Path(__file__).resolve().parent / "kernels"


def make_packaged(request: Request, folder: Path) -> int:
    """Compiles a kernel for `folder`, without its PTX; returns its bytes."""
    (manifest, _, cubin), remarks = _unpack(compile_entry(request))
    entry = _pack([manifest, b"", cubin], remarks)
    DiskCache(folder, sys.maxsize, _count).store(request.key(is_packaged=True), entry)
    return len(entry)


def _find_packaged(request: Request) -> Function | CompiledKernel | None:
    if request.target != "cuda" or request.images != "auto" or not _PACKAGED.exists():
        return None
    entry = DiskCache(_PACKAGED, sys.maxsize, _count).load(request.key(is_packaged=True))
    if entry is None:
        return None
    _count("packaged_hits")
    return _open(request, entry)


def _find_or_make(request: Request, key: str) -> Function | CompiledKernel:
    packaged = _find_packaged(request)
    if packaged is not None:
        return packaged
    disk = DiskCache.from_environment(_count)
    entry = disk.load(key)
    if entry is not None:
        try:
            result = _open(request, entry)
            _count("disk_hits")
            return result
        except (Error, KeyError, TypeError, ValueError):
            disk.reject(key)
    elif disk.folder is not None:
        _count("disk_misses")
    entry = _make_entry(request)
    result = _open(request, entry)
    disk.store(key, entry)
    return result


#===--- The public function -----------------------------------------------===#

def _read_source(source: Any) -> bytes:
    """Text or bytecode of a string, bytes, a path, or a module of another package's
    MLIR, which is printed in generic form."""
    if isinstance(source, str):
        # No text ends like this.
        return Path(source).read_bytes() if source.endswith((".mlir", ".mlirbc")) else source.encode()
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, os.PathLike):
        return Path(source).read_bytes()
    if isinstance(source, Module):
        return source.print().encode()
    operation = getattr(source, "operation", None)
    if operation is None or not hasattr(operation, "get_asm"):
        raise TypeError(f"the source is a {type(source).__name__}, expected text, bytecode, a path or a module "
                        "of an MLIR package")
    return operation.get_asm(print_generic_op_form=True, enable_debug_info=False).encode()


@overload
def compile(source: Any, target: Literal["cpu"] = "cpu", pipeline: str | None = None, *, entry: str | None = None,
            allow_unregistered: bool = False) -> Function: ...
@overload
def compile(source: Any, target: Literal["cuda"], pipeline: str | None = None, *, chip: str | None = None,
            entry: str | None = None, images: str = "auto", allow_unregistered: bool = False) -> CompiledKernel: ...
@overload
def compile(source: Any, target: str, pipeline: str | None = None, *, chip: str | None = None,
            entry: str | None = None, images: str = "auto",
            allow_unregistered: bool = False) -> Function | CompiledKernel: ...
def compile(source: Any, target: str = "cpu", pipeline: str | None = None, *, chip: str | None = None,
            entry: str | None = None, images: str = "auto",
            allow_unregistered: bool = False) -> Function | CompiledKernel:
    """Compiles a function of a module.

    source: text, bytecode, a path, or a module of an MLIR package (jaxlib.mlir,
    iree.compiler, torch_mlir). target: "cpu" gives a Function on numpy arrays and
    anything with __dlpack__, "cuda" a CompiledKernel for `chip` ("sm_90a"; the
    schedule's own, or sm_80). pipeline: passes to run first, as in
    "fa-raise-attention". entry: the function, where there are several. images: of
    a kernel, "auto" (a cubin too where ptxas or nvJitLink is), "ptx" or "both".
    allow_unregistered: operations of unknown dialects are no error.

    Raises CompilationError, with `diagnostics`, for what the compiler refuses.
    """
    if target not in TARGETS:
        raise ValueError(f"the target is {target!r}, expected one of {', '.join(TARGETS)}")
    if target == "cpu" and chip is not None:
        raise ValueError(f"chip={chip!r} is for target='cuda', not for 'cpu'")
    request = Request(_read_source(source), target, chip, pipeline, entry, images, allow_unregistered)
    key = request.key()
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            _counts["memory_hits"] += 1
            return _kept[key]
        other = _running.get(key)
        if other is None:
            future = _running[key] = Future()
        else:
            _counts["joined"] += 1
    if other is not None:
        return other.result()
    try:
        result = _find_or_make(request, key)
    except BaseException as error:
        with _lock:
            del _running[key]
        future.set_exception(error)
        raise
    with _lock:
        del _running[key]
        _kept[key] = result
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    future.set_result(result)
    return result
