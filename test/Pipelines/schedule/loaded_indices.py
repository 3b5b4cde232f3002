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
    "equal_to_large": "%large = arith.constant 5000000000 : index; %visible = arith.cmpi eq, %n, %large : index",
    "at_least_large": "%large = arith.constant 5000000000 : index; %visible = arith.cmpi sle, %large, %n : index",
    "at_most_low": "%low = arith.constant -5000000000 : index; %visible = arith.cmpi sle, %n, %low : index",
    "above_low_unsigned": "%low = arith.constant -5000000000 : index; %visible = arith.cmpi ugt, %n, %low : index",
    "quotient_of_wrapped": "%k = arith.constant 2000000000 : i32; %one = arith.constant 1 : i32;"
                           "%a = arith.index_cast %j : index to i32; %b1 = arith.addi %a, %one : i32;"
                           "%p = arith.muli %b1, %k : i32; %o = arith.ori %p, %one : i32;"
                           "%w = arith.index_cast %o : i32 to index;"
                           "%three = arith.constant 3 : index; %q = arith.divui %w, %three : index;"
                           "%visible = arith.cmpi sgt, %q, %n : index",
    "rest_of_wrapped": "%k = arith.constant 2147483500 : i32; %a = arith.index_cast %j : index to i32;"
                       "%one = arith.constant 1 : i32; %p = arith.addi %a, %k : i32;"
                       "%o = arith.ori %p, %one : i32; %w = arith.index_cast %o : i32 to index;"
                       "%size = arith.constant 300 : index; %q = arith.remui %w, %size : index;"
                       "%visible = arith.cmpi sge, %i, %q : index",
    "quotient_of_cast": "%k = arith.constant 2000000000 : index; %p = arith.muli %j, %k : index;"
                        "%a = arith.index_cast %p : index to i32; %bit = arith.constant 1 : i32;"
                        "%c = arith.ori %a, %bit : i32; %w = arith.index_cast %c : i32 to index;"
                        "%one = arith.constant 1 : index; %q = arith.shrui %w, %one : index;"
                        "%visible = arith.cmpi sgt, %q, %n : index",
    "all_bits": "%q = arith.index_castui %x : TYPE to index; %large = arith.constant 3000000000 : index;"
                "%visible = arith.cmpi sge, %q, %large : index",
    "all_bits_positive": "%q = arith.index_castui %x : TYPE to index; %visible = arith.cmpi sge, %q, %j : index",
    "product_of_all_bits": "%q = arith.index_castui %x : TYPE to index; %m = arith.muli %q, %j : index;"
                           "%large = arith.constant 600000000000 : index; %visible = arith.cmpi sge, %large, %m : index",
    "index_as_unsigned": "%d = arith.subi %i, %j : index; %q = arith.index_castui %d : index to i64;"
                         "%m = arith.index_cast %n : index to i64; %visible = arith.cmpi sge, %m, %q : i64",
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
