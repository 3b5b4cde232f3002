// RUN: fa-opt %s -fa-combine-to-state | FileCheck %s
// RUN: fa-opt %s -fa-combine-to-state -o /dev/null --remark-format=emitRemark --remarks-filter=fa-combine-to-state 2>&1 | FileCheck %s --check-prefix=REMARK

!o = memref<1x40x1x128xf32, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<1x1x40xf32, strided<[?, ?, ?], offset: ?>>
!bf16 = memref<1x40x1x128xbf16, strided<[?, ?, ?, 1], offset: ?>>

// 40 rows are in a state of 48.

// CHECK-LABEL: func @merge(
// CHECK-SAME:      %[[A:[^ :,)]*]]: {{[^%]*}}, %[[LA:[^ :,)]*]]: {{[^%]*}}, %[[B:[^ :,)]*]]: {{[^%]*}}, %[[LB:[^ :,)]*]]: {{[^%]*}}, %[[O:[^ :,)]*]]:
// CHECK:         %[[ACC:[^ ,]*]], %[[MAX:[^ ,]*]], %[[SUM:[^ ,]*]] = fa.add_partial ins(%[[A]], %[[LA]] : {{.*}}) outs(%{{.*}} : tensor<48x128xf32>, tensor<48xf32>, tensor<48xf32>)
// CHECK:         %[[ACC2:[^ ,]*]], %[[MAX2:[^ ,]*]], %[[SUM2:[^ ,]*]] = fa.add_partial ins(%[[B]], %[[LB]] : {{.*}}) outs(%[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK:         fa.finalize ins(%[[ACC2]], %[[MAX2]], %[[SUM2]] : {{.*}}) outs(%[[O]] :
// CHECK-NOT:     fa.combine
func.func @merge(%a: !o, %la: !lse, %b: !o, %lb: !lse, %out: !bf16) {
  fa.combine a(%a, %la : !o, !lse) b(%b, %lb : !o, !lse) outs(%out : !bf16)
  return
}

// Tiles whose number of rows is not known have at most 64.

// CHECK-LABEL: func @dynamic(
// CHECK:         fa.finalize ins(%{{.*}} : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%{{.*}}, %{{.*}} :
func.func @dynamic(%a: memref<1x?x1x16xf32>, %la: memref<1x1x?xf32>, %out: memref<1x?x1x16xf32>, %l: memref<1x1x?xf32>) {
  fa.combine a(%a, %la : memref<1x?x1x16xf32>, memref<1x1x?xf32>) b(%a, %la : memref<1x?x1x16xf32>, memref<1x1x?xf32>)
      outs(%out, %l : memref<1x?x1x16xf32>, memref<1x1x?xf32>)
  return
}

// What a tile has just stored is not read again: its state, with its sink, gives the result of this one part. Not where more is
// added to it, or the memory is written between.

!acc = tensor<48x128xf32>
!row = tensor<48xf32>

// CHECK-LABEL: func @one_part(
// CHECK-SAME:      %[[A:[^ :,)]*]]: {{[^%]*}}, %[[M:[^ :,)]*]]: {{[^%]*}}, %[[S:[^ :,)]*]]: {{[^%]*}}, %[[O:[^ :,)]*]]: {{[^%]*}}, %[[L:[^ :,)]*]]: {{[^%]*}}, %[[OUT:[^ :,)]*]]: {{[^%]*}}, %[[SINK:[^ :,)]*]]: f32
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}}) sink(%[[SINK]] : f32)
// CHECK-NOT:     fa.add_partial
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[OUT]] : {{.*}}) sink(%[[SINK]] : f32)
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}})
// CHECK:         %[[TWO:.*]], %{{.*}}, %{{.*}} = fa.add_partial ins(%[[O]], %[[L]] : {{.*}}) outs(%[[A]], %[[M]], %[[S]] :
// CHECK:         fa.finalize ins(%[[TWO]],
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}})
// CHECK:         linalg.fill
// CHECK:         %[[READ:.*]], %{{.*}}, %{{.*}} = fa.add_partial ins(%[[O]], %[[L]] :
// CHECK:         fa.finalize ins(%[[READ]],
func.func @one_part(%a: !acc, %m: !row, %s: !row, %o: !o, %l: !lse, %out: !bf16, %sink: f32) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : !acc
  %er = tensor.empty() : !row
  %a0 = linalg.fill ins(%zero : f32) outs(%ea : !acc) -> !acc
  %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
  %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : !o, !lse) sink(%sink : f32)
  %r:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%out : !bf16)

  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : !o, !lse)
  %t:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a, %m, %s : !acc, !row, !row)
  fa.finalize ins(%t#0, %t#1, %t#2 : !acc, !row, !row) outs(%out : !bf16)

  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : !o, !lse)
  linalg.fill ins(%zero : f32) outs(%o : !o)
  %u:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%u#0, %u#1, %u#2 : !acc, !row, !row) outs(%out : !bf16)
  return
}

// A part that is read for several results gives the state to each of them. One that nothing reads is left alone.

