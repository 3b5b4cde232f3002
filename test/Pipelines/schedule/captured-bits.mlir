// A mask that is a table of i1: a byte of 0 or 1 an element, as torch.bool has.

// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --target=cpu --verify --seed=1 | FileCheck %s
// CHECK: ok
// CHECK: verified all rows

// RUN: env FA_PTXAS=none fa-compile %s -chip=sm_80 -o %t
// RUN: FileCheck %s --check-prefix=MANIFEST < %t/captured-bits.json
// RUN: FileCheck %s --check-prefix=PTX < %t/captured-bits.ptx
// MANIFEST: "dtype": "i1",
// MANIFEST-NEXT: "name": "visible",
// PTX: ld.global{{.*}}.{{[bu]}}8

!t = tensor<2x70x2x64xf16>

func.func @bits(%q: !t, %k: !t, %v: !t, %visible: tensor<2x70x70xi1>) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      mask(%b, %h, %i, %j) captures(%table = %visible : tensor<2x70x70xi1>) {
        %y = tensor.extract %table[%b, %i, %j] : tensor<2x70x70xi1>
        fa.yield %y : i1
      }
  return %r : !t
}
