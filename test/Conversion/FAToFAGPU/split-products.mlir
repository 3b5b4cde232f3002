// RUN: fa-opt %s -fagpu-split-products -cse | FileCheck %s

!mem = memref<?x?x?x64xf32>
!s = tensor<64x64xf32>

// Six products of terms, from small to large, and a sum outside.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[M:.*]]: memref<?x?x?x64xf32>, %[[N:.*]]: i32, %[[P:.*]]: tensor<64x64xf32>, %[[X:.*]]: tensor<64x64xf32>
// CHECK: %[[P0:.*]] = arith.truncf %[[P]]
// CHECK: %[[P1:.*]] = arith.truncf
// CHECK: %[[P2:.*]] = arith.truncf
func.func @split(%m: !mem, %n: i32, %p: !s, %x: !s) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  fagpu.role @compute groups(1) {
    // Rows from the limit on are zero.
    // CHECK: %[[ROW:.*]] = fagpu.iota 0
    // CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %{{.*}} : tensor<64x64xi32>
    // CHECK: %[[COLUMN:.*]] = fagpu.iota 1
    // CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %{{.*}} : i32
    // CHECK: %[[ENDS:.*]] = tensor.splat %[[LEFT]]
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]], %[[ENDS]]
    // CHECK: %[[V:.*]] = fagpu.gather %[[M]][%{{.*}}, %[[AT]], %{{.*}}, %{{.*}}] mask(%[[INSIDE]] : tensor<64x64xi1>)
    // CHECK: %[[V0:.*]] = arith.truncf %[[V]] : tensor<64x64xf32> to tensor<64x64xbf16>
    // CHECK: %[[W0:.*]] = arith.extf %[[V0]]
    // CHECK: %[[R0:.*]] = arith.subf %[[V]], %[[W0]]
    // CHECK: %[[V1:.*]] = arith.truncf %[[R0]]
    // CHECK: %[[W1:.*]] = arith.extf %[[V1]]
    // CHECK: %[[R1:.*]] = arith.subf %[[R0]], %[[W1]]
    // CHECK: %[[V2:.*]] = arith.truncf %[[R1]]
    // CHECK: %[[S0:.*]] = fagpu.product nn %[[P1]], %[[V1]] :
    // CHECK: %[[S1:.*]] = fagpu.product nn %[[P0]], %[[V2]] acc(%[[S0]]
    // CHECK: %[[S2:.*]] = fagpu.product nn %[[P2]], %[[V0]] acc(%[[S1]]
    // CHECK: %[[S3:.*]] = fagpu.product nn %[[P0]], %[[V1]] acc(%[[S2]]
    // CHECK: %[[S4:.*]] = fagpu.product nn %[[P1]], %[[V0]] acc(%[[S3]]
    // CHECK: %[[S5:.*]] = fagpu.product nn %[[P0]], %[[V0]] acc(%[[S4]]
    // CHECK: arith.addf %[[X]], %[[S5]]
    %v = fagpu.fetch %m[%c0, %c8, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> !s
    %o = fagpu.product nn %p, %v acc(%x : !s) : !s, !s -> !s
    %use = arith.addf %o, %o : !s
  }
  return
}

// Operands of 16 bits are multiplied as they are.
// CHECK-LABEL: func.func @kept
// CHECK: fagpu.fetch
// CHECK: fagpu.product
// CHECK-NOT: fagpu.product
func.func @kept(%m: memref<?x?x?x64xbf16>, %p: tensor<64x64xbf16>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %v = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] : memref<?x?x?x64xbf16> -> tensor<64x64xbf16>
    %o = fagpu.product nn %p, %v : tensor<64x64xbf16>, tensor<64x64xbf16> -> !s
    %use = arith.addf %o, %o : !s
  }
  return
}

// Without rows(...) and columns(...) the sizes of the memory are the limits,
// but where the types say that the box ends in it.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %[[M:.*]]: memref<?x?xf32>
// CHECK-DAG: %[[ROWS:.*]] = memref.dim %[[M]], %c0
// CHECK-DAG: %[[ROWS32:.*]] = arith.index_cast %[[ROWS]] : index to i32
// CHECK-DAG: %[[LEFT:.*]] = arith.subi %[[ROWS32]], %{{.*}} : i32
// CHECK-DAG: %[[ENDS:.*]] = tensor.splat %[[LEFT]]
// CHECK-DAG: %[[ROW_INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %[[ENDS]]
// CHECK-DAG: %[[COLUMNS:.*]] = memref.dim %[[M]], %c1
// CHECK-DAG: %[[COLUMNS32:.*]] = arith.index_cast %[[COLUMNS]] : index to i32
// CHECK-DAG: %[[COLUMN_ENDS:.*]] = tensor.splat %[[COLUMNS32]]
// CHECK-DAG: %[[COLUMN_INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %[[COLUMN_ENDS]]
// CHECK: %[[INSIDE:.*]] = arith.andi %[[ROW_INSIDE]], %[[COLUMN_INSIDE]]
// CHECK: fagpu.gather %[[M]][%{{.*}}] mask(%[[INSIDE]] : tensor<64x64xi1>)
// Columns up to an even constant are read in pairs.
    // CHECK: fagpu.gather %{{.*}}[%{{[^]]*}}] pairs : memref<64x64xf32>
