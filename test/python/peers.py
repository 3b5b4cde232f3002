"""Runs other projects' own tests on this one's functions: a seeded sample of them.

    python test/python/peers.py --suite flash2 --count 2000
    python test/python/peers.py --suite flash3 --device cpu --count 40 --most-rows 256

The tests are fetched when this runs, as flash-attn's source package from PyPI, and kept
nowhere; --folder names a copy that is there already. Each test function has the
same share of the sample. A test that meets an UnsupportedError is counted by the
argument, as "unsupported"; any other failure is one. Needs pytest, einops and, for
rotary embedding on a GPU, triton. The last line has the counts.

Processes with one --pieces folder share a sample: each takes a piece that nobody took,
from where its --share begins, and writes there how its tests ended. A later run with
that folder goes on. Fetching needs wheel.
"""

import argparse
import collections
import gc
import math
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from pathlib import Path

import pytest
import torch

import fa_mlir

VERSION = "2.8.3"
FILES = {"flash2": "tests/test_flash_attn.py", "flash3": "hopper/test_flash_attn.py"}


def fetch(package, version, folder):
    """The source package of PyPI, unpacked."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                    "--no-build-isolation", "--dest", folder, f"{package}=={version}"], check=True)
    archive, = Path(folder).glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return Path(folder) / archive.name.removesuffix(".tar.gz")


# Parameters that are numbers to a kernel.
AT_RUN_TIME = ("seqlen", "mha_type", "num_splits", "swap_sq_sk", "batch", "nheads", "unused", "zero_lengths")


def find_kernels(parameters):
    """What decides which kernels a test needs, to order by: the head dim first."""
    decided = [(name != "d", name, str(value)) for name, value in parameters.items()
               if not any(word in name for word in AT_RUN_TIME)]
    return tuple(sorted(decided))


class Pieces:
    """Tests of one sample, five to a piece; a file in a folder says that a process took one."""

    tests = 5

    def __init__(self, folder, suite):
        self.folder, self.suite = folder, suite
        self.paths = {}
        self.taken = {}

    def add(self, items):
        for place, item in enumerate(items):
            self.paths[item] = self.folder / f"{self.suite}-{place // self.tests:04}.txt"

    def take(self, item, may_begin):
        """Whether this process runs a test; one piece after the other is begun."""
        path = self.paths[item]
        if path not in self.taken:
            self.taken[path] = False
            if may_begin:
                try:
                    path.touch(exist_ok=False)
                    self.taken[path] = True
                except FileExistsError:
                    pass
        return self.taken[path]

    def note(self, item, outcome, why):
        with open(self.paths[item], "a") as file:
            file.write(f"{outcome} {item.name} {why}".rstrip() + "\n")


class Sample:
    """A plugin of pytest: takes a sample, and counts."""

    # What tests the packages themselves: their torch library.
    left_out = "bw_compatibility"

    def __init__(self, options):
        self.options = options
        self.collected = 0
        self.counts = collections.Counter()
        self.unsupported = collections.Counter()
        self.functions = collections.Counter()
        self.begun_again = 0
        self.start = time.monotonic()
        self.pieces = Pieces(options.pieces, options.suite) if options.pieces else None

    def thin(self, module):
        """Leaves a sample of each test's parameters, the same number of each: collecting all of
        them takes minutes. Of what decides kernels there are a few sets, of the rest any."""
        chooser = random.Random(self.options.seed)
        tests = [test for name, test in sorted(module.items()) if name.startswith("test_") and callable(test)
                 and not re.search(self.left_out, name) and (not self.options.only or re.search(self.options.only, name))]
        for name in [name for name, test in module.items() if name.startswith("test_") and test not in tests]:
            del module[name]
        drawn = [self.draw(test, chooser) for test in tests]
        share = next(share for share in range(self.options.count, 0, -1)
                     if sum(min(share, len(cases)) for _, cases in drawn) <= self.options.count)
        for test, (names, cases) in zip(tests, drawn):
            kept = [mark for mark in getattr(test, "pytestmark", []) if mark.name != "parametrize"]
            if names:
                ids = ["-".join(str(value).replace("torch.", "") for value in case) for case in cases[:share]]
                kept.append(pytest.mark.parametrize(names, cases[:share], ids=ids).mark)
            test.pytestmark = kept

    def draw(self, test, chooser):
        """Names of parameters, and values of them, in any order and without a repetition."""
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        names, choices = [], []
        for mark in marks:
            these = [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else mark.args[0]
            names += these
            choices.append([tuple(value) if len(these) > 1 else (value,) for value in mark.args[1]])
        total = math.prod(map(len, choices))
        self.collected += total
        groups, seen = {}, set()
        for _ in range(20 * self.options.count):
            case = sum([chooser.choice(values) for values in choices], ())
            key = find_kernels(dict(zip(names, case)))
            rows = [value for name, value in zip(names, case) if "seqlen" in name and isinstance(value, int)]
            if str(case) in seen or max(rows, default=0) > self.options.most_rows:
                continue
            if key not in groups and len(groups) >= self.options.configurations:
                continue
            seen.add(str(case))
            groups.setdefault(key, []).append(case)
            if len(seen) >= min(total, 4 * self.options.count):
                break
        # One of each set after the other.
        cases = []
        while any(groups.values()):
            cases += [group.pop() for group in groups.values() if group]
        return names, cases[:self.options.count]

    def pytest_collection_modifyitems(self, config, items):
        """What thin() left of the file, and of another one a sample."""
        items[:] = [item for item in items if not re.search(self.left_out, item.nodeid)
                    and (not self.options.only or re.search(self.options.only, item.nodeid))]
        if not self.collected:
            self.collected = len(items)
            random.Random(self.options.seed).shuffle(items)
            del items[self.options.count:]
        first, count = map(int, self.options.share.split("/"))
        # Those of one share that need the same kernels follow one another.
        items.sort(key=lambda item: (find_kernels(getattr(getattr(item, "callspec", None), "params", {})), item.nodeid))
        begin, end = len(items) * first // count, len(items) * (first + 1) // count
        if self.pieces:
            self.pieces.add(items)
            # Processes side by side would compile the same kernels at the same time.
            begin -= begin % self.pieces.tests
            items[:] = items[begin:] + items[:begin]
        else:
            items[:] = items[begin:end]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Where the other shares left no memory a test is begun again, with what it had freed."""
        named = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        for left in reversed(range(self.options.attempts)):
            try:
                pyfuncitem.obj(**named)
                return True
            except torch.OutOfMemoryError:
                if not left:
                    raise
            self.begun_again += 1
            gc.collect()
            torch.cuda.empty_cache()
            time.sleep(random.uniform(0.5, 2))

    def pytest_runtest_teardown(self, item):
        # Shares run beside each other.
        torch.cuda.empty_cache()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        is_over = self.options.seconds and time.monotonic() - self.start > self.options.seconds
        if self.pieces:
            # True: nobody else is to run it here.
            return None if self.pieces.take(item, not is_over) else True
        if is_over:
            item.session.shouldstop = f"{self.options.seconds} s are over"
        return None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, fa_mlir.UnsupportedError):
            report.outcome, report.longrepr = "skipped", (item.nodeid, 0, str(error))
            why = f"{error.argument}: {str(error.value)[:60]}"
            self.unsupported[why] += 1
            self.count(item, "unsupported", why)
        elif call.when == "call" or report.skipped:
            self.count(item, report.outcome)
            if call.when == "call":
                self.functions[item.originalname or item.name] += 1
        elif report.failed:
            self.count(item, "failed")

    def count(self, item, outcome, why=""):
        self.counts[outcome] += 1
        if self.pieces:
            self.pieces.note(item, outcome, why)


