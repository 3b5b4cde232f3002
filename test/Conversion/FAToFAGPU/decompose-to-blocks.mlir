// RUN: fa-opt %s -fa-decompose-to-blocks -canonicalize -cse | FileCheck %s

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!tile = memref<1x64x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[Q:.*]]: memref<?x?x?x64xbf16, {{.*}}>, %[[K:.*]]: memref{{.*}}, %[[V:.*]]: memref{{.*}}, %[[O:.*]]: memref{{.*}}, %[[BIAS:.*]]: memref<?x?xf32>, %[[N:.*]]: index, %[[ROW:.*]]: index, %[[DIAGONAL:.*]]: index)
func.func @kernel(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %bias: memref<?x?xf32>, %n: index, %row: index, %diagonal: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %row, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %vt = memref.subview %v[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %row, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    // Rows past the end of the slice are not read.
    // CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<1.250000e-01> : tensor<64x128xf32>
    // CHECK: %[[END:.*]] = arith.addi %[[ROW]], %{{.*}} : index
    // CHECK: %[[QT:.*]] = fagpu.fetch %[[Q]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] [1, 64, 1, 64] rows(%{{.*}}) : {{.*}} -> tensor<64x64xbf16>
    // The query's index does not change in the loop.
    // CHECK: %[[QUERY:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<64xi32, #fagpu.row<4>>
    // CHECK: memref.dim %[[BIAS]]
    // CHECK: %[[LOOP:.*]]:3 = fa.key_ranges (%[[KEY:.*]], %[[COUNT:.*]]) = {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}) -> (tensor<64x64xf32>, tensor<64xf32, #fagpu.row<4>>, tensor<64xf32, #fagpu.row<4>>) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %diagonal, partial %diagonal to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %vb = memref.subview %vt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      // CHECK: %[[KT:.*]] = fagpu.fetch %[[K]]
      // CHECK: %[[S:.*]] = fagpu.product nt %[[QT]], %[[KT]] : tensor<64x64xbf16>, tensor<128x64xbf16> -> tensor<64x128xf32>
      // CHECK: %[[SCALED:.*]] = arith.mulf %[[S]], %[[SCALE]] fastmath<reassoc,contract> {fa.default_scale} : tensor<64x128xf32>
      // A capture is read where both indices are below its sizes.
      // CHECK: %[[B:.*]] = fagpu.gather %[[BIAS]][%{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<64x128xi1>) : memref<?x?xf32>[tensor<64x128xi32>, tensor<64x128xi32>] -> tensor<64x128xf32>
      // CHECK: %[[X:.*]] = arith.addf %[[SCALED]], %[[B]] : tensor<64x128xf32>
      // CHECK: %[[PARTIAL:.*]] = fa.is_partial : i1
      // CHECK: %[[HIDDEN:.*]] = scf.if %[[PARTIAL]] -> (tensor<64x128xf32>) {
      // The key is compared by its column, with a limit relative to the block.
      // CHECK: %[[COLUMN:.*]] = fagpu.iota 1
      // CHECK: arith.cmpi slt, %[[COLUMN]], %{{.*}} : tensor<64x128xi32>
      // CHECK: %[[RELATIVE:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<64xi32, #fagpu.row<4>>
      // CHECK: %[[LIMIT:.*]] = fagpu.broadcast %{{.*}} : tensor<64xi32, #fagpu.row<4>> -> tensor<64x128xi32>
      // CHECK: arith.cmpi slt, %[[COLUMN]], %[[LIMIT]]
      // CHECK: arith.select %{{.*}}, %[[X]], %{{.*}}
      // CHECK: } else {
      // CHECK-NEXT: scf.yield %[[X]]
      // CHECK: %[[MAX:.*]] = fagpu.reduce max %[[HIDDEN]]
      // The step as the algorithm has it.
      // CHECK: %[[M1:.*]] = arith.maxnumf %[[M]], %[[MAX]]
      // CHECK: arith.cmpf oeq, %[[M1]], %{{.*}}
      // CHECK: %[[REFERENCE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M1]]
      // CHECK: %[[WIDE:.*]] = fagpu.broadcast %[[REFERENCE]]
      // CHECK: %[[E:.*]] = arith.subf %[[HIDDEN]], %[[WIDE]] : tensor<64x128xf32>
      // CHECK: %[[P:.*]] = math.exp %[[E]] fastmath<afn> : tensor<64x128xf32>
      // CHECK: %[[BEFORE:.*]] = arith.subf %[[M]], %[[REFERENCE]]
      // CHECK: %[[ALPHA:.*]] = math.exp %[[BEFORE]] fastmath<afn>
      // CHECK: %[[SUM:.*]] = fagpu.reduce add %[[P]] : tensor<64x128xf32> -> tensor<64xf32, #fagpu.row<4>>
      // CHECK: %[[L1:.*]] = math.fma %[[L]], %[[ALPHA]], %[[SUM]]
      // CHECK: %[[ALPHAS:.*]] = fagpu.broadcast %[[ALPHA]]
      // CHECK: %[[RESCALED:.*]] = arith.mulf %[[A]], %[[ALPHAS]]
      // CHECK: %[[VT:.*]] = fagpu.fetch %[[V]]
      // CHECK: %[[PH:.*]] = arith.truncf %[[P]] : tensor<64x128xf32> to tensor<64x128xbf16>
      // CHECK: %[[A1:.*]] = fagpu.product nn %[[PH]], %[[VT]] acc(%[[RESCALED]] : tensor<64x64xf32>)
      // CHECK: fa.yield %[[A1]], %[[M1]], %[[L1]]
      %t:3 = fa.online_attention ins(%qt, %kb, %vb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %row, %key) extents(%n, %n)
          score(%x, %b, %h, %i, %j) captures(%c = %bias : memref<?x?xf32>) {
        %y = memref.load %c[%i, %j] : memref<?x?xf32>
        // It is its operand here.
        %fixed = fa.stop_gradient %y : f32
        %z = arith.addf %x, %fixed : f32
        fa.yield %z : f32
      } mask(%b, %h, %i, %j) {
        %ok = arith.cmpi sle, %j, %i : index
        fa.yield %ok : i1
      }
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    // A row without a visible key gives 0.
    // CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[LOOP]]#2 fastmath<arcp,afn>
    // CHECK: arith.select %{{.*}}, %{{.*}}, %[[INVERSE]]
    // CHECK: fagpu.store %{{.*}}, %[[O]][{{.*}}] sizes [1, 64, 1, 64] rows(%{{.*}}) : tensor<64x64xbf16>
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}

// The end of the keys merges with an affine mask; beside another one, the block
// that has it is treated on its own.
// CHECK-LABEL: func.func @documents
// CHECK: fa.key_ranges
// CHECK: %[[PRODUCT:.*]] = fagpu.product nt
// CHECK: %[[S:.*]] = arith.mulf %[[PRODUCT]], %
// CHECK: %[[PARTIAL:.*]] = fa.is_partial : i1
// CHECK: %[[HIDDEN:.*]] = scf.if %[[PARTIAL]] -> (tensor<64x128xf32>) {
// CHECK:   %[[SHORT:.*]] = arith.cmpi slt, %{{.*}}, %c128
// CHECK:   %[[SHOWN:.*]] = scf.if %[[SHORT]] -> (tensor<64x128xf32>) {
// CHECK:     %[[COLUMN:.*]] = fagpu.iota 1
// CHECK:     %[[BELOW:.*]] = arith.cmpi slt, %[[COLUMN]]
// CHECK:     %[[ENDED:.*]] = arith.select %[[BELOW]], %[[S]], %{{.*}}
// CHECK:     scf.yield %[[ENDED]]
// CHECK:   } else {
// CHECK:     scf.yield %[[S]]
// CHECK:   %[[SAME:.*]] = arith.cmpi eq
// CHECK-NOT: arith.andi
// CHECK:   %[[KEPT:.*]] = arith.select %[[SAME]], %[[SHOWN]], %{{.*}}
// CHECK:   scf.yield %[[KEPT]]
// CHECK: fagpu.reduce max %[[HIDDEN]]
func.func @documents(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %ids: memref<?xi32>, %n: index, %row: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %row, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %vt = memref.subview %v[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %row, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    %r:3 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %vb = memref.subview %vt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %t:3 = fa.online_attention ins(%qt, %kb, %vb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %row, %key) extents(%n, %n)
          mask(%b, %h, %i, %j) captures(%table = %ids : memref<?xi32>) {
        %x = memref.load %table[%i] : memref<?xi32>
        %y = memref.load %table[%j] : memref<?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        fa.yield %same : i1
      }
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}

// Two results of one state are stored of one loop: an f32 one with its lse, and a bf16 one.
// CHECK-LABEL: func.func @two_results
// CHECK-SAME: (%[[Q:.*]]: memref<?x?x?x64xbf16, {{.*}}>, %[[K:.*]]: memref<?x?x?x64xbf16, {{.*}}>, %[[O:.*]]: memref<?x?x?x64xbf16, {{.*}}>, %[[P:.*]]: memref<?x64x?x64xf32>, %[[L:.*]]: memref<?x?x64xf32>, %{{.*}}: index)
// CHECK: fa.key_ranges
// CHECK-NOT: fa.key_ranges
// CHECK: %[[LSE:.*]] = arith.addf
// CHECK: %[[RESULT:.*]] = arith.mulf
// CHECK: fagpu.store %[[LSE]], %[[L]]
// CHECK: fagpu.store %[[RESULT]], %[[P]]
// CHECK: %[[SHORT:.*]] = arith.truncf %[[RESULT]]
// CHECK: fagpu.store %[[SHORT]], %[[O]]
func.func @two_results(%q: !mem, %k: !mem, %o: !mem, %p: memref<?x64x?x64xf32>, %l: memref<?x?x64xf32>, %n: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %pt = memref.subview %p[%n, 0, %n, 0] [1, 64, 1, 64] [1, 1, 1, 1]
        : memref<?x64x?x64xf32> to memref<1x64x1x64xf32, strided<[?, ?, 64, 1], offset: ?>>
    %lt = memref.subview %l[%n, %n, 0] [1, 1, 64] [1, 1, 1] : memref<?x?x64xf32> to memref<1x1x64xf32, strided<[?, 64, 1], offset: ?>>
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    %r:3 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %t:3 = fa.online_attention ins(%qt, %kb, %kb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %n, %key) extents(%n, %n)
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row)
        outs(%pt, %lt : memref<1x64x1x64xf32, strided<[?, ?, 64, 1], offset: ?>>, memref<1x1x64xf32, strided<[?, 64, 1], offset: ?>>)
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}
