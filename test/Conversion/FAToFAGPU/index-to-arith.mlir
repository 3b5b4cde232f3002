// RUN: fa-opt %s -fa-index-to-arith | FileCheck %s

// CHECK-LABEL: func.func @region
// CHECK: mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) captures(%[[W:.*]] = %{{.*}} : index) {
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[D:.*]] = arith.subi %[[I]], %[[J]] : index
// CHECK: %[[H:.*]] = arith.shrsi %[[D]], %[[TWO]] : index
// CHECK: %[[N:.*]] = arith.index_cast %[[H]] : index to i32
// CHECK: %[[X:.*]] = arith.index_castui %[[N]] : i32 to index
// CHECK: %[[M:.*]] = arith.maxui %[[X]], %[[J]] : index
// CHECK: %[[C:.*]] = arith.cmpi ult, %[[M]], %[[W]] : index
// CHECK: %[[V:.*]] = arith.andi %[[C]], %[[TRUE]] : i1
// CHECK: fa.yield %[[V]] : i1
// CHECK-NOT: index.{{[a-z]}}
!t = tensor<2x64x4x64xbf16>
func.func @region(%q: !t, %o: !t, %w: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%x = %w : index) {
        %two = index.constant 2
        %true = index.bool.constant true
        %d = index.sub %i, %j
        %half = index.shrs %d, %two
        %narrow = index.casts %half : index to i32
        %again = index.castu %narrow : i32 to index
        %most = index.maxu %again, %j
        %c = index.cmp ult(%most, %x)
        %v = arith.andi %c, %true : i1
        fa.yield %v : i1
      }
  return %r : !t
}

// Every operation with two operands has its own.
// CHECK-LABEL: func.func @each
// CHECK: arith.addi
// CHECK: arith.muli
// CHECK: arith.divsi
// CHECK: arith.divui
// CHECK: arith.ceildivsi
// CHECK: arith.ceildivui
// CHECK: arith.remsi
// CHECK: arith.remui
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: arith.minui
// CHECK: arith.shli
// CHECK: arith.shrsi
// CHECK: arith.shrui
// CHECK: arith.andi
// CHECK: arith.ori
// CHECK: arith.floordivsi
// CHECK: arith.xori
func.func @each(%a: index, %b: index) -> index {
  %0 = index.add %a, %b
  %1 = index.mul %0, %b
  %2 = index.divs %1, %b
  %3 = index.divu %2, %b
  %4 = index.ceildivs %3, %b
  %5 = index.ceildivu %4, %b
  %6 = index.rems %5, %b
  %7 = index.remu %6, %b
  %8 = index.maxs %7, %b
  %9 = index.mins %8, %b
  %10 = index.minu %9, %b
  %11 = index.shl %10, %b
  %12 = index.shrs %11, %b
  %13 = index.shru %12, %b
  %14 = index.and %13, %b
  %15 = index.or %14, %b
  %17 = index.floordivs %15, %b
  %16 = index.xor %17, %b
  return %16 : index
}

// Affine operations too. That an index does not wrap in 64 bits says nothing of
// 32, so that marks go; an i32 of the caller keeps its own.
// CHECK-LABEL: func.func @affine
// CHECK: %[[FAR:.*]] = arith.muli %arg0, %{{.*}} : index
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[FAR]], %arg1 : index
// CHECK: %[[LEAST:.*]] = arith.minsi %arg0, %[[SUM]] : index
// CHECK: %[[MOST:.*]] = arith.maxsi %[[LEAST]], %{{.*}} : index
// CHECK: %[[P:.*]] = arith.muli %[[MOST]], %arg0 : index
// CHECK: arith.muli %arg2, %arg2 overflow<nsw> : i32
func.func @affine(%a: index, %b: index, %n: i32) -> (index, i32) {
  %0 = affine.apply affine_map<(d0)[s0] -> (d0 * 4096 + s0)>(%a)[%b]
  %1 = affine.min affine_map<(d0, d1) -> (d0, d1)>(%a, %0)
  %2 = affine.max affine_map<(d0) -> (d0, 7)>(%1)
  %3 = arith.muli %2, %a overflow<nsw> : index
  %4 = arith.muli %n, %n overflow<nsw> : i32
  return %3, %4 : index, i32
}

// Kernels stay.
// CHECK-LABEL: func.func @kernel
// CHECK: arith.muli %{{.*}} overflow<nsw> : index
func.func @kernel(%n: i32) attributes {fagpu.kernel = "sm_80"} {
  %size = arith.index_cast %n : i32 to index
  %square = arith.muli %size, %size overflow<nsw> : index
  %x = arith.index_cast %square : index to i32
  return
}
