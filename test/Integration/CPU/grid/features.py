"""What a problem exercises, and how much of it a run has covered."""

from collections import Counter
from itertools import combinations

from . import clauses

LENGTHS = (0, 1, 17, 127, 129, 1000)
# Features of which a problem has at most one.
GROUPS = [("bf16", "f16", "f32"),
          ("head dim 1 to 63", "head dim 64", "head dim 65 to 127", "head dim 128", "head dim 129 to 256"),
          ("f32", "f32 output"), ("own mask", "block sparse"),
          ("full", "own mask"),
          *(("full", name) for name in ("causal", "causal top left", "window", "prefix", "documents",
                                         "block sparse", "fully masked row")),
          *(("own mask", name) for name in ("causal", "causal top left", "window", "prefix", "documents")),
          *(("block sparse", name) for name in ("causal", "causal top left", "window", "prefix", "documents")),
          *(("own score", name) for name in ("softcap", "ALiBi", "bias"))]
PARTS = {"causal_top_left": "causal top left", "prefix_per_batch": "prefix",
         "documents_of_each_side": "documents", "alibi": "ALiBi", "alibi_per_batch": "ALiBi",
         "block_sparse": "block sparse"}
OTHERS = ["causal", "causal top left", "window", "prefix", "documents", "block sparse", "own mask", "full",
          "softcap", "ALiBi", "bias", "own score", "captures",
          "v's head dim differs", "grouped heads", "permuted", "strided", "query lengths", "key lengths",
          "scale", "lse", "f32 output", "fully masked row", *(f"length {n}" for n in LENGTHS)]
ALL = [*GROUPS[0], *GROUPS[1], *OTHERS]
# A feature's problems that an ample run passes.
ENOUGH = 50


def head_dim_class(head_dim):
    if head_dim in (64, 128):
        return f"head dim {head_dim}"
    return ("head dim 1 to 63" if head_dim < 64 else
            "head dim 65 to 127" if head_dim < 128 else "head dim 129 to 256")


def of_function(function):
    """Features that all problems of a function have."""
    found = {function.element, head_dim_class(max(function.head_dim, function.value_head_dim))}
    own = {"mask": clauses.CUSTOM_MASKS, "score": clauses.CUSTOM_SCORES}
    for part in own:
        for clause in getattr(function, part):
            name = clause.name.split("_")[0] if clause.name.startswith("bias") else clause.name
            if clause in own[part] and name != "block_sparse":
                found.add(f"own {part}")
            else:
                found.add(PARTS.get(name, name))
    facts = {"full": not function.mask, "captures": function.captures,
             "v's head dim differs": function.head_dim != function.value_head_dim,
             "permuted": set(function.dims) != {"bshd"},
             "query lengths": function.query_lengths, "key lengths": function.key_lengths,
             "scale": function.scale, "lse": function.lse, "f32 output": function.wide_output}
    return found | {name for name, holds in facts.items() if holds}


def of_problem(problem, has_empty_row=False):
    found = of_function(problem.function)
    sizes = problem.sizes
    facts = {"grouped heads": sizes.heads > sizes.key_heads, "strided": problem.has_gaps,
             "fully masked row": has_empty_row}
    found |= {name for name, holds in facts.items() if holds}
    return found | {f"length {n}" for n in LENGTHS if n in (sizes.queries, sizes.keys)}


def is_possible(pair):
    return not any(set(pair) <= set(group) for group in GROUPS)


class Coverage:
    """Counts of problems by feature and by pair of features."""

    def __init__(self):
        self.counts = {kind: Counter() for kind in ("passed", "failed", "skipped")}
        self.pairs = Counter()

    def add(self, kind, found):
        self.counts[kind].update(found)
        if kind == "passed":
            self.pairs.update(combinations(sorted(found), 2))

    def lines(self):
        yield f"{'feature':<22} passed failed skipped"
        for name in ALL:
            yield f"{name:<22} " + " ".join(f"{self.counts[kind][name]:>{len(kind)}}" for kind in self.counts)
        few = [name for name in ALL if self.counts["passed"][name] < ENOUGH]
        yield (f"features with fewer than {ENOUGH} problems that passed: {', '.join(few)}" if few else
               f"each feature has at least {ENOUGH} problems that passed")
        pairs = [pair for pair in combinations(sorted(ALL), 2) if is_possible(pair)]
        missing = [pair for pair in pairs if not self.pairs[pair]]
        yield f"pairs of features covered: {len(pairs) - len(missing)} of {len(pairs)}"
        if 0 < len(missing) <= 40:
            yield "pairs not covered: " + ", ".join(" with ".join(pair) for pair in missing)
