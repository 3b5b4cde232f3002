// Memory that a program allocates is no scratch of a block, whatever uses it: it
// may have any size, on the heap.

// RUN: fa-run %s --entry=dynamic --target=cpu --verify --input=1x8x1x16xf32 --input=1x8x1x16xf32 --input=index=9 --input=1x8x1x16xf32 --input=4xf32 | FileCheck %s
// RUN: fa-run %s --entry=large --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=in_loop --target=cpu --verify | FileCheck %s
// CHECK: verified all rows

!t = memref<1x8x1x16xf32>
!part = memref<4xf32, strided<[1], offset: 2>>

func.func @dynamic(%q: !t, %k: !t, %n: index, %o: !t, %r: memref<4xf32>) {
  %x = arith.constant 3.0 : f32
  %m = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%m : memref<?xf32>)
  fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t)
  %s = memref.subview %m[2] [4] [1] : memref<?xf32> to !part
  memref.copy %s, %r : !part to memref<4xf32>
  memref.dealloc %m : memref<?xf32>
  return
}

// 40 MB, more than a stack holds.
func.func @large(%q: !t, %k: !t, %o: !t, %r: memref<4xf32>) {
  %x = arith.constant 3.0 : f32
  %m = memref.alloc() : memref<10000000xf32>
  linalg.fill ins(%x : f32) outs(%m : memref<10000000xf32>)
  fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t)
  %s = memref.subview %m[2] [4] [1] : memref<10000000xf32> to !part
  memref.copy %s, %r : !part to memref<4xf32>
  memref.dealloc %m : memref<10000000xf32>
  return
}

func.func @in_loop(%q: !t, %k: !t, %o: !t, %r: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %x = arith.constant 3.0 : f32
  scf.for %i = %c0 to %c3 step %c1 {
    %m = memref.alloc() : memref<10000000xf32>
    linalg.fill ins(%x : f32) outs(%m : memref<10000000xf32>)
    fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t)
    %s = memref.subview %m[2] [4] [1] : memref<10000000xf32> to !part
    memref.copy %s, %r : !part to memref<4xf32>
    memref.dealloc %m : memref<10000000xf32>
  }
  return
}
