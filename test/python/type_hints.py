# RUN: %python %s
"""Everything that fa_mlir gives says its types, which resolve; mypy, where it is installed, finds nothing wrong in the package, nor
in a program that uses it."""

import importlib.util
import inspect
import os
import subprocess
import sys
import typing
import unittest
from pathlib import Path

import fa_mlir
import fa_mlir.dialects


def list_functions():
    """(name, function) of the public functions and of the methods of public classes."""
    things = {}
    for name in fa_mlir.__all__:
        try:
            things[name] = getattr(fa_mlir, name)
        except ImportError as error:
            # Interfaces of a package, such as torch, need it.
            if not error.name or error.name.startswith("fa_mlir"):
                raise
    things["dialects.bind"] = fa_mlir.dialects.bind
    for name, thing in things.items():
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function) and (not method.startswith("_") or method in ("__init__", "__call__")):
                    yield f"{name}.{method}", function
        elif inspect.isfunction(thing):
            yield name, thing


class Types(unittest.TestCase):
    def test_are_complete(self):
        functions = dict(list_functions())
        self.assertIn("compile", functions)
        self.assertIn("Function.__call__", functions)
        for name, function in functions.items():
            with self.subTest(name):
                # Names that are imported for hints alone are public ones.
                hints = typing.get_type_hints(function, localns=vars(fa_mlir))
                parameters = inspect.signature(function).parameters
                missing = [each for each in parameters if each not in hints and each not in ("self", "cls")]
                self.assertEqual(missing, [])
                if not name.endswith("__init__"):
                    self.assertIn("return", hints)


@unittest.skipUnless(importlib.util.find_spec("mypy"), "there is no mypy")
class Checked(unittest.TestCase):
    def check(self, *options):
        root = Path(__file__).resolve().parents[2]
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull, *options], capture_output=True, text=True,
                              cwd=root, env={**os.environ, "MYPYPATH": str(root / "python")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_package(self):
        self.check()

    def test_user(self):
        self.check("--strict", "--follow-imports=silent", "test/python/Inputs/typed_user.py")


if __name__ == "__main__":
    unittest.main()
