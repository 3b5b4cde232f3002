// Stores of a group leave through two channels that share memory, in any order: each waits until those before it have been
// read. Nothing orders stores of two groups.
// RUN: fa-run %s --entry=kernel --target=interpret --as-written --grid=1 --seed=1 | FileCheck %s
// RUN: fa-opt %s -fagpu-check -o /dev/null
// RUN: %mutate %s change 'via(%results : !r) bank(%g)' to 'via(%results : !r) bank(%other)' > %t.mlir
// RUN: not fa-run %t.mlir --entry=kernel --target=interpret --as-written --grid=1 --seed=1 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not fa-opt %t.mlir -fagpu-check 2>&1 | FileCheck %s --check-prefix=CHECKED
// What threads write waits for no bulk store.
// RUN: %mutate %s change 'tma_store banks(2) over' to 'threads banks(2) over' > %t.threads.mlir
// RUN: not fa-run %t.threads.mlir --entry=kernel --target=interpret --as-written --grid=1 --seed=1 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not fa-opt %t.threads.mlir -fagpu-check 2>&1 | FileCheck %s --check-prefix=CHECKED
// THREADS: error: 'fagpu.store' op uses memory that it shares with the channel of line {{[0-9]+}}, through which group {{[01]}} of @use stores: nothing orders the two
// CHECK: argument 0: 2x4096xf32
// MIXED: error: 'fagpu.store' op uses memory that it shares with the channel of line {{[0-9]+}}, through which group {{[01]}} of @use stores: nothing orders the two
// CHECKED: error: 'fagpu.store' op uses memory that its channel shares with another one (over), which may still be in use

!f = !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
!r = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!x = tensor<64x64xf32, #fagpu.acc<4>>
!y = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @kernel(%m: memref<2x4096xf32>, %o: memref<128x128xbf16>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %sums = fagpu.channel tma_store banks(2) : !f
  %results = fagpu.channel tma_store banks(2) over(%sums : !f) : !r
  fagpu.role @use(%g) groups(2) {
    %x = arith.constant dense<1.0> : !x
    %y = arith.constant dense<2.0> : !y
    %other = arith.subi %c1, %g : i32
    %row = arith.muli %g, %c64 : i32
    fagpu.for %i = %c0 step 1 segments(%all: to %c2) {
      fagpu.store %y, %o[%row, %c0] via(%results : !r) bank(%g) : !y into memref<128x128xbf16>
      fagpu.store %x, %m[%g, %c0] sizes [1, 4096] fragments via(%sums : !f) bank(%g) : !x into memref<2x4096xf32>
      fagpu.yield
    }
  }
  return
}
