"""What is measured: attention problems as text, by name."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Case:
    """One attention with as many queries as keys; (batch, heads, sequence, dim)."""

    length: int
    head_dim: int
    element: str = "f32"
    heads: int = 8
    mask: str = ""  # "", causal or window
    window: int = 0  # keys before the query, for mask = window

    @property
    def name(self):
        mask = self.mask or "full"
        if self.mask == "window":
            mask += str(self.window)
        return f"{self.element} d{self.head_dim} {mask} {self.length}"

    @property
    def shape(self):
        return (1, self.heads, self.length, self.head_dim)

    @property
    def visible_pairs(self):
        """Of one head."""
        n = self.length
        if self.mask == "causal":
            return n * (n + 1) // 2
        if self.mask == "window":
            w = min(self.window, n - 1)
            return (w + 1) * n - w * (w + 1) // 2
        return n * n

    @property
    def operations(self):
        return 4 * self.heads * self.head_dim * self.visible_pairs

    def function(self):
        """What is compiled: it depends on neither length nor heads."""
        tensor = f"tensor<?x?x?x{self.head_dim}x{self.element}>"
        scalars = ", %left: index, %right: index" if self.mask == "window" else ""
        mask = {"": "", "causal": "mask causal", "window": "mask window(%left, %right)"}
        dims = ", ".join(f"{name}_dims = #fa.dims<b, h, s, d>"
                         for name in ("query", "key", "value", "output"))
        return f"""
func.func @main(%query: {tensor}, %key: {tensor}, %value: {tensor}{scalars}) -> {tensor} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : {tensor}
  %heads = tensor.dim %query, %c1 : {tensor}
  %length = tensor.dim %query, %c2 : {tensor}
  %init = tensor.empty(%batch, %heads, %length) : {tensor}
  %output = fa.attention
      ins(%query, %key, %value : {tensor}, {tensor}, {tensor})
      outs(%init : {tensor})
      {mask[self.mask]}
      {{{dims}}}
  return %output : {tensor}
}}
"""

    def inputs(self):
        rng = np.random.default_rng(0)
        return [rng.standard_normal(self.shape, dtype=np.float32).astype(ELEMENTS[self.element])
                for _ in range(3)]


LENGTHS = [1024, 2048, 4096, 8192]


def speed_cases():
    """(full, causal) of each size."""
    return [(Case(n, d), Case(n, d, mask="causal")) for d in (64, 128) for n in LENGTHS]


def element_cases():
    """f32, f16 and bf16 of the same problem, to be compared with each other."""
    return [[Case(n, d, element) for element in ("f32", "f16", "bf16")]
            for d in (64, 128) for n in (2048, 4096)]


def window_cases():
    """A window at a length where full attention is slow, and full attention."""
    return Case(16384, 64, mask="window", window=256), Case(16384, 64)


def memory_case():
    return Case(65536, 64, heads=1)
