// RUN: fa-opt %s --fa-unpack-vectors --split-input-file | FileCheck %s
// RUN: fa-opt %s --fa-lower-to-llvm --split-input-file | FileCheck %s --check-prefix=LLVM

// A byte for each element: no vector of LLVM that packs its bits is in memory.

// LLVM-NOT: llvm.load {{.*}} vector<8xi1>
// LLVM-NOT: llvm.store {{.*}}vector<8xi4>
// LLVM-NOT: unrealized_conversion_cast

// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %[[M:.+]]: memref<?xi1, strided<[1], offset: ?>>, %[[N:.+]]: memref<?xi4>, %[[I:.+]]: index)
func.func @copy(%m: memref<?xi1, strided<[1], offset: ?>>, %n: memref<?xi4>, %i: index) {
  // CHECK: %[[BYTES:.+]] = builtin.unrealized_conversion_cast %[[M]] : memref<?xi1, strided<[1], offset: ?>> to memref<?xi8, strided<[1], offset: ?>>
  // CHECK: %[[WIDE:.+]] = vector.load %[[BYTES]][%[[I]]] : memref<?xi8, strided<[1], offset: ?>>, vector<8xi8>
  // CHECK: %[[V:.+]] = arith.trunci %[[WIDE]] : vector<8xi8> to vector<8xi1>
  // CHECK: %[[W:.+]] = arith.extsi %[[V]]
  %v = vector.load %m[%i] : memref<?xi1, strided<[1], offset: ?>>, vector<8xi1>
  %w = arith.extsi %v : vector<8xi1> to vector<8xi4>
  // CHECK: %[[TO:.+]] = builtin.unrealized_conversion_cast %[[N]] : memref<?xi4> to memref<?xi8>
  // CHECK: %[[X:.+]] = arith.extui %[[W]] : vector<8xi4> to vector<8xi8>
  // CHECK: vector.store %[[X]], %[[TO]][%[[I]]] : memref<?xi8>, vector<8xi8>
  vector.store %w, %n[%i] : memref<?xi4>, vector<8xi4>
  return
}

// -----

// 12 bits lie in 2 bytes, 24 in 4.

// CHECK-LABEL: func.func @wider(
func.func @wider(%m: memref<4xi12>, %n: memref<4xi24>) {
  %c0 = arith.constant 0 : index
  // CHECK: vector.load %{{.+}} : memref<4xi16>, vector<4xi16>
  // CHECK: arith.trunci %{{.+}} : vector<4xi16> to vector<4xi12>
  %v = vector.load %m[%c0] : memref<4xi12>, vector<4xi12>
  %w = arith.extsi %v : vector<4xi12> to vector<4xi24>
  // CHECK: vector.store %{{.+}} : memref<4xi32>, vector<4xi32>
  vector.store %w, %n[%c0] : memref<4xi24>, vector<4xi24>
  return
}

// -----

// What stands beside the memory has its width: padding, what a mask leaves out,
// what is stored. A mask has none, be it the same value.

// CHECK-LABEL: func.func @accesses(
// CHECK-SAME: %[[M:[a-z0-9]+]]: memref<8xi1>, %[[V:[a-z0-9]+]]: vector<4xi1>
func.func @accesses(%m: memref<8xi1>, %v: vector<4xi1>, %at: vector<4xindex>) -> vector<4xi1> {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  // CHECK: %[[NONE:.+]] = arith.extui %false : i1 to i8
  // CHECK: vector.transfer_read %{{.+}}[%c0], %[[NONE]] {{.*}}: memref<8xi8>, vector<4xi8>
  %a = vector.transfer_read %m[%c0], %false : memref<8xi1>, vector<4xi1>
  // CHECK: %[[PASS:.+]] = arith.extui %[[V]] : vector<4xi1> to vector<4xi8>
  // CHECK: vector.maskedload %{{.+}}[%c0], %[[V]], %[[PASS]] : memref<8xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  %b = vector.maskedload %m[%c0], %v, %v : memref<8xi1>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  // CHECK: vector.gather %{{.+}} : memref<8xi8>, vector<4xindex>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  %c = vector.gather %m[%c0][%at], %a, %b : memref<8xi1>, vector<4xindex>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  // CHECK: vector.expandload %{{.+}} : memref<8xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  %d = vector.expandload %m[%c0], %a, %c : memref<8xi1>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  // CHECK: vector.transfer_write %{{.+}}, %{{.+}}[%c0] {{.*}}: vector<4xi8>, memref<8xi8>
  vector.transfer_write %d, %m[%c0] : vector<4xi1>, memref<8xi1>
  // CHECK: vector.maskedstore %{{.+}}[%c0], %[[V]], %{{.+}} : memref<8xi8>, vector<4xi1>, vector<4xi8>
  vector.maskedstore %m[%c0], %v, %v : memref<8xi1>, vector<4xi1>, vector<4xi1>
  // CHECK: vector.scatter %{{.+}} : memref<8xi8>, vector<4xindex>, vector<4xi1>, vector<4xi8>
  vector.scatter %m[%c0][%at], %v, %a : memref<8xi1>, vector<4xindex>, vector<4xi1>, vector<4xi1>
  // CHECK: vector.compressstore %{{.+}} : memref<8xi8>, vector<4xi1>, vector<4xi8>
  vector.compressstore %m[%c0], %v, %a : memref<8xi1>, vector<4xi1>, vector<4xi1>
  return %d : vector<4xi1>
}

// -----

// Whole bytes stay, and memory whose elements are vectors.

// CHECK-LABEL: func.func @stays(
// CHECK-NOT: unrealized_conversion_cast
// CHECK-NOT: arith.
// CHECK: return
func.func @stays(%m: memref<8xi8>, %f: memref<8xbf16>, %v: memref<2xvector<16xi1>>, %i: index)
    -> (vector<4xi8>, vector<4xbf16>, vector<16xi1>) {
  %a = vector.load %m[%i] : memref<8xi8>, vector<4xi8>
  %b = vector.load %f[%i] : memref<8xbf16>, vector<4xbf16>
  %d = vector.load %v[%i] : memref<2xvector<16xi1>>, vector<16xi1>
  return %a, %b, %d : vector<4xi8>, vector<4xbf16>, vector<16xi1>
}
