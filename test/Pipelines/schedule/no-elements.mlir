// Sizes of 0 that are known: without keys results are filled, without rows a
// launch has no blocks.
//
// DEFINE: %{run} = fa-run %s --target=interpret --verify
// RUN: %{run} --entry=no_keys --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_keys --chip=sm_90a | FileCheck %s
// RUN: %{run} --entry=no_keys_f32 --chip=sm_90a | FileCheck %s
// RUN: %{run} --entry=no_keys_in_memory --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_keys_apart --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_keys_apart --chip=sm_90a | FileCheck %s
// RUN: %{run} --entry=no_keys_up_to_lengths --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_keys_up_to_lengths --chip=sm_90a | FileCheck %s
// RUN: fa-run %s --target=cpu --verify --entry=no_keys_up_to_lengths | FileCheck %s
// RUN: %{run} --entry=no_values --chip=sm_80 --input=2x20x3x64xbf16 --input=2x0x3x64xbf16 --input=2x0x3x64xbf16 --input=2x20x3x64xbf16 --input=2x3x20xf32 | FileCheck %s
// RUN: %{run} --entry=no_values --chip=sm_90a --input=2x20x3x64xbf16 --input=2x0x3x64xbf16 --input=2x0x3x64xbf16 --input=2x20x3x64xbf16 --input=2x3x20xf32 | FileCheck %s
// RUN: %{run} --entry=no_queries --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_queries --chip=sm_90a | FileCheck %s
// RUN: %{run} --entry=no_batch --chip=sm_80 | FileCheck %s
// RUN: %{run} --entry=no_heads_in_memory --chip=sm_80 | FileCheck %s
// CHECK: largest 0.00e+00, {{.*}}: ok
// CHECK: largest 0.00e+00, {{.*}}: ok
// CHECK: verified all rows
//
// RUN: fa-opt %s -fa-to-schedule | FileCheck %s --check-prefix=TEXT
// TEXT-LABEL: func.func @no_keys(
// TEXT: fagpu.launch @no_keys_kernel grid(%c6)
// TEXT: fagpu.launch @no_keys_kernel_0 grid(%c2)
// TEXT-LABEL: func.func @no_queries(
// TEXT-NEXT: %[[NONE:.+]] = arith.constant 0 : index
// TEXT-NEXT: fagpu.launch @no_queries_kernel grid(%[[NONE]]) ()
// TEXT-NEXT: return
//
// RUN: fa-opt %s -fa-to-ptx=format=isa | FileCheck %s --check-prefix=PTX
// PTX: .visible .entry no_keys_kernel(
// PTX: .visible .entry no_keys_apart_kernel(
// PTX: .visible .entry no_queries_kernel(

func.func @no_keys(%q: tensor<2x20x3x64xbf16>, %k: tensor<2x0x3x64xbf16>, %o: tensor<2x20x3x64xbf16>, %l: tensor<2x3x20xf32>)
    -> (tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : tensor<2x20x3x64xbf16>, tensor<2x0x3x64xbf16>, tensor<2x0x3x64xbf16>)
      outs(%o, %l : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) mask causal
  return %r#0, %r#1 : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>
}

func.func @no_keys_f32(%q: tensor<2x70x3x96xf32>, %k: tensor<2x0x3x96xf32>, %o: tensor<2x70x3x96xf32>, %l: tensor<2x3x70xf32>)
    -> (tensor<2x70x3x96xf32>, tensor<2x3x70xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : tensor<2x70x3x96xf32>, tensor<2x0x3x96xf32>, tensor<2x0x3x96xf32>)
      outs(%o, %l : tensor<2x70x3x96xf32>, tensor<2x3x70xf32>)
  return %r#0, %r#1 : tensor<2x70x3x96xf32>, tensor<2x3x70xf32>
}

func.func @no_keys_in_memory(%q: memref<2x20x3x64xbf16>, %k: memref<2x0x3x64xbf16>, %o: memref<2x20x3x64xbf16>, %l: memref<2x3x20xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x20x3x64xbf16>, memref<2x0x3x64xbf16>, memref<2x0x3x64xbf16>)
      outs(%o, %l : memref<2x20x3x64xbf16>, memref<2x3x20xf32>)
  return
}

