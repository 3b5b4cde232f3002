"""Copies a file of bytecode as if MLIR 19 had written it.

    python3 renamed_producer.py FILE COPY
"""

import re
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
with open(sys.argv[2], "wb") as file:
    file.write(re.sub(rb"MLIR[0-9]+\.[0-9.]+", b"MLIR19.1.7", data, count=1))
