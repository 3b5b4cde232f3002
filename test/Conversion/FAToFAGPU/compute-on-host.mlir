// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-compute-on-host | FileCheck %s

// Quotients and products of sizes, in roles and before them; what a tile gives
// stays, and so do real numbers.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[HEADS:[^:]*]]: i32, %[[KV_HEADS:[^:]*]]: i32, %[[SCALE:[^:]*]]: f32, %[[GROUP:[^:]*]]: i32, %[[LAST:[^:]*]]: i32)
func.func @kernel(%heads: i32, %kvHeads: i32, %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK-NOT: arith.divui %[[HEADS]]
  %c1 = arith.constant 1 : i32
  %group = arith.divui %heads, %kvHeads : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  // CHECK: fagpu.role @load
  fagpu.role @load groups(1) elect {
    // CHECK: arith.divui %{{.*}}, %[[GROUP]]
    // CHECK-NEXT: arith.minsi %{{.*}}, %[[LAST]]
    %kvHead = arith.divui %tile, %group : i32
    %all = arith.muli %heads, %kvHeads overflow<nsw> : i32
    %last = arith.subi %all, %c1 : i32
    %valid = arith.minsi %tile, %last : i32
    // CHECK-NEXT: arith.mulf %[[SCALE]]
    %square = arith.mulf %scale, %scale : f32
    "keep"(%kvHead, %valid, %square) : (i32, i32, f32) -> ()
  }
  // What another role computes in the same way is the same argument.
  // CHECK: fagpu.role @math
  fagpu.role @math groups(1) {
    // CHECK-NOT: arith.muli
    // CHECK: "keep"(%[[LAST]])
    %one = arith.constant 1 : i32
    %all = arith.muli %heads, %kvHeads overflow<nsw> : i32
    %last = arith.subi %all, %one : i32
    "keep"(%last) : (i32) -> ()
  }
  return
}

// A launch without heads has no tiles and reads no quotient; the host computes
// it still.
// CHECK-LABEL: func.func @host
func.func @host(%queryHeads: index, %keyHeads: index, %s: f32, %grid: index) {
  // CHECK: %[[H:.*]] = arith.index_cast %arg0
  // CHECK: %[[K:.*]] = arith.index_cast %arg1
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK: %[[DIVISOR:.*]] = arith.maxui %[[K]], %[[ONE]] : i32
  // CHECK: %[[QUOTIENT:.*]] = arith.divui %[[H]], %[[DIVISOR]] : i32
  // CHECK: %[[ALL:.*]] = arith.muli %[[H]], %[[K]] overflow<nsw> : i32
  // CHECK: %[[END:.*]] = arith.subi %[[ALL]], %{{.*}} overflow<nsw> : i32
  // CHECK: fagpu.launch @kernel grid(%arg3) (%[[H]], %[[K]], %arg2, %[[QUOTIENT]], %[[END]]) : i32, i32, f32, i32, i32
  %h = arith.index_cast %queryHeads : index to i32
  %k = arith.index_cast %keyHeads : index to i32
  fagpu.launch @kernel grid(%grid) (%h, %k, %s) : i32, i32, f32
  return
}

// Each launch has arguments of its own.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%{{[^:]*}}: i32) attributes
func.func @shared(%n: i32) attributes {fagpu.kernel = "sm_80"} {
  // CHECK: arith.muli
  %square = arith.muli %n, %n : i32
  "keep"(%square) : (i32) -> ()
  return
}
func.func @twice(%size: index, %grid: index) {
  %n = arith.index_cast %size : index to i32
  fagpu.launch @shared grid(%grid) (%n) : i32
  fagpu.launch @shared grid(%grid) (%n) : i32
  return
}

