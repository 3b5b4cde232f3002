// A score function of one's own, with captured tensors.
//
// The region sees the scaled score (f32, natural logarithm) and the absolute
// batch, head, query and key. What it reads from outside is named after
// `captures`. It holds arithmetic, `select` and loads from captures, no control
// flow. Here: a learned bias by relative position (Shaw et al. 2018), clamped
// to 128 positions to either side, and a gain of each head.
//
// Run and verify:   fa-run examples/custom_score.mlir --verify

func.func @custom_score(%query: tensor<2x256x8x64xf32>, %key: tensor<2x256x8x64xf32>,
                        %value: tensor<2x256x8x64xf32>, %table: tensor<8x257xf32>,
                        %gains: tensor<8xf32>) -> tensor<2x256x8x64xf32> {
  %init = tensor.empty() : tensor<2x256x8x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x256x8x64xf32>, tensor<2x256x8x64xf32>, tensor<2x256x8x64xf32>)
      outs(%init : tensor<2x256x8x64xf32>)
      score(%score, %batch, %head, %i, %j) captures(%positions = %table : tensor<8x257xf32>, %gain = %gains : tensor<8xf32>) {
        %first = arith.constant -128 : index
        %last = arith.constant 128 : index
        %distance = arith.subi %j, %i : index
        %not_before = arith.maxsi %distance, %first : index
        %clamped = arith.minsi %not_before, %last : index
        %entry = arith.addi %clamped, %last : index
        %bias = tensor.extract %positions[%head, %entry] : tensor<8x257xf32>
        %factor = tensor.extract %gain[%head] : tensor<8xf32>
        %scaled = arith.mulf %score, %factor : f32
        %biased = arith.addf %scaled, %bias : f32
        fa.yield %biased : f32
      }
  return %output : tensor<2x256x8x64xf32>
}
