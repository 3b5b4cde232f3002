"""What is done once another package is imported, whichever of the two is first."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from typing import Any


class _Finder(importlib.abc.MetaPathFinder):
    """Acts once a module is imported."""

    def __init__(self, name: str, action: Callable[[], None]):
        self.name, self.action = name, action

    def find_spec(self, name, path, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_act(module):
            execute(module)
            self.action()

        loader.exec_module = execute_and_act
        return spec


def after_import(name: str, action: Callable[[], None]) -> None:
    """Acts now where the module is loaded, else when it is."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Finder(name, action))
