"""Counts the files of the tree that a bundle's tests for a GPU name, and prints those it lacks.

    check_bundle_files.py BUNDLE

A part of a name that a test defines, as in `gradient_%{problem}.mlir.in`, stands for any.
"""

import re
import sys
from pathlib import Path

bundle = Path(sys.argv[1])
names = set()
for test in (bundle / "test/Integration/GPU").glob("*.test"):
    for root, name in re.findall(r"(%fa_src_root|%S)/([\w./%{}-]+)", test.read_text()):
        folder = bundle if root == "%fa_src_root" else test.parent
        names.add((folder / re.sub(r"%\{\w+\}", "*", name)).resolve().relative_to(bundle.resolve()))
missing = [name for name in sorted(names) if not any(bundle.glob(str(name)))]
for name in missing:
    print(f"missing: {name}")
print(f"files of GPU tests: {len(names)}, missing: {len(missing)}")
