// RUN: fa-opt %s -fa-forward-copies -split-input-file | FileCheck %s

// 4 queries of a group of 4 heads, from and to other orders: two tiles of 8 rows each have whole groups.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME:      %[[Q:.+]]: memref<?x4x8x64xf16>, %[[O:.+]]: memref<?x4x8x64xf16, strided<[2048, 64, 256, 1]>>, %[[L:.+]]: memref<?x4x8xf32, strided<[32, 1, 4]>>, %[[R:.+]]: i32, %[[H:.+]]: i32)
// CHECK:         %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK:         %[[FETCHED:.+]] = fagpu.fetch %[[Q]][%{{.+}}, %[[QUERY:.+]], %[[HEAD:.+]], %{{.+}}] [1, 2, 4, 64] rows(%{{.+}}) : memref<?x4x8x64xf16> -> tensor<8x64xf16>
// CHECK:         fagpu.store %{{.+}}, %[[O]][%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}] sizes [1, 2, 4, 64] rows(%{{.+}}) :
// CHECK:         fagpu.store %{{.+}}, %[[L]][%{{.+}}, %{{.+}}, %{{.+}}] sizes [1, 2, 4] rows(%{{.+}}) :
// CHECK-LABEL: func.func @host(
// CHECK-NOT:     linalg.copy
// CHECK-NOT:     fagpu.workspace
// CHECK-DAG:     %[[OUT:.+]] = memref.transpose %{{.+}} (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK-DAG:     %[[LSE:.+]] = memref.transpose %{{.+}} (d0, d1, d2) -> (d0, d2, d1)
// CHECK:         fagpu.launch @kernel grid(%{{.+}}) (%{{.+}}, %[[OUT]], %[[LSE]],
func.func @kernel(%q: memref<?x2x16x64xf16>, %o: memref<?x2x16x64xf16>, %l: memref<?x2x16xf32>, %b: i32, %h: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) warps(1) {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %none = arith.constant dense<0.0> : tensor<8xf32>
    %row = arith.muli %b, %c8 : i32
    %left = arith.subi %c16, %row : i32
    %count = arith.minsi %left, %c8 : i32
    %end = arith.addi %row, %count : i32
    %x = fagpu.fetch %q[%b, %h, %row, %c0] [1, 1, 8, 64] rows(%end) : memref<?x2x16x64xf16> -> tensor<8x64xf16>
    fagpu.store %x, %o[%b, %h, %row, %c0] sizes [1, 1, 8, 64] rows(%c16) : tensor<8x64xf16> into memref<?x2x16x64xf16>
    fagpu.store %none, %l[%b, %h, %row] rows(%end) : tensor<8xf32> into memref<?x2x16xf32>
  }
  return
}
func.func @host(%q: memref<?x4x8x64xf16>, %o: memref<?x8x4x64xf16>, %l: memref<?x8x4xf32>, %n: index, %i: i32) {
  %c0 = arith.constant 0 : index
  %b = memref.dim %q, %c0 : memref<?x4x8x64xf16>
  %qs = memref.expand_shape %q [[0], [1], [2, 3], [4]] output_shape [%b, 4, 2, 4, 64] : memref<?x4x8x64xf16> into memref<?x4x2x4x64xf16>
  %qt = memref.transpose %qs (d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4) : memref<?x4x2x4x64xf16> to memref<?x2x4x4x64xf16, strided<[2048, 256, 512, 64, 1]>>
  %os = memref.expand_shape %o [[0], [1, 2], [3], [4]] output_shape [%b, 2, 4, 4, 64] : memref<?x8x4x64xf16> into memref<?x2x4x4x64xf16>
  %ot = memref.transpose %os (d0, d1, d2, d3, d4) -> (d0, d1, d3, d2, d4) : memref<?x2x4x4x64xf16> to memref<?x2x4x4x64xf16, strided<[2048, 1024, 64, 256, 1]>>
  %ls = memref.expand_shape %l [[0], [1, 2], [3]] output_shape [%b, 2, 4, 4] : memref<?x8x4xf32> into memref<?x2x4x4xf32>
  %lt = memref.transpose %ls (d0, d1, d2, d3) -> (d0, d1, d3, d2) : memref<?x2x4x4xf32> to memref<?x2x4x4xf32, strided<[32, 16, 1, 4]>>
  %qw = fagpu.workspace(%b) : memref<?x2x4x4x64xf16>
  %ow = fagpu.workspace(%b) : memref<?x2x4x4x64xf16>
  %lw = fagpu.workspace(%b) : memref<?x2x4x4xf32>
  %qr = memref.collapse_shape %qw [[0], [1], [2, 3], [4]] : memref<?x2x4x4x64xf16> into memref<?x2x16x64xf16>
  %or = memref.collapse_shape %ow [[0], [1], [2, 3], [4]] : memref<?x2x4x4x64xf16> into memref<?x2x16x64xf16>
  %lr = memref.collapse_shape %lw [[0], [1], [2, 3]] : memref<?x2x4x4xf32> into memref<?x2x16xf32>
  linalg.copy ins(%qt : memref<?x2x4x4x64xf16, strided<[2048, 256, 512, 64, 1]>>) outs(%qw : memref<?x2x4x4x64xf16>)
  fagpu.launch @kernel grid(%n) (%qr, %or, %lr, %i, %i) : memref<?x2x16x64xf16>, memref<?x2x16x64xf16>, memref<?x2x16xf32>, i32, i32
  linalg.copy ins(%ow : memref<?x2x4x4x64xf16>) outs(%ot : memref<?x2x4x4x64xf16, strided<[2048, 1024, 64, 256, 1]>>)
  linalg.copy ins(%lw : memref<?x2x4x4xf32>) outs(%lt : memref<?x2x4x4xf32, strided<[32, 16, 1, 4]>>)
  return
}

