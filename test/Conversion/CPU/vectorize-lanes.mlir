// RUN: fa-opt %s --fa-vectorize-lanes="lanes=4 register-rows=2 register-vectors=2" --canonicalize --cse | FileCheck %s

// Two rows by two vectors in registers, from the fill to the last product; the
// tail of the dynamic rows takes one row at a time.

// CHECK-LABEL: func @contraction(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x5xf32>, %[[B:[a-z0-9]+]]: memref<5x8xf32>, %[[C:[a-z0-9]+]]: memref<?x8xf32>
func.func @contraction(%a: memref<?x5xf32>, %b: memref<5x8xf32>, %c: memref<?x8xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: linalg
  // CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK: scf.for
  // CHECK: %[[TILE:.+]]:4 = scf.for %{{.+}} iter_args(%{{.+}} = %[[ZERO]], %{{.+}} = %[[ZERO]], %{{.+}} = %[[ZERO]], %{{.+}} = %[[ZERO]])
  // CHECK-DAG: memref.load %[[A]]
  // CHECK-DAG: vector.load %[[B]]
  // CHECK-COUNT-4: math.fma {{.+}} : vector<4xf32>
  // CHECK-NOT: math.fma
  // CHECK: scf.yield
  // CHECK-COUNT-4: vector.store {{.+}}, %[[C]]
  // CHECK: scf.for
  // CHECK: %{{.+}}:2 = scf.for
  // CHECK-COUNT-2: math.fma
  // CHECK-NOT: math.fma
  // CHECK: return
  linalg.fill ins(%zero : f32) outs(%c : memref<?x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                   affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x5xf32>, memref<5x8xf32>) outs(%c : memref<?x8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %r = math.fma %x, %y, %z : f32
      linalg.yield %r : f32
  }
  return
}

// A static loop is cut into tiles that differ by one row at most: 3 is 2 and 1,
// and seven rows by an attribute of three are 3, 2 and 2.

// CHECK-LABEL: func @balanced(
func.func @balanced(%a: memref<7x5xf32>, %b: memref<5x4xf32>, %c: memref<7x4xf32>) {
  // CHECK-COUNT-3: vector.load %{{.+}} : memref<7x4xf32>, vector<4xf32>
  // CHECK: %{{.+}}:3 = scf.for
  // CHECK: %{{.+}}:2 = scf.for
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                   affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<7x5xf32>, memref<5x4xf32>) outs(%c : memref<7x4xf32>)
      attrs = {fa.register_tile = #fa.cpu<lanes = 4, register_rows = 3, register_vectors = 1>} {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %r = math.fma %x, %y, %z : f32
      linalg.yield %r : f32
  }
  return
}

// What is the same in all lanes stays scalar; a load at an index that differs
// from lane to lane is done for each. The lane that is left over is a vector of
// one.

// CHECK-LABEL: func @indices(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<3x5xf32>, %[[TABLE:[a-z0-9]+]]: memref<9xf32>
func.func @indices(%out: memref<3x5xf32>, %table: memref<9xf32>) {
  // CHECK: %[[STEPS:.+]] = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
  // CHECK: scf.for %[[I:.+]] =
  // CHECK: %[[DOUBLE:.+]] = arith.muli %[[I]], %{{.+}} : index
  // CHECK: %[[LANES:.+]] = vector.broadcast %[[DOUBLE]] : index to vector<4xindex>
  // CHECK: arith.addi {{.+}} : vector<4xindex>
  // CHECK-COUNT-4: memref.load %[[TABLE]]
  // CHECK: vector.from_elements
  // CHECK: vector.store {{.+}} : memref<3x5xf32>, vector<4xf32>
  // CHECK: memref.load %[[TABLE]]
  // CHECK: vector.store {{.+}} : memref<3x5xf32>, vector<1xf32>
  %c2 = arith.constant 2 : index
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%out : memref<3x5xf32>) {
    ^bb0(%x: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %d = arith.muli %i, %c2 : index
      %n = arith.addi %d, %j : index
      %t = memref.load %table[%n] : memref<9xf32>
      linalg.yield %t : f32
  }
  return
}

