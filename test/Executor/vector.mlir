// RUN: fa-run %s --entry=rearrange --target=reference | FileCheck %s --check-prefix=MOVE
// RUN: fa-run %s --entry=reduce --target=reference | FileCheck %s --check-prefix=REDUCE
// RUN: fa-run %s --entry=memory --target=reference | FileCheck %s --check-prefix=MEMORY
// RUN: fa-run %s --entry=bits --target=reference | FileCheck %s --check-prefix=BITS

func.func private @store(%v: vector<6xi32>, %m: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  vector.store %v, %m[%c0] : memref<6xi32>, vector<6xi32>
  return
}

func.func @rearrange(%t: memref<6xi32>, %s: memref<6xi32>, %e: memref<6xi32>, %h: memref<6xi32>, %n: memref<6xi32>) {
  %a = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : vector<2x3xi32>
  %transposed = vector.transpose %a, [1, 0] : vector<2x3xi32> to vector<3x2xi32>
  %flat = vector.shape_cast %transposed : vector<3x2xi32> to vector<6xi32>
  call @store(%flat, %t) : (vector<6xi32>, memref<6xi32>) -> ()

  // Row 1 of the transpose, broadcast and put over rows of zeros.
  %row = vector.extract %transposed[1] : vector<2xi32> from vector<3x2xi32>
  %zeros = arith.constant dense<0> : vector<3x2xi32>
  %inserted = vector.insert %row, %zeros[2] : vector<2xi32> into vector<3x2xi32>
  %insertedFlat = vector.shape_cast %inserted : vector<3x2xi32> to vector<6xi32>
  call @store(%insertedFlat, %s) : (vector<6xi32>, memref<6xi32>) -> ()

  %part = vector.extract_strided_slice %a {offsets = [0, 1], sizes = [2, 2], strides = [1, 1]}
      : vector<2x3xi32> to vector<2x2xi32>
  %patched = vector.insert_strided_slice %part, %zeros {offsets = [1, 0], strides = [1, 1]}
      : vector<2x2xi32> into vector<3x2xi32>
  %patchedFlat = vector.shape_cast %patched : vector<3x2xi32> to vector<6xi32>
  call @store(%patchedFlat, %e) : (vector<6xi32>, memref<6xi32>) -> ()

  %x = vector.extract %a[0] : vector<3xi32> from vector<2x3xi32>
  %y = vector.extract %a[1] : vector<3xi32> from vector<2x3xi32>
  %shuffled = vector.shuffle %x, %y [5, 0, 4, 1, 3, 2] : vector<3xi32>, vector<3xi32>
  call @store(%shuffled, %h) : (vector<6xi32>, memref<6xi32>) -> ()
  %interleaved = vector.interleave %x, %y : vector<3xi32> -> vector<6xi32>
  call @store(%interleaved, %n) : (vector<6xi32>, memref<6xi32>) -> ()
  return
}
// MOVE: argument 0: 6xi32 = [1, 4, 2, 5, 3, 6]
// MOVE-NEXT: argument 1: 6xi32 = [0, 0, 0, 0, 2, 5]
// MOVE-NEXT: argument 2: 6xi32 = [0, 0, 2, 3, 5, 6]
// MOVE-NEXT: argument 3: 6xi32 = [6, 1, 5, 2, 4, 3]
// MOVE-NEXT: argument 4: 6xi32 = [1, 4, 2, 5, 3, 6]

