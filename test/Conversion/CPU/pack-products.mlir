// RUN: fa-opt %s --fa-pack-products --split-input-file | FileCheck %s

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// What the loops do not change is copied in front of them, times the scale; the
// rest in the loop. Both loops read one copy. Rows that are missing are 0.

// CHECK-LABEL: func @step(
// CHECK-SAME: %[[QM:[a-z0-9]+]]: memref<?x16xf16>, %[[KM:[a-z0-9]+]]: memref<?x8x16xf16, {{.+}}>, %[[SCALE:[a-z0-9]+]]: f32
func.func @step(%qm: memref<?x16xf16>, %km: memref<?x8x16xf16, strided<[128, 16, 1]>>, %scale: f32, %missing: index,
                %n: index, %om: memref<32x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %narrow = arith.constant 0.0 : f16
  // CHECK: bufferization.to_tensor %[[QM]] restrict
  // CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%{{.+}} : tensor<?x16xf16>) outs(%{{.+}} : tensor<?x16xf32>)
  // CHECK: %[[WIDE:.+]] = arith.extf
  // CHECK-NEXT: arith.mulf %[[WIDE]], %[[SCALE]] : f32
  // CHECK: %[[ZEROS:.+]] = linalg.fill {{.+}} -> tensor<32x16xf32>
  // CHECK: %[[PACKED:.+]] = tensor.insert_slice %[[SCALED]] into %[[ZEROS]]
  // CHECK-NOT: linalg.generic
  %q = bufferization.to_tensor %qm restrict : memref<?x16xf16> to tensor<?x16xf16>
  %padded = tensor.pad %q low[0, 0] high[%missing, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %narrow : f16
  } : tensor<?x16xf16> to tensor<32x16xf16>
  %start = tensor.empty() : tensor<32x8xf32>
  %result = scf.for %l = %c0 to %c1 step %c1 iter_args(%carried = %start) -> (tensor<32x8xf32>) {
    // CHECK: scf.for
    // CHECK: bufferization.to_tensor
    // CHECK: %[[COPY:.+]] = linalg.copy ins(%{{.+}} : tensor<8x16xf16>) outs(%{{.+}} : tensor<8x16xf32>)
    // CHECK: %[[S:.+]] = linalg.contract {{.+}} {fa.config = {{.+}}} ins(%[[PACKED]], %[[COPY]] : tensor<32x16xf32>, tensor<8x16xf32>)
    // CHECK-NOT: arith.mulf
    // CHECK: arith.addf %{{.+}}, %[[S]]
    %first = scf.for %x = %c0 to %n step %c1 iter_args(%before = %carried) -> (tensor<32x8xf32>) {
      %view = memref.subview %km[%x, 0, 0] [1, 8, 16] [1, 1, 1] : memref<?x8x16xf16, strided<[128, 16, 1]>> to memref<8x16xf16, strided<[16, 1], offset: ?>>
      %k = bufferization.to_tensor %view restrict : memref<8x16xf16, strided<[16, 1], offset: ?>> to tensor<8x16xf16>
      %e = tensor.empty() : tensor<32x8xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x8xf32>) -> tensor<32x8xf32>
      %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8>}
          ins(%padded, %k : tensor<32x16xf16>, tensor<8x16xf16>) outs(%f : tensor<32x8xf32>) -> tensor<32x8xf32>
      %scales = tensor.splat %scale : tensor<32x8xf32>
      %y = arith.mulf %s, %scales fastmath<reassoc> : tensor<32x8xf32>
      %sum = arith.addf %before, %y : tensor<32x8xf32>
      scf.yield %sum : tensor<32x8xf32>
    }
    // CHECK: scf.for
    // CHECK-NOT: linalg.generic
    // CHECK: linalg.contract {{.+}} ins(%[[PACKED]],
    %second = scf.for %x = %c0 to %n step %c1 iter_args(%before = %first) -> (tensor<32x8xf32>) {
      %view = memref.subview %km[%x, 0, 0] [1, 8, 16] [1, 1, 1] : memref<?x8x16xf16, strided<[128, 16, 1]>> to memref<8x16xf16, strided<[16, 1], offset: ?>>
      %k = bufferization.to_tensor %view restrict : memref<8x16xf16, strided<[16, 1], offset: ?>> to tensor<8x16xf16>
      %e = tensor.empty() : tensor<32x8xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x8xf32>) -> tensor<32x8xf32>
      %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8>}
          ins(%padded, %k : tensor<32x16xf16>, tensor<8x16xf16>) outs(%f : tensor<32x8xf32>) -> tensor<32x8xf32>
      %scales = tensor.splat %scale : tensor<32x8xf32>
      %y = arith.mulf %s, %scales fastmath<reassoc> : tensor<32x8xf32>
      %sum = arith.addf %before, %y : tensor<32x8xf32>
      scf.yield %sum : tensor<32x8xf32>
    }
    scf.yield %second : tensor<32x8xf32>
  }
  bufferization.materialize_in_destination %result in restrict writable %om : (tensor<32x8xf32>, memref<32x8xf32>) -> ()
  return
}

