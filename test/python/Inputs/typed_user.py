"""A program that uses fa_mlir and says all its types. It is checked, not run."""

from typing import Any

import fa_mlir
import fa_mlir.dialects


def run(query: Any, text: str) -> list[str]:
    output = fa_mlir.attention(query, query, query, causal="bottom_right", window=(128, 0))
    function = fa_mlir.compile(text, target="cpu")
    print(function(output), fa_mlir.jit(lambda x: x)(query), fa_mlir.dialects.bind("jaxlib.mlir"))
    with fa_mlir.Context() as context:
        module = fa_mlir.Module(context, text, "attend")
        count: int = module.count("fa.attention")
        print(count, module.print("generic"))
    return [str(remark) for remark in function.remarks]
