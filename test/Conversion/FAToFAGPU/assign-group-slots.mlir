// RUN: fa-opt %s -fagpu-assign-group-slots | FileCheck %s

#keys = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>>>
#turns = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns, rescale = before_product>>>>
#none = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = none>>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>
!s = tensor<64x64xf32, #fagpu.acc<4>>
!h = tensor<64x64xf16, #fagpu.acc<4>>
!p = tensor<64x64xf16, #fagpu.opa<4>>

// Operations without a number have that of the one before them.
// CHECK-LABEL: func.func @overlap
func.func @overlap(%m: !mem, %q: !p, %zero: !s, %n: i32, %counter: memref<2xi32>) attributes {fagpu.kernel = "sm_90a", fa.config = #keys} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  // CHECK: %[[KEYS:.*]] = fagpu.channel
  // CHECK-NEXT: %[[VALUES:.*]] = fagpu.channel
  // CHECK-NEXT: fagpu.role
  %keys = fagpu.channel tma : !channel
  %values = fagpu.channel tma : !channel

  // Copies come in the order in which they are read: the values a block later.
  // CHECK: fagpu.for
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: fagpu.put %[[KEYS]], {{.*}} {fagpu.at = [0, 2]}
  // CHECK-NEXT: fagpu.put %[[VALUES]], {{.*}} {fagpu.at = [1, 3]}
  fagpu.role @load elect {
    %next = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%seen = %c0) -> (i32) {
      %key = arith.muli %i, %c64 : i32
      fagpu.put %keys, %m[%key, %c0] [64, 64] : !mem into !channel
      fagpu.put %values, %m[%key, %c0] [64, 64] : !mem into !channel

      // What stands behind the copies follows them.
      // CHECK: fagpu.ticket
      // CHECK: } {fagpu.at = [0, 4]}
      %last = arith.cmpi eq, %i, %c0 : i32
      %taken = scf.if %last -> (i32) {
        %tile = fagpu.ticket %counter : memref<2xi32>
        scf.yield %tile : i32
      } else {
        scf.yield %seen : i32
      }
      fagpu.yield %taken : i32
    }
  }
  fagpu.role @math {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      // The first product is stage 0, of the newer block of keys.
      // CHECK: fagpu.acquire %[[KEYS]] {fagpu.at = [0, 1]}
      // CHECK-NEXT: %[[S:.*]] = fagpu.mma_async nt {{.*}} {fagpu.at = [0, 3]}
      %k = fagpu.acquire %keys : !channel
      %issued = fagpu.mma_async nt %q, %k : !p, !view -> !fagpu.inflight<!s keeps !p>

      // Its softmax is computed while the second product runs.
      // CHECK-NEXT: fagpu.wait %[[S]] {fagpu.at = [0, 6]}
      // CHECK-NEXT: fagpu.release %{{[^{]*}} :
      // CHECK-NEXT: math.exp2 %{{[^{]*}} :
      %s = fagpu.wait %issued : !fagpu.inflight<!s keeps !p>
      fagpu.release %k : !view
      %e = math.exp2 %s : !s

      // What writes registers that the second product reads comes behind it.
      // CHECK-NEXT: arith.truncf {{.*}} {fagpu.at = [0, 8]}
      // CHECK-NEXT: fagpu.convert %{{[^{]*}} :
      // CHECK-NEXT: arith.addf %{{[^{]*}} :
      %h = arith.truncf %e : !s to !h
      %p = fagpu.convert %h : !h -> !p
      %scaled = arith.addf %sum, %sum : !s

      // The second product is stage 1, of the block before.
      // CHECK-NEXT: fagpu.acquire %[[VALUES]] {fagpu.at = [1, 4]}
      // CHECK-NEXT: %[[X:.*]] = fagpu.mma_async nn %{{[^{]*}}{{$}}
      // CHECK-NEXT: fagpu.wait %[[X]] {fagpu.at = [1, 7]}
      // CHECK-NEXT: fagpu.release %{{[^{]*}} :
      %v = fagpu.acquire %values : !channel
      %more = fagpu.mma_async nn %p, %v acc(%scaled : !s) : !p, !view -> !fagpu.inflight<!s keeps !p>
      %x = fagpu.wait %more : !fagpu.inflight<!s keeps !p>
      fagpu.release %v : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// Groups issue their products in turns; the sum is scaled before its product.
// CHECK-LABEL: func.func @turns
// CHECK: %[[TURNS:.*]] = fagpu.turns 2
// CHECK: arith.addf {{.*}} {fagpu.at = [1, 4]}
// CHECK-NEXT: fagpu.take %[[TURNS]] {fagpu.at = [1, 2]}
// CHECK-NEXT: fagpu.acquire {{.*}} {fagpu.at = [1, 4]}
// CHECK-NEXT: fagpu.mma_async nn
// CHECK-NEXT: fagpu.pass %[[TURNS]] :
// CHECK-NEXT: fagpu.wait
func.func @turns(%q: !p, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #turns} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  %values = fagpu.channel tma : !channel
  fagpu.role @math groups(2) {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      %k = fagpu.acquire %keys : !channel
      %issued = fagpu.mma_async nt %q, %k : !p, !view -> !fagpu.inflight<!s keeps !p>
      %s = fagpu.wait %issued : !fagpu.inflight<!s keeps !p>
      fagpu.release %k : !view
      %h = arith.truncf %s : !s to !h
      %p = fagpu.convert %h : !h -> !p
      %scaled = arith.addf %sum, %sum : !s
      %v = fagpu.acquire %values : !channel
      %more = fagpu.mma_async nn %p, %v acc(%scaled : !s) : !p, !view -> !fagpu.inflight<!s keeps !p>
      %x = fagpu.wait %more : !fagpu.inflight<!s keeps !p>
      fagpu.release %v : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// A loop none of whose products needs another one has nothing to overlap.
// CHECK-LABEL: func.func @one_product
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @one_product(%q: !p, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #keys} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @math {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      %k = fagpu.acquire %keys : !channel
      %issued = fagpu.mma_async nt %q, %k acc(%sum : !s) : !p, !view -> !fagpu.inflight<!s keeps !p>
      %s = fagpu.wait %issued : !fagpu.inflight<!s keeps !p>
      fagpu.release %k : !view
      fagpu.yield %s : !s
    }
  }
  return
}

// Without an `overlap` a step keeps its order.
// CHECK-LABEL: func.func @no_overlap
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @no_overlap(%q: !p, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #none} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @math {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %k = fagpu.acquire %keys : !channel
      %issued = fagpu.mma_async nt %q, %k : !p, !view -> !fagpu.inflight<!s keeps !p>
      %s = fagpu.wait %issued : !fagpu.inflight<!s keeps !p>
      %h = arith.truncf %s : !s to !h
      %p = fagpu.convert %h : !h -> !p
      %more = fagpu.mma_async nt %p, %k : !p, !view -> !fagpu.inflight<!s keeps !p>
      %x = fagpu.wait %more : !fagpu.inflight<!s keeps !p>
      fagpu.release %k : !view
      fagpu.yield
    }
  }
  return
}