// A copy between a matrix and its transpose goes through squares of registers:
// four loads along one dimension, eight shuffles, four stores along the other.

// CHECK-LABEL: func @transpose(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x8xf32>, %[[B:[a-z0-9]+]]: memref<8x?xf32>
func.func @transpose(%a: memref<?x8xf32>, %b: memref<8x?xf32>) {
  // CHECK: scf.for
  // CHECK-COUNT-4: vector.load %[[A]]
  // CHECK-COUNT-8: vector.shuffle
  // CHECK-NOT: vector.shuffle
  // CHECK-COUNT-4: vector.store {{.+}}, %[[B]]
  // CHECK: scf.for
  // CHECK: memref.load %[[A]]
  // CHECK: return
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<?x8xf32>) outs(%b : memref<8x?xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
  }
  return
}

// No loop runs along memory: scalar loops.

// CHECK-LABEL: func @strided(
// CHECK-NOT: vector
// CHECK: memref.store
func.func @strided(%a: memref<4xf32, strided<[2]>>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : memref<4xf32, strided<[2]>>) outs(%b : memref<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
  }
  return
}

// No vector of bf16 has 8n + 1 elements, which some processors have no code for.

// CHECK-LABEL: func @nine_of_bf16(
// CHECK: vector.store {{.+}} vector<8xbf16>
// CHECK: vector.store {{.+}} vector<1xbf16>
// CHECK: return
func.func @nine_of_bf16(%a: memref<9xbf16>, %b: memref<9xbf16>) {
  linalg.copy {fa.register_tile = #fa.cpu<lanes = 16>} ins(%a : memref<9xbf16>) outs(%b : memref<9xbf16>)
  return
}

// CHECK-LABEL: func @nine_of_f32(
// CHECK: vector.store {{.+}} vector<9xf32>
// CHECK: return
func.func @nine_of_f32(%a: memref<9xf32>, %b: memref<9xf32>) {
  linalg.copy {fa.register_tile = #fa.cpu<lanes = 16>} ins(%a : memref<9xf32>) outs(%b : memref<9xf32>)
  return
}

// Lanes that are known to be whole tiles have no rest, be their number the size
// of a view; whole vectors have no single elements.

// CHECK-LABEL: func @whole_tiles(
// CHECK: scf.for
// CHECK: vector.store {{.+}} : memref<?xf32>, vector<4xf32>
// CHECK: vector.store {{.+}} : memref<?xf32>, vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: return
func.func @whole_tiles(%memory: memref<64xf32>, %count: index, %x: f32) {
  %rows = affine.min affine_map<()[s0] -> (64, (s0 ceildiv 8) * 8)>()[%count]
  %view = memref.reinterpret_cast %memory to offset: [0], sizes: [%rows], strides: [1] : memref<64xf32> to memref<?xf32>
  linalg.fill ins(%x : f32) outs(%view : memref<?xf32>)
  return
}

// CHECK-LABEL: func @whole_vectors(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.store {{.+}} : memref<?xf32>, vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: return
func.func @whole_vectors(%memory: memref<64xf32>, %count: index, %x: f32) {
  %rows = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%count]
  %view = memref.reinterpret_cast %memory to offset: [0], sizes: [%rows], strides: [1] : memref<64xf32> to memref<?xf32>
  linalg.fill ins(%x : f32) outs(%view : memref<?xf32>)
  return
}

// CHECK-LABEL: func @parts_of_vectors(
// CHECK-COUNT-3: scf.for
// CHECK: vector<1xf32>
func.func @parts_of_vectors(%memory: memref<64xf32>, %count: index, %x: f32) {
  %rows = affine.min affine_map<()[s0] -> (64, s0 * 2)>()[%count]
  %view = memref.reinterpret_cast %memory to offset: [0], sizes: [%rows], strides: [1] : memref<64xf32> to memref<?xf32>
  linalg.fill ins(%x : f32) outs(%view : memref<?xf32>)
  return
}
