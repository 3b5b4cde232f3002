// Packed sequences that are short in the mean have a kernel of their own: 80 and 120 tokens here, of which each takes one.
//
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --input=240x2x128xbf16 --input=240x2x128xbf16 --input=240x2x128xbf16 \
// RUN:   --input=240x2x128xbf16 "--input=4xi32=[0,40,170,240]" | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --input=240x2x128xbf16 --input=240x2x128xbf16 --input=240x2x128xbf16 \
// RUN:   --input=240x2x128xbf16 "--input=3xi32=[0,30,240]" | FileCheck %s
// CHECK: verified all rows
//
// RUN: fa-opt %s --fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=KERNELS
// KERNELS-DAG: key_block = 64, {{.*}}fagpu.kernel
// KERNELS-DAG: key_block = 128, {{.*}}fagpu.kernel
// KERNELS: %[[LONG:.*]] = arith.cmpi uge, %{{.*}}, %c113
// KERNELS: %[[SHORT:.*]] = arith.cmpi ult, %{{.*}}, %c113
// KERNELS: fagpu.launch @packed_kernel grid(%{{.*}}) if(%[[LONG]])
// KERNELS: fagpu.launch @packed_kernel_{{[0-9]+}} grid(%{{.*}}) if(%[[SHORT]])

!rows = tensor<?x2x128xbf16>
#rows = #fa.dims<s, h, d>
func.func @packed(%query: !rows, %key: !rows, %value: !rows, %init: !rows, %starts: tensor<?xi32>) -> !rows {
  %output = fa.attention ins(%query, %key, %value : !rows, !rows, !rows) outs(%init : !rows)
      query_starts(%starts : tensor<?xi32>) key_starts(%starts : tensor<?xi32>)
      {query_dims = #rows, key_dims = #rows, value_dims = #rows, output_dims = #rows}
  return %output : !rows
}
