// RUN: fa-opt %s --fa-place-scratch --split-input-file | FileCheck %s

// Rows lie along vectors: matrices by columns, but for the right operand of a
// product. Lines of them are an odd number of cache lines apart, and a dynamic
// size is at most its bound. Views take the strides, copies become operations
// that are vectorised, and each operation has the tile of the products.

#a = affine_map<(i, e, j) -> (i, j)>
#b = affine_map<(i, e, j) -> (j, e)>
#c = affine_map<(i, e, j) -> (i, e)>

// CHECK-LABEL: func @block(
func.func @block(%m: memref<?x64xf32>, %o: memref<32x64xf32>, %end: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c96 = arith.constant 96 : index
  // CHECK: scf.forall
  scf.forall (%i) in (4) {
    // CHECK: %[[ACCMEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<64x48xf32>
    // CHECK: %[[ACC:.+]] = memref.reinterpret_cast %[[ACCMEMORY]] to offset: [0], sizes: [32, 64], strides: [1, 48] : memref<64x48xf32> to memref<32x64xf32, strided<[1, 48]>>
    %acc = memref.alloc() : memref<32x64xf32>
    // CHECK: %[[ROW:.+]] = memref.alloca() {alignment = 64 : i64} : memref<32xf32>
    %row = memref.alloc() : memref<32xf32>
    // CHECK: linalg.fill {fa.register_tile = #fa.cpu<lanes = 16>} ins(%{{.+}} : f32) outs(%[[ROW]] :
    linalg.fill ins(%zero : f32) outs(%row : memref<32xf32>)
    scf.for %j = %c0 to %end step %c96 {
      %n = affine.min affine_map<(d0)[s0] -> (96, s0 - d0)>(%j)[%end]
      %part = memref.subview %m[%j, 0] [%n, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      // CHECK: %[[VMEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<96x80xf32>
      // CHECK: %[[V:.+]] = memref.reinterpret_cast %[[VMEMORY]] to offset: [0], sizes: [%[[N:.+]], 64], strides: [80, 1]
      %v = memref.alloc(%n) : memref<?x64xf32>
      // CHECK: linalg.copy {fa.register_tile = #fa.cpu<lanes = 16>} ins(%{{.+}} : memref<?x64xf32, strided<[64, 1], offset: ?>>) outs(%[[V]] : memref<?x64xf32, strided<[80, 1]>>)
      memref.copy %part, %v : memref<?x64xf32, strided<[64, 1], offset: ?>> to memref<?x64xf32>
      // CHECK: %[[PMEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<96x48xf32>
      // CHECK: %[[P:.+]] = memref.reinterpret_cast %[[PMEMORY]] to offset: [0], sizes: [32, %[[N]]], strides: [1, 48]
      %p = memref.alloc(%n) : memref<32x?xf32>
      linalg.fill ins(%zero : f32) outs(%p : memref<32x?xf32>)
      // CHECK: linalg.generic {{.+}} ins(%[[P]], %[[V]] : {{.+}}) outs(%[[ACC]] :
      linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%p, %v : memref<32x?xf32>, memref<?x64xf32>) outs(%acc : memref<32x64xf32>) attrs = {fa.register_tile = #fa.cpu<lanes = 16>} {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %r = math.fma %x, %y, %z : f32
        linalg.yield %r : f32
      }
    }
    // CHECK: %[[HALF:.+]] = memref.subview %[[ACC]][16, 0] [16, 64] [1, 1] : memref<32x64xf32, strided<[1, 48]>> to memref<16x64xf32, strided<[1, 48], offset: 16>>
    // CHECK: linalg.copy {{.+}} ins(%[[HALF]] :
    %half = memref.subview %acc[16, 0] [16, 64] [1, 1] : memref<32x64xf32> to memref<16x64xf32, strided<[64, 1], offset: 1024>>
    %target = memref.subview %o[16, 0] [16, 64] [1, 1] : memref<32x64xf32> to memref<16x64xf32, strided<[64, 1], offset: 1024>>
    memref.copy %half, %target : memref<16x64xf32, strided<[64, 1], offset: 1024>> to memref<16x64xf32, strided<[64, 1], offset: 1024>>
  }
  return
}

// -----

// What is freed, handed on, of another rank or of the program stays where it is,
// and so do copies of it.

// CHECK-LABEL: func @left_alone(
// CHECK: memref.alloc() : memref<8x8xf32>
// CHECK: memref.alloc(%{{.*}}) {fa.program_memory} : memref<?xf32>
// CHECK: memref.alloc() : memref<8x8xf32>
// CHECK: memref.alloc() : memref<2x8x8xf32>
// CHECK: memref.copy
// CHECK-NOT: linalg.copy
func.func private @use(memref<8x8xf32>)
func.func @left_alone(%m: memref<8x8xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  %freed = memref.alloc() : memref<8x8xf32>
  %own = memref.alloc(%n) {fa.program_memory} : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%own : memref<?xf32>)
  %handed = memref.alloc() : memref<8x8xf32>
  %cube = memref.alloc() : memref<2x8x8xf32>
  memref.copy %m, %freed : memref<8x8xf32> to memref<8x8xf32>
  call @use(%handed) : (memref<8x8xf32>) -> ()
  memref.dealloc %freed : memref<8x8xf32>
  return
}

