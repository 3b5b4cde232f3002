// RUN: fa-opt %s -fagpu-split-roles -canonicalize | FileCheck %s

#groups = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>
#few = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, copying_registers = 40>>>
#warps = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>

// CHECK-LABEL: func.func @groups(
// CHECK-SAME: %[[Q:[^:]*]]: memref{{[^%]*}}%[[K:[^:]*]]: memref{{[^%]*}}%[[ROW:[^:]*]]: i32, %[[N:[^:]*]]: i32)
func.func @groups(%q: !mem, %k: !mem, %row: i32, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  // CHECK: %[[QUERIES:.*]] = fagpu.channel tma banks(2)
  // CHECK: %[[KEYS:.*]] = fagpu.channel tma :
  %queries = fagpu.channel tma banks(2) : !channel
  %keys = fagpu.channel tma : !channel

  // One thread copies; a place that depends on the group is copied for each.
  // CHECK-NEXT: fagpu.role @load groups(1) regs(56) elect {
  // CHECK-NEXT: fagpu.put %[[QUERIES]] bank(%c0_i32), %[[Q]][%[[ROW]], %c0_i32]
  // CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[ROW]], %c64_i32
  // CHECK-NEXT: fagpu.put %[[QUERIES]] bank(%c1_i32), %[[Q]][%[[SECOND]], %c0_i32]

  // Loops around copies come along with their scalars and carry nothing.
  // CHECK-NEXT: fagpu.for %[[I:.*]] = %[[N]] step -1 segments(%{{.*}}: once, %{{.*}}: to %c0_i32) {
  // CHECK-NEXT: %[[KEY:.*]] = arith.muli %[[I]], %c64_i32
  // CHECK-NEXT: fagpu.put %[[KEYS]], %[[K]][%[[KEY]], %c0_i32]
  // CHECK-NEXT: fagpu.yield{{$}}

  // The role that computes keeps the rest and gets the other registers.
  // CHECK: fagpu.role @math(%[[G:.*]]) groups(2) regs(224) {
  // CHECK-NEXT: fagpu.acquire %[[QUERIES]] bank(%[[G]])
  // CHECK-NEXT: fagpu.for %{{.*}} iter(
  // CHECK-NEXT: fagpu.acquire %[[KEYS]]
  // CHECK-NOT: fagpu.put
  // CHECK: return
  fagpu.role @math(%g) groups(2) {
    %ofGroup = arith.muli %g, %c64 : i32
    %first = arith.addi %row, %ofGroup : i32
    fagpu.put %queries bank(%g), %q[%first, %c0] [64, 64] : !mem into !channel
    %qt = fagpu.acquire %queries bank(%g) : !channel
    %count = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%c = %c0) -> (i32) {
      %key = arith.muli %i, %c64 : i32
      fagpu.put %keys, %k[%key, %c0] [64, 64] : !mem into !channel
      %kt = fagpu.acquire %keys : !channel
      fagpu.release %kt : !view
      %next = arith.addi %c, %c64 : i32
      fagpu.yield %next : i32
    }
    fagpu.release %qt : !view
  }
  return
}

// Registers that the copying thread leaves are shared by the groups.
// CHECK-LABEL: func.func @few_registers
// CHECK: fagpu.role @load groups(1) regs(40) elect
// CHECK: fagpu.role @math groups(2) regs(232)
func.func @few_registers(%k: !mem) attributes {fagpu.kernel = "sm_90a", fa.config = #few} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @math groups(2) {
    fagpu.put %keys, %k[%c0, %c0] [64, 64] : !mem into !channel
    %kt = fagpu.acquire %keys : !channel
    fagpu.release %kt : !view
  }
  return
}

// A constant table of pages, which the role made, is made where pages are copied.
// CHECK-LABEL: func.func @constant_pages
// CHECK: fagpu.role @load groups(1) regs({{[0-9]+}}) elect {
// CHECK-NEXT: %[[PAGES:.*]] = memref.get_global @pages
// CHECK-NEXT: fagpu.for
// CHECK: fagpu.put {{.*}} pages(%[[PAGES]] :
// CHECK: fagpu.role @math
// CHECK-NOT: memref.get_global
memref.global "private" constant @pages : memref<1x4xi32> = dense<[[3, 1, 2, 0]]>
func.func @constant_pages(%pool: memref<?x16x64xf16>, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @math groups(2) {
    %table = memref.get_global @pages : memref<1x4xi32>
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %key = arith.muli %i, %c64 : i32
      fagpu.put %keys, %pool[%c0, %key, %c0] [1, 64, 64] pages(%table : memref<1x4xi32> at 0) rows(%c64) : memref<?x16x64xf16> into !channel
      %kt = fagpu.acquire %keys : !channel
      fagpu.release %kt : !view
      fagpu.yield
    }
  }
  return
}

// In a kernel of `warps` the role that computes copies itself.
// CHECK-LABEL: func.func @warps
// CHECK: fagpu.role @compute groups(1) {
// CHECK-NEXT: fagpu.put
// CHECK-NEXT: fagpu.acquire
func.func @warps(%k: !mem) attributes {fagpu.kernel = "sm_80", fa.config = #warps} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !channel
  fagpu.role @compute {
    fagpu.put %keys, %k[%c0, %c0] [64, 64] : !mem into !channel
    %kt = fagpu.acquire %keys : !channel
    fagpu.release %kt : !view
  }
  return
}
