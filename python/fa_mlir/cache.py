"""Compiled code on disk: one file for each key, in a folder that may be moved.

A file is written under another name and renamed, so that readers see all of it or
nothing. What does not match its digest is removed and compiled again. Files that
nobody used for longest go when all together are too large. Without a folder that
can be written, nothing is kept, and nothing fails.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_MAGIC = b"fa-mlir cache 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".fac"
_TEMPORARY = ".tmp"
DEFAULT_SIZE = 1 << 30
# After which nobody writes a temporary file any more.
_ABANDONED_SECONDS = 3600


class DiskCache:
    """`folder` None: nothing is kept. `limit` is in bytes."""

    def __init__(self, folder: Path | None, limit: int, count: Callable[[str], None]):
        self.folder = folder
        self.limit = limit
        self._count = count

    @classmethod
    def from_environment(cls, count: Callable[[str], None]) -> DiskCache:
        """FA_MLIR_CACHE_DIR (none: no cache), else XDG's; FA_MLIR_CACHE_SIZE bytes."""
        chosen = os.environ.get("FA_MLIR_CACHE_DIR")
        size = os.environ.get("FA_MLIR_CACHE_SIZE", str(DEFAULT_SIZE))
        if not size.isdecimal():
            raise ValueError(f"FA_MLIR_CACHE_SIZE is '{size}', expected a number of bytes")
        if chosen == "none":
            return cls(None, 0, count)
        if not chosen:
            home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
            chosen = os.path.join(home, "fa-mlir")
        return cls(Path(chosen), int(size), count)

    def _path(self, key: str) -> Path | None:
        return self.folder and self.folder / key[:2] / (key + _SUFFIX)

    def load(self, key: str) -> bytes | None:
        path = self._path(key)
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, contents = data[len(_MAGIC):len(_MAGIC) + _DIGEST_BYTES], data[len(_MAGIC) + _DIGEST_BYTES:]
        if not data.startswith(_MAGIC) or hashlib.sha256(contents).digest() != digest:
            self.reject(key)
            return None
        try:
            # The time of its last use.
            os.utime(path)
        except OSError:
            pass
        return contents

    def reject(self, key: str) -> None:
        """Removes what turned out to be damaged."""
        self._count("disk_corrupted")
        try:
            if path := self._path(key):
                path.unlink()
        except OSError:
            pass

    def store(self, key: str, contents: bytes) -> None:
        path = self._path(key)
        if self.folder is None or path is None:
            return
        try:
            _write(path, _MAGIC + hashlib.sha256(contents).digest() + contents)
            _remove_abandoned(self.folder)
            self._evict(self.folder, path)
        except OSError:
            self._count("disk_errors")

    def _evict(self, folder: Path, newest: Path) -> None:
        """Removes files, those not used for longest first, until the rest fits."""
        files = list(_list_files(folder, "??/*" + _SUFFIX))
        total = sum(status.st_size for _, status in files)
        # The new one goes last, even where it alone is too large.
        for path, status in sorted(files, key=lambda file: (file[0] == newest, file[1].st_mtime_ns)):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            self._count("disk_evictions")
            total -= status.st_size


def _write(path: Path, data: bytes) -> None:
    """Readers find all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _list_files(folder: Path, pattern: str) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob(pattern):
        try:
            yield path, path.stat()
        except FileNotFoundError:
            # Another process renamed or removed it.
            continue


def _remove_abandoned(folder: Path) -> None:
    """What a process left that ended while it wrote."""
    for path, status in _list_files(folder, "??/.*" + _TEMPORARY):
        if status.st_mtime < time.time() - _ABANDONED_SECONDS:
            path.unlink(missing_ok=True)
