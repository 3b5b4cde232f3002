// Numbers that become bf16 where no instruction converts them: from f32 and f64,
// each rounded once, the even one of two that are as near.

// RUN: fa-run %s --entry=single --target=cpu --input=1xf32=1.00390625 | FileCheck %s --check-prefix=EVEN
// RUN: fa-run %s --entry=single --target=cpu --input=1xf32=1.01171875 | FileCheck %s --check-prefix=UP
// RUN: fa-run %s --entry=double --target=cpu --input=1xf64=1.00390625 | FileCheck %s --check-prefix=EVEN
// RUN: fa-run %s --entry=double --target=cpu --input=1xf64=1.00390625000001 | FileCheck %s --check-prefix=ABOVE
// RUN: fa-run %s --entry=double --target=cpu --input=1xf64=1.01171874999999 | FileCheck %s --check-prefix=ABOVE
// RUN: fa-run %s --entry=double --target=cpu --input=1xf64=-1e300 | FileCheck %s --check-prefix=INFINITE
// RUN: fa-run %s --entry=integer --target=cpu --verify --input=1xi32=3

// EVEN: = {{\[+}}1, 1, 1, 1, 1]
// UP: = {{\[+}}1.015625, 1.015625, 1.015625, 1.015625, 1.015625]
// ABOVE: = {{\[+}}1.007812, 1.007812, 1.007812, 1.007812, 1.007812]
// INFINITE: = {{\[+}}-inf, -inf, -inf, -inf, -inf]

func.func @single(%x: tensor<1xf32>) -> tensor<5xbf16> {
  %c0 = arith.constant 0 : index
  %number = tensor.extract %x[%c0] : tensor<1xf32>
  %narrow = arith.truncf %number : f32 to bf16
  %e = tensor.empty() : tensor<5xbf16>
  %r = linalg.fill ins(%narrow : bf16) outs(%e : tensor<5xbf16>) -> tensor<5xbf16>
  return %r : tensor<5xbf16>
}

func.func @double(%x: tensor<1xf64>) -> tensor<5xbf16> {
  %c0 = arith.constant 0 : index
  %number = tensor.extract %x[%c0] : tensor<1xf64>
  %narrow = arith.truncf %number : f64 to bf16
  %e = tensor.empty() : tensor<5xbf16>
  %r = linalg.fill ins(%narrow : bf16) outs(%e : tensor<5xbf16>) -> tensor<5xbf16>
  return %r : tensor<5xbf16>
}

func.func @integer(%x: tensor<1xi32>) -> tensor<5xbf16> {
  %c0 = arith.constant 0 : index
  %number = tensor.extract %x[%c0] : tensor<1xi32>
  %narrow = arith.sitofp %number : i32 to bf16
  %e = tensor.empty() : tensor<5xbf16>
  %r = linalg.fill ins(%narrow : bf16) outs(%e : tensor<5xbf16>) -> tensor<5xbf16>
  return %r : tensor<5xbf16>
}
