// RUN: fa-opt %s -fagpu-assign-slots -split-input-file -verify-diagnostics

!channels = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>
!s = tensor<64x64xf32>
!h = tensor<64x64xf16>

// A step ahead there is no place for a choice of that step. It stands before the copies that it decides, so a pass that
// moves these ahead of it would never end.
func.func @choice_of_an_iteration(%m: !mem, %q: !h, %zero: !s, %n: i32, %table: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %queries = fagpu.channel cp_async : !channels
  fagpu.role @compute {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      %listed = arith.cmpi sgt, %i, %c0 : i32
      // expected-error @below {{'scf.if' op decides in each iteration what is copied for the next one, expected arith.select, or a choice that no iteration changes}}
      %row = scf.if %listed -> i32 {
        %at = arith.index_cast %i : i32 to index
        %there = memref.load %table[%at] : memref<?xi32>
        scf.yield %there : i32
      } else {
        scf.yield %i : i32
      }
      fagpu.put %queries, %m[%row, %c0] [64, 64] : !mem into !channels
      %k = fagpu.acquire %queries : !channels
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      %e = math.exp2 %s : !s
      %p = arith.truncf %e : !s to !h
      %x = fagpu.mma nn %p, %k acc(%sum : !s) : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// -----

!channels = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>
!s = tensor<64x64xf32>
!h = tensor<64x64xf16>

func.func @choice_behind_another(%m: !mem, %q: !h, %zero: !s, %n: i32, %table: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %queries = fagpu.channel cp_async : !channels
  fagpu.role @compute {
    %z = arith.constant 0 : index
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      %listed = arith.cmpi sgt, %i, %c0 : i32
      %w = scf.if %listed -> i32 {
        %a2 = arith.index_cast %i : i32 to index
        %t2 = memref.load %table[%a2] : memref<?xi32>
        scf.yield %t2 : i32
      } else {
        scf.yield %i : i32
      }
      memref.store %w, %table[%z] : memref<?xi32>
      // expected-error @below {{'scf.if' op decides in each iteration what is copied for the next one}}
      %row = scf.if %listed -> i32 {
        %at = arith.index_cast %i : i32 to index
        %there = memref.load %table[%at] : memref<?xi32>
        scf.yield %there : i32
      } else {
        scf.yield %i : i32
      }
      fagpu.put %queries, %m[%row, %c0] [64, 64] : !mem into !channels
      %k = fagpu.acquire %queries : !channels
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      %e = math.exp2 %s : !s
      %p = arith.truncf %e : !s to !h
      %x = fagpu.mma nn %p, %k acc(%sum : !s) : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield %x : !s
    }
  }
  return
}
