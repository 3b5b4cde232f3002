#!/usr/bin/env python3
"""Stands in for fa-compile: refuses ALiBi and takes everything else."""

import sys
from pathlib import Path

if "score alibi" in Path(sys.argv[1]).read_text():
    sys.exit("alibi.mlir:1:1: error: refused")
