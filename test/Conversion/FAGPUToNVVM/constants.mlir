// RUN: fa-opt %s -fagpu-plan-resources -convert-fagpu-to-nvvm | FileCheck %s

// Constant tables become globals of the device, row-major, that kernels share;
// the size of a dynamic dimension is a parameter.

#row = #fagpu.row<4>
!i = tensor<64xi32, #row>
!f = tensor<64xf32, #row>

// CHECK-DAG: llvm.mlir.global internal constant @fagpu_table_ids(dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<6 x i32>
// CHECK-DAG: llvm.mlir.global internal constant @fagpu_table_slopes(dense<[16256, 16128]> : tensor<2xi16>) {{.*}} : !llvm.array<2 x i16>
// CHECK-DAG: llvm.mlir.global internal constant @fagpu_table_blocks(dense<[1, 0, 0, 1]> : tensor<4xi8>) {{.*}} : !llvm.array<4 x i8>
memref.global "private" constant @ids : memref<2x3xi32> = dense<[[1, 2, 3], [4, 5, 6]]>
memref.global "private" constant @slopes : memref<2xbf16> = dense<[1.0, 0.5]>
memref.global "private" constant @blocks : memref<2x2xi1> = dense<[[true, false], [false, true]]>

// CHECK-LABEL: func.func @tables(
// CHECK-SAME: %[[COLUMNS:[^:]+]]: i64, %{{[^:]+}}: !llvm.ptr<1>, %{{[^:]+}}: i64,
// CHECK-SAME: fagpu.parameters = [{argument = 0 : i64, dim = 1 : i64, kind = "size"}, {argument = 0 : i64, kind = "pointer"}, {argument = 0 : i64, dim = 0 : i64, kind = "stride"}
func.func @tables(%m: memref<?x?xf32>, %b: i32) attributes {fagpu.kernel = "sm_80"} {
  // CHECK-DAG: %[[IDS:.*]] = llvm.mlir.addressof @fagpu_table_ids : !llvm.ptr<1>
  // CHECK-DAG: %[[SLOPES:.*]] = llvm.mlir.addressof @fagpu_table_slopes : !llvm.ptr<1>
  // CHECK-DAG: %[[BLOCKS:.*]] = llvm.mlir.addressof @fagpu_table_blocks : !llvm.ptr<1>
  // CHECK-NOT: memref
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : index
  fagpu.role @all groups(1) {
    %ids = memref.get_global @ids : memref<2x3xi32>
    %slopes = memref.get_global @slopes : memref<2xbf16>
    %blocks = memref.get_global @blocks : memref<2x2xi1>
    %r = fagpu.iota 0 : !i
    // Row 1 of the table is three elements on.
    // CHECK: arith.constant 3 : i64
    // CHECK: llvm.getelementptr %[[IDS]][%{{.*}}] {{.*}}, i32
    // CHECK: ld.global.nc.b32
    %g = fagpu.gather %ids[%b, %r] : memref<2x3xi32>[i32, !i] -> !i
    // CHECK: llvm.getelementptr %[[BLOCKS]][%{{.*}}] {{.*}}, i1
    // CHECK: ld.global.nc.u8
    // CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : i32
    %on = fagpu.gather %blocks[%b, %r] : memref<2x2xi1>[i32, !i] -> tensor<64xi1, #row>
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[SLOPES]][%{{.*}}] {{.*}}, bf16
    // CHECK: llvm.load %[[AT]] : !llvm.ptr<1> -> bf16
    %slope = memref.load %slopes[%c1] : memref<2xbf16>
    %s = arith.extf %slope : bf16 to f32
    // CHECK: arith.index_cast %[[COLUMNS]] : i64 to index
    %columns = memref.dim %m, %c1 : memref<?x?xf32>
    %n = arith.index_cast %columns : index to i32
    %x = arith.sitofp %g : !i to !f
    %a = tensor.splat %s : !f
    %y = arith.mulf %x, %a : !f
    %z = arith.select %on, %y, %x : tensor<64xi1, #row>, !f
    fagpu.store %z, %m[%c0, %c0] rows(%n) : !f into memref<?x?xf32>
  }
  return
}

// CHECK-LABEL: func.func @again(
func.func @again(%m: memref<4x?xf32>) attributes {fagpu.kernel = "sm_80"} {
  // CHECK-DAG: llvm.mlir.addressof @fagpu_table_ids
  // CHECK: arith.constant 4 : index
  %c0 = arith.constant 0 : i32
  %first = arith.constant 0 : index
  fagpu.role @all groups(1) {
    %ids = memref.get_global @ids : memref<2x3xi32>
    %id = memref.load %ids[%first, %first] : memref<2x3xi32>
    %rows = memref.dim %m, %first : memref<4x?xf32>
    %n = arith.index_cast %rows : index to i32
    %sum = arith.addi %id, %n : i32
    %x = arith.sitofp %sum : i32 to f32
    %y = tensor.splat %x : !f
    fagpu.store %y, %m[%c0, %c0] : !f into memref<4x?xf32>
  }
  return
}
