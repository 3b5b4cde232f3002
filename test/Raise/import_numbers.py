#!/usr/bin/env python3
"""What fa-import-stablehlo makes of each StableHLO text, against NumPy's evaluation of the text itself.

    python3 import_numbers.py --opt build/bin/fa-opt --run build/bin/fa-run [--seed SEED] FILE...

Arguments are random, of a printed seed; dynamic sizes are those that a line `// arguments: 2x5x4x64xf32, ...` of the file
says. Both sides compute in float64 and agree to 1e-12 with NaN and infinities at the same places. The last line is
`N passed, N failed`.
"""

import argparse
import os
import secrets
import sys
import tempfile
from pathlib import Path

import numpy as np

import stablehlo
from wide import argument_specs, difference, evaluate, random_array, run

BOUND = 1e-12


def check(options, path, folder):
    text = path.read_text()
    imported = run([options.opt, "--allow-unregistered-dialect", "--fa-import-stablehlo", str(path)])
    rng = np.random.default_rng(options.seed)
    arguments = [random_array(rng, spec, empty_rows=True) for spec in argument_specs(path, imported)]
    expected = stablehlo.run(text, arguments)
    found = evaluate(options.run, imported, arguments, folder, path.name)
    return [difference(a, b) for a, b in zip(found, expected, strict=True)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=os.environ.get("FA_TEST_SEED") or secrets.randbelow(2**31))
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            try:
                errors = check(options, path, folder)
                wrong = [i for i, error in enumerate(errors) if not error <= BOUND]
                good = not wrong
                print(f"{path.name}: {max(errors):.1e}" if good else f"FAILED {path.name}: results {wrong} of {errors}")
            except RuntimeError as error:
                good = False
                print(f"FAILED {path.name}: {error}")
            failed += not good
    print(f"{len(options.files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
