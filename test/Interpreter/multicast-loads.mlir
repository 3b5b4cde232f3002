// Loads read a channel that the blocks of a cluster fill together: a stage that one block has released is not written again before
// the other has, too.

// RUN: split-file %s %t
// RUN: fa-run %t/kernel.mlir --target=interpret --entry=f --grid=4 --verify --against=%t/sums.mlir | FileCheck %s
// RUN: fa-run %t/kernel.mlir --target=interpret --entry=f --grid=4 --verify --against=%t/sums.mlir --as-written | FileCheck %s
// CHECK: argument 1: 4x256xf32 {{.*}}: ok
// CHECK: verified all rows

// A load behind its release is one of a stage that may hold another tile already.
// RUN: %mutate %t/kernel.mlir move 'fagpu.release' before 'fagpu.load' > %t/late.mlir
// RUN: not fa-run %t/late.mlir --target=interpret --entry=f --grid=4 --as-written 2>&1 | FileCheck %s --check-prefix=LATE --implicit-check-not=error:
// LATE: error: 'fagpu.load' op reads a stage that was released at line

//--- kernel.mlir
!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!m = memref<256x64xbf16>
func.func @f(%m: !m, %sums: memref<4x256xf32>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %tiles = fagpu.channel tma multicast : !k
  fagpu.role @load groups(1) elect {
    scf.for %i = %c0 to %c4 step %c1 : i32 {
      %row = arith.muli %i, %c64 : i32
      fagpu.put %tiles, %m[%row, %c0] [64, 64] : !m into !k
    }
  }
  fagpu.role @math groups(1) {
    scf.for %i = %c0 to %c4 step %c1 : i32 {
      %row = arith.muli %i, %c64 : i32
      %view = fagpu.acquire %tiles : !k
      %x = fagpu.load %view : !v -> !half
      fagpu.release %view : !v
      %wide = arith.extf %x : !half to !acc
      %sum = fagpu.reduce add %wide : !acc -> !row
      fagpu.store %sum, %sums[%block, %row] : !row into memref<4x256xf32>
    }
  }
  return
}

//--- sums.mlir
#elements = affine_map<(b, r, c) -> (r, c)>
#rows = affine_map<(b, r, c) -> (b, r)>
func.func @sums(%m: memref<256x64xbf16>, %sums: memref<4x256xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sums : memref<4x256xf32>)
  linalg.generic {indexing_maps = [#elements, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m : memref<256x64xbf16>) outs(%sums : memref<4x256xf32>) {
  ^bb0(%x: bf16, %sum: f32):
    %wide = arith.extf %x : bf16 to f32
    %next = arith.addf %sum, %wide : f32
    linalg.yield %next : f32
  }
  return
}