// -----

// Copies stay: a tile ends within a group, or a row of its own is read.

// CHECK-LABEL: func.func @parts(
// CHECK:         fagpu.fetch %{{.+}} [1, 1, 8, 64]
// CHECK-LABEL: func.func @gathers(
// CHECK:         fagpu.gather
// CHECK-LABEL: func.func @host(
// CHECK-COUNT-2: linalg.copy
// CHECK:         fagpu.launch @parts
func.func @parts(%q: memref<?x2x12x64xf16>, %b: i32, %h: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) warps(1) {
    %c0 = arith.constant 0 : i32
    %c12 = arith.constant 12 : i32
    %x = fagpu.fetch %q[%b, %h, %c0, %c0] [1, 1, 8, 64] rows(%c12) : memref<?x2x12x64xf16> -> tensor<8x64xf16>
  }
  return
}
func.func @gathers(%q: memref<?x2x16xf32>, %b: i32, %h: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) warps(1) {
    %i = fagpu.iota 0 : tensor<16xi32, #fagpu.row<1>>
    %x = fagpu.gather %q[%b, %h, %i] : memref<?x2x16xf32>[i32, i32, tensor<16xi32, #fagpu.row<1>>] -> tensor<16xf32, #fagpu.row<1>>
  }
  return
}
func.func @host(%q: memref<?x2x12x64xf16>, %l: memref<?x4x8xf32>, %n: index, %i: i32) {
  %c0 = arith.constant 0 : index
  %b = memref.dim %q, %c0 : memref<?x2x12x64xf16>
  %qs = memref.expand_shape %q [[0], [1], [2, 3], [4]] output_shape [%b, 2, 2, 6, 64] : memref<?x2x12x64xf16> into memref<?x2x2x6x64xf16>
  %qt = memref.transpose %qs (d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4) : memref<?x2x2x6x64xf16> to memref<?x2x2x6x64xf16, strided<[1536, 384, 768, 64, 1]>>
  %ls = memref.expand_shape %l [[0], [1], [2, 3]] output_shape [%b, 4, 2, 4] : memref<?x4x8xf32> into memref<?x4x2x4xf32>
  %lt = memref.transpose %ls (d0, d1, d2, d3) -> (d0, d2, d1, d3) : memref<?x4x2x4xf32> to memref<?x2x4x4xf32, strided<[32, 4, 8, 1]>>
  %qw = fagpu.workspace(%b) : memref<?x2x2x6x64xf16>
  %lw = fagpu.workspace(%b) : memref<?x2x4x4xf32>
  %qr = memref.collapse_shape %qw [[0], [1], [2, 3], [4]] : memref<?x2x2x6x64xf16> into memref<?x2x12x64xf16>
  %lr = memref.collapse_shape %lw [[0], [1], [2, 3]] : memref<?x2x4x4xf32> into memref<?x2x16xf32>
  linalg.copy ins(%qt : memref<?x2x2x6x64xf16, strided<[1536, 384, 768, 64, 1]>>) outs(%qw : memref<?x2x2x6x64xf16>)
  linalg.copy ins(%lt : memref<?x2x4x4xf32, strided<[32, 4, 8, 1]>>) outs(%lw : memref<?x2x4x4xf32>)
  fagpu.launch @parts grid(%n) (%qr, %i, %i) : memref<?x2x12x64xf16>, i32, i32
  fagpu.launch @gathers grid(%n) (%lr, %i, %i) : memref<?x2x16xf32>, i32, i32
  return
}
