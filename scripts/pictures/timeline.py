"""One step of the pipelined key loop, from the stages and orders of a derived schedule.

Drawn to order and not to time: a column is one order number of `fagpu.at = [stage, order]`.
"""

import re

from svg import BLUE, GREEN, GREY, ORANGE, SKY, SOFT, Picture

AT = re.compile(r"fagpu\.at = \[(-?\d+), (\d+)\]")
COLUMN = 84
LEFT = 190


def get_loop(schedule, role):
    """(operation, line, stage, order) of the key loop of a role, in text order."""
    lines = schedule.splitlines()
    start = next(i for i, line in enumerate(lines) if f"fagpu.role @{role}" in line)
    start = next(i for i in range(start, len(lines)) if "= fagpu.for " in lines[i])
    indent = len(lines[start]) - len(lines[start].lstrip())
    found, at = [], None
    for line in lines[start + 1:]:
        depth = len(line) - len(line.lstrip())
        if depth <= indent:
            return found
        at = tuple(map(int, AT.search(line).groups())) if AT.search(line) else at
        operation = re.search(r"(?:= )?((?:fagpu|math)\.\w+(?: nt| nn| max)?)", line)
        if operation and depth == indent + 2 and at:
            found.append((operation[1], line, *at))
    raise ValueError(f"the loop of @{role} does not end")


def find(loop, name):
    """(stage, order) of the first operation of this name."""
    for operation, _, stage, order in loop:
        if operation == name:
            return stage, order
    raise ValueError(f"the key loop has no {name}")


def find_last(loop, name):
    return [(stage, order) for operation, _, stage, order in loop if operation == name][-1]


def draw(tools):
    load, math = get_loop(tools.schedule, "load"), get_loop(tools.schedule, "math")
    puts = [(stage, order) for operation, _, stage, order in load if operation == "fagpu.put"]
    waits = [(stage, order) for operation, _, stage, order in math if operation == "fagpu.wait"]
    products = [find(math, "fagpu.mma_async nt"), find(math, "fagpu.mma_async nn")]
    softmax, pack = find(math, "math.exp2"), find(math, "fagpu.convert")
    turn = find(math, "fagpu.take"), find(math, "fagpu.pass")
    orders = 1 + max(order for _, _, _, order in load + math)
    picture = Picture(LEFT + COLUMN * orders + 20, 330, "One step of the pipelined key loop")
    picture.words(20, 28, "One step of the key loop: key block i beside key block i - 1", bold=True, size=15)
    picture.words(20, 48, "Columns are order numbers, not times. Blue: stage 0, key block i. Orange: stage 1, key block i - 1.", size=12)
    fills = (SKY, ORANGE)

    def bar(row, first, last, stage, words):
        picture.labelled_box(LEFT + COLUMN * first + 2, 84 + 44 * row, COLUMN * (last - first) - 4, 34, words, fills[stage])

    for order in range(orders):
        x = LEFT + COLUMN * order
        picture.line(x, 70, x, 310, GREY)
        picture.words(x + COLUMN / 2, 76, str(order), size=11, anchor="middle", colour=SOFT)
    for row, words in enumerate(("producer warp", "turn to multiply", "tensor cores: Q Kᵀ", "tensor cores: P V",
                                 "softmax and packing")):
        picture.words(20, 106 + 44 * row, words)
    for (stage, order), words in zip(puts, ("copy K", "copy V")):
        bar(0, order, order + 1, stage, words)
    bar(1, turn[0][1], turn[1][1] + 1, turn[0][0], "this warpgroup")
    bar(2, products[0][1], waits[0][1], products[0][0], "scores of block i")
    bar(3, products[1][1], waits[1][1], products[1][0], "output of block i - 1")
    bar(4, softmax[1], pack[1], softmax[0], "softmax")
    bar(4, pack[1], pack[1] + 1, pack[0], "pack P")
    return picture
