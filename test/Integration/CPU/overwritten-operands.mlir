// Operands that are written between two attentions, or by the loop around one,
// are read again, and results are read when they are there. A kernel of one tile
// ends where the host goes on with memory.

// RUN: fa-run %s --entry=keys --target=cpu --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=queries --target=cpu --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=loop --target=cpu --verify --seed=1 | FileCheck %s
// DEFINE: %{target} = --target=interpret --chip=sm_80
// RUN: fa-run %s --entry=keys %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=queries %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=results %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=scales %{target} --verify --seed=1 | FileCheck %s
// REDEFINE: %{target} = --target=interpret --chip=sm_90a
// RUN: fa-run %s --entry=keys %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=queries %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=results %{target} --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=scales %{target} --verify --seed=1 | FileCheck %s
// CHECK: verified all rows

!t = memref<1x8x1x16xf32>

func.func @keys(%q: !t, %k1: !t, %k2: !t, %v: !t, %k: !t, %o: !t, %p: !t) {
  memref.copy %k1, %k : !t to !t
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  memref.copy %k2, %k : !t to !t
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%p : !t)
  return
}

func.func @queries(%init: !t, %k: !t, %v: !t, %q: !t, %o: !t) {
  memref.copy %init, %q : !t to !t
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%q : !t)
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return
}

func.func @results(%q: !t, %k: !t, %v: !t, %o: !t, %copy: !t, %p: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  memref.copy %o, %copy : !t to !t
  fa.attention ins(%o, %copy, %v : !t, !t, !t) outs(%p : !t)
  return
}

// A number that two kernels load.
func.func @scales(%q: !t, %k: !t, %v: !t, %s: memref<f32>, %o: !t, %p: !t) {
  %x = memref.load %s[] : memref<f32>
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) scale(%x)
  fa.attention ins(%o, %k, %v : !t, !t, !t) outs(%p : !t) scale(%x)
  return
}

func.func @loop(%init: !t, %k: !t, %v: !t, %q: !t, %o: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  memref.copy %init, %q : !t to !t
  scf.for %i = %c0 to %c3 step %c1 {
    fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
    memref.copy %o, %q : !t to !t
  }
  return
}
