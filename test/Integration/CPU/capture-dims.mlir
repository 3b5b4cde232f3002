// Masks that ask for a dimension of what they capture.

// RUN: fa-run %s --target=reference --entry=attention --verify --input=1x30x2x16xf16 --input=1x41x2x16xf16 --input=1x41x2x16xf16 --input=3x11xi8 | FileCheck %s
// RUN: fa-run %s --target=cpu --entry=attention --verify --input=1x30x2x16xf16 --input=1x41x2x16xf16 --input=1x41x2x16xf16 --input=3x11xi8 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_80 --entry=attention --verify --input=1x30x2x16xf16 --input=1x41x2x16xf16 --input=1x41x2x16xf16 --input=3x11xi8 | FileCheck %s
// CHECK: verified all rows

// RUN: not fa-run %s --entry=beyond --target=reference --input=1x8x1x16xf16 --input=3x4xi8 --input=index=2 2>&1 | FileCheck %s --check-prefix=BEYOND --implicit-check-not=error:
// BEYOND: error: 'tensor.dim' dimension 2 of a value of rank 2

func.func @attention(%q: tensor<1x?x2x16xf16>, %k: tensor<1x?x2x16xf16>, %v: tensor<1x?x2x16xf16>,
                     %table: tensor<3x?xi8>) -> tensor<1x?x2x16xf16> {
  %r = fa.attention ins(%q, %k, %v : tensor<1x?x2x16xf16>, tensor<1x?x2x16xf16>, tensor<1x?x2x16xf16>)
      outs(%q : tensor<1x?x2x16xf16>)
      mask(%b, %h, %i, %j) captures(%t = %table : tensor<3x?xi8>) {
        %one = arith.constant 1 : index
        %size = tensor.dim %t, %one : tensor<3x?xi8>
        %visible = arith.cmpi slt, %j, %size : index
        fa.yield %visible : i1
      }
  return %r : tensor<1x?x2x16xf16>
}

func.func @beyond(%q: tensor<1x8x1x16xf16>, %table: tensor<3x4xi8>, %dim: index) -> tensor<1x8x1x16xf16> {
  %r = fa.attention ins(%q, %q, %q : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>)
      outs(%q : tensor<1x8x1x16xf16>)
      mask(%b, %h, %i, %j) captures(%t = %table : tensor<3x4xi8>, %d = %dim : index) {
        %size = tensor.dim %t, %d : tensor<3x4xi8>
        %visible = arith.cmpi slt, %j, %size : index
        fa.yield %visible : i1
      }
  return %r : tensor<1x8x1x16xf16>
}
