"""Interprets masks whose indices are made of captured numbers, as large as these can be, and compares them with float64.

    loaded_indices.py CHIP FOLDER
"""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHIP, FOLDER = sys.argv[1:]
# What is done with %x, the captured number, and %n, the index that it is.
MASKS = {
    "compare": "%visible = arith.cmpi sge, %n, %j : index",
    "compare_unsigned": "%visible = arith.cmpi ult, %n, %j : index",
    "sum": "%m = arith.addi %n, %j : index; %visible = arith.cmpi sge, %i, %m : index",
    "difference": "%m = arith.subi %i, %n : index; %visible = arith.cmpi sge, %j, %m : index",
    "opposite": "%zero = arith.constant 0 : index; %m = arith.subi %zero, %n : index;"
                "%visible = arith.cmpi sge, %j, %m : index",
    "greatest": "%m = arith.maxsi %j, %n : index; %visible = arith.cmpi sge, %i, %m : index",
    "least": "%m = arith.minui %j, %n : index; %visible = arith.cmpi sge, %i, %m : index",
    "one_of_two": "%c = arith.cmpi slt, %j, %i : index; %m = arith.select %c, %n, %j : index;"
                  "%visible = arith.cmpi sge, %i, %m : index",
    "upper_bits": "%c33 = arith.constant 33 : index; %m = arith.shrsi %n, %c33 : index;"
                  "%visible = arith.cmpi sge, %j, %m : index",
    "shift": "%c15 = arith.constant 15 : index; %a = arith.andi %j, %c15 : index; %m = arith.shrui %n, %a : index;"
             "%visible = arith.cmpi uge, %i, %m : index",
    "some_bits": "%bits = arith.constant 4294967299 : index; %m = arith.andi %n, %bits : index;"
                 "%visible = arith.cmpi sge, %j, %m : index",
    "other_bits": "%m = arith.xori %n, %j : index; %visible = arith.cmpi sge, %i, %m : index",
    "quotient": "%large = arith.constant 3000000000 : index; %m = arith.divsi %n, %large : index;"
                "%visible = arith.cmpi sge, %j, %m : index",
    "rest": "%size = arith.constant 300 : index; %m = arith.remui %n, %size : index;"
            "%visible = arith.cmpi sge, %j, %m : index",
    "rest_of_difference": "%size = arith.constant 300 : index; %d = arith.subi %j, %i : index;"
                          "%r = arith.remui %d, %size : index; %m = arith.addi %r, %n : index;"
                          "%visible = arith.cmpi sge, %i, %m : index",
    "quotient_by": "%one = arith.constant 1 : index; %o = arith.ori %n, %one : index;"
                   "%m = arith.floordivsi %j, %o : index; %visible = arith.cmpi sge, %i, %m : index",
    "rest_by": "%one = arith.constant 1 : index; %o = arith.ori %n, %one : index;"
               "%m = arith.remsi %j, %o : index; %visible = arith.cmpi sge, %i, %m : index",
    "product": "%m = arith.muli %n, %j : index; %visible = arith.cmpi sge, %i, %m : index",
    "integer": "%q = arith.index_cast %n : index to i64; %seven = arith.constant 7 : i64;"
               "%visible = arith.cmpi sge, %q, %seven : i64",
    "unsigned": "%q = arith.index_castui %x : TYPE to index; %visible = arith.cmpi uge, %q, %j : index",
}
FUNCTION = """
func.func @NAME(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %t: memref<?xTYPE>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
      mask(%b, %h, %i, %j) captures(%table = %t : memref<?xTYPE>) {
        %x = memref.load %table[%PLACE] : memref<?xTYPE>
        %n = arith.index_cast %x : TYPE to index
        MASK
        fa.yield %visible : i1
      }
  return
}
"""
NUMBERS = [0, 1, -1, 5, 250, 2**31 - 1, -(2**31), 2**31 - 100, 50 - 2**31]
LARGE = [2**32 + 3, -(2**32), 2**33 + 100, 2**40, 7 - 2**35, 2**31, -1 - 2**31, 2**62]


def run(problem):
    place, kind, mask = problem
    name = "_".join(problem)
    path = os.path.join(FOLDER, name + ".mlir")
    text = FUNCTION.replace("MASK", MASKS[mask].replace(";", "\n"))
    with open(path, "w") as file:
        file.write("!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>\n")
        file.write(text.replace("TYPE", kind).replace("NAME", name).replace("PLACE", place))
    batches, length = (8, 70) if place == "b" else (1, 300)
    draw = random.Random(name)
    numbers = [draw.choice(NUMBERS + LARGE * (kind == "i64")) for _ in range(batches * length)]
    count = batches if place == "b" else length
    shape = f"--input={batches}x{length}x1x64xbf16"
    table = f"--input={count}x{kind}=[" + ",".join(map(str, numbers[:count])) + "]"
    command = ["fa-run", path, "--chip=" + CHIP, "--target=interpret", "--verify", *[shape] * 4, table]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0 and "verified all rows" in result.stdout:
        return True
    print("failed:", name, result.stdout + result.stderr)
    return False


os.makedirs(FOLDER, exist_ok=True)
# Of the query, of the key, and one for each batch.
problems = [(place, kind, mask) for place in "ijb" for kind in ("i32", "i64") for mask in MASKS]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(run, problems))
print(f"{sum(results)} of {len(results)} runs verified")
sys.exit(not all(results))
