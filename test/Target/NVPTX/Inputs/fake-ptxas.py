"""Stands in for ptxas: copies the PTX and prints what FAKE_PTXAS_OUTPUT holds."""
import os
import shutil
import sys

if "--version" in sys.argv:
    print("Cuda compilation tools, release", os.environ.get("FAKE_PTXAS_RELEASE", "13.0") + ", V0.0.0")
    sys.exit(0)
shutil.copy(next(a for a in sys.argv if a.endswith(".ptx")), sys.argv[sys.argv.index("-o") + 1])
print(os.environ.get("FAKE_PTXAS_OUTPUT", "").replace("\\n", "\n"))
sys.exit(int(os.environ.get("FAKE_PTXAS_STATUS", "0")))
