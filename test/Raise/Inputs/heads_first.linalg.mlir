// The function of examples/heads_first.mlir, as a front end without attention
// writes it.

#pair = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
func.func @heads_first(%query: tensor<2x8x256x64xf32>, %key: tensor<2x8x256x64xf32>,
                       %value: tensor<2x8x256x64xf32>) -> tensor<2x256x8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x8x256x256xf32>
  %er = tensor.empty() : tensor<2x8x256xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x256x256xf32>) -> tensor<2x8x256x256xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>,
                       affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%query, %key : tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>)
      outs(%i : tensor<2x8x256x256xf32>) -> tensor<2x8x256x256xf32>
  %x = linalg.generic {indexing_maps = [#pair, #pair], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x256x256xf32>) outs(%e : tensor<2x8x256x256xf32>) {
  ^bb0(%a: f32, %out: f32):
    %q = linalg.index 2 : index
    %k = linalg.index 3 : index
    %scaled = arith.mulf %a, %scale : f32
    %visible = arith.cmpi sge, %q, %k : index
    %r = arith.select %visible, %scaled, %least : f32
    linalg.yield %r : f32
  } -> tensor<2x8x256x256xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<2x8x256xf32>) -> tensor<2x8x256xf32>
  %m = linalg.reduce ins(%x : tensor<2x8x256x256xf32>) outs(%mi : tensor<2x8x256xf32>) dimensions = [3]
    (%a: f32, %out: f32) {
      %r = arith.maximumf %a, %out : f32
      linalg.yield %r : f32
    }
  %p = linalg.generic {indexing_maps = [#pair, #row, #pair], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<2x8x256x256xf32>, tensor<2x8x256xf32>) outs(%e : tensor<2x8x256x256xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x8x256x256xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<2x8x256xf32>) -> tensor<2x8x256xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<2x8x256x256xf32>) outs(%ti : tensor<2x8x256xf32>) dimensions = [3]
  %n = linalg.generic {indexing_maps = [#pair, #row, #pair], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<2x8x256x256xf32>, tensor<2x8x256xf32>) outs(%e : tensor<2x8x256x256xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x8x256x256xf32>
  %oe = tensor.empty() : tensor<2x256x8x64xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x256x8x64xf32>) -> tensor<2x256x8x64xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>,
                       affine_map<(b, h, i, d, j) -> (b, i, h, d)>]
      ins(%n, %value : tensor<2x8x256x256xf32>, tensor<2x8x256x64xf32>)
      outs(%oi : tensor<2x256x8x64xf32>) -> tensor<2x256x8x64xf32>
  return %o : tensor<2x256x8x64xf32>
}
