// RUN: fa-run %s --entry=structured --target=reference | FileCheck %s --check-prefix=STRUCTURED
// RUN: fa-run %s --entry=bodies --target=reference | FileCheck %s --check-prefix=BODIES
// RUN: fa-run %s --entry=softmax --target=reference --against=%s --seed=3 | FileCheck %s --check-prefix=SOFTMAX

func.func @structured(%m: memref<2x2xi32>) -> (tensor<2x2xi32>, tensor<3x2xi32>, tensor<2xi32>) {
  %a = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<2x2xi32>
  %zeros = linalg.fill ins(%zero : i32) outs(%empty : tensor<2x2xi32>) -> tensor<2x2xi32>
  %init = tensor.empty() : tensor<3x2xi32>
  %t = linalg.transpose ins(%a : tensor<2x3xi32>) outs(%init : tensor<3x2xi32>) permutation = [1, 0]
  %product = linalg.matmul ins(%a, %t : tensor<2x3xi32>, tensor<3x2xi32>)
      outs(%zeros : tensor<2x2xi32>) -> tensor<2x2xi32>
  %sums = arith.constant dense<[10, 20]> : tensor<2xi32>
  %rows = linalg.reduce ins(%a : tensor<2x3xi32>) outs(%sums : tensor<2xi32>) dimensions = [1]
    (%x: i32, %sum: i32) {
      %next = arith.addi %x, %sum : i32
      linalg.yield %next : i32
    }
  // On memory, in place.
  %seven = arith.constant 7 : i32
  linalg.fill ins(%seven : i32) outs(%m : memref<2x2xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%m : memref<2x2xi32>) {
    ^bb0(%x: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ij = affine.apply affine_map<(i, j) -> (10 * i + j)>(%i, %j)
      %n = arith.index_cast %ij : index to i32
      %y = arith.addi %x, %n : i32
      linalg.yield %y : i32
  }
  return %product, %t, %rows : tensor<2x2xi32>, tensor<3x2xi32>, tensor<2xi32>
}
// STRUCTURED: result 0: 2x2xi32 = [14, 32, 32, 77]
// STRUCTURED-NEXT: result 1: 3x2xi32 = [1, 4, 2, 5, 3, 6]
// STRUCTURED-NEXT: result 2: 2xi32 = [16, 35]
// STRUCTURED-NEXT: argument 0: 2x2xi32 = [7, 8, 17, 18]

// Bodies read values from outside, and may hold control flow.
func.func @bodies() -> (tensor<4xi32>, tensor<4xi32>) {
  %table = arith.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
  %c3 = arith.constant 3 : index
  %init = tensor.empty() : tensor<4xi32>
  %reversed = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%init : tensor<4xi32>) {
    ^bb0(%old: i32):
      %i = linalg.index 0 : index
      %j = arith.subi %c3, %i : index
      %x = tensor.extract %table[%j] : tensor<4xi32>
      linalg.yield %x : i32
  } -> tensor<4xi32>
  %chosen = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%reversed : tensor<4xi32>) outs(%init : tensor<4xi32>) {
    ^bb0(%x: i32, %old: i32):
      %i = linalg.index 0 : index
      %small = arith.cmpi slt, %i, %c3 : index
      %y = scf.if %small -> i32 {
        %square = arith.muli %x, %x : i32
        scf.yield %square : i32
      } else {
        scf.yield %x : i32
      }
      linalg.yield %y : i32
  } -> tensor<4xi32>
  return %reversed, %chosen : tensor<4xi32>, tensor<4xi32>
}
// BODIES: result 0: 4xi32 = [8, 7, 6, 5]
// BODIES-NEXT: result 1: 4xi32 = [64, 49, 36, 5]

// More lanes than are handled at once, and a reduction that is not innermost.
func.func @softmax(%x: tensor<3x700xf32>) -> tensor<700xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<700xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<700xf32>) -> tensor<700xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                         iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<3x700xf32>) outs(%zeros : tensor<700xf32>) {
    ^bb0(%a: f32, %s: f32):
      %e = math.exp %a : f32
      %t = arith.addf %s, %e : f32
      linalg.yield %t : f32
  } -> tensor<700xf32>
  %ones = arith.constant dense<1.0> : tensor<700xf32>
  %q = arith.divf %sum, %sum : tensor<700xf32>
  %r = arith.subf %q, %ones : tensor<700xf32>
  return %r : tensor<700xf32>
}
// SOFTMAX: result 0: 700xf32 relative error 0.00e+00, largest 0.00e+00
// SOFTMAX: verified all rows
