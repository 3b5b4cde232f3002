"""What is measured on the GPU: attention problems by shape."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Shapes are (batch, sequence, heads, head dim). A causal mask is aligned to the last key."""

    batch: int
    queries: int
    keys: int
    query_heads: int
    key_heads: int
    head_dim: int
    causal: bool
    element: str = "bf16"

    @property
    def problem(self):
        """Its text in problems/."""
        return "causal" if self.causal else "full"

    @property
    def name(self):
        size = str(self.keys) if self.queries == self.keys else f"{self.queries}x{self.keys}"
        heads = "" if self.query_heads == self.key_heads else f" h{self.query_heads}/{self.key_heads}"
        return f"{self.element} d{self.head_dim}{heads} {self.problem} {size}"

    @property
    def group(self):
        """Cells that one geometric mean is taken over."""
        heads = "" if self.query_heads == self.key_heads else " grouped"
        shape = "" if self.queries == self.keys else " prefill"
        return f"{self.element} d{self.head_dim}{heads}{shape} {self.problem}"

    @property
    def visible_pairs(self):
        """Pairs of a query and a key that it sees, of one head."""
        if not self.causal:
            return self.queries * self.keys
        shift = self.keys - self.queries
        return sum(max(0, min(self.keys, i + shift + 1)) for i in range(self.queries))

    @property
    def operations(self):
        return 4 * self.batch * self.query_heads * self.head_dim * self.visible_pairs


def forward_cases(head_dims, lengths, element="bf16", tokens=16384, hidden=2048):
    """`tokens` tokens of `hidden` numbers in all, cut into sequences and heads."""
    return [Case(max(1, tokens // n), n, n, hidden // d, hidden // d, d, causal, element)
            for d in head_dims for causal in (False, True) for n in lengths]


def grouped_cases(element="bf16"):
    """Few queries on many keys, and 64 query heads on 8 key heads, at head dim 128."""
    few = [Case(4, 1024, 8192, 16, 16, 128, causal, element) for causal in (False, True)]
    return few + [Case(max(1, 8192 // n), n, n, 64, 8, 128, causal, element) for causal in (False, True)
                  for n in (2048, 8192)]
