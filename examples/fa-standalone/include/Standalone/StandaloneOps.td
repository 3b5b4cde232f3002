//===- StandaloneOps.td - A dialect that is lowered to fa --*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STANDALONE_OPS_TD
#define STANDALONE_OPS_TD

include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Standalone_Dialect : Dialect {
  let name = "standalone";
  let cppNamespace = "::standalone";
  let summary = "What a model's graph says before it says how";
}

def Standalone_SelfAttentionOp
    : Op<Standalone_Dialect, "self_attention", [Pure]> {
  let summary = "Self-attention on a packed projection";
  let description = [{
    Takes the result of one projection, in which query, key and value lie side
    by side, and joins the heads of the result again.

    | value | shape |
    |---|---|
    | `packed` | batch x positions x (3 * heads * head dim), f16, bf16 or f32 |
    | `output` | batch x positions x (heads * head dim), same type |

    Example:

    ```mlir
    %o = standalone.self_attention %packed heads(8) causal
        : tensor<2x?x1536xf32> -> tensor<2x?x512xf32>
    ```
  }];
  let arguments = (ins
    3DTensorOf<[F16, BF16, F32]>:$packed,
    ConfinedAttr<I64Attr, [IntPositive]>:$heads,
    UnitAttr:$causal);
  let results = (outs 3DTensorOf<[F16, BF16, F32]>:$output);
  let assemblyFormat = [{
    $packed `heads` `(` $heads `)` (`causal` $causal^)? attr-dict
    `:` type($packed) `->` type($output)
  }];
  let hasVerifier = 1;
}

def Standalone_CappedAttentionOp
    : Op<Standalone_Dialect, "capped_attention",
         [Pure, AllTypesMatch<["query", "output"]>,
          AllTypesMatch<["key", "value"]>]> {
  let summary = "Causal attention on scores that stay below a cap";
  let description = [{
    Each score s becomes `cap * tanh(s / cap)`.

    | value | shape |
    |---|---|
    | `query`, `output` | batch x queries x heads x head dim, f16, bf16 or f32 |
    | `key`, `value` | batch x keys x key heads x head dim, same element type |

    Example:

    ```mlir
    %o = standalone.capped_attention %q, %k, %v cap(30.0)
        : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>
    ```
  }];
  let arguments = (ins
    4DTensorOf<[F16, BF16, F32]>:$query,
    4DTensorOf<[F16, BF16, F32]>:$key,
    4DTensorOf<[F16, BF16, F32]>:$value,
    F32Attr:$cap);
  let results = (outs 4DTensorOf<[F16, BF16, F32]>:$output);
  let assemblyFormat = [{
    $query `,` $key `,` $value `cap` `(` $cap `)` attr-dict
    `:` type($query) `,` type($key)
  }];
  let hasVerifier = 1;
}

#endif // STANDALONE_OPS_TD