func.func @reduce(%m: memref<4xf32>, %p: memref<4xf32>, %f: memref<4xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
  %flat = vector.shape_cast %a : vector<2x2xf32> to vector<4xf32>
  %ten = arith.constant 10.0 : f32
  %sum = vector.reduction <add>, %flat, %ten : vector<4xf32> into f32
  %zero = arith.constant dense<0.0> : vector<2xf32>
  %columns = vector.multi_reduction <maximumf>, %a, %zero [0] : vector<2x2xf32> to vector<2xf32>
  %max = vector.extract %columns[1] : f32 from vector<2xf32>

  // a times a, plus a.
  %product = vector.contract {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %a, %a, %a : vector<2x2xf32>, vector<2x2xf32> into vector<2x2xf32>
  %productFlat = vector.shape_cast %product : vector<2x2xf32> to vector<4xf32>
  vector.store %productFlat, %m[%c0] : memref<4xf32>, vector<4xf32>
  %outer = vector.outerproduct %columns, %columns, %a {kind = #vector.kind<add>} : vector<2xf32>, vector<2xf32>
  %outerFlat = vector.shape_cast %outer : vector<2x2xf32> to vector<4xf32>
  vector.store %outerFlat, %p[%c0] : memref<4xf32>, vector<4xf32>
  %fma = vector.fma %flat, %flat, %productFlat : vector<4xf32>
  vector.store %fma, %f[%c0] : memref<4xf32>, vector<4xf32>
  return %sum, %max : f32, f32
}
// REDUCE: result 0: f32 = 20
// REDUCE-NEXT: result 1: f32 = 4
// REDUCE-NEXT: argument 0: 4xf32 = [8, 12, 18, 26]
// REDUCE-NEXT: argument 1: 4xf32 = [10, 14, 15, 20]
// REDUCE-NEXT: argument 2: 4xf32 = [9, 16, 27, 42]

// Masked and out-of-bounds elements take the padding or are not written.
func.func @memory(%a: memref<3x4xi32>, %b: memref<8xi32>, %c: memref<4xi32>, %d: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant -1 : i32
  %table = arith.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  bufferization.materialize_in_destination %table in restrict writable %a : (tensor<3x4xi32>, memref<3x4xi32>) -> ()
  // Transposed read over the edge: rows are columns 3 and 4 of the memref.
  %read = vector.transfer_read %a[%c1, %c3], %pad {permutation_map = affine_map<(i, j) -> (j, i)>}
      : memref<3x4xi32>, vector<2x4xi32>
  %flat = vector.shape_cast %read : vector<2x4xi32> to vector<8xi32>
  vector.store %flat, %b[%c0] : memref<8xi32>, vector<8xi32>
  %mask = vector.create_mask %c2 : vector<4xi1>
  %fallback = arith.constant dense<-2> : vector<4xi32>
  %loaded = vector.maskedload %a[%c2, %c0], %mask, %fallback
      : memref<3x4xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
  vector.store %loaded, %c[%c0] : memref<4xi32>, vector<4xi32>
  %indices = arith.constant dense<[3, 0, 5, 1]> : vector<4xi32>
  %all = vector.constant_mask [4] : vector<4xi1>
  %gathered = vector.gather %b[%c0] [%indices], %all, %fallback
      : memref<8xi32>, vector<4xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
  vector.transfer_write %gathered, %d[%c0] {in_bounds = [true]} : vector<4xi32>, memref<4xi32>
  return
}
// MEMORY: argument 1: 8xi32 = [7, 11, -1, -1, -1, -1, -1, -1]
// MEMORY-NEXT: argument 2: 4xi32 = [8, 9, -2, -2]
// MEMORY-NEXT: argument 3: 4xi32 = [-1, 7, -1, 11]

func.func @bits(%a: memref<2xi32>, %b: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<[1.0, -2.0]> : vector<2xf32>
  %words = vector.bitcast %x : vector<2xf32> to vector<2xi32>
  vector.store %words, %a[%c0] : memref<2xi32>, vector<2xi32>
  %y = arith.constant dense<67305985> : vector<1xi32>
  %bytes = vector.bitcast %y : vector<1xi32> to vector<4xi8>
  vector.store %bytes, %b[%c0] : memref<4xi8>, vector<4xi8>
  return
}
// BITS: argument 0: 2xi32 = [1065353216, -1073741824]
// BITS-NEXT: argument 1: 4xi8 = [1, 2, 3, 4]
