// Gradients of tables that are read at an index of the score: each pair has its
// own. A capture beside it keeps the sums of its heads. Seeds are fixed: a score
// at the border of two elements may fall to either side.

// RUN: fa-run %s --entry=levels --target=cpu --verify --seed=3 | FileCheck %s
// RUN: fa-run %s --entry=levels --target=interpret --chip=sm_80 --verify --seed=3 | FileCheck %s
// RUN: fa-run %s --entry=levels --target=interpret --chip=sm_90a --verify --seed=3 | FileCheck %s
// RUN: fa-run %s --entry=levels_of_keys --target=cpu --verify --bound=1e-3 --seed=3 | FileCheck %s
// RUN: fa-run %s --entry=levels_of_keys --target=interpret --chip=sm_80 --verify --bound=1e-3 --seed=3 | FileCheck %s
// RUN: fa-run %s --entry=levels_of_keys --target=interpret --chip=sm_90a --verify --bound=1e-3 --seed=3 | FileCheck %s
// CHECK: verified all rows

!t = tensor<2x70x4x16xf32>
!row = tensor<2x4x70xf32>
func.func @levels(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !row, %output_gradient: !t, %slopes: tensor<4xf32>,
    %table: tensor<9xf32>) -> (!t, !t, !t, tensor<4xf32>, tensor<9xf32>) {
  %empty = tensor.empty() : !t
  %slopes_empty = tensor.empty() : tensor<4xf32>
  %table_empty = tensor.empty() : tensor<9xf32>
  %g:5 = fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !row)
      gradients(%output_gradient : !t)
      outs(query = %empty : !t, key = %empty : !t, value = %empty : !t, capture[0] = %slopes_empty : tensor<4xf32>,
           capture[1] = %table_empty : tensor<9xf32>)
      score(%s, %b, %h, %i, %j) captures(%m = %slopes : tensor<4xf32>, %t = %table : tensor<9xf32>) {
        %slope = tensor.extract %m[%h] : tensor<4xf32>
        %three = arith.constant 3.0 : f32
        %scaled = arith.mulf %s, %three : f32
        %integer = arith.fptosi %scaled : f32 to i32
        %level = arith.index_cast %integer : i32 to index
        %four = arith.constant 4 : index
        %at = arith.addi %level, %four : index
        %x = tensor.extract %t[%at] : tensor<9xf32>
        %product = arith.mulf %s, %x : f32
        %y = arith.addf %product, %slope : f32
        fa.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %visible = arith.cmpi sle, %j, %i : index
        fa.yield %visible : i1
      }
  return %g#0, %g#1, %g#2, %g#3, %g#4 : !t, !t, !t, tensor<4xf32>, tensor<9xf32>
}

// Blocks of keys alone, whose rows are keys; a 16-bit table.
func.func @levels_of_keys(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !row, %output_gradient: !t, %slopes: tensor<4xf32>,
    %table: tensor<9xf16>) -> (!t, tensor<9xf16>) {
  %empty = tensor.empty() : !t
  %table_empty = tensor.empty() : tensor<9xf16>
  %g:2 = fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !row)
      gradients(%output_gradient : !t) outs(key = %empty : !t, capture[1] = %table_empty : tensor<9xf16>)
      score(%s, %b, %h, %i, %j) captures(%m = %slopes : tensor<4xf32>, %t = %table : tensor<9xf16>) {
        %slope = tensor.extract %m[%h] : tensor<4xf32>
        %three = arith.constant 3.0 : f32
        %scaled = arith.mulf %s, %three : f32
        %integer = arith.fptosi %scaled : f32 to i32
        %level = arith.index_cast %integer : i32 to index
        %four = arith.constant 4 : index
        %at = arith.addi %level, %four : index
        %narrow = tensor.extract %t[%at] : tensor<9xf16>
        %x = arith.extf %narrow : f16 to f32
        %product = arith.mulf %s, %x : f32
        %y = arith.addf %product, %slope : f32
        fa.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %visible = arith.cmpi sle, %j, %i : index
        fa.yield %visible : i1
      }
  return %g#0, %g#1 : !t, tensor<9xf16>
}
