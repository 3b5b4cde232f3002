"""fa-opt, fa-run and fa-compile: console scripts over libFA.so."""

import ctypes
import os
import sys

from .runtime import COMPILER_LIBRARY, find_library, load_library


def _run(name: str) -> int:
    library = load_library(find_library(COMPILER_LIBRARY, "FA_COMPILER_LIBRARY"), "FAShared", "FA_COMPILER_LIBRARY")
    words = [os.fsencode(word) for word in [name, *sys.argv[1:]]]
    arguments = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    return library.faRunTool(len(words), arguments)


def opt() -> int:
    return _run("fa-opt")


def run() -> int:
    return _run("fa-run")


def compile() -> int:
    return _run("fa-compile")