// Attributes of arguments stay theirs.
// CHECK-LABEL: func.func @described
// CHECK-SAME: (%{{[^:]*}}: i32 {fa.captured}, %{{[^:]*}}: i32, %[[PRODUCT:[^:]*]]: i32) attributes
func.func @described(%heads: i32 {fa.captured}, %batch: i32) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: "keep"(%[[PRODUCT]])
  %all = arith.muli %heads, %batch overflow<nsw> : i32
  "keep"(%all) : (i32) -> ()
  return
}
func.func @describing(%h: index, %b: index, %grid: index) {
  %heads = arith.index_cast %h : index to i32
  %batch = arith.index_cast %b : index to i32
  fagpu.launch @described grid(%grid) (%heads, %batch) : i32, i32
  return
}

// A launcher computes exactly and refuses what 32 bits do not hold; twice a
// number of the caller wraps around, in the kernel.
// CHECK-LABEL: func.func @given
// CHECK-SAME: (%[[NUMBER:[^:]*]]: i32, %{{[^:]*}}: i32) attributes
func.func @given(%number: i32, %double: i32) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: arith.addi %[[NUMBER]], %[[NUMBER]]
  %twice = arith.addi %number, %number : i32
  // CHECK: arith.addi
  %next = arith.addi %double, %number : i32
  "keep"(%twice, %next) : (i32, i32) -> ()
  return
}
func.func @caller(%number: i32, %grid: index) {
  %double = arith.addi %number, %number : i32
  fagpu.launch @given grid(%grid) (%number, %double) : i32, i32
  return
}

// What may leave 32 bits wraps around, and what may be below 0 is another number
// to an unsigned operation: both stay in the kernel, and what needs them. So do
// ceilings of quotients by no known number.
// CHECK-LABEL: func.func @bounds
// CHECK-SAME: (%[[KEYS:[^:]*]]: i32, %[[REST:[^:]*]]: i32, %[[BLOCKS:[^:]*]]: i32, %[[SQUARE:[^:]*]]: i32) attributes
func.func @bounds(%keys: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c8 = arith.constant 8 : i32
  %c100 = arith.constant 100 : i32
  // CHECK: %[[FAR:.*]] = arith.muli %[[KEYS]], %c100000000_i32
  // CHECK: %[[LESS:.*]] = arith.minsi %[[FAR]], %{{.*}}
  %large = arith.constant 100000000 : i32
  %far = arith.muli %keys, %large : i32
  %less = arith.minsi %far, %c100 : i32
  // CHECK: %[[QUOTIENT:.*]] = arith.divui %[[REST]], %{{.*}}
  // CHECK: %[[LEAST:.*]] = arith.minui %[[REST]], %{{.*}}
  %rest = arith.subi %keys, %c100 : i32
  %quotient = arith.divui %rest, %c8 : i32
  %least = arith.minui %rest, %c8 : i32
  // CHECK: %[[PARTS:.*]] = arith.ceildivsi %{{.*}}, %[[KEYS]]
  %parts = arith.ceildivsi %c100, %keys : i32
  // CHECK-NOT: arith.
  // CHECK: "keep"(%[[LESS]], %[[QUOTIENT]], %[[LEAST]], %[[PARTS]], %[[BLOCKS]], %[[SQUARE]])
  %blocks = arith.ceildivsi %rest, %c8 : i32
  %some = arith.minsi %keys, %c100 : i32
  %square = arith.muli %some, %some : i32
  "keep"(%less, %quotient, %least, %parts, %blocks, %square) : (i32, i32, i32, i32, i32, i32) -> ()
  return
}
// CHECK-LABEL: func.func @ofMemory
func.func @ofMemory(%m: memref<?xf32>, %grid: index) {
  // CHECK: %[[KEYS:.*]] = arith.index_cast
  // CHECK-NOT: arith.muli %[[KEYS]]
  // CHECK: %[[REST:.*]] = arith.subi %[[KEYS]], %{{.*}} overflow<nsw> : i32
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivsi %[[REST]], %{{.*}} : i32
  // CHECK: fagpu.launch @bounds grid(%{{.*}}) (%[[KEYS]], %[[REST]], %[[BLOCKS]], %{{.*}})
  %c0 = arith.constant 0 : index
  %size = memref.dim %m, %c0 : memref<?xf32>
  %keys = arith.index_cast %size : index to i32
  fagpu.launch @bounds grid(%grid) (%keys) : i32
  return
}

