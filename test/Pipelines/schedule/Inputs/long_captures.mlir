// Captured indices of any size, in sums that are no bounds of keys.

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>

// A window that is spelled by a sum, beside a distance that is cut off.
func.func @sums(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %window: index) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    score(%s, %b, %h, %i, %j) captures(%w = %window : index) {
      %tenth = arith.constant 0.1 : f32
      %d = arith.subi %i, %j : index
      %cut = arith.minsi %d, %w : index
      %n = arith.index_cast %cut : index to i64
      %f = arith.sitofp %n : i64 to f32
      %x = arith.mulf %f, %tenth : f32
      %r = arith.subf %s, %x : f32
      fa.yield %r : f32
    }
    mask(%b, %h, %i, %j) captures(%w = %window : index) {
      %c0 = arith.constant 0 : index
      %far = arith.addi %j, %w : index
      %rest = arith.subi %far, %i : index
      %v = arith.cmpi sge, %rest, %c0 : index
      fa.yield %v : i1
    }
  return
}

// A divisor, and a bound of keys, which need no more bits.
func.func @narrow(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %window: index) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    mask(%b, %h, %i, %j) captures(%w = %window : index) {
      %c0 = arith.constant 0 : index
      %end = arith.addi %i, %w : index
      %near = arith.cmpi sle, %j, %end : index
      %large = arith.constant 1099511627776 : index
      %blocks = arith.divsi %j, %large : index
      %first = arith.cmpi eq, %blocks, %c0 : index
      %v = arith.andi %near, %first : i1
      fa.yield %v : i1
    }
  return
}
