"""Parts of the keys that `fa-select-config` chooses on this machine, for problems of few and of many query blocks.

    threads.py FA_OPT

The last line is `good`.
"""

import os
import re
import subprocess
import sys

THREADS = len(os.sched_getaffinity(0))


def configure(query, key, clause=""):
    text = f"""func.func @f(%q: memref<{query}xf32>, %k: memref<{key}xf32>, %l: memref<1xi32>, %t: memref<1x4096xi32>) {{
  fa.attention ins(%q, %k, %k : memref<{query}xf32>, memref<{key}xf32>, memref<{key}xf32>) outs(%q : memref<{query}xf32>) {clause}
  return
}}
"""
    done = subprocess.run([sys.argv[1], "-fa-select-config=chip=cpu"], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def parts(text):
    return [int(number) for number in re.findall(r"key_splits = (\d+)", text)]


few, many = "1x1x1x64", f"1x1x{THREADS}x64"
wanted = [THREADS] if THREADS > 1 else []
assert parts(configure(few, "1x1000000x1x64")) == wanted
# Of a number of keys that a call says, from so many on.
found = configure(few, "1x?x1x64")
assert parts(found) == wanted
if wanted:
    block, start = (int(re.search(rf"{name} = (\d+)", found)[1]) for name in ("key_block", "from_keys"))
    assert start == THREADS * 4 * block, found
paged = "key_lengths(%l : memref<1xi32>) key_pages(%t : memref<1x4096xi32>) " \
        "{ATTRIBUTES key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}"
assert parts(configure(few, "?x64x1x64", paged.replace("ATTRIBUTES", ""))) == wanted
# Blocks keep all threads busy; keys are few; nobody knows; the same bits are promised.
assert not parts(configure(many, f"1x1000000x{THREADS}x64"))
assert not parts(configure(few, "1x256x1x64"))
assert not parts(configure("?x1x1x64", "?x1000000x1x64"))
assert not parts(configure(few, "1x1000000x1x64", "{batch_invariant}"))
assert not parts(configure(few, "?x64x1x64", paged.replace("ATTRIBUTES", "batch_invariant,")))
print("good")
