// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Vectors of a thread are loaded and stored by up to 16 bytes, which a launcher holds addresses and strides to.

// CHECK-LABEL: func.func @halves
// CHECK-DAG: alignment = 16 : i64
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr{{.*}} -> vector<8xbf16>
// CHECK: %[[EVEN:.*]] = llvm.shufflevector %[[X]], %[[X]] [0, 2, 4, 6]
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr{{.*}} -> vector<8xf32>
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<4xbf16>
func.func @halves(%m: memref<?x64xbf16, strided<[?, 1], offset: ?>>, %a: memref<?x8xf32>, %to: memref<?x4xbf16>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    scf.parallel (%i) = (%c0) to (%end) step (%c1) {
      %x = vector.load %m[%i, %c0] : memref<?x64xbf16, strided<[?, 1], offset: ?>>, vector<8xbf16>
      %even = vector.shuffle %x, %x [0, 2, 4, 6] : vector<8xbf16>, vector<8xbf16>
      %angles = vector.load %a[%i, %c0] : memref<?x8xf32>, vector<8xf32>
      %four = vector.shuffle %angles, %angles [0, 1, 2, 3] : vector<8xf32>, vector<8xf32>
      %wide = arith.extf %even : vector<4xbf16> to vector<4xf32>
      %product = arith.mulf %wide, %four : vector<4xf32>
      %y = arith.truncf %product : vector<4xf32> to vector<4xbf16>
      vector.store %y, %to[%i, %c0] : memref<?x4xbf16>, vector<4xbf16>
      scf.reduce
    }
  }
  return
}
