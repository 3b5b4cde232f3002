// RUN: fa-opt %s --fa-outline-parallel --split-input-file | FileCheck %s

// Two buffers of the body, one in an inner loop, take 64 and 256 bytes of the
// thread's scratch; the inner parallel loop runs in order.

// CHECK: func.func private @fa_parallel_for(!llvm.ptr, !llvm.ptr, i64, i64)

// CHECK-LABEL: func.func private @f_block(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr, %[[INDEX:[a-z0-9]+]]: i64, %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr
// CHECK: llvm.getelementptr %[[CONTEXT]][0, 0]
// CHECK: llvm.getelementptr %[[SCRATCH]][0]
// CHECK: llvm.getelementptr %[[SCRATCH]][64]
// The last dimension runs fastest.
// CHECK: %[[LINEAR:.+]] = arith.index_cast %[[INDEX]] : i64 to index
// CHECK: %[[COLUMNS:.+]] = arith.ceildivsi
// CHECK: arith.remui %[[LINEAR]], %[[COLUMNS]]
// CHECK: arith.divui %[[LINEAR]], %[[COLUMNS]]
// CHECK-NOT: memref.alloc
// CHECK-NOT: scf.forall
// CHECK: return

// CHECK-LABEL: func.func @f(
// CHECK-NOT: scf.forall
// CHECK-DAG: constant @f_block
// CHECK-DAG: %[[BYTES:.+]] = arith.constant 320 : i64
// CHECK: call @fa_parallel_for(%{{.+}}, %{{.+}}, %{{.+}}, %[[BYTES]])
func.func @f(%x: memref<?x?xf32>, %rows: index, %columns: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i, %j) = (0, 0) to (%rows, %columns) step (1, 16) {
    %a = memref.alloca() : memref<3xf32>
    scf.for %k = %c0 to %rows step %c1 {
      %b = memref.alloc() : memref<64xf32>
      %v = memref.load %b[%j] : memref<64xf32>
      memref.store %v, %a[%c0] : memref<3xf32>
      memref.dealloc %b : memref<64xf32>
    }
    scf.forall (%l) in (3) {
      %v = memref.load %a[%l] : memref<3xf32>
      memref.store %v, %x[%i, %l] : memref<?x?xf32>
    }
  }
  return
}

// -----

// Two loops of one function become two bodies.

// CHECK-DAG: func.func private @g_block(
// CHECK-DAG: func.func private @g_block_0(
// CHECK-COUNT-2: call @fa_parallel_for
func.func @g(%x: memref<4xf32>, %y: f32) {
  scf.forall (%i) in (4) {
    memref.store %y, %x[%i] : memref<4xf32>
  }
  scf.forall (%i) in (4) {
    memref.store %y, %x[%i] : memref<4xf32>
  }
  return
}

// A problem of one block has no parallel loop. Its buffers lie on the stack once, not once for each iteration,
// unless somebody frees them, or they are memory of the program.
// CHECK-LABEL: func.func @one_block
// CHECK-DAG: memref.alloca() {{.*}} : memref<8xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<16xf32>
// CHECK-DAG: memref.alloc() : memref<64xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: memref.alloc() : memref<32xf32>
// CHECK: return
func.func @one_block(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %state = memref.alloc() : memref<8xf32>
  %own = memref.alloc() {fa.program_memory} : memref<64xf32>
  memref.store %zero, %own[%n] : memref<64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %scratch = memref.alloca() : memref<16xf32>
    memref.store %zero, %scratch[%i] : memref<16xf32>
    memref.store %zero, %state[%i] : memref<8xf32>
    %freed = memref.alloc() : memref<32xf32>
    memref.dealloc %freed : memref<32xf32>
  }
  return
}

// -----

// 24 bits lie in 4 bytes: the second buffer starts behind all 100 of them.

// CHECK-LABEL: func.func private @odd_block(
// CHECK: llvm.getelementptr %{{.+}}[0]
// CHECK: llvm.getelementptr %{{.+}}[448]
func.func @odd(%x: memref<?xi24>) {
  scf.forall (%i) in (4) {
    %a = memref.alloca() : memref<100xi24>
    %b = memref.alloca() : memref<100xi24>
    %v = memref.load %a[%i] : memref<100xi24>
    memref.store %v, %b[%i] : memref<100xi24>
    %w = memref.load %b[%i] : memref<100xi24>
    memref.store %w, %x[%i] : memref<?xi24>
  }
  return
}
