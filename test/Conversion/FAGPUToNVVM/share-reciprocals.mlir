// RUN: fa-opt %s -fagpu-share-reciprocals | FileCheck %s

// CHECK-LABEL: func.func @four
// CHECK-SAME: (%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32, %[[N:.*]]: f32)
func.func @four(%a: f32, %b: f32, %c: f32, %d: f32, %n: f32) -> (f32, f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  // CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: %[[CD:.*]] = arith.mulf %[[C]], %[[D]]
  // CHECK-NEXT: %[[ABCD:.*]] = arith.mulf %[[AB]], %[[CD]]
  // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[ABCD]] fastmath<arcp,afn> : f32
  // CHECK-NEXT: %[[RAB:.*]] = arith.mulf %[[R]], %[[CD]]
  // CHECK-NEXT: %[[RCD:.*]] = arith.mulf %[[R]], %[[AB]]
  // CHECK-NEXT: %[[RA:.*]] = arith.mulf %[[RAB]], %[[B]]
  // CHECK-NEXT: %[[RB:.*]] = arith.mulf %[[RAB]], %[[A]]
  // CHECK-NEXT: %[[RC:.*]] = arith.mulf %[[RCD]], %[[D]]
  // CHECK-NEXT: %[[RD:.*]] = arith.mulf %[[RCD]], %[[C]]
  // CHECK: %[[QD:.*]] = arith.mulf %[[N]], %[[RD]]
  // CHECK-NOT: arith.divf
  // CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[QD]]
  %w = arith.divf %one, %a fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
  %x = arith.divf %one, %b fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
  %y = arith.divf %one, %c fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
  %z = arith.divf %n, %d fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
  return %w, %x, %y, %z : f32, f32, f32, f32
}

// The last of an odd number is multiplied with the others once.
// CHECK-LABEL: func.func @three
// CHECK-SAME: (%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32)
func.func @three(%a: f32, %b: f32, %c: f32) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  // CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: %[[ABC:.*]] = arith.mulf %[[AB]], %[[C]]
  // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[ABC]] fastmath<arcp,afn> : f32
  // CHECK-NEXT: %[[RAB:.*]] = arith.mulf %[[R]], %[[C]]
  // CHECK-NEXT: %[[RC:.*]] = arith.mulf %[[R]], %[[AB]]
  // CHECK-NEXT: %[[RA:.*]] = arith.mulf %[[RAB]], %[[B]]
  // CHECK-NEXT: %[[RB:.*]] = arith.mulf %[[RAB]], %[[A]]
  // CHECK-NOT: arith.divf
  // CHECK: return %[[RA]], %[[RB]], %[[RC]]
  %x = arith.divf %one, %a fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
  %y = arith.divf %one, %b fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
  %z = arith.divf %one, %c fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
  return %x, %y, %z : f32, f32, f32
}

// Two levels of five have a last one that stands alone. A group of another size
// may follow.
// CHECK-LABEL: func.func @five_and_two
// CHECK-SAME: (%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32, %[[E:.*]]: f32, %[[F:.*]]: f32, %[[G:.*]]: f32)
func.func @five_and_two(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32) -> (f32, f32, f32, f32, f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  // CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: %[[CD:.*]] = arith.mulf %[[C]], %[[D]]
  // CHECK-NEXT: %[[ABCD:.*]] = arith.mulf %[[AB]], %[[CD]]
  // CHECK-NEXT: %[[ALL:.*]] = arith.mulf %[[ABCD]], %[[E]]
  // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[ALL]] fastmath<arcp,afn> : f32
  // CHECK-NEXT: %[[RABCD:.*]] = arith.mulf %[[R]], %[[E]]
  // CHECK-NEXT: %[[RE:.*]] = arith.mulf %[[R]], %[[ABCD]]
  // CHECK-NEXT: %[[RAB:.*]] = arith.mulf %[[RABCD]], %[[CD]]
  // CHECK-NEXT: %[[RCD:.*]] = arith.mulf %[[RABCD]], %[[AB]]
  // CHECK-NEXT: %[[RA:.*]] = arith.mulf %[[RAB]], %[[B]]
  // CHECK-NEXT: %[[RB:.*]] = arith.mulf %[[RAB]], %[[A]]
  // CHECK-NEXT: %[[RC:.*]] = arith.mulf %[[RCD]], %[[D]]
  // CHECK-NEXT: %[[RD:.*]] = arith.mulf %[[RCD]], %[[C]]
  // CHECK: %[[FG:.*]] = arith.mulf %[[F]], %[[G]]
  // CHECK: %[[Q:.*]] = arith.divf %{{.*}}, %[[FG]] fastmath<arcp,afn> : f32
  // CHECK-NEXT: %[[RF:.*]] = arith.mulf %[[Q]], %[[G]]
  // CHECK-NEXT: %[[RG:.*]] = arith.mulf %[[Q]], %[[F]]
  // CHECK: return %[[RA]], %[[RB]], %[[RC]], %[[RD]], %[[RE]], %[[RF]], %[[RG]]
  %q0 = arith.divf %one, %a fastmath<arcp,afn> {fagpu.sharers = 5 : i64} : f32
  %q1 = arith.divf %one, %b fastmath<arcp,afn> {fagpu.sharers = 5 : i64} : f32
  %q2 = arith.divf %one, %c fastmath<arcp,afn> {fagpu.sharers = 5 : i64} : f32
  %q3 = arith.divf %one, %d fastmath<arcp,afn> {fagpu.sharers = 5 : i64} : f32
  %q4 = arith.divf %one, %e fastmath<arcp,afn> {fagpu.sharers = 5 : i64} : f32
  %q5 = arith.divf %one, %f fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
  %q6 = arith.divf %one, %g fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
  return %q0, %q1, %q2, %q3, %q4, %q5, %q6 : f32, f32, f32, f32, f32, f32, f32
}

// What is read before the last one, or is left over, has its own.
// CHECK-LABEL: func.func @apart
func.func @apart(%a: f32, %b: f32, %c: f32) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  // CHECK-COUNT-3: arith.divf
  %x = arith.divf %one, %a fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
  %s = arith.addf %x, %b : f32
  %y = arith.divf %one, %s fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
  %t = arith.addf %y, %c : f32
  %z = arith.divf %one, %t fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
  return %x, %y, %z : f32, f32, f32
}
