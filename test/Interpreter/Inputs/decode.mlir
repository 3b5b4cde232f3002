// What examples/schedules/sm_90a_paged_decode.mlir computes, one row of one split
// at a time. A split sees whole blocks of 128 keys; pages have 64.

!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!table = memref<?x?xi32>
!parts = memref<?x?x?x?x128xf32>

// Page and row in it of a key.
func.func private @place(%table: !table, %b: index, %j: index) -> (index, index) {
  %c64 = arith.constant 64 : index
  %number = arith.divui %j, %c64 : index
  %row = arith.remui %j, %c64 : index
  %page = memref.load %table[%b, %number] : !table
  %at = arith.index_cast %page : i32 to index
  return %at, %row : index, index
}

func.func private @score(%q: !mem, %kp: !mem, %table: !table, %b: index, %t: index, %h: index, %hk: index, %j: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %page, %row = func.call @place(%table, %b, %j) : (!table, index, index) -> (index, index)
  %sum = scf.for %d = %c0 to %c128 step %c1 iter_args(%s = %zero) -> (f32) {
    %x0 = memref.load %q[%b, %t, %h, %d] : !mem
    %y0 = memref.load %kp[%page, %row, %hk, %d] : !mem
    %x = arith.extf %x0 : bf16 to f32
    %y = arith.extf %y0 : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %n = arith.addf %s, %xy : f32
    scf.yield %n : f32
  }
  return %sum : f32
}

func.func private @row(%q: !mem, %kp: !mem, %vp: !mem, %table: !table, %op: !parts, %lp: memref<?x?x?x?xf32>, %scale: f32,
    %sp: index, %b: index, %t: index, %h: index, %first: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %hk = arith.divui %h, %c8 : index
  scf.for %d = %c0 to %c128 step %c1 {
    memref.store %zero, %op[%sp, %b, %t, %h, %d] : !parts
  }
  // Standard normal scores times a scale below 0.1: exponentials need no maximum.
  %sum = scf.for %j = %first to %end step %c1 iter_args(%l = %zero) -> (f32) {
    %s0 = func.call @score(%q, %kp, %table, %b, %t, %h, %hk, %j) : (!mem, !mem, !table, index, index, index, index, index) -> f32
    %s = arith.mulf %s0, %scale : f32
    %p = math.exp %s : f32
    %page, %row = func.call @place(%table, %b, %j) : (!table, index, index) -> (index, index)
    scf.for %d = %c0 to %c128 step %c1 {
      %v0 = memref.load %vp[%page, %row, %hk, %d] : !mem
      %v = arith.extf %v0 : bf16 to f32
      %old = memref.load %op[%sp, %b, %t, %h, %d] : !parts
      %pv = arith.mulf %p, %v : f32
      %new = arith.addf %old, %pv : f32
      memref.store %new, %op[%sp, %b, %t, %h, %d] : !parts
    }
    %n = arith.addf %l, %p : f32
    scf.yield %n : f32
  }
  %lse = math.log %sum : f32
  memref.store %lse, %lp[%sp, %b, %t, %h] : memref<?x?x?x?xf32>
  %one = arith.constant 1.0 : f32
  %none = arith.cmpf oeq, %sum, %zero : f32
  %by = arith.select %none, %one, %sum : f32
  scf.for %d = %c0 to %c128 step %c1 {
    %old = memref.load %op[%sp, %b, %t, %h, %d] : !parts
    %new = arith.divf %old, %by : f32
    memref.store %new, %op[%sp, %b, %t, %h, %d] : !parts
  }
  return
}

func.func @attention(%query: !mem, %key_pages: !mem, %value_pages: !mem,
    %page_table: !table, %key_lengths: memref<?xi32>, %partial_output: !parts,
    %partial_lse: memref<?x?x?x?xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %batch = memref.dim %query, %c0 : !mem
  %tokens = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %splits = memref.dim %partial_output, %c0 : !parts
  scf.for %b = %c0 to %batch step %c1 {
    %nk32 = memref.load %key_lengths[%b] : memref<?xi32>
    %nk = arith.index_cast %nk32 : i32 to index
    %blocks = arith.ceildivsi %nk, %c128 : index
    %per0 = arith.ceildivsi %blocks, %splits : index
    %per = arith.maxsi %per0, %c1 : index
    %keys = arith.muli %per, %c128 : index
    scf.for %sp = %c0 to %splits step %c1 {
      %first = arith.muli %sp, %keys : index
      %end = arith.addi %first, %keys : index
      scf.for %t = %c0 to %tokens step %c1 {
        // Token t sees the keys up to its own.
        %later0 = arith.subi %tokens, %t : index
        %later = arith.subi %later0, %c1 : index
        %visible = arith.subi %nk, %later : index
        %last = arith.minsi %end, %visible : index
        scf.for %h = %c0 to %heads step %c1 {
          func.call @row(%query, %key_pages, %value_pages, %page_table, %partial_output, %partial_lse, %scale, %sp, %b, %t, %h, %first, %last)
              : (!mem, !mem, !mem, !table, !parts, memref<?x?x?x?xf32>, f32, index, index, index, index, index, index) -> ()
        }
      }
    }
  }
  return
}
