"""Decoding problems of growing lengths, and how much work the busiest multiprocessor has.

    part_steps.py write > PROBLEMS     a function for each batch, for each length and for one a tenth longer
    part_steps.py read < SPLIT         what fa-split-keys makes of them for so many multiprocessors

Work is counted in keys. Multiprocessors take tiles in turn where these are more than they are.
"""

import re
import sys

MULTIPROCESSORS, GROUP, HEADS = 132, 4, 4
BATCHES = [1, 2, 4, 6, 10, 16, 33, 64]
LIMIT = 1.15


def lengths():
    """From 512 to 64k by tenths."""
    found, length = [], 512.0
    while length <= 65536:
        found.append(int(length))
        length *= 1.1
    return found


def write():
    for batch in BATCHES:
        for base in lengths():
            for keys in (base, base * 11 // 10):
                query, key = (f"memref<{batch}x{size}x128xbf16>" for size in (f"1x{GROUP * HEADS}", f"{keys}x{HEADS}"))
                print(f"func.func @f_{batch}_{base}_{keys}(%q: {query}, %k: {key}, %o: {query}) {{\n"
                      f"  fa.attention ins(%q, %k, %k : {query}, {key}, {key}) outs(%o : {query})\n  return\n}}")


def most_work(text, batch, keys):
    """By the text of a function: parts of a size, or tiles of all keys."""
    loop = re.search(r"scf\.forall \(%(\w+), .*\) in \((.*)\)", text)
    if not loop:
        assert text.count("fa.attention ") == 1, text
        return -(-batch * HEADS // MULTIPROCESSORS) * keys
    tiles = 1
    for bound in loop[2].split(", "):
        tiles *= int(bound)
    assert tiles <= MULTIPROCESSORS, f"{tiles} tiles: {text}"
    size = re.search(rf"arith\.muli %{loop[1]}, %c(\d+) ", text[loop.end():])
    return min(keys, int(size[1]))


def read(text):
    """The work of each problem by batch, length and what it grows to."""
    found = re.split(r"func\.func @f_(\d+)_(\d+)_(\d+)\(", text)[1:]
    work = {}
    for batch, base, keys, body in zip(*(found[i::4] for i in range(4))):
        work[int(batch), int(base), int(keys)] = most_work(body, int(batch), int(keys))
    steps = [(work[batch, base, base * 11 // 10] / work[batch, base, base], batch, base)
             for batch, base, keys in work if keys == base]
    ratio, batch, base = max(steps)
    print(f"{len(steps)} steps, the steepest costs {ratio:.3f}: batch {batch}, from {base} keys")
    return ratio


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write()
    else:
        sys.exit(read(sys.stdin.read()) > LIMIT)