def install(folder, device):
    """fa_mlir under the names that the tests import; what else they import is flash-attn's own."""
    fa_mlir.compat.install_flash_attn()
    package = sys.modules["flash_attn"]
    package.__path__ = [str(folder / "flash_attn")]
    # Asked for with dropout's mask alone.
    package._get_block_size_n = lambda *args: 128
    if device == "cpu":
        rotary = types.ModuleType("flash_attn.layers.rotary")
        rotary.apply_rotary_emb = lambda *args, **named: pytest.skip("rotary embedding of the tests needs a GPU")
        sys.modules["flash_attn.layers.rotary"] = rotary
        torch.cuda.get_device_capability = lambda *args: (9, 0)
        torch.cuda.get_device_properties = lambda *args: types.SimpleNamespace(total_memory=1 << 40,
                                                                               multi_processor_count=132)
        torch.cuda.synchronize = lambda *args: None


# At the end of the file.
THIN = """

import peers as _peers
_peers.sample.thin(globals())
"""


def prepare(path, device):
    """A copy of the file of tests for the device, beside it."""
    # Memory that leaves no room for others is no part of what a race shows in.
    text = path.read_text().replace("70 * 1024 ** 3", "4 * 1024 ** 3")
    if device == "cpu":
        text = re.sub(r"(['\"])cuda\1", r'"cpu"', text)
        text = text.replace("4 * 1024 ** 3", "70")
    # Of this process alone: shares run beside each other.
    copy = path.with_name(f"test_of_a_peer_{os.getpid()}.py")
    copy.write_text(text + THIN)
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=FILES, required=True)
    parser.add_argument("--folder", type=Path, help="a copy of the project, else it is fetched")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--share", default="0/1", help="I/N: the I-th of N parts of the sample")
    parser.add_argument("--pieces", type=Path, help="a folder by which processes share what is left of the sample")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--most-rows", type=int, default=1 << 30, help="leave longer sequences out")
    parser.add_argument("--configurations", type=int, default=1 << 30,
                        help="of each test, at most so many sets of parameters that decide kernels")
    parser.add_argument("--seconds", type=int, help="begin no test after so many")
    parser.add_argument("--only", help="a regular expression of names")
    parser.add_argument("--attempts", type=int, default=20, help="of a test that finds no memory")
    parser.add_argument("--least-passed", type=int, default=1, help="fewer are a failure")
    options = parser.parse_args()
    print(f"seed {options.seed}, torch {torch.__version__}, {options.device}")
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or fetch("flash-attn", VERSION, temporary)).resolve()
        global sample
        sample = Sample(options)
        # The file of tests asks for it.
        sys.modules["peers"] = sys.modules["__main__"]
        arguments = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore"]
        install(folder, options.device)
        file = prepare(folder / FILES[options.suite], options.device)
        sys.path.insert(0, str(file.parent))
        status = pytest.main([*arguments, "--rootdir", str(file.parent), str(file)], plugins=[sample])
    for name, count in sorted(sample.functions.items()):
        print(f"  {name}: {count}")
    for name, count in sample.unsupported.most_common():
        print(f"  unsupported, {name}: {count}")
    if sample.begun_again:
        print(f"  begun again for lack of memory: {sample.begun_again}")
    counts = sample.counts
    print(f"{options.suite}: of {sample.collected} tests {sum(counts.values())} ran: {counts['passed']} passed, "
          f"{counts['unsupported']} unsupported, {counts['skipped']} skipped, {counts['failed']} failed")
    return counts["failed"] > 0 or counts["passed"] < options.least_passed or status not in (0, 5)


if __name__ == "__main__":
    sys.exit(main())
