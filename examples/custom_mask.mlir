// A mask of one's own: each query sees the 32 keys up to itself, and further
// back only every n-th key, n being the stride of its head (Child et al. 2019).
//
// The region yields whether query i of this batch and head sees key j. Causal
// is found in it, so that key blocks after the query are not visited; what
// cannot be proven from the region is decided by running it.
//
// Run and verify:   fa-run examples/custom_mask.mlir --verify

func.func @custom_mask(%query: tensor<2x256x4x64xf16>, %key: tensor<2x256x4x64xf16>,
                       %value: tensor<2x256x4x64xf16>) -> tensor<2x256x4x64xf16> {
  %strides = arith.constant dense<[4, 8, 16, 32]> : tensor<4xi32>
  %init = tensor.empty() : tensor<2x256x4x64xf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x256x4x64xf16>, tensor<2x256x4x64xf16>, tensor<2x256x4x64xf16>)
      outs(%init : tensor<2x256x4x64xf16>)
      mask(%batch, %head, %i, %j) captures(%stride_of = %strides : tensor<4xi32>) {
        %zero = arith.constant 0 : index
        %near = arith.constant 32 : index
        %stride_i32 = tensor.extract %stride_of[%head] : tensor<4xi32>
        %stride = arith.index_cast %stride_i32 : i32 to index
        %distance = arith.subi %i, %j : index
        %is_near = arith.cmpi slt, %distance, %near : index
        %remainder = arith.remsi %j, %stride : index
        %is_column = arith.cmpi eq, %remainder, %zero : index
        %is_kept = arith.ori %is_near, %is_column : i1
        %is_causal = arith.cmpi sle, %j, %i : index
        %visible = arith.andi %is_causal, %is_kept : i1
        fa.yield %visible : i1
      }
  return %output : tensor<2x256x4x64xf16>
}
