// RUN: fa-opt %s -fagpu-plan-resources -convert-fagpu-to-nvvm | FileCheck %s

!irow = tensor<64xi32, #fagpu.row<4>>

// A thread has two columns of eight: the 128 columns of a row are bits of one
// word. Zeros below the first limit, ones below the end.
// CHECK-LABEL: func.func @one_word
// CHECK-SAME: (%[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32)
func.func @one_word(%a: i32, %b: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK: fagpu.role @only
    %first = tensor.splat %a : !irow
    %end = tensor.splat %b : !irow
    // CHECK: %[[FIRST:.*]] = arith.maxsi %[[A]],
    // CHECK: %[[FROM:.*]] = arith.subi %[[FIRST]], %[[THREAD:.*]] : i32
    // CHECK: %[[END:.*]] = arith.maxsi %[[B]],
    // CHECK: %[[TO:.*]] = arith.subi %[[END]], %[[THREAD]] : i32
    // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[TO]], %c0
    // CHECK: %[[DISTANCE:.*]] = arith.minsi %[[POSITIVE]], %c128
    // CHECK: arith.shli %{{.*}} : i64
    // CHECK: %[[ABOVE:.*]] = arith.trunci
    // CHECK: %[[BELOW:.*]] = arith.xori %[[ABOVE]], %c-1
    // CHECK: arith.shli %{{.*}} : i64
    // CHECK: %[[REACHED:.*]] = arith.trunci
    // CHECK: %[[BITS:.*]] = arith.andi %[[BELOW]], %[[REACHED]] : i32
    // CHECK: %[[BIT:.*]] = llvm.inline_asm {{.*}}"and.b32 $0, $1, 1;", "=r,r" %[[BITS]]
    // CHECK: arith.cmpi ne, %[[BIT]], %c0
    // CHECK-COUNT-31: arith.cmpi ne
    // The other row of the thread.
    // CHECK-COUNT-2: arith.shli
    // CHECK-COUNT-32: arith.cmpi ne
    // CHECK-NOT: arith.cmpi
    %seen = fagpu.between %first, %end : !irow -> tensor<64x128xi1, #fagpu.acc<4>>
  }
  return
}

// 176 columns are bits of two words for each row.
// CHECK-LABEL: func.func @two_words
func.func @two_words(%a: i32, %b: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %first = tensor.splat %a : !irow
    %end = tensor.splat %b : !irow
    // CHECK-COUNT-8: arith.shli
    // CHECK-NOT: arith.shli
    %seen = fagpu.between %first, %end : !irow -> tensor<64x176xi1, #fagpu.acc<4>>
  }
  return
}

// A bit is asked where it is used.
// CHECK-LABEL: func.func @selected
// CHECK-SAME: (%[[A:[^:]*]]: i32, %[[S:[^:]*]]: f32)
func.func @selected(%a: i32, %s: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %first = tensor.splat %a : !irow
    // CHECK: llvm.inline_asm {{.*}}"and.b32 $0, $1, 1;"
    // CHECK-NEXT: %[[SEEN:.*]] = arith.cmpi ne
    // CHECK-NEXT: arith.select %[[SEEN]]
    // CHECK-NEXT: llvm.inline_asm {{.*}}"and.b32 $0, $1, 2;"
    // CHECK-NEXT: arith.cmpi ne
    // CHECK-NEXT: arith.select
    %seen = fagpu.between %first, %first : !irow -> tensor<64x128xi1, #fagpu.acc<4>>
    %x = tensor.splat %s : tensor<64x128xf32, #fagpu.acc<4>>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32, #fagpu.acc<4>>
    %y = arith.select %seen, %x, %zero : tensor<64x128xi1, #fagpu.acc<4>>, tensor<64x128xf32, #fagpu.acc<4>>
  }
  return
}