// Whether two roles compute the same is asked of each operation once: here every
// step uses the one before it twice.
// CHECK-LABEL: func.func @steps
// CHECK-SAME: (%{{[^:]*}}: i32, %[[LAST:[^:]*]]: i32) attributes
func.func @steps(%size: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @load groups(1) elect {
    %c0 = arith.constant 1000 : i32
    %a0 = arith.minsi %size, %c0 : i32
    %s0 = arith.maxsi %size, %c0 : i32
    %x1 = arith.subi %s0, %a0 : i32
    %c1 = arith.constant 1001 : i32
    %a1 = arith.minsi %x1, %c1 : i32
    %s1 = arith.maxsi %x1, %c1 : i32
    %x2 = arith.subi %s1, %a1 : i32
    %c2 = arith.constant 1002 : i32
    %a2 = arith.minsi %x2, %c2 : i32
    %s2 = arith.maxsi %x2, %c2 : i32
    %x3 = arith.subi %s2, %a2 : i32
    %c3 = arith.constant 1003 : i32
    %a3 = arith.minsi %x3, %c3 : i32
    %s3 = arith.maxsi %x3, %c3 : i32
    %x4 = arith.subi %s3, %a3 : i32
    %c4 = arith.constant 1004 : i32
    %a4 = arith.minsi %x4, %c4 : i32
    %s4 = arith.maxsi %x4, %c4 : i32
    %x5 = arith.subi %s4, %a4 : i32
    %c5 = arith.constant 1005 : i32
    %a5 = arith.minsi %x5, %c5 : i32
    %s5 = arith.maxsi %x5, %c5 : i32
    %x6 = arith.subi %s5, %a5 : i32
    %c6 = arith.constant 1006 : i32
    %a6 = arith.minsi %x6, %c6 : i32
    %s6 = arith.maxsi %x6, %c6 : i32
    %x7 = arith.subi %s6, %a6 : i32
    %c7 = arith.constant 1007 : i32
    %a7 = arith.minsi %x7, %c7 : i32
    %s7 = arith.maxsi %x7, %c7 : i32
    %x8 = arith.subi %s7, %a7 : i32
    %c8 = arith.constant 1008 : i32
    %a8 = arith.minsi %x8, %c8 : i32
    %s8 = arith.maxsi %x8, %c8 : i32
    %x9 = arith.subi %s8, %a8 : i32
    %c9 = arith.constant 1009 : i32
    %a9 = arith.minsi %x9, %c9 : i32
    %s9 = arith.maxsi %x9, %c9 : i32
    %x10 = arith.subi %s9, %a9 : i32
    %c10 = arith.constant 1010 : i32
    %a10 = arith.minsi %x10, %c10 : i32
    %s10 = arith.maxsi %x10, %c10 : i32
    %x11 = arith.subi %s10, %a10 : i32
    %c11 = arith.constant 1011 : i32
    %a11 = arith.minsi %x11, %c11 : i32
    %s11 = arith.maxsi %x11, %c11 : i32
    %x12 = arith.subi %s11, %a11 : i32
    %c12 = arith.constant 1012 : i32
    %a12 = arith.minsi %x12, %c12 : i32
    %s12 = arith.maxsi %x12, %c12 : i32
    %x13 = arith.subi %s12, %a12 : i32
    %c13 = arith.constant 1013 : i32
    %a13 = arith.minsi %x13, %c13 : i32
    %s13 = arith.maxsi %x13, %c13 : i32
    %x14 = arith.subi %s13, %a13 : i32
    %c14 = arith.constant 1014 : i32
    %a14 = arith.minsi %x14, %c14 : i32
    %s14 = arith.maxsi %x14, %c14 : i32
    %x15 = arith.subi %s14, %a14 : i32
    %c15 = arith.constant 1015 : i32
    %a15 = arith.minsi %x15, %c15 : i32
    %s15 = arith.maxsi %x15, %c15 : i32
    %x16 = arith.subi %s15, %a15 : i32
    %c16 = arith.constant 1016 : i32
    %a16 = arith.minsi %x16, %c16 : i32
    %s16 = arith.maxsi %x16, %c16 : i32
    %x17 = arith.subi %s16, %a16 : i32
    %c17 = arith.constant 1017 : i32
    %a17 = arith.minsi %x17, %c17 : i32
    %s17 = arith.maxsi %x17, %c17 : i32
    %x18 = arith.subi %s17, %a17 : i32
    %c18 = arith.constant 1018 : i32
    %a18 = arith.minsi %x18, %c18 : i32
    %s18 = arith.maxsi %x18, %c18 : i32
    %x19 = arith.subi %s18, %a18 : i32
    %c19 = arith.constant 1019 : i32
    %a19 = arith.minsi %x19, %c19 : i32
    %s19 = arith.maxsi %x19, %c19 : i32
    %x20 = arith.subi %s19, %a19 : i32
    %c20 = arith.constant 1020 : i32
    %a20 = arith.minsi %x20, %c20 : i32
    %s20 = arith.maxsi %x20, %c20 : i32
    %x21 = arith.subi %s20, %a20 : i32
    %c21 = arith.constant 1021 : i32
    %a21 = arith.minsi %x21, %c21 : i32
    %s21 = arith.maxsi %x21, %c21 : i32
    %x22 = arith.subi %s21, %a21 : i32
    %c22 = arith.constant 1022 : i32
    %a22 = arith.minsi %x22, %c22 : i32
    %s22 = arith.maxsi %x22, %c22 : i32
    %x23 = arith.subi %s22, %a22 : i32
    %c23 = arith.constant 1023 : i32
    %a23 = arith.minsi %x23, %c23 : i32
    %s23 = arith.maxsi %x23, %c23 : i32
    %x24 = arith.subi %s23, %a23 : i32
    %c24 = arith.constant 1024 : i32
    %a24 = arith.minsi %x24, %c24 : i32
    %s24 = arith.maxsi %x24, %c24 : i32
    %x25 = arith.subi %s24, %a24 : i32
    %c25 = arith.constant 1025 : i32
    %a25 = arith.minsi %x25, %c25 : i32
    %s25 = arith.maxsi %x25, %c25 : i32
    %x26 = arith.subi %s25, %a25 : i32
    %c26 = arith.constant 1026 : i32
    %a26 = arith.minsi %x26, %c26 : i32
    %s26 = arith.maxsi %x26, %c26 : i32
    %x27 = arith.subi %s26, %a26 : i32
    %c27 = arith.constant 1027 : i32
    %a27 = arith.minsi %x27, %c27 : i32
    %s27 = arith.maxsi %x27, %c27 : i32
    %x28 = arith.subi %s27, %a27 : i32
    %c28 = arith.constant 1028 : i32
    %a28 = arith.minsi %x28, %c28 : i32
    %s28 = arith.maxsi %x28, %c28 : i32
    %x29 = arith.subi %s28, %a28 : i32
    %c29 = arith.constant 1029 : i32
    %a29 = arith.minsi %x29, %c29 : i32
    %s29 = arith.maxsi %x29, %c29 : i32
    %x30 = arith.subi %s29, %a29 : i32
    %c30 = arith.constant 1030 : i32
    %a30 = arith.minsi %x30, %c30 : i32
    %s30 = arith.maxsi %x30, %c30 : i32
    %x31 = arith.subi %s30, %a30 : i32
    %c31 = arith.constant 1031 : i32
    %a31 = arith.minsi %x31, %c31 : i32
    %s31 = arith.maxsi %x31, %c31 : i32
    %x32 = arith.subi %s31, %a31 : i32
    %c32 = arith.constant 1032 : i32
    %a32 = arith.minsi %x32, %c32 : i32
    %s32 = arith.maxsi %x32, %c32 : i32
    %x33 = arith.subi %s32, %a32 : i32
    %c33 = arith.constant 1033 : i32
    %a33 = arith.minsi %x33, %c33 : i32
    %s33 = arith.maxsi %x33, %c33 : i32
    %x34 = arith.subi %s33, %a33 : i32
    %c34 = arith.constant 1034 : i32
    %a34 = arith.minsi %x34, %c34 : i32
    %s34 = arith.maxsi %x34, %c34 : i32
    %x35 = arith.subi %s34, %a34 : i32
    %c35 = arith.constant 1035 : i32
    %a35 = arith.minsi %x35, %c35 : i32
    %s35 = arith.maxsi %x35, %c35 : i32
    %x36 = arith.subi %s35, %a35 : i32
    %c36 = arith.constant 1036 : i32
    %a36 = arith.minsi %x36, %c36 : i32
    %s36 = arith.maxsi %x36, %c36 : i32
    %x37 = arith.subi %s36, %a36 : i32
    %c37 = arith.constant 1037 : i32
    %a37 = arith.minsi %x37, %c37 : i32
    %s37 = arith.maxsi %x37, %c37 : i32
    %x38 = arith.subi %s37, %a37 : i32
    %c38 = arith.constant 1038 : i32
    %a38 = arith.minsi %x38, %c38 : i32
    %s38 = arith.maxsi %x38, %c38 : i32
    %x39 = arith.subi %s38, %a38 : i32
    %c39 = arith.constant 1039 : i32
    %a39 = arith.minsi %x39, %c39 : i32
    %s39 = arith.maxsi %x39, %c39 : i32
    %x40 = arith.subi %s39, %a39 : i32
    // CHECK: "keep"(%[[LAST]])
    "keep"(%x40) : (i32) -> ()
  }
  fagpu.role @math groups(1) {
    %c0 = arith.constant 1000 : i32
    %a0 = arith.minsi %size, %c0 : i32
    %s0 = arith.maxsi %size, %c0 : i32
    %x1 = arith.subi %s0, %a0 : i32
    %c1 = arith.constant 1001 : i32
    %a1 = arith.minsi %x1, %c1 : i32
    %s1 = arith.maxsi %x1, %c1 : i32
    %x2 = arith.subi %s1, %a1 : i32
    %c2 = arith.constant 1002 : i32
    %a2 = arith.minsi %x2, %c2 : i32
    %s2 = arith.maxsi %x2, %c2 : i32
    %x3 = arith.subi %s2, %a2 : i32
    %c3 = arith.constant 1003 : i32
    %a3 = arith.minsi %x3, %c3 : i32
    %s3 = arith.maxsi %x3, %c3 : i32
    %x4 = arith.subi %s3, %a3 : i32
    %c4 = arith.constant 1004 : i32
    %a4 = arith.minsi %x4, %c4 : i32
    %s4 = arith.maxsi %x4, %c4 : i32
    %x5 = arith.subi %s4, %a4 : i32
    %c5 = arith.constant 1005 : i32
    %a5 = arith.minsi %x5, %c5 : i32
    %s5 = arith.maxsi %x5, %c5 : i32
    %x6 = arith.subi %s5, %a5 : i32
    %c6 = arith.constant 1006 : i32
    %a6 = arith.minsi %x6, %c6 : i32
    %s6 = arith.maxsi %x6, %c6 : i32
    %x7 = arith.subi %s6, %a6 : i32
    %c7 = arith.constant 1007 : i32
    %a7 = arith.minsi %x7, %c7 : i32
    %s7 = arith.maxsi %x7, %c7 : i32
    %x8 = arith.subi %s7, %a7 : i32
    %c8 = arith.constant 1008 : i32
    %a8 = arith.minsi %x8, %c8 : i32
    %s8 = arith.maxsi %x8, %c8 : i32
    %x9 = arith.subi %s8, %a8 : i32
    %c9 = arith.constant 1009 : i32
    %a9 = arith.minsi %x9, %c9 : i32
    %s9 = arith.maxsi %x9, %c9 : i32
    %x10 = arith.subi %s9, %a9 : i32
    %c10 = arith.constant 1010 : i32
    %a10 = arith.minsi %x10, %c10 : i32
    %s10 = arith.maxsi %x10, %c10 : i32
    %x11 = arith.subi %s10, %a10 : i32
    %c11 = arith.constant 1011 : i32
    %a11 = arith.minsi %x11, %c11 : i32
    %s11 = arith.maxsi %x11, %c11 : i32
    %x12 = arith.subi %s11, %a11 : i32
    %c12 = arith.constant 1012 : i32
    %a12 = arith.minsi %x12, %c12 : i32
    %s12 = arith.maxsi %x12, %c12 : i32
    %x13 = arith.subi %s12, %a12 : i32
    %c13 = arith.constant 1013 : i32
    %a13 = arith.minsi %x13, %c13 : i32
    %s13 = arith.maxsi %x13, %c13 : i32
    %x14 = arith.subi %s13, %a13 : i32
    %c14 = arith.constant 1014 : i32
    %a14 = arith.minsi %x14, %c14 : i32
    %s14 = arith.maxsi %x14, %c14 : i32
    %x15 = arith.subi %s14, %a14 : i32
    %c15 = arith.constant 1015 : i32
    %a15 = arith.minsi %x15, %c15 : i32
    %s15 = arith.maxsi %x15, %c15 : i32
    %x16 = arith.subi %s15, %a15 : i32
    %c16 = arith.constant 1016 : i32
    %a16 = arith.minsi %x16, %c16 : i32
    %s16 = arith.maxsi %x16, %c16 : i32
    %x17 = arith.subi %s16, %a16 : i32
    %c17 = arith.constant 1017 : i32
    %a17 = arith.minsi %x17, %c17 : i32
    %s17 = arith.maxsi %x17, %c17 : i32
    %x18 = arith.subi %s17, %a17 : i32
    %c18 = arith.constant 1018 : i32
    %a18 = arith.minsi %x18, %c18 : i32
    %s18 = arith.maxsi %x18, %c18 : i32
    %x19 = arith.subi %s18, %a18 : i32
    %c19 = arith.constant 1019 : i32
    %a19 = arith.minsi %x19, %c19 : i32
    %s19 = arith.maxsi %x19, %c19 : i32
    %x20 = arith.subi %s19, %a19 : i32
    %c20 = arith.constant 1020 : i32
    %a20 = arith.minsi %x20, %c20 : i32
    %s20 = arith.maxsi %x20, %c20 : i32
    %x21 = arith.subi %s20, %a20 : i32
    %c21 = arith.constant 1021 : i32
    %a21 = arith.minsi %x21, %c21 : i32
    %s21 = arith.maxsi %x21, %c21 : i32
    %x22 = arith.subi %s21, %a21 : i32
    %c22 = arith.constant 1022 : i32
    %a22 = arith.minsi %x22, %c22 : i32
    %s22 = arith.maxsi %x22, %c22 : i32
    %x23 = arith.subi %s22, %a22 : i32
    %c23 = arith.constant 1023 : i32
    %a23 = arith.minsi %x23, %c23 : i32
    %s23 = arith.maxsi %x23, %c23 : i32
    %x24 = arith.subi %s23, %a23 : i32
    %c24 = arith.constant 1024 : i32
    %a24 = arith.minsi %x24, %c24 : i32
    %s24 = arith.maxsi %x24, %c24 : i32
    %x25 = arith.subi %s24, %a24 : i32
    %c25 = arith.constant 1025 : i32
    %a25 = arith.minsi %x25, %c25 : i32
    %s25 = arith.maxsi %x25, %c25 : i32
    %x26 = arith.subi %s25, %a25 : i32
    %c26 = arith.constant 1026 : i32
    %a26 = arith.minsi %x26, %c26 : i32
    %s26 = arith.maxsi %x26, %c26 : i32
    %x27 = arith.subi %s26, %a26 : i32
    %c27 = arith.constant 1027 : i32
    %a27 = arith.minsi %x27, %c27 : i32
    %s27 = arith.maxsi %x27, %c27 : i32
    %x28 = arith.subi %s27, %a27 : i32
    %c28 = arith.constant 1028 : i32
    %a28 = arith.minsi %x28, %c28 : i32
    %s28 = arith.maxsi %x28, %c28 : i32
    %x29 = arith.subi %s28, %a28 : i32
    %c29 = arith.constant 1029 : i32
    %a29 = arith.minsi %x29, %c29 : i32
    %s29 = arith.maxsi %x29, %c29 : i32
    %x30 = arith.subi %s29, %a29 : i32
    %c30 = arith.constant 1030 : i32
    %a30 = arith.minsi %x30, %c30 : i32
    %s30 = arith.maxsi %x30, %c30 : i32
    %x31 = arith.subi %s30, %a30 : i32
    %c31 = arith.constant 1031 : i32
    %a31 = arith.minsi %x31, %c31 : i32
    %s31 = arith.maxsi %x31, %c31 : i32
    %x32 = arith.subi %s31, %a31 : i32
    %c32 = arith.constant 1032 : i32
    %a32 = arith.minsi %x32, %c32 : i32
    %s32 = arith.maxsi %x32, %c32 : i32
    %x33 = arith.subi %s32, %a32 : i32
    %c33 = arith.constant 1033 : i32
    %a33 = arith.minsi %x33, %c33 : i32
    %s33 = arith.maxsi %x33, %c33 : i32
    %x34 = arith.subi %s33, %a33 : i32
    %c34 = arith.constant 1034 : i32
    %a34 = arith.minsi %x34, %c34 : i32
    %s34 = arith.maxsi %x34, %c34 : i32
    %x35 = arith.subi %s34, %a34 : i32
    %c35 = arith.constant 1035 : i32
    %a35 = arith.minsi %x35, %c35 : i32
    %s35 = arith.maxsi %x35, %c35 : i32
    %x36 = arith.subi %s35, %a35 : i32
    %c36 = arith.constant 1036 : i32
    %a36 = arith.minsi %x36, %c36 : i32
    %s36 = arith.maxsi %x36, %c36 : i32
    %x37 = arith.subi %s36, %a36 : i32
    %c37 = arith.constant 1037 : i32
    %a37 = arith.minsi %x37, %c37 : i32
    %s37 = arith.maxsi %x37, %c37 : i32
    %x38 = arith.subi %s37, %a37 : i32
    %c38 = arith.constant 1038 : i32
    %a38 = arith.minsi %x38, %c38 : i32
    %s38 = arith.maxsi %x38, %c38 : i32
    %x39 = arith.subi %s38, %a38 : i32
    %c39 = arith.constant 1039 : i32
    %a39 = arith.minsi %x39, %c39 : i32
    %s39 = arith.maxsi %x39, %c39 : i32
    %x40 = arith.subi %s39, %a39 : i32
    // CHECK: "keep"(%[[LAST]])
    "keep"(%x40) : (i32) -> ()
  }
  return
}
func.func @launches(%m: memref<?xf32>, %grid: index) {
  %c0 = arith.constant 0 : index
  %dim = memref.dim %m, %c0 : memref<?xf32>
  %size = arith.index_cast %dim : index to i32
  fagpu.launch @steps grid(%grid) (%size) : i32
  return
}
