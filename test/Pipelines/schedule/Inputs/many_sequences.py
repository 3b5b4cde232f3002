"""Writes where the queries and the keys of many sequences start, most of which have no queries.

    many_sequences.py SEQUENCES QUERIES.npy KEYS.npy LENGTHS.npy

Of 1,200 rows each. Sequences have from 0 to hundreds of rows, drawn anew each time; some have fewer queries than there is room for.
"""

import os
import sys

import numpy as np

ROWS = 1200


def main():
    count, (queries, keys, lengths) = int(sys.argv[1]), sys.argv[2:]
    seed = int(os.environ.get("FA_TEST_SEED") or np.random.SeedSequence().entropy % 2 ** 32)
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for file, share in ((keys, 0.5), (queries, 0.1)):
        # Most starts are in the first half of the rows. Where two are equal, a sequence has no rows.
        different = rng.integers(0, ROWS // 2, int(count * share)).tolist() + rng.integers(ROWS // 2, ROWS, 6).tolist()
        starts = np.sort(different + rng.choice(different, count + 1 - len(different)).tolist()).astype(np.int32)
        np.save(file, starts)
    room = np.diff(starts)
    np.save(lengths, np.where(rng.random(count) < 0.5, room, rng.integers(0, room + 1)).astype(np.int32))


if __name__ == "__main__":
    main()
