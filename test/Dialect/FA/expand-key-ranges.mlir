// RUN: fa-opt %s --fa-expand-key-ranges --canonicalize | FileCheck %s

// A full range has blocks of static size and no mask; a partial one asks how
// many keys are left and keeps the mask. The state goes from loop to loop.

// CHECK-DAG: #[[LEFT:.+]] = affine_map<(d0)[s0] -> (-d0 + s0, 8)>

// CHECK-LABEL: func @two_ranges(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x4x1x16xf32>, %[[K:[a-z0-9]+]]: memref<1x?x1x16xf32>,
// CHECK-SAME: %[[MIDDLE:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
func.func @two_ranges(%q: memref<1x4x1x16xf32>, %k: memref<1x?x1x16xf32>,
                      %middle: index, %end: index, %acc: tensor<4x16xf32>,
                      %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C8:.+]] = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  // CHECK: %[[FULL:.+]]:3 = scf.for %{{.+}} = %[[C0]] to %[[MIDDLE]] step %[[C8]] iter_args(
  // CHECK: memref.subview %[[K]][0, %{{.+}}, 0, 0] [1, 8, 1, 16] [1, 1, 1, 1]
  // CHECK: fa.online_attention ins(%{{.+}} : memref<1x4x1x16xf32>, memref<1x8x1x16xf32, {{.+}}>, memref<1x8x1x16xf32, {{.+}}>)
  // CHECK-NOT: mask
  // CHECK: scf.yield
  // CHECK: %[[PARTIAL:.+]]:3 = scf.for %[[KEY:.+]] = %[[MIDDLE]] to %[[END]] step %[[C8]]
  // CHECK-SAME: iter_args(%{{.+}} = %[[FULL]]#0, %{{.+}} = %[[FULL]]#1, %{{.+}} = %[[FULL]]#2)
  // CHECK: %[[COUNT:.+]] = affine.min #[[LEFT]](%[[KEY]])[%[[END]]]
  // CHECK: memref.subview %[[K]][0, %[[KEY]], 0, 0] [1, %[[COUNT]], 1, 16] [1, 1, 1, 1]
  // CHECK: fa.online_attention
  // CHECK-SAME: mask(
  // CHECK: return %[[PARTIAL]]#0, %[[PARTIAL]]#1, %[[PARTIAL]]#2
  %a, %m, %s = fa.key_ranges (%key, %count) = [full %c0 to %middle, partial %middle to %end] step 8
      iter_args(%a0 = %acc, %m0 = %max, %s0 = %sum)
      -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {
    %k1 = memref.subview %k[0, %key, 0, 0] [1, %count, 1, 16] [1, 1, 1, 1]
        : memref<1x?x1x16xf32> to memref<1x?x1x16xf32, strided<[?, 16, 16, 1], offset: ?>>
    %a1, %m1, %s1 = fa.online_attention
        ins(%q, %k1, %k1 : memref<1x4x1x16xf32>, memref<1x?x1x16xf32, strided<[?, 16, 16, 1], offset: ?>>,
                           memref<1x?x1x16xf32, strided<[?, 16, 16, 1], offset: ?>>)
        outs(%a0, %m0, %s0 : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
        offsets(%c0, %c0, %c0, %key) extents(%end, %end) mask causal
    fa.yield %a1, %m1, %s1 : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
}

// Nothing to visit: what is carried comes out.

// CHECK-LABEL: func @no_range(
// CHECK-SAME: %[[X:.+]]: f32
// CHECK-NEXT: return %[[X]]
func.func @no_range(%x: f32) -> f32 {
  %r = fa.key_ranges (%key, %count) = [] step 8 iter_args(%y = %x) -> (f32) {
    fa.yield %y : f32
  }
  return %r : f32
}

// What a body asks about its block is known in a full range and in a partial
// one; which block is the first is not, and the body means the same.

// CHECK-LABEL: func @flags(
// CHECK-DAG: %[[TRUE:.+]] = arith.constant true
// CHECK-DAG: %[[FALSE:.+]] = arith.constant false
// CHECK: scf.for
// CHECK-NEXT: func.call @use(%[[FALSE]], %[[FALSE]])
// CHECK: scf.for
// CHECK-NEXT: func.call @use(%[[TRUE]], %[[FALSE]])
func.func private @use(i1, i1)
func.func @flags(%a: index, %b: index, %c: index) {
  fa.key_ranges (%key, %count) = [full %a to %b, partial %b to %c] step 8 {
    %partial = fa.is_partial : i1
    %first = fa.is_first : i1
    func.call @use(%partial, %first) : (i1, i1) -> ()
  }
  return
}
