//===- Passes.td - From StableHLO to linalg ----------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
#define FA_CONVERSION_STABLEHLOTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def FAImportStableHLO : Pass<"fa-import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Turn StableHLO's generic text into linalg";
  let description = [{
    Reads StableHLO as generic text of unregistered operations, so it needs
    `--allow-unregistered-dialect` and no StableHLO library. Front ends print it
    with `get_asm(print_generic_op_form=True)`. The result needs neither.

    Calls are inlined; private functions that are then unused go. So do the attributes
    of functions and modules whose dialects are not loaded.

    | StableHLO | becomes |
    |---|---|
    | elementwise, `compare`, `select`, `clamp`, `convert`; `chlo.erf`, `square` | `linalg.generic` of arith and math; arith on scalars at rank 0 |
    | `dot_general` | `linalg.generic`; sums in f32 at least, `algorithm` honoured |
    | `reduce` | `linalg.generic` |
    | `broadcast_in_dim`, `iota`, and their dynamic forms | `linalg.generic`, `linalg.fill` |
    | `reshape`, `dynamic_reshape` | `tensor.collapse_shape`, `expand_shape`; `tensor.reshape` where sizes are not known to fit |
    | `transpose` | `linalg.transpose` |
    | `slice`, `concatenate`, `pad`, `dynamic_slice`, `dynamic_update_slice` | slices and `tensor.pad` |
    | `while` | `scf.for` if it counts, else `scf.while` |
    | `custom_call @shape_assertion` | `cf.assert` |

    Any other operation of `stablehlo`, `chlo`, `mhlo` or `vhlo` is one error that
    names it. So are types other than floats and signless integers, and a dynamic
    size of which it is not known whether it is broadcast.

    Before:

    ```mlir
    %s = "stablehlo.dot_general"(%q, %k) <{dot_dimension_numbers = #stablehlo.dot<
        lhs_batching_dimensions = [0], rhs_batching_dimensions = [0],
        lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>}>
        : (tensor<4x8x16xbf16>, tensor<4x32x16xbf16>) -> tensor<4x8x32xf32>
    ```

    After:

    ```mlir
    #q = affine_map<(b, m, n, k) -> (b, m, k)>
    #k = affine_map<(b, m, n, k) -> (b, n, k)>
    #s = affine_map<(b, m, n, k) -> (b, m, n)>
    %0 = tensor.empty() : tensor<4x8x32xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%q, %k : tensor<4x8x16xbf16>, tensor<4x32x16xbf16>) outs(%zeros : tensor<4x8x32xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %sum, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<4x8x32xf32>
    ```
  }];
}

#endif // FA_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
