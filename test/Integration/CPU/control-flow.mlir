// Attention in loops and branches on tensors, with arithmetic on tensors beside
// it, compiled for the CPU.

// DEFINE: %{entry} = layers
// DEFINE: %{inputs} =
// DEFINE: %{run} = fa-run %s --entry=%{entry} --verify %{inputs}
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = nest
// REDEFINE: %{inputs} = --input=2x33x2x16xf32 --input=2x70x2x16xf32 --input=i1=1
// RUN: %{run} --target=cpu | FileCheck %s
// REDEFINE: %{inputs} = --input=2x33x2x16xf32 --input=2x70x2x16xf32 --input=i1=0
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = sizes
// REDEFINE: %{inputs} = --input=1x33x2x16xf32 --input=index=17 --input=i1=1
// RUN: %{run} --target=cpu | FileCheck %s
// REDEFINE: %{inputs} = --input=1x33x2x16xf32 --input=index=17 --input=i1=0
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = own
// REDEFINE: %{inputs} = --input=2x33x2x16xf32 --input=i1=1
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = shared
// REDEFINE: %{inputs} = --input=2x33x2x16xf32 --input=2x70x2x16xf32 --input=i1=1
// RUN: %{run} --target=cpu | FileCheck %s
// REDEFINE: %{inputs} = --input=2x33x2x16xf32 --input=2x70x2x16xf32 --input=i1=0
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = layered
// REDEFINE: %{inputs} = --input=1x33x2x16xf32 --input=1x70x2x16xf32 --input=i1=1 --input=index=3
// RUN: %{run} --target=cpu | FileCheck %s
// REDEFINE: %{inputs} = --input=1x33x2x16xf32 --input=1x70x2x16xf32 --input=i1=0 --input=index=0
// RUN: %{run} --target=cpu | FileCheck %s

// REDEFINE: %{entry} = swap
// REDEFINE: %{inputs} =
// RUN: %{run} --target=cpu | FileCheck %s

// CHECK: verified all rows

// What is no kernel cannot share memory with one.
// RUN: not fa-run %s --entry=layers --target=interpret 2>&1 | FileCheck %s --check-prefix=KERNEL --implicit-check-not=error:
// KERNEL: error: 'linalg.generic' op is no kernel, but shares memory with one of 'layers', expected it in a function of its own

!q = tensor<2x33x2x16xf32>
!k = tensor<2x70x2x16xf32>
func.func @layers(%query: !q, %key: !k, %value: !k) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %init = tensor.empty() : !q
  %o = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %query) -> (!q) {
    %n = fa.attention ins(%x, %key, %value : !q, !k, !k) outs(%init : !q)
    %r = arith.addf %n, %x : !q
    scf.yield %r : !q
  }
  return %o : !q
}

func.func @nest(%query: !q, %key: !k, %c: i1) -> (!q, !q) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %init = tensor.empty() : !q
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %query, %p = %query) -> (!q, !q) {
    %bit = arith.remsi %i, %c2 : index
    %even = arith.cmpi eq, %bit, %c0 : index
    %z = scf.if %even -> (!q) {
      %w = scf.if %c -> (!q) {
        %n = fa.attention ins(%o, %key, %key : !q, !k, !k) outs(%init : !q)
        scf.yield %n : !q
      } else {
        scf.yield %p : !q
      }
      %x = arith.addf %w, %o : !q
      scf.yield %x : !q
    } else {
      scf.yield %o : !q
    }
    scf.yield %p, %z : !q, !q
  }
  return %r#0, %r#1 : !q, !q
}

!d = tensor<1x?x2x16xf32>
func.func @sizes(%query: !d, %n: index, %c: i1) -> !d {
  %x = scf.if %c -> (!d) {
    %init = tensor.empty(%n) : !d
    %p = tensor.extract_slice %query[0, 0, 0, 0] [1, %n, 2, 16] [1, 1, 1, 1] : !d to !d
    %a = fa.attention ins(%p, %query, %query : !d, !d, !d) outs(%init : !d)
    scf.yield %a : !d
  } else {
    scf.yield %query : !d
  }
  %o = arith.addf %x, %x : !d
  return %o : !d
}

// Memory of the function's own, freed by way of a branch's result.
func.func @own(%query: !q, %c: i1) -> !q {
  %c0 = arith.constant 0 : index
  %m = scf.if %c -> memref<4xf32> {
    %a = memref.alloc() : memref<4xf32>
    scf.yield %a : memref<4xf32>
  } else {
    %a = memref.alloc() : memref<4xf32>
    scf.yield %a : memref<4xf32>
  }
  %two = arith.constant 2.0 : f32
  memref.store %two, %m[%c0] : memref<4xf32>
  %x = memref.load %m[%c0] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  %s = tensor.splat %x : !q
  %o = arith.mulf %query, %s : !q
  return %o : !q
}

// A result that is returned twice, and what is made of it, in any order: an
// out-parameter holds nothing that is read once it is written.
func.func @shared(%query: !q, %key: !k, %c: i1) -> (!q, !q, !q, !q) {
  %init = tensor.empty() : !q
  %n = fa.attention ins(%query, %key, %key : !q, !k, !k) outs(%init : !q)
  %e = arith.addf %n, %query : !q
  %p:2 = scf.if %c -> (!q, !q) {
    %f = linalg.exp ins(%n : !q) outs(%n : !q) -> !q
    scf.yield %f, %n : !q, !q
  } else {
    scf.yield %e, %query : !q, !q
  }
  return %e, %p#1, %n, %p#0 : !q, !q, !q, !q
}

// Loops in loops of dynamic sizes, and a choice of tensors of different sizes.
func.func @layered(%query: !d, %key: !d, %c: i1, %n: index) -> (!d, !d) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = tensor.dim %query, %c1 : !d
  %init = tensor.empty(%size) : !d
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %query) -> (!d) {
    %a = fa.attention ins(%x, %key, %key : !d, !d, !d) outs(%init : !d)
    %s:2 = scf.for %j = %c0 to %n step %c1 iter_args(%y = %a, %z = %x) -> (!d, !d) {
      scf.yield %z, %y : !d, !d
    }
    scf.yield %s#1 : !d
  }
  %chosen = arith.select %c, %r, %key : !d
  %twice = arith.addf %chosen, %chosen : !d
  return %twice, %r : !d, !d
}

// What a loop carries changes places.
func.func @swap(%query: !q, %key: !k) -> (!q, !q, !q) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %init = tensor.empty() : !q
  %zero = arith.constant 0.0 : f32
  %filled = linalg.fill ins(%zero : f32) outs(%init : !q) -> !q
  %r:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %query, %y = %filled, %z = %filled) -> (!q, !q, !q) {
    %n = fa.attention ins(%x, %key, %key : !q, !k, !k) outs(%init : !q)
    scf.yield %y, %n, %x : !q, !q, !q
  }
  return %r#0, %r#1, %filled : !q, !q, !q
}
