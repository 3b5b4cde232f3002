// What a copy ahead needs may be a choice that reads memory, of no iteration: a mask that reads the padding of its sequence
// decides which queries are copied. The pass that gives copies their slots never ended.

// DEFINE: %{sizes} = --input=2x150x4x64xbf16 --input=2x170x2x64xbf16 --input=2x170x2x64xbf16 --input=2x150x4x64xbf16 \
// DEFINE:   --input=2x4x150xf32 --input=2x150x4x64xbf16 --input=2xi32=[40,3] --input=2xi32=[20,20] --input=index=48
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify %{sizes} | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify %{sizes} | FileCheck %s
// CHECK: ok
// CHECK: ok
// CHECK: ok
// CHECK: verified all rows

!q = tensor<2x?x4x64xbf16>
!k = tensor<2x?x2x64xbf16>
!lse = tensor<2x4x?xf32>
func.func @chunks(%query: !q, %key: !k, %value: !k, %output: !q, %lse: !lse, %output_gradient: !q, %leftpad: tensor<?xi32>,
                  %shift: tensor<?xi32>, %chunk: index) -> (!q, !k, !k) {
  %c1 = arith.constant 1 : index
  %queries = tensor.dim %query, %c1 : !q
  %keys = tensor.dim %key, %c1 : !k
  %query_init = tensor.empty(%queries) : !q
  %key_init = tensor.empty(%keys) : !k
  %gradients:3 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !lse)
      gradients(%output_gradient : !q) outs(query = %query_init : !q, key = %key_init : !k, value = %key_init : !k)
      mask causal (%b, %h, %i, %j)
          captures(%padding_table = %leftpad : tensor<?xi32>, %shift_table = %shift : tensor<?xi32>, %size = %chunk : index) {
        %padding32 = tensor.extract %padding_table[%b] : tensor<?xi32>
        %padding = arith.index_cast %padding32 : i32 to index
        %is_key = arith.cmpi sge, %j, %padding : index
        %shift32 = tensor.extract %shift_table[%b] : tensor<?xi32>
        %of_sequence = arith.index_cast %shift32 : i32 to index
        %aligned = arith.addi %i, %of_sequence : index
        %query_behind = arith.subi %aligned, %padding : index
        %key_behind = arith.subi %j, %padding : index
        %chunk_of_query = arith.floordivsi %query_behind, %size : index
        %chunk_of_key = arith.floordivsi %key_behind, %size : index
        %is_near = arith.cmpi eq, %chunk_of_query, %chunk_of_key : index
        %visible = arith.andi %is_key, %is_near : i1
        fa.yield %visible : i1
      }
  return %gradients#0, %gradients#1, %gradients#2 : !q, !k, !k
}