// -----

// Copies between other memory do so where it has strides.

// CHECK-LABEL: func @strided_copies(
func.func @strided_copies(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<?x8xf32, strided<[?, ?]>>) {
  // CHECK: memref.copy %arg0, %arg1
  memref.copy %a, %b : memref<8x8xf32> to memref<8x8xf32>
  // CHECK: linalg.copy ins(%arg0 : {{.+}}) outs(%{{.+}} : memref<8x8xf32, strided<[?, ?]>>)
  %part = memref.subview %c[0, 0] [8, 8] [1, 1] : memref<?x8xf32, strided<[?, ?]>> to memref<8x8xf32, strided<[?, ?]>>
  memref.copy %a, %part : memref<8x8xf32> to memref<8x8xf32, strided<[?, ?]>>
  // CHECK: linalg.copy ins(%{{.+}} : memref<8x8xf32, strided<[?, ?]>>) outs(%arg1 :
  memref.copy %part, %b : memref<8x8xf32, strided<[?, ?]>> to memref<8x8xf32>
  return
}

// -----

// Views take the strides, casts too where they say others.

// CHECK-LABEL: func @views(
func.func @views(%x: f32, %o: memref<32x8xf32>) {
  // CHECK: %[[M:.+]] = memref.reinterpret_cast {{.+}} to memref<8x32xf32, strided<[1, 8]>>
  %m = memref.alloc() : memref<8x32xf32>
  // CHECK: %[[T:.+]] = memref.transpose %[[M]] (d0, d1) -> (d1, d0) : memref<8x32xf32, strided<[1, 8]>> to memref<32x8xf32, strided<[8, 1]>>
  %t = memref.transpose %m (i, j) -> (j, i) : memref<8x32xf32> to memref<32x8xf32, strided<[1, 32]>>
  // CHECK: linalg.fill {{.+}} outs(%[[T]] : memref<32x8xf32, strided<[8, 1]>>)
  linalg.fill ins(%x : f32) outs(%t : memref<32x8xf32, strided<[1, 32]>>)
  // CHECK: %[[C:.+]] = memref.cast %[[M]] : memref<8x32xf32, strided<[1, 8]>> to memref<?x32xf32, strided<[1, 8]>>
  %c = memref.cast %m : memref<8x32xf32> to memref<?x32xf32>
  // CHECK: %[[PART:.+]] = memref.subview %[[C]][0, 4] [4, 8] [1, 1] : {{.+}} to memref<4x8xf32, strided<[1, 8], offset: 32>>
  %part = memref.subview %c[0, 4] [4, 8] [1, 1] : memref<?x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 4>>
  linalg.fill ins(%x : f32) outs(%part : memref<4x8xf32, strided<[32, 1], offset: 4>>)
  // CHECK: memref.cast %[[M]] : {{.+}} to memref<8x32xf32, strided<[?, ?], offset: ?>>
  %any = memref.cast %m : memref<8x32xf32> to memref<8x32xf32, strided<[?, ?], offset: ?>>
  linalg.fill ins(%x : f32) outs(%any : memref<8x32xf32, strided<[?, ?], offset: ?>>)
  // CHECK: linalg.transpose ins(%[[M]] :
  linalg.transpose ins(%m : memref<8x32xf32>) outs(%o : memref<32x8xf32>) permutation = [1, 0]
  return
}

// -----

// A size of a transposed view has the bound of what is viewed.

// CHECK-LABEL: func @size_of_transposed_view(
func.func @size_of_transposed_view(%m: memref<8x?xf32>, %x: f32, %end: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  scf.for %j = %c0 to %end step %c16 {
    %n = affine.min affine_map<(d0)[s0] -> (16, s0 - d0)>(%j)[%end]
    %part = memref.subview %m[0, %j] [8, %n] [1, 1] : memref<8x?xf32> to memref<8x?xf32, strided<[?, 1], offset: ?>>
    %t = memref.transpose %part (i, j) -> (j, i) : memref<8x?xf32, strided<[?, 1], offset: ?>> to memref<?x8xf32, strided<[1, ?], offset: ?>>
    // CHECK: %[[N:.+]] = memref.dim %{{.+}}, %c1{{.*}} : memref<8x?xf32, strided<[?, 1], offset: ?>>
    %size = memref.dim %t, %c0 : memref<?x8xf32, strided<[1, ?], offset: ?>>
    // CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
    // CHECK: memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [%[[N]]], strides: [1]
    %row = memref.alloc(%size) : memref<?xf32>
    linalg.fill ins(%x : f32) outs(%row : memref<?xf32>)
  }
  return
}