func.func @sizes(%m: memref<?x?xf32>, %whole: memref<64x64xf32>, %first: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %p = fagpu.fetch %m[%first, %c0] [64, 64] : memref<?x?xf32> -> !s
    %v = fagpu.fetch %whole[%c0, %c0] [64, 64] : memref<64x64xf32> -> !s
    %o = fagpu.product nn %p, %v : !s, !s -> !s
    %use = arith.addf %o, %o : !s
  }
  return
}

// Boxes at columns that a loop with constant bounds counts: those at 0 and 16
// end in the memory, one at 48 of those of the second loop does not.
// CHECK-LABEL: func.func @counted
// CHECK: fagpu.for
// CHECK-NOT: arith.cmpi
// CHECK: fagpu.gather %{{.*}}[%{{[^]]*}}] pairs : memref<64x48xf32>
// CHECK: fagpu.for
// CHECK: arith.cmpi slt
// CHECK: fagpu.gather %{{.*}}[%{{[^]]*}}] mask(
func.func @counted(%m: memref<64x48xf32>, %p: tensor<64x16xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : !s
  fagpu.role @compute groups(1) {
    %a = fagpu.for %i = %c0 step 1 segments(%all: to %c2) iter(%x = %zero) -> !s {
      %first = arith.muli %i, %c16 : i32
      %v = fagpu.fetch %m[%c0, %first] [64, 16] : memref<64x48xf32> -> tensor<64x16xf32>
      %y = fagpu.product nt %p, %v acc(%x : !s) : tensor<64x16xf32>, tensor<64x16xf32> -> !s
      fagpu.yield %y : !s
    }
    %b = fagpu.for %i = %c0 step 1 segments(%all: to %c4) iter(%x = %a) -> !s {
      %first = arith.muli %i, %c16 : i32
      %v = fagpu.fetch %m[%c0, %first] [64, 16] : memref<64x48xf32> -> tensor<64x16xf32>
      %y = fagpu.product nt %p, %v acc(%x : !s) : tensor<64x16xf32>, tensor<64x16xf32> -> !s
      fagpu.yield %y : !s
    }
    %use = arith.addf %b, %b : !s
  }
  return
}

// The greatest index is that of whichever segment ends last: 7, where the box
// ends behind the memory, also where a segment that ends before it follows; 2 is
// inside in both.
// CHECK-LABEL: func.func @segments
// CHECK: fagpu.for
// CHECK: arith.cmpi slt
// CHECK: fagpu.gather %{{.*}}[%{{[^]]*}}] mask(
// CHECK: fagpu.for
// CHECK-NOT: arith.cmpi
// CHECK: fagpu.gather %{{.*}}[%{{[^]]*}}] pairs : memref<64x48xf32>
func.func @segments(%m: memref<64x48xf32>, %p: tensor<64x16xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : !s
  fagpu.role @compute groups(1) {
    %a = fagpu.for %i = %c0 step 1 segments(%first: to %c8, %rest: to %c2) iter(%x = %zero) -> !s {
      %at = arith.muli %i, %c16 : i32
      %v = fagpu.fetch %m[%c0, %at] [64, 16] : memref<64x48xf32> -> tensor<64x16xf32>
      %y = fagpu.product nt %p, %v acc(%x : !s) : tensor<64x16xf32>, tensor<64x16xf32> -> !s
      fagpu.yield %y : !s
    }
    %b = fagpu.for %i = %c0 step 1 segments(%first: to %c3, %rest: to %c2) iter(%x = %a) -> !s {
      %at = arith.muli %i, %c16 : i32
      %v = fagpu.fetch %m[%c0, %at] [64, 16] : memref<64x48xf32> -> tensor<64x16xf32>
      %y = fagpu.product nt %p, %v acc(%x : !s) : tensor<64x16xf32>, tensor<64x16xf32> -> !s
      fagpu.yield %y : !s
    }
    %use = arith.addf %b, %b : !s
  }
  return
}