// Elements of lse that lie apart.
func.func @no_keys_apart(%q: memref<2x70x3x64xbf16>, %k: memref<2x0x3x64xbf16>, %o: memref<2x70x3x64xbf16>, %l: memref<2x3x70xf32, strided<[?, ?, ?], offset: ?>>) {
  fa.attention ins(%q, %k, %k : memref<2x70x3x64xbf16>, memref<2x0x3x64xbf16>, memref<2x0x3x64xbf16>)
      outs(%o, %l : memref<2x70x3x64xbf16>, memref<2x3x70xf32, strided<[?, ?, ?], offset: ?>>)
  return
}

func.func @no_queries(%q: tensor<2x0x3x64xbf16>, %k: tensor<2x9x3x64xbf16>, %o: tensor<2x0x3x64xbf16>, %l: tensor<2x3x0xf32>)
    -> (tensor<2x0x3x64xbf16>, tensor<2x3x0xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : tensor<2x0x3x64xbf16>, tensor<2x9x3x64xbf16>, tensor<2x9x3x64xbf16>)
      outs(%o, %l : tensor<2x0x3x64xbf16>, tensor<2x3x0xf32>) mask causal
  return %r#0, %r#1 : tensor<2x0x3x64xbf16>, tensor<2x3x0xf32>
}

func.func @no_batch(%q: tensor<0x7x3x64xbf16>, %k: tensor<0x0x3x64xbf16>, %o: tensor<0x7x3x64xbf16>, %l: tensor<0x3x7xf32>)
    -> (tensor<0x7x3x64xbf16>, tensor<0x3x7xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : tensor<0x7x3x64xbf16>, tensor<0x0x3x64xbf16>, tensor<0x0x3x64xbf16>)
      outs(%o, %l : tensor<0x7x3x64xbf16>, tensor<0x3x7xf32>)
  return %r#0, %r#1 : tensor<0x7x3x64xbf16>, tensor<0x3x7xf32>
}

func.func @no_heads_in_memory(%q: memref<2x7x0x64xbf16>, %k: memref<2x9x0x64xbf16>, %o: memref<2x7x0x64xbf16>, %l: memref<2x0x7xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x7x0x64xbf16>, memref<2x9x0x64xbf16>, memref<2x9x0x64xbf16>)
      outs(%o, %l : memref<2x7x0x64xbf16>, memref<2x0x7xf32>)
  return
}

// Rows past the lengths keep what they held.
func.func @no_keys_up_to_lengths(%q: tensor<2x20x3x64xbf16>, %k: tensor<2x0x3x64xbf16>, %o: tensor<2x20x3x64xbf16>, %l: tensor<2x3x20xf32>)
    -> (tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) {
  %n = arith.constant dense<[13, 0]> : tensor<2xi32>
  %r:2 = fa.attention ins(%q, %k, %k : tensor<2x20x3x64xbf16>, tensor<2x0x3x64xbf16>, tensor<2x0x3x64xbf16>)
      outs(%o, %l : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) query_lengths(%n : tensor<2xi32>) mask causal
  return %r#0, %r#1 : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>
}

// The values alone say that there are no keys, whatever their lengths are.
func.func @no_values(%q: tensor<2x20x3x64xbf16>, %k: tensor<2x?x3x64xbf16>, %v: tensor<2x0x3x64xbf16>, %o: tensor<2x20x3x64xbf16>, %l: tensor<2x3x20xf32>)
    -> (tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) {
  %n = arith.constant dense<[13, 0]> : tensor<2xi32>
  %none = arith.constant dense<0> : tensor<2xi32>
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x20x3x64xbf16>, tensor<2x?x3x64xbf16>, tensor<2x0x3x64xbf16>)
      outs(%o, %l : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>) query_lengths(%n : tensor<2xi32>) key_lengths(%none : tensor<2xi32>) mask causal
  return %r#0, %r#1 : tensor<2x20x3x64xbf16>, tensor<2x3x20xf32>
}
