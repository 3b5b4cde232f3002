// A cluster is of query blocks of a sequence. Where a sequence is one query block,
// as its size says, heads are the last dimension of the loop, or there is no loop:
// no clusters then, and a remark says so.
//
// DEFINE: %{run} = fa-run %s --target=interpret --chip=sm_90a --verify
// RUN: %{run} --entry=heads | FileCheck %s
// RUN: %{run} --entry=batches | FileCheck %s
// RUN: %{run} --entry=one | FileCheck %s
// RUN: %{run} --entry=two_blocks | FileCheck %s
// CHECK: verified all rows
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-outline-kernels 2>%t.remarks | FileCheck %s --check-prefix=TEXT
// TEXT-NOT: fagpu.cluster
// TEXT-LABEL: func.func @one(
// TEXT-LABEL: func.func @two_blocks_kernel(
// TEXT-SAME: fagpu.cluster = 2 : i64
// RUN: grep remark: %t.remarks | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-3: remark: {{.*}}no clusters of 2 blocks: each sequence is one query block, of up to 128 queries"
// REMARK-NOT: remark:

#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, cluster = 2>, stages = 2>>

!heads = memref<1x64x3x64xbf16>
func.func @heads(%q: !heads, %k: !heads, %v: !heads, %o: !heads) {
  fa.attention ins(%q, %k, %v : !heads, !heads, !heads) outs(%o : !heads) {config = #config}
  return
}

!batches = memref<3x128x1x64xbf16>
func.func @batches(%q: !batches, %k: !batches, %v: !batches, %o: !batches) {
  fa.attention ins(%q, %k, %v : !batches, !batches, !batches) outs(%o : !batches) {config = #config}
  return
}

!one = memref<1x64x1x64xbf16>
func.func @one(%q: !one, %k: !one, %v: !one, %o: !one) {
  fa.attention ins(%q, %k, %v : !one, !one, !one) outs(%o : !one) {config = #config}
  return
}

!two = memref<1x200x1x64xbf16>
func.func @two_blocks(%q: !two, %k: !two, %v: !two, %o: !two) {
  fa.attention ins(%q, %k, %v : !two, !two, !two) outs(%o : !two) {config = #config}
  return
}
