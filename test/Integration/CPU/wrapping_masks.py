"""Runs masks whose arithmetic of 8 to 63 bits wraps, and captured numbers near the ends of their type or up to 2^62, and
compares with float64.

    wrapping_masks.py TARGET CHIP FOLDER

MASKS and WIDE have the masks and the numbers to run them with. The end of the file writes a module for each mask; `run`
verifies one of them with one number.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TARGET, CHIP, FOLDER = sys.argv[1:]
FAR = 2**31 - 30
LIMIT = 2**61  # Without limit.
# A mask of %x, a captured i32, of %a and %c, the query and the key as i32, and what %x is. Masks of a captured i64 stand in WIDE.
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
    # The key or the query cancels, what wraps stays.
    "key_cancels": ("%p = arith.index_cast %j : index to i8; %k = arith.constant 1 : i8; %m = arith.addi %p, %k : i8;"
                    "%visible = arith.cmpi sle, %m, %p : i8", [0]),
    "key_cancels_mostly": ("%p = arith.index_cast %j : index to i8; %k = arith.constant 1 : i8;"
                           "%m = arith.addi %p, %k : i8; %visible = arith.cmpi sgt, %m, %p : i8", [0]),
    "query_cancels": ("%p = arith.index_cast %i : index to i8; %k = arith.constant 1 : i8; %m = arith.addi %p, %k : i8;"
                      "%visible = arith.cmpi sgt, %m, %p : i8", [0]),
    "key_cancels_at_32_bits": ("%k = arith.constant 2147483600 : i32; %m = arith.addi %c, %k : i32;"
                               "%visible = arith.cmpi sle, %c, %m : i32", [0]),
    "long_shift": ("%k = arith.constant 61 : index; %q = arith.shrsi %j, %k : index;"
                   "%visible = arith.cmpi sle, %q, %i : index", [0]),
    # An index is cut by a cast to fewer bits, whatever is made of that.
    "there_and_back": ("%p = arith.index_cast %j : index to i8; %e = arith.index_cast %p : i8 to index;"
                       "%visible = arith.cmpi sle, %e, %i : index", [0]),
    "there_and_back_unsigned": ("%p = arith.index_castui %j : index to i7; %e = arith.index_castui %p : i7 to index;"
                                "%visible = arith.cmpi sle, %e, %i : index", [0]),
    "captured_byte": ("%p = arith.index_cast %n : index to i8; %e = arith.index_cast %p : i8 to index;"
                      "%visible = arith.cmpi sle, %j, %e : index", [300, 100]),
    "captured_byte_unsigned": ("%p = index.castu %n : index to i8; %e = index.castu %p : i8 to index;"
                               "%visible = arith.cmpi sle, %j, %e : index", [300, -200]),
    # Operations of two results, and of the index dialect.
    "upper_product": ("%l, %u = arith.mulsi_extended %x, %x : i32; %visible = arith.cmpi sle, %c, %u : i32",
                      [77, 5 * 2**17, -5 * 2**17]),
    "query_upper_product": ("%l, %u = arith.mulsi_extended %a, %x : i32; %visible = arith.cmpi sle, %c, %u : i32",
                            [5, 2**31 - 1, -2**31]),
    "unsigned_upper_product": ("%l, %u = arith.mului_extended %c, %x : i32; %k = arith.constant 50 : i32;"
                               "%visible = arith.cmpi ule, %u, %k : i32", [2**31 - 1, -2**31, -5]),
    "carry": ("%s, %o = arith.addui_extended %x, %a : i32, i1; %m = arith.cmpi sle, %c, %a : i32;"
              "%visible = arith.andi %o, %m : i1", [-77, 5]),
    "index_dialect": ("%k = index.constant 1; %w = index.casts %x : i32 to index; %s = index.add %i, %w;"
                      "%q = index.shrs %s, %k; %visible = index.cmp sle(%j, %q)", [9, -30]),
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
WIDE = {
    "block_window": ("%k = arith.constant 16 : index; %p = arith.floordivsi %j, %k : index;"
                     "%q = arith.floordivsi %i, %k : index; %s = arith.addi %q, %n : index;"
                     "%visible = arith.cmpi sle, %p, %s : index", [LIMIT, 3, -LIMIT]),
    "block_window_below": ("%k = arith.constant 16 : index; %p = arith.floordivsi %j, %k : index;"
                           "%q = arith.floordivsi %i, %k : index; %s = arith.subi %q, %n : index;"
                           "%visible = arith.cmpi sge, %p, %s : index", [LIMIT, 3, -LIMIT]),
    # What is shifted, added and cut reaches beyond 2^61 before.
    "upper_half": ("%k = arith.constant 32 : i64; %s = arith.shrsi %x, %k : i64; %t = arith.trunci %s : i64 to i32;"
                   "%m = arith.addi %t, %t : i32; %visible = arith.cmpi sle, %c, %m : i32", [3 * LIMIT, 2**37]),
    "upper_bits": ("%k = arith.constant 31 : i64; %s = arith.shrsi %x, %k : i64; %t = arith.trunci %s : i64 to i32;"
                   "%visible = arith.cmpi sle, %c, %t : i32", [2 * LIMIT + 2**37, 2**37]),
    "unsigned_sum": ("%k = arith.constant 2305843009213693952 : index; %s = arith.addi %n, %k : index;"
                     "%visible = arith.cmpi ult, %j, %s : index", [-LIMIT - 5, -LIMIT + 5]),
    "far_constants": ("%k = arith.constant 3458764513820540928 : index; %s = arith.addi %j, %k : index;"
                      "%l = arith.constant 3458764513820540938 : index; %visible = arith.cmpi sle, %s, %l : index", [0]),
    "bits_62": ("%p = arith.index_cast %j : index to i62; %k = arith.constant 2305843009213693850 : i62;"
                "%m = arith.addi %p, %k : i62; %z = arith.constant 0 : i62; %visible = arith.cmpi sge, %m, %z : i62", [0]),
    "bits_63": ("%p = arith.index_cast %j : index to i63; %k = arith.constant 4611686018427387850 : i63;"
                "%m = arith.addi %p, %k : i63; %z = arith.constant 0 : i63; %visible = arith.cmpi sge, %m, %z : i63", [0]),
}
FUNCTION = """
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @NAME(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %x: TYPE) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
      mask(%b, %h, %i, %j) captures(%y = %x : TYPE) {
        %n = arith.index_cast %y : TYPE to index
        %a = arith.index_cast %i : index to i32
        %c = arith.index_cast %j : index to i32
        MASK
        fa.yield %visible : i1
      }
  return
}
"""


def get_type(name):
    return "i64" if name in WIDE else "i32"


def run(problem):
    name, number = problem
    path = os.path.join(FOLDER, name + ".mlir")
    command = ["fa-run", path, "--target=" + TARGET, "--verify", *["--input=2x150x3x64xbf16"] * 4, f"--input={get_type(name)}={number}"]
    if TARGET == "interpret":
        command.append("--chip=" + CHIP)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0 and "verified all rows" in result.stdout:
        return True
    print("failed:", name, number, result.stdout + result.stderr)
    return False


os.makedirs(FOLDER, exist_ok=True)
for name, (mask, _) in (MASKS | WIDE).items():
    with open(os.path.join(FOLDER, name + ".mlir"), "w") as file:
        lines = mask.replace("%x", "%y").replace(";", "\n")
        file.write(FUNCTION.replace("MASK", lines).replace("NAME", name).replace("TYPE", get_type(name)))
problems = [(name, number) for name, (_, numbers) in (MASKS | WIDE).items() for number in numbers]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(run, problems))
print(f"{sum(results)} of {len(results)} runs verified")
sys.exit(not all(results))
