"""Compares the page's table with the passes that `peepholes=false` leaves out."""

import re
import subprocess
import sys
from pathlib import Path


def passes(options):
    command = ["fa-opt", f"-fa-to-ptx=chip=sm_90a {options}", "--dump-pass-pipeline"]
    # There is no kernel to compile, which is an error behind the dump.
    dump = subprocess.run(command, input="module {}", capture_output=True, text=True).stderr
    dump = dump[: dump.index("error: has no kernel")]
    return re.findall(r"\b(fagpu-[a-z-]+)", dump)


page = Path(sys.argv[1])
rows = re.findall(r"^\| \[`([a-z-]+)`\]\(([^)]+)\)", page.read_text(), re.MULTILINE)
without = passes("peepholes=false")
left_out = [name for name in passes("") if name not in without]
assert [name for name, _ in rows] == left_out, f"the page has {rows}, the pipelines {left_out}"
for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
    assert (page.parent / target).exists(), f"{target} does not exist"
print(len(rows), "peepholes")
