// RUN: fa-opt %s -fa-plan-work -split-input-file -verify-diagnostics

!q = memref<?x4x64xbf16>
!all = memref<1x?x4x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[?, 256, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>
#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>

func.func @of_head(%query: !q, %starts: memref<?xi32>, %a: !acc, %m: !vec, %s: !vec) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %query, %c0 : !q
  %entries = memref.dim %starts, %c0 : memref<?xi32>
  %sequences = arith.subi %entries, %c1 : index
  %all = memref.expand_shape %query [[0, 1], [2], [3]] output_shape [1, %rows, 4, 64] : !q into !all
  scf.forall (%b, %h, %i) = (0, 0, 0) to (%sequences, 4, %rows) step (1, 1, 128) {
    %c128 = arith.constant 128 : index
    %place = arith.addi %b, %h : index
    %next = arith.addi %place, %c1 : index
    %start = memref.load %starts[%place] : memref<?xi32>
    %end = memref.load %starts[%next] : memref<?xi32>
    %first = arith.index_cast %start : i32 to index
    %last = arith.index_cast %end : i32 to index
    %count = arith.subi %last, %first : index
    %at = arith.minsi %i, %count : index
    %left = arith.subi %count, %at : index
    %size = arith.minsi %left, %c128 : index
    %row = arith.addi %first, %at : index
    %q = memref.subview %all[0, %row, %h, 0] [1, %size, 1, 64] [1, 1, 1, 1] : !all to !row
    %r:3 = fa.key_ranges (%j, %n) = [partial %c0 to %count] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %key = arith.addi %first, %j : index
      %k = memref.subview %all[0, %key, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !all to !row
      // expected-error @below {{'fa.online_attention' op has a length that depends on the head or the query, expected one of the sequence}}
      %x:3 = fa.online_attention ins(%q, %k, %k : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%b, %h, %at, %j) extents(%count, %count) {config = #config}
      fa.yield %x#0, %x#1, %x#2 : !acc, !vec, !vec
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !vec, !vec) outs(%q : !row)
  }
  return
}