// -----

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// What a loop writes is copied in the loop.

// CHECK-LABEL: func @written(
// CHECK: scf.for
// CHECK: linalg.copy
// CHECK: linalg.contract
func.func @written(%mm: memref<4x4xf32>, %e: tensor<4x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %x = %c0 to %n step %c1 {
    %m = bufferization.to_tensor %mm restrict : memref<4x4xf32> to tensor<4x4xf32>
    %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 4, key_block = 4>}
        ins(%m, %m : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    bufferization.materialize_in_destination %s in restrict writable %mm : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  }
  return
}

// -----

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// A factor that may not be taken first stays behind the product. Computed
// operands and products of others are left alone.

// CHECK-LABEL: func @left_alone(
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<4x16xf32>
// CHECK: %[[M:.+]] = bufferization.to_tensor
// CHECK: %[[COPY:.+]] = linalg.copy ins(%{{.+}} : tensor<4x16xf32>)
// CHECK: %[[S:.+]] = linalg.contract {{.+}} ins(%[[COPY]], %[[T]] :
// CHECK: arith.mulf %[[S]], %{{.+}} : tensor<4x4xf32>
// CHECK: linalg.contract {{.+}} ins(%[[M]], %[[M]] :
func.func @left_alone(%t: tensor<4x16xf32>, %mm: memref<4x16xf32>, %e: tensor<4x4xf32>, %scale: f32)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %m = bufferization.to_tensor %mm restrict : memref<4x16xf32> to tensor<4x16xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 4, key_block = 4>}
      ins(%m, %t : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %scales = tensor.splat %scale : tensor<4x4xf32>
  %y = arith.mulf %s, %scales : tensor<4x4xf32>
  %z = linalg.contract indexing_maps = [#a, #b, #c] ins(%m, %m : tensor<4x16xf32>, tensor<4x16xf32>)
      outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A constant factor is one, as elements and as a number that is spread: both
// loops read one copy.

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// CHECK-LABEL: func @constant_factor(
func.func @constant_factor(%qm: memref<32x16xf32>, %km: memref<?x16xf32>, %n: index, %m: index) -> (tensor<32x8xf32>, tensor<32x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %factor = arith.constant 0.25 : f32
  %factors = arith.constant dense<0.25> : tensor<32x8xf32>
  // CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%{{.+}} : tensor<32x16xf32>)
  // CHECK: arith.mulf
  // CHECK-NOT: arith.mulf
  // CHECK: linalg.contract {{.+}} ins(%[[SCALED]],
  // CHECK-NOT: arith.mulf
  // CHECK: linalg.contract {{.+}} ins(%[[SCALED]],
  // CHECK-NOT: arith.mulf
  %q = bufferization.to_tensor %qm restrict : memref<32x16xf32> to tensor<32x16xf32>
  %start = tensor.empty() : tensor<32x8xf32>
  %whole = scf.for %x = %c0 to %n step %c1 iter_args(%before = %start) -> (tensor<32x8xf32>) {
    %view = memref.subview %km[%x, 0] [8, 16] [1, 1] : memref<?x16xf32> to memref<8x16xf32, strided<[16, 1], offset: ?>>
    %k = bufferization.to_tensor %view restrict : memref<8x16xf32, strided<[16, 1], offset: ?>> to tensor<8x16xf32>
    %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8>}
        ins(%q, %k : tensor<32x16xf32>, tensor<8x16xf32>) outs(%before : tensor<32x8xf32>) -> tensor<32x8xf32>
    %y = arith.mulf %s, %factors fastmath<reassoc> : tensor<32x8xf32>
    scf.yield %y : tensor<32x8xf32>
  }
  %rest = tensor.empty(%m) : tensor<32x?xf32>
  %last = scf.for %x = %c0 to %n step %c1 iter_args(%before = %rest) -> (tensor<32x?xf32>) {
    %view = memref.subview %km[%x, 0] [%m, 16] [1, 1] : memref<?x16xf32> to memref<?x16xf32, strided<[16, 1], offset: ?>>
    %k = bufferization.to_tensor %view restrict : memref<?x16xf32, strided<[16, 1], offset: ?>> to tensor<?x16xf32>
    %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8>}
        ins(%q, %k : tensor<32x16xf32>, tensor<?x16xf32>) outs(%before : tensor<32x?xf32>) -> tensor<32x?xf32>
    %spread = tensor.splat %factor[%m] : tensor<32x?xf32>
    %y = arith.mulf %s, %spread fastmath<reassoc> : tensor<32x?xf32>
    scf.yield %y : tensor<32x?xf32>
  }
  return %whole, %last : tensor<32x8xf32>, tensor<32x?xf32>
}

