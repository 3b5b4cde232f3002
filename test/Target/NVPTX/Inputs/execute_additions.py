"""Executes two blocks of a kernel that stores and adds what its threads hold, and checks every word of its memory.

    execute_additions.py FA_OPT [--replace OLD NEW] CASE...

A case is SCHEDULE:CHIP; on chips from sm_90a on, vectors are added at once.
"""

import tempfile

import numpy as np
from execute_cases import run_cases
from ptx_machine import Block, Kernel, Memory, compile_to_ptx

ROWS, COLUMNS, LIMIT, BLOCKS = 128, 16, 71, 2


def in_fragments(values):
    """Four warps hold 16 rows each, and 16 more 64 rows on; a lane rows lane / 4 and 8 more, two of every 8 columns."""
    row, column = np.indices(values.shape)
    thread = 32 * (row // 16 % 4) + 4 * (row % 8) + column % 8 // 2
    register = 4 * (COLUMNS // 8 * (row // 64) + column // 8) + 2 * (row % 16 // 8) + column % 2
    placed = np.zeros(values.size)
    placed[4 * 128 * (register // 4) + 4 * thread + register % 4] = values
    return placed


def expected(values):
    """What is in each memory, all of which starts as 1."""
    stored, added = np.ones((2, 2048)), np.ones((2, 2048))
    stored[1] = in_fragments(values)
    added[1] += BLOCKS * in_fragments(values)
    rows = np.ones((ROWS, COLUMNS))
    rows[:LIMIT] += BLOCKS * values[:LIMIT]
    scattered, sums, columns = np.ones((40, 3)), np.ones(130), np.ones(2)
    for row in range(ROWS):
        scattered[row // 4, 1] += BLOCKS * values[row, :7].sum()
        sums[row + 2] += BLOCKS * values[row].sum()
    columns[1] += BLOCKS * COLUMNS * 8
    bounded = np.ones((16, 132))
    bounded[:14, 4:LIMIT] += BLOCKS * values.T[:14, : LIMIT - 4]
    return stored, added, rows, scattered, sums, columns, 1 + BLOCKS * values.T, bounded


def check(fa_opt, case, fault):
    path, chip = case.split(":")
    with open(path) as source, tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(source.read().replace("sm_80", chip))
        file.flush()
        kernel = Kernel(fault.put_into(compile_to_ptx(fa_opt, file.name)))
    row, column = np.indices((ROWS, COLUMNS))
    memory, parameters, places = Memory(), [], []
    exact = expected(100.0 * row + column)
    for values in exact:
        bits = np.ones(values.shape, np.float32).view(np.uint32)
        address, place = memory.add_tensor(bits, [int(np.prod(values.shape[dim + 1 :])) for dim in range(values.ndim)])
        parameters.append(address)
        places.append(place)
    for number in range(BLOCKS):
        Block(kernel, memory, [*parameters, LIMIT], number, {}).run()
    # Sums of whole numbers below 2^24: exact in any order.
    wrong = sum((memory.read_tensor(at, np.float32) != values).sum() for at, values in zip(places, exact))
    print(f"{chip}: {'ok' if not wrong else 'failed'} ({wrong} words differ)")
    return not wrong


if __name__ == "__main__":
    run_cases(check)
