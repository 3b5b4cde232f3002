"""Holds docs/Spec.md against itself and against the tests that test/SpecTests.md names."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
spec = (root / "docs/Spec.md").read_text()
checklist = (root / "test/SpecTests.md").read_text()
stated = re.findall(r"^- \*\*([A-Z]\d+)\*\*", spec, re.MULTILINE)
rows = re.findall(r"^\| ([A-Z]\d+) \| `([^`]+)` \| `([^`]+)` \|$", checklist, re.MULTILINE)
listed = [name for name, _, _ in rows]

problems = [f"{name} is stated twice" for name in set(stated) if stated.count(name) > 1]
problems += [f"{name} is stated but not in the checklist" for name in stated if name not in listed]
problems += [f"{name} is in the checklist but not stated" for name in listed if name not in stated]
for name, file, text in rows:
    path = root / file
    if not path.exists():
        problems.append(f"{name}: there is no {file}")
    elif text not in path.read_text():
        problems.append(f"{name}: {file} does not contain '{text}'")
for problem in problems:
    print(problem)
print(f"{len(stated)} constraints")
sys.exit(1 if problems or not stated else 0)
