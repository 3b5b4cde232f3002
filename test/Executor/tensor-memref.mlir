// RUN: fa-run %s --entry=tensors --target=reference | FileCheck %s --check-prefix=TENSORS
// RUN: fa-run %s --entry=values_stay --target=reference | FileCheck %s --check-prefix=VALUES
// RUN: fa-run %s --entry=views --target=reference | FileCheck %s --check-prefix=VIEWS
// RUN: fa-run %s --entry=between --target=reference | FileCheck %s --check-prefix=BETWEEN

func.func @tensors() -> (tensor<2x2xi32>, tensor<6xi32>, tensor<2x3x1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<2x4xi32>, index) {
  %a = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %slice = tensor.extract_slice %a[0, 0] [2, 2] [1, 2] : tensor<2x3xi32> to tensor<2x2xi32>
  %flat = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xi32> into tensor<6xi32>
  %wide = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, 3, 1] : tensor<2x3xi32> into tensor<2x3x1xi32>
  // A slice that is not contiguous collapses too.
  %parts = tensor.collapse_shape %slice [[0, 1]] : tensor<2x2xi32> into tensor<4xi32>
  %generated = tensor.generate {
  ^bb0(%i: index):
    %v = arith.index_cast %i : index to i32
    tensor.yield %v : i32
  } : tensor<3xi32>
  %zero = arith.constant 0 : i32
  %padded = tensor.pad %slice low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<2x2xi32> to tensor<2x4xi32>
  %c1 = arith.constant 1 : index
  %dynamic = tensor.cast %a : tensor<2x3xi32> to tensor<?x?xi32>
  %size = tensor.dim %dynamic, %c1 : tensor<?x?xi32>
  return %slice, %flat, %wide, %parts, %generated, %padded, %size
      : tensor<2x2xi32>, tensor<6xi32>, tensor<2x3x1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<2x4xi32>, index
}
// TENSORS: result 0: 2x2xi32 = [1, 3, 4, 6]
// TENSORS-NEXT: result 1: 6xi32 = [1, 2, 3, 4, 5, 6]
// TENSORS-NEXT: result 2: 2x3x1xi32 = [1, 2, 3, 4, 5, 6]
// TENSORS-NEXT: result 3: 4xi32 = [1, 3, 4, 6]
// TENSORS-NEXT: result 4: 3xi32 = [0, 1, 2]
// TENSORS-NEXT: result 5: 2x4xi32 = [0, 1, 3, 0, 0, 4, 6, 0]
// TENSORS-NEXT: result 6: index = 3

// An insertion never changes the tensor it starts from, nor slices of it.
func.func @values_stay() -> (tensor<3xi32>, tensor<2xi32>, tensor<3xi32>, tensor<3xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %nine = arith.constant 9 : i32
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %slice = tensor.extract_slice %a[0] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %b = tensor.insert %nine into %a[%c0] : tensor<3xi32>
  %c = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %b) -> tensor<3xi32> {
    %x = tensor.extract %t[%i] : tensor<3xi32>
    %y = arith.addi %x, %nine : i32
    %next = tensor.insert %y into %t[%i] : tensor<3xi32>
    scf.yield %next : tensor<3xi32>
  }
  return %a, %slice, %b, %c : tensor<3xi32>, tensor<2xi32>, tensor<3xi32>, tensor<3xi32>
}
// VALUES: result 0: 3xi32 = [1, 2, 3]
// VALUES-NEXT: result 1: 2xi32 = [1, 2]
// VALUES-NEXT: result 2: 3xi32 = [9, 2, 3]
// VALUES-NEXT: result 3: 3xi32 = [18, 11, 12]

memref.global "private" constant @table : memref<2x3xi32> = dense<[[1, 2, 3], [4, 5, 6]]>

// Views write through to what they view.
func.func @views() -> (i32, i32, i32, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %global = memref.get_global @table : memref<2x3xi32>
  %m = memref.alloc() : memref<2x3xi32>
  memref.copy %global, %m : memref<2x3xi32> to memref<2x3xi32>
  %t = memref.transpose %m (i, j) -> (j, i) : memref<2x3xi32> to memref<3x2xi32, strided<[1, 3]>>
  %column = memref.subview %t[1, 0] [2, 2] [1, 1] : memref<3x2xi32, strided<[1, 3]>> to memref<2x2xi32, strided<[1, 3], offset: 1>>
  %ten = arith.constant 10 : i32
  memref.store %ten, %column[%c1, %c1] : memref<2x2xi32, strided<[1, 3], offset: 1>>
  %seen = memref.load %m[%c1, %c2] : memref<2x3xi32>
  %flat = memref.collapse_shape %m [[0, 1]] : memref<2x3xi32> into memref<6xi32>
  %c4 = arith.constant 4 : index
  %fifth = memref.load %flat[%c4] : memref<6xi32>
  %same = memref.load %global[%c1, %c2] : memref<2x3xi32>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %column
      : memref<2x2xi32, strided<[1, 3], offset: 1>> -> memref<i32>, index, index, index, index, index
  return %seen, %fifth, %same, %offset, %strides#0, %strides#1 : i32, i32, i32, index, index, index
}
// VIEWS: result 0: i32 = 10
// VIEWS-NEXT: result 1: i32 = 5
// VIEWS-NEXT: result 2: i32 = 6
// VIEWS-NEXT: result 3: index = 1
// VIEWS-NEXT: result 4: index = 1
// VIEWS-NEXT: result 5: index = 3

func.func @between(%out: memref<3xi32>) -> tensor<3xi32> {
  %c0 = arith.constant 0 : index
  %nine = arith.constant 9 : i32
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %m = bufferization.to_buffer %a : tensor<3xi32> to memref<3xi32>
  memref.store %nine, %m[%c0] : memref<3xi32>
  %b = bufferization.to_tensor %m : memref<3xi32> to tensor<3xi32>
  memref.store %nine, %m[%c0] : memref<3xi32>
  bufferization.materialize_in_destination %a in restrict writable %out : (tensor<3xi32>, memref<3xi32>) -> ()
  return %b : tensor<3xi32>
}
// BETWEEN: result 0: 3xi32 = [9, 2, 3]
// BETWEEN-NEXT: argument 0: 3xi32 = [1, 2, 3]
