"""Runs tests of this folder that are written for the CPU with their tensors on a GPU.

    python test/python/suites_on_device.py torch_flex.py torch_sdpa.py [-k NAME] [--parts I/N]

torch_flex.py: score functions and masks, against eager FlexAttention in float64; torch_sdpa.py:
torch's samples of SDPA; torch_libraries.py: transformers' models; torch_flash_attn.py: its functions;
torch_transforms.py: torch.func.
--parts takes every N-th function or model from the I-th on.
A test that meets an UnsupportedError is counted by the argument, as "unsupported"; any
other failure is one. The last line has the counts.
"""

import argparse
import collections
import importlib.util
import itertools
import os
import sys
import unittest
from pathlib import Path

os.environ["FA_TEST_DEVICE"] = "cuda"

import fa_mlir


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.unsupported = collections.Counter()
        self.parts = 0

    def count(self, error):
        if error is None or not issubclass(error[0], fa_mlir.UnsupportedError):
            return False
        self.unsupported[f"{error[1].argument}: {str(error[1].value)[:80]}"] += 1
        return True

    def addError(self, test, error):
        if not self.count(error):
            super().addError(test, error)

    def addSubTest(self, test, part, error):
        self.parts += 1
        if not self.count(error):
            super().addSubTest(test, part, error)
            if error is not None:
                # A run that is cut off has said it.
                print(f"FAILED: {part}: {str(error[1])[:400]}", flush=True)


# What makes the parts of tests.
MAKERS = ("make_scores", "make_masks", "make_models")


def take(make, first, count):
    return lambda: itertools.islice(make(), first, None, count)


def list_tests(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from list_tests(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-k", dest="names", action="append", default=[], help="tests with this in their name, else all")
    parser.add_argument("--parts", default="0/1", help="I/N: every N-th part of each test from the I-th on")
    options = parser.parse_args()
    loader = unittest.TestLoader()
    tests = []
    for file in options.files:
        path = Path(__file__).with_name(file)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name in set(MAKERS) & set(dir(module)):
            setattr(module, name, take(getattr(module, name), *map(int, options.parts.split("/"))))
        tests += list_tests(loader.loadTestsFromModule(module))
    tests = [test for test in tests if not options.names or any(name in test.id() for name in options.names)]
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2).run(unittest.TestSuite(tests))
    for name, number in result.unsupported.most_common():
        print(f"  unsupported, {name}: {number}")
    failed = len(result.failures) + len(result.errors)
    print(f"suites: {result.testsRun} tests with {result.parts} parts ran: {sum(result.unsupported.values())} unsupported, "
          f"{len(result.skipped)} skipped, {failed} failed")
    return failed > 0 or not result.testsRun


if __name__ == "__main__":
    sys.exit(main())