// CHECK-LABEL: func @two_results(
// CHECK-SAME:      %[[A:[^ :,)]*]]: {{[^%]*}}, %[[M:[^ :,)]*]]: {{[^%]*}}, %[[S:[^ :,)]*]]: {{[^%]*}}, %[[O:[^ :,)]*]]: {{[^%]*}}, %[[L:[^ :,)]*]]: {{[^%]*}}, %[[OUT:[^ :,)]*]]: {{[^%]*}}, %[[SECOND:[^ :,)]*]]:
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}})
// CHECK:         fa.add_partial ins(%[[O]], %[[L]] :
// CHECK-NOT:     fa.add_partial
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[OUT]] :
// CHECK:         fa.finalize ins(%[[A]], %[[M]], %[[S]] : {{.*}}) outs(%[[SECOND]] :
// CHECK-NEXT:    return
func.func @two_results(%a: !acc, %m: !row, %s: !row, %o: !o, %l: !lse, %out: !bf16, %second: !o) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : !acc
  %er = tensor.empty() : !row
  %a0 = linalg.fill ins(%zero : f32) outs(%ea : !acc) -> !acc
  %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
  %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : !o, !lse)
  %unread:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  %r:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%out : !bf16)
  fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%second : !o)
  return
}

// What is forwarded may itself be stored and read again.

// CHECK-LABEL: func @chain(
// CHECK-SAME:      %[[A:[^ :,)]*]]: {{[^%]*}}, %[[M:[^ :,)]*]]: {{[^%]*}}, %[[S:[^ :,)]*]]:
// CHECK-NOT:     fa.add_partial
// CHECK-COUNT-3: fa.finalize ins(%[[A]], %[[M]], %[[S]] :
func.func @chain(%a: !acc, %m: !row, %s: !row, %o: !o, %l: !lse, %p: !o, %k: !lse, %out: !bf16) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : !acc
  %er = tensor.empty() : !row
  %a0 = linalg.fill ins(%zero : f32) outs(%ea : !acc) -> !acc
  %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
  %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : !o, !lse)
  %r:3 = fa.add_partial ins(%o, %l : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%p, %k : !o, !lse)
  %t:3 = fa.add_partial ins(%p, %k : !o, !lse) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%t#0, %t#1, %t#2 : !acc, !row, !row) outs(%out : !bf16)
  return
}

// Of a result that alone reads a part, where it stores rows: one of both is stored. A load between may read the part.

// CHECK-LABEL: func @sole_reader(
// CHECK-SAME:      %[[O:[a-z0-9]+]]: memref<1x48x1x128xf32>, %[[L:[a-z0-9]+]]: memref<1x1x48xf32>, %[[OUT:[a-z0-9]+]]: memref<1x?x1x128xbf16>
// CHECK:         %[[ROWS:.*]] = memref.dim %[[OUT]], %c1
// CHECK:         %[[HAS:.*]] = arith.cmpi ne, %[[ROWS]], %c0
// CHECK:         %[[PART:.*]] = arith.select %[[HAS]], %c0{{.*}}, %c48
// CHECK-NEXT:    fa.finalize ins({{.*}}) outs(%[[O]], %[[L]] : {{.*}}) rows(%[[PART]])
// CHECK-NEXT:    fa.finalize ins({{.*}}) outs(%[[OUT]] :
// CHECK-NOT:     fa.sole_reader
// CHECK:         fa.finalize ins({{.*}}) outs(%[[O]], %[[L]] : memref<1x48x1x128xf32>, memref<1x1x48xf32>)
// CHECK-NOT:     rows(
// CHECK:         return
func.func @sole_reader(%a: !acc, %m: !row, %s: !row, %o: memref<1x48x1x128xf32>, %l: memref<1x1x48xf32>,
                       %out: memref<1x?x1x128xbf16>, %numbers: memref<f32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : !acc
  %er = tensor.empty() : !row
  %a0 = linalg.fill ins(%zero : f32) outs(%ea : !acc) -> !acc
  %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
  %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : memref<1x48x1x128xf32>, memref<1x1x48xf32>)
  %r:3 = fa.add_partial ins(%o, %l : memref<1x48x1x128xf32>, memref<1x1x48xf32>) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%out : memref<1x?x1x128xbf16>) {fa.sole_reader}

  fa.finalize ins(%a, %m, %s : !acc, !row, !row) outs(%o, %l : memref<1x48x1x128xf32>, memref<1x1x48xf32>)
  // REMARK: combine-to-state.mlir:[[#@LINE+2]]:13: remark: [Missed] Store | Category:fa-combine-to-state | Remark="the partial result is stored beside the result: this load between the two may read it"
  // REMARK-NOT: remark:
  %number = memref.load %numbers[] : memref<f32>
  %t:3 = fa.add_partial ins(%o, %l : memref<1x48x1x128xf32>, memref<1x1x48xf32>) outs(%a0, %m0, %s0 : !acc, !row, !row)
  fa.finalize ins(%t#0, %t#1, %t#2 : !acc, !row, !row) outs(%out : memref<1x?x1x128xbf16>) {fa.sole_reader}
  return %number : f32
}
