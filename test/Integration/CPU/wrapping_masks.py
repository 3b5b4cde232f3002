"""Runs masks whose arithmetic of 8 to 32 bits wraps, and captured numbers near the ends of their type, and compares with float64.

    wrapping_masks.py TARGET CHIP FOLDER
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TARGET, CHIP, FOLDER = sys.argv[1:]
FAR = 2**31 - 30
# A mask of %x, a captured i32, of %a and %c, the query and the key as i32, and what %x is.
MASKS = {
    "key_plus": ("%m = arith.addi %c, %x : i32; %visible = arith.cmpi sge, %m, %a : i32", [FAR, -2**31, 5]),
    "query_plus": ("%m = arith.addi %a, %x : i32; %visible = arith.cmpi sle, %c, %m : i32", [FAR, 2**30, 5]),
    "query_less": ("%m = arith.subi %a, %x : i32; %visible = arith.cmpi sge, %c, %m : i32", [-FAR, 2**31 - 1, 5]),
    "window": ("%d = arith.subi %a, %c : i32; %s = arith.addi %d, %x : i32; %m = math.absi %s : i32;"
               "%w = arith.constant 20 : i32; %visible = arith.cmpi sle, %m, %w : i32", [FAR, -2**31, -2**31 + 9, 7]),
    "product": ("%k = arith.constant 100000007 : i32; %m = arith.muli %c, %k : i32;"
                "%visible = arith.cmpi sge, %m, %x : i32", [0, -2**30]),
    "query_product": ("%k = arith.constant 50000000 : i32; %m = arith.muli %a, %k : i32; %s = arith.addi %m, %x : i32;"
                      "%visible = arith.cmpi sle, %c, %s : i32", [0, 2**30]),
    "shift": ("%k = arith.constant 26 : i32; %m = arith.shli %c, %k : i32; %visible = arith.cmpi sge, %m, %x : i32",
              [0, 2**30]),
    "quotient": ("%k = arith.constant 2000000000 : i32; %one = arith.constant 1 : i32; %b1 = arith.addi %c, %one : i32;"
                 "%p = arith.muli %b1, %k : i32; %w = arith.index_cast %p : i32 to index;"
                 "%three = arith.constant 3 : index; %q = arith.divui %w, %three : index;"
                 "%visible = arith.cmpi sgt, %q, %n : index", [10**9, 6 * 10**8]),
    "signed_quotient": ("%k = arith.constant 40000000 : i32; %p = arith.muli %c, %k : i32; %s = arith.addi %p, %x : i32;"
                        "%d = arith.constant 1000000 : i32; %q = arith.floordivsi %s, %d : i32;"
                        "%visible = arith.cmpi sle, %q, %a : i32", [0, 2**31 - 1]),
    "greatest": ("%m = arith.addi %a, %x : i32; %s = arith.maxsi %m, %c : i32; %t = arith.addi %s, %x : i32;"
                 "%visible = arith.cmpi sle, %c, %t : i32", [2**30, -2**30, -3]),
    "cut": ("%j64 = arith.index_cast %j : index to i64; %k = arith.constant 3000000000 : i64;"
            "%p = arith.muli %j64, %k : i64; %m = arith.trunci %p : i64 to i32;"
            "%visible = arith.cmpi sle, %m, %x : i32", [0, 10**9]),
    "cut_index": ("%k = arith.constant 3000000000 : index; %p = arith.muli %i, %k : index;"
                  "%m = arith.index_cast %p : index to i32; %visible = arith.cmpi sle, %c, %m : i32", [0]),
    "bytes": ("%p = arith.index_cast %j : index to i8; %k = arith.constant 3 : i8; %m = arith.muli %p, %k : i8;"
              "%e = arith.extsi %m : i8 to i32; %visible = arith.cmpi sle, %e, %x : i32", [10, -100]),
    "halves": ("%p = arith.trunci %a : i32 to i16; %k = arith.constant 300 : i16; %m = arith.muli %p, %k : i16;"
               "%r = arith.trunci %c : i32 to i16; %visible = arith.cmpi sle, %r, %m : i16", [0]),
    "no_wrap": ("%m = arith.addi %a, %x overflow<nsw> : i32; %visible = arith.cmpi sle, %c, %m : i32", [5]),
    "twice": ("%t = arith.addi %x, %x : i32; %m = arith.addi %a, %t : i32; %visible = arith.cmpi sle, %c, %m : i32",
              [2**30 + 9, -2**30, 3]),
    # Captured numbers as indices, which have 64 bits.
    "index_plus": ("%m = arith.addi %i, %n : index; %visible = arith.cmpi sle, %j, %m : index", [FAR, -2**31]),
    "index_less": ("%m = arith.subi %i, %n : index; %visible = arith.cmpi sge, %j, %m : index", [-FAR, -2**31]),
    "index_sums": ("%s = arith.addi %n, %n : index; %m = arith.addi %i, %s : index; %o = arith.addi %m, %j : index;"
                   "%far = arith.constant 4294967000 : index; %visible = arith.cmpi sge, %o, %far : index",
                   [2**31 - 250, 2**31 - 1]),
    "head_quotient": ("%e = arith.constant 1 : index; %t = arith.constant 3 : index; %d = arith.subi %h, %e : index;"
                      "%q = arith.divui %d, %t : index; %s = arith.addi %q, %n : index;"
                      "%visible = arith.cmpi sle, %j, %s : index", [9]),
    "batch_rest": ("%e = arith.constant 1 : index; %t = arith.constant 10 : index; %d = arith.subi %b, %e : index;"
                   "%q = arith.remui %d, %t : index; %s = arith.addi %q, %n : index;"
                   "%visible = arith.cmpi sle, %j, %s : index", [9]),
    "head_bits": ("%e = arith.constant 2 : index; %t = arith.constant 40 : index; %d = arith.subi %h, %e : index;"
                  "%q = arith.shrui %d, %t : index; %s = arith.addi %q, %n : index;"
                  "%visible = arith.cmpi sle, %j, %s : index", [-16777200]),
}
FUNCTION = """
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @NAME(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %x: i32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
      mask(%b, %h, %i, %j) captures(%y = %x : i32) {
        %n = arith.index_cast %y : i32 to index
        %a = arith.index_cast %i : index to i32
        %c = arith.index_cast %j : index to i32
        MASK
        fa.yield %visible : i1
      }
  return
}
"""


def run(problem):
    name, number = problem
    path = os.path.join(FOLDER, name + ".mlir")
    command = ["fa-run", path, "--target=" + TARGET, "--verify", *["--input=2x150x3x64xbf16"] * 4, f"--input=i32={number}"]
    if TARGET == "interpret":
        command.append("--chip=" + CHIP)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0 and "verified all rows" in result.stdout:
        return True
    print("failed:", name, number, result.stdout + result.stderr)
    return False


os.makedirs(FOLDER, exist_ok=True)
for name, (mask, _) in MASKS.items():
    with open(os.path.join(FOLDER, name + ".mlir"), "w") as file:
        lines = mask.replace("%x", "%y").replace(";", "\n")
        file.write(FUNCTION.replace("MASK", lines).replace("NAME", name))
problems = [(name, number) for name, (_, numbers) in MASKS.items() for number in numbers]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(run, problems))
print(f"{sum(results)} of {len(results)} runs verified")
sys.exit(not all(results))