// -----

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// Rows up to a number that is known at run time are copied in front of the loop,
// too.

// CHECK-LABEL: func @dynamic_rows(
// CHECK-SAME: %{{.+}}: memref<?x16xf32>, %{{.+}}: memref<?x16xf32>, %[[ALL:[a-z0-9]+]]: index
// CHECK: %[[COPY:.+]] = linalg.copy
// CHECK: %[[ROWS:.+]] = affine.apply #{{.+}}()[%{{.+}}, %[[ALL]], %{{.+}}]
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x16xf32>
// CHECK: %[[PACKED:.+]] = tensor.insert_slice %[[COPY]] into
// CHECK: scf.for
// CHECK: linalg.contract {{.+}} ins(%[[PACKED]],
func.func @dynamic_rows(%qm: memref<?x16xf32>, %km: memref<?x16xf32>, %rows: index, %n: index, %start: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %have = memref.dim %qm, %c0 : memref<?x16xf32>
  %missing = affine.apply affine_map<()[s0, s1] -> (s0 - s1)>()[%rows, %have]
  %q = bufferization.to_tensor %qm restrict : memref<?x16xf32> to tensor<?x16xf32>
  %padded = tensor.pad %q low[0, 0] high[%missing, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<?x16xf32> to tensor<?x16xf32>
  %k = bufferization.to_tensor %km restrict : memref<?x16xf32> to tensor<?x16xf32>
  %result = scf.for %x = %c0 to %n step %c1 iter_args(%before = %start) -> (tensor<?x?xf32>) {
    %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8>}
        ins(%padded, %k : tensor<?x16xf32>, tensor<?x16xf32>) outs(%before : tensor<?x?xf32>) -> tensor<?x?xf32>
    scf.yield %s : tensor<?x?xf32>
  }
  return %result : tensor<?x?xf32>
}
