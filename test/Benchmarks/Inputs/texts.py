"""Reads the text of each kernel that the benchmarks know."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "benchmarks/gpu"))
import table  # noqa: E402

kernels = [kernel for form in table.FORMS for kernel in table.kernels(form)]
names = [kernel.name for kernel in kernels]
assert len(set(names)) == len(names), "two kernels have one name"
for kernel in kernels:
    text = kernel.text(sys.argv[1])
    is_gradient = kernel.problem.startswith("gradient_")
    assert is_gradient or any(name in text for name in ("fa.attention", "fa.append", "fa.sequence_errors")), kernel.name
    assert "HEAD_DIM" not in text and "ELEMENT" not in text, kernel.name
    if kernel.kind == "derived":
        assert re.search(f"x{kernel.head_dim}x{kernel.element}[,>]", text), kernel.name
        assert not any(name in text for name, _ in kernel.values), kernel.name
    assert f"x{kernel.element}" in text, kernel.name
    # The problem and the mask of a schedule are those that the table says.
    causal = "func.func @backward_causal(" if is_gradient and kernel.kind == "written" else "mask causal"
    is_causal = "causal" in kernel.problem.split("_")
    assert (causal in text) == (is_causal or kernel.problem.startswith(("decode", "paged"))), kernel.name
print(f"{len(kernels)} texts")
