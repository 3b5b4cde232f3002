"""Stands in for ptxas: copies the PTX and prints what FAKE_PTXAS_OUTPUT holds.

FAKE_PTXAS_OUTPUT_O1, where there is one, is what -O1 prints. FAKE_PTXAS_KERNEL
names the only kernel of which anything is said, or which fails.
"""
import os
import shutil
import sys

if "--version" in sys.argv:
    print("Cuda compilation tools, release", os.environ.get("FAKE_PTXAS_RELEASE", "13.0") + ", V0.0.0")
    sys.exit(0)
if "-split-compile=0" in sys.argv and os.environ.get("FAKE_PTXAS_RELEASE", "13.0") < "12":
    sys.exit("ptxas fatal   : Unknown option '-split-compile=0'")
source = next(a for a in sys.argv if a.endswith(".ptx"))
with open(source) as file:
    if ".entry " + os.environ.get("FAKE_PTXAS_KERNEL", "") not in file.read():
        os.environ = {}
shutil.copy(source, sys.argv[sys.argv.index("-o") + 1])
printed = os.environ.get("FAKE_PTXAS_OUTPUT", "")
if "-O1" in sys.argv:
    printed = os.environ.get("FAKE_PTXAS_OUTPUT_O1", printed)
print(printed.replace("\\n", "\n"))
sys.exit(int(os.environ.get("FAKE_PTXAS_STATUS", "0")))
