// Every error is one diagnostic at the operation, and a failing exit.
// RUN: not fa-run %s --entry=uncovered --target=reference 2>&1 | FileCheck %s --check-prefix=UNCOVERED --implicit-check-not=error:
// RUN: not fa-run %s --entry=wide --target=reference 2>&1 | FileCheck %s --check-prefix=WIDE --implicit-check-not=error:
// RUN: not fa-run %s --entry=wide_constant --target=reference 2>&1 | FileCheck %s --check-prefix=CONSTANT --implicit-check-not=error:
// RUN: not fa-run %s --entry=load --target=reference --input=index=4 2>&1 | FileCheck %s --check-prefix=LOAD --implicit-check-not=error:
// RUN: not fa-run %s --entry=load --target=reference --input=index=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE --implicit-check-not=error:
// RUN: not fa-run %s --entry=slice --target=reference --input=index=3 2>&1 | FileCheck %s --check-prefix=SLICE --implicit-check-not=error:
// RUN: not fa-run %s --entry=generic --target=reference --input=3xf32 --input=2xf32 2>&1 | FileCheck %s --check-prefix=GENERIC --implicit-check-not=error:
// RUN: not fa-run %s --entry=division --target=reference --input=i32=0 2>&1 | FileCheck %s --check-prefix=DIVISION --implicit-check-not=error:
// RUN: not fa-run %s --entry=assertion --target=reference --input=index=3 2>&1 | FileCheck %s --check-prefix=ASSERTION --implicit-check-not=error:
// RUN: fa-run %s --entry=assertion --target=reference --input=index=2
// RUN: not fa-run %s --entry=shape --target=reference --input=3xf32 2>&1 | FileCheck %s --check-prefix=SHAPE --implicit-check-not=error:
// RUN: not fa-run %s --entry=freed --target=reference 2>&1 | FileCheck %s --check-prefix=FREED --implicit-check-not=error:
// RUN: not fa-run %s --entry=size --target=reference --input=index=-2 2>&1 | FileCheck %s --check-prefix=SIZE --implicit-check-not=error:
// RUN: not fa-run %s --entry=size --target=reference --input=index=99999999999 2>&1 | FileCheck %s --check-prefix=HUGE --implicit-check-not=error:
// RUN: not fa-run %s --entry=step --target=reference --input=index=0 2>&1 | FileCheck %s --check-prefix=STEP --implicit-check-not=error:
// RUN: not fa-run %s --entry=recursion --target=reference 2>&1 | FileCheck %s --check-prefix=RECURSION --implicit-check-not=error:
// RUN: not fa-run %s --entry=heads --target=reference --input=1x2x3x4xf32 --input=1x2x2x4xf32 --input=1x2x2x4xf32 2>&1 | FileCheck %s --check-prefix=HEADS --implicit-check-not=error:
// RUN: not fa-run %s --entry=heads --target=reference --input=1x2x2x4xf32 --input=1x2x2x4xf32 --input=1x3x2x4xf32 2>&1 | FileCheck %s --check-prefix=VALUES --implicit-check-not=error:
// RUN: not fa-run %s --entry=external --target=reference 2>&1 | FileCheck %s --check-prefix=EXTERNAL --implicit-check-not=error:

// UNCOVERED: errors.mlir:[[@LINE+2]]:{{.*}} error: the evaluator does not cover 'vector.vscale'
func.func @uncovered() -> index {
  %n = vector.vscale
  return %n : index
}

// Types of more than 64 bits, in regions and outside.
!q = tensor<1x4x1x8xf32>
func.func @wide(%t: !q) -> !q {
  %init = tensor.empty() : !q
  %o = fa.attention ins(%t, %t, %t : !q, !q, !q) outs(%init : !q) mask(%b, %h, %i, %j) {
    // WIDE: errors.mlir:[[@LINE+1]]:{{.*}} error: the evaluator does not cover the type 'i128': expected an index, an integer or a float of at most 64 bits
    %query = arith.index_cast %i : index to i128
    %key = arith.index_cast %j : index to i128
    %visible = arith.cmpi sge, %query, %key : i128
    fa.yield %visible : i1
  }
  return %o : !q
}

func.func @wide_constant() -> i64 {
  // CONSTANT: errors.mlir:[[@LINE+1]]:{{.*}} error: the evaluator does not cover the type 'i65'
  %c = arith.constant 5 : i65
  %n = arith.trunci %c : i65 to i64
  return %n : i64
}

func.func @load(%i: index) -> f32 {
  %m = memref.alloc() : memref<4xf32>
  // LOAD: errors.mlir:[[@LINE+2]]:{{.*}} error: 'memref.load' index 4 is out of bounds for dimension 0 of size 4
  // NEGATIVE: errors.mlir:[[@LINE+1]]:{{.*}} error: 'memref.load' index -1 is out of bounds for dimension 0 of size 4
  %x = memref.load %m[%i] : memref<4xf32>
  return %x : f32
}

func.func @slice(%i: index) -> tensor<2xf32> {
  %t = tensor.empty() : tensor<4xf32>
  // SLICE: errors.mlir:[[@LINE+1]]:{{.*}} error: 'tensor.extract_slice' index 4 is out of bounds for dimension 0 of size 4
  %s = tensor.extract_slice %t[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

func.func @generic(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  // GENERIC: errors.mlir:[[@LINE+1]]:{{.*}} error: 'linalg.copy' index 2 is out of bounds for dimension 0 of size 2
  %c = linalg.copy ins(%a : tensor<?xf32>) outs(%b : tensor<?xf32>) -> tensor<?xf32>
  return %c : tensor<?xf32>
}

func.func @division(%n: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  // DIVISION: errors.mlir:[[@LINE+1]]:{{.*}} error: integer division by zero
  %q = arith.divsi %c1, %n : i32
  return %q : i32
}

func.func @shape(%a: tensor<?xf32>) -> tensor<4xf32> {
  // SHAPE: errors.mlir:[[@LINE+1]]:{{.*}} error: 'tensor.cast' dimension 0 has size 3 at run time, but 'tensor<4xf32>' has 4
  %b = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  return %b : tensor<4xf32>
}

func.func @freed() -> f32 {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  // FREED: errors.mlir:[[@LINE+1]]:{{.*}} error: 'memref.load' uses memory after its deallocation
  %x = memref.load %m[%c0] : memref<4xf32>
  return %x : f32
}

func.func @size(%n: index) -> index {
  %c0 = arith.constant 0 : index
  // SIZE: errors.mlir:[[@LINE+2]]:{{.*}} error: 'tensor.empty' dimension 0 has negative size -2
  // HUGE: errors.mlir:[[@LINE+1]]:{{.*}} error: 'tensor.empty' needs more elements than the limit of 1073741824
  %t = tensor.empty(%n) : tensor<?xf32>
  %d = tensor.dim %t, %c0 : tensor<?xf32>
  return %d : index
}

func.func @step(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // STEP: errors.mlir:[[@LINE+1]]:{{.*}} error: loop step 0 is not positive
  %r = scf.for %i = %c0 to %c4 step %n iter_args(%a = %c0) -> index {
    scf.yield %i : index
  }
  return %r : index
}

func.func @recursion() -> i32 {
  // RECURSION: errors.mlir:[[@LINE+1]]:{{.*}} error: calls nest deeper than 128
  %r = call @recursion() : () -> i32
  return %r : i32
}

func.func @heads(%q: tensor<1x?x?x4xf32>, %k: tensor<1x?x?x4xf32>, %v: tensor<1x?x?x4xf32>) -> tensor<1x?x?x4xf32> {
  // HEADS: errors.mlir:[[@LINE+2]]:{{.*}} error: 'fa.attention' has 3 query heads, no multiple of the 2 key heads
  // VALUES: errors.mlir:[[@LINE+1]]:{{.*}} error: 'fa.attention' number of values is 3 at run time where 2 was expected
  %o = fa.attention ins(%q, %k, %v : tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>)
      outs(%q : tensor<1x?x?x4xf32>)
  return %o : tensor<1x?x?x4xf32>
}

// EXTERNAL: errors.mlir:[[@LINE+1]]:{{.*}} error: the evaluator needs the body of 'elsewhere'
func.func private @elsewhere()
func.func @external() {
  call @elsewhere() : () -> ()
  return
}

func.func @assertion(%n: index) {
  %c2 = arith.constant 2 : index
  %even = arith.cmpi eq, %n, %c2 : index
  // ASSERTION: :[[@LINE+1]]:3: error: there are not two
  cf.assert %even, "there are not two"
  return
}
