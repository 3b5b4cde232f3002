"""From arguments of attention() to a specification, tensors and numbers.

`plan` finds what decides the specification of a call, `find_text` its text, which `_make_text` writes once. What `plan`
calls stands behind it: packed sequences and pages, sizes of pairs, functions of Python.
"""

from __future__ import annotations

import math
from typing import Any

from .arguments import check_number, check_window, describe_alibi, describe_bias, describe_mask, refuse
from .errors import UnsupportedError
from .problem import Capture, Specification, Traced, find_rows_and_heads

_CAUSAL_TEXT = {None: [], "bottom_right": ["causal"], "top_left": ["causal_top_left"]}
# A window that ends on the other diagonal; the spelling is bottom-right.
_WINDOW_TOP_LEFT = """(%b, %h, %i, %j) captures(%l = %left : index, %r = %right : index) {
        %zero = arith.constant 0 : index
        %first = arith.subi %i, %l : index
        %last = arith.addi %i, %r : index
        %from = arith.cmpi sge, %j, %first : index
        %to = arith.cmpi sle, %j, %last : index
        %any_left = arith.cmpi slt, %l, %zero : index
        %any_right = arith.cmpi slt, %r, %zero : index
        %is_from = arith.ori %any_left, %from : i1
        %is_to = arith.ori %any_right, %to : i1
        %visible = arith.andi %is_from, %is_to : i1
        fa.yield %visible : i1
      }"""

def as_constant(size: Any) -> int:
    """A size; a symbol of Dynamo's is a constant of its graph from here on, as what is formatted is."""
    return int(f"{size}") if torch is not None and torch.compiler.is_dynamo_compiling() else int(size)


# Texts of specifications by what decides them.
MOST_KEPT = 4096
_texts: dict[tuple, str] = {}
# The package, where attention() has found it loaded.
torch: Any = None


def _make_text(layout: str, causal: str | None, has_softcap: bool, alibi: tuple | None, bias: tuple | None,
               score: tuple | None, has_window: bool, mask: tuple | None, scale: str, lengths: str, more: tuple,
               lse: bool) -> str:
    """The text of the specification that these decide; more: fields that few calls have."""
    captures: list[Capture] = []
    score_clauses: list[str] = []
    mask_clauses = list(_CAUSAL_TEXT[causal])
    if has_softcap:
        captures.append(Capture("cap", "f32"))
        score_clauses.append("softcap(%cap)")
    for name, spelling, described in ("slopes", "alibi", alibi), ("bias", "bias", bias):
        if described:
            captures.append(Capture(name, *described))
            score_clauses.append(f"{spelling}(%{name} : {captures[-1].text})")
    if score:
        captures += [Capture(*fields) for fields in score[1]]
        score_clauses.append(score[0])
    score_captures = tuple([capture.name for capture in captures])
    if has_window:
        captures += [Capture("left", "index"), Capture("right", "index")]
        mask_clauses.append(_WINDOW_TOP_LEFT if causal == "top_left" else "window(%left, %right)")
    if mask and mask[0] == "array":
        captures.append(Capture("mask", "i1", mask[1]))
        places = ", ".join("%zero" if size == 1 else index for size, index
                           in zip(mask[1], ("%b", "%h", "%i", "%j")))
        text = captures[-1].text
        mask_clauses.append(f"""(%b, %h, %i, %j) captures(%table = %mask : {text}) {{
        %zero = arith.constant 0 : index
        %element = tensor.extract %table[{places}] : {text}
        fa.yield %element : i1
      }}""")
    elif mask:
        captures += [Capture(*fields) for fields in mask[1]]
        mask_clauses.append(mask[0])
    fields = dict(more)
    if fields.get("sink") is not None:
        captures.append(Capture("sink", "f32", (-1,), fields["sink"]))
        fields["sink"] = True
    if "dropout" in fields:
        captures += [Capture("rng", "i64", (2,)), Capture("dropout_p", "f32")]
    return Specification(layout=layout, score=" ".join(score_clauses), mask=" ".join(mask_clauses),
                         captures=tuple(captures), scale=scale, lengths=lengths, lse=lse,
                         score_captures=score_captures, **fields).text


def find_text(key: tuple) -> str:
    text = _texts.get(key)
    if text is None:
        if len(_texts) >= MOST_KEPT:
            _texts.clear()
        text = _texts[key] = _make_text(*key)
    return text


# Under torch.compile the text is a constant of the graph: what
# torch.compiler.assume_constant_result sets, without loading it.
setattr(find_text, "_dynamo_marked_constant", True)


def is_function(mask: Any) -> bool:
    """Whether a mask is no array: a function, or one that is traced."""
    return callable(mask) or isinstance(mask, Traced)


def plan(kind: Any, query: Any, key: Any, value: Any, score: Any, mask: Any, causal: Any, window: Any,
         softcap: Any, alibi: Any, bias: Any, scale: Any, query_lengths: Any, key_lengths: Any, layout: str,
         lse: bool, starts: tuple | None = None, sink: Any = None,
         dropout: tuple | None = None, deterministic: bool = False) -> tuple[tuple, list, list[float]]:
    """What decides the specification of a call, its tensors and its numbers. starts: of
    queries and keys, and pages; dropout: a probability, and seed and offset."""
    tensors, numbers = [], []
    lengths = ""
    if query_lengths is not None:
        lengths = "q"
        tensors.append(query_lengths)
    if key_lengths is not None:
        lengths += "k"
        tensors.append(key_lengths)
    more: tuple = ()
    if starts is not None:
        more = _add_starts(starts, tensors, key)
    is_packed = starts is not None and (starts[0] is not None or starts[1] is not None)
    sequence, heads = find_rows_and_heads(layout)
    if not is_packed and query.shape[sequence] == 1:
        more += (("one_query", (as_constant(query.shape[heads]), as_constant(key.shape[heads]))),)
    scale_kind = ""
    if scale is not None:
        scale = check_number("scale", scale, "a finite number of float32, or None for 1 / sqrt(head dim)")
        if not (query.shape[-1] and scale == 1 / math.sqrt(query.shape[-1])):
            scale_kind = "positive" if scale > 0 else "any"
            numbers.append(scale)
    if softcap is not None:
        expected = "a finite number above 0 of float32, or None"
        softcap = check_number("softcap", softcap, expected)
        if not 0 < softcap < math.inf:
            raise refuse("softcap", f"is {softcap}, expected {expected}")
        numbers.append(softcap)
    described: list[tuple | None] = [None, None, None, None]
    has_function = is_function(mask)
    if alibi is not None or bias is not None or mask is not None or score is not None:
        shape = _find_pairs(query, key, layout, starts, bias, None if has_function else mask)
        if alibi is not None:
            alibi, described[0] = describe_alibi(alibi, kind, shape[0], shape[1])
            tensors.append(alibi)
        if bias is not None:
            bias, described[1] = describe_bias(bias, kind, shape)
            tensors.append(bias)
        if score is not None:
            described[2] = _add_function("score", score, query, tensors, numbers)
    has_window = False
    if window is not None:
        left, right = check_window(window)
        # Of symbols of a graph, a branch makes a constant of it.
        if left >= 0 or right >= 0:
            has_window = True
            numbers += [float(left), float(right)]
    if mask is not None:
        if has_function:
            described[3] = _add_function("mask", mask, query, tensors, numbers)
        else:
            mask, pattern = describe_mask(mask, kind, shape)
            tensors.append(mask)
            described[3] = ("array", pattern)
    if sink is not None:
        tensors.append(sink)
        more += (("sink", kind.requires_gradient(sink)),)
    if dropout is not None:
        numbers.append(float(dropout[0]))
        tensors.append(dropout[1])
        more += (("dropout", True),)
    if deterministic:
        more += (("deterministic", True),)
    return (layout, causal, softcap is not None, described[0], described[1], described[2], has_window, described[3],
            scale_kind, lengths, more, lse), tensors, numbers


def _add_starts(starts: tuple, tensors: list, key: Any) -> tuple:
    """The fields of a specification that packed sequences and pages need. A GPU
    copies pages as boxes, whose rows its kernels know."""
    tensors += [each for each in starts if each is not None]
    packed = ("q" if starts[0] is not None else "") + ("k" if starts[1] is not None else "")
    more: tuple = (("starts", packed),) if packed else ()
    if starts[2] is None:
        return more
    return more + (("pages", as_constant(key.shape[1]) if getattr(key, "is_cuda", False) else -1),)


def _find_pairs(query: Any, key: Any, layout: str, starts: tuple | None, bias: Any, mask: Any) -> tuple:
    """(batch, heads, queries, keys), the last two without meaning for packed sequences. bias, mask: arrays."""
    if starts is None:
        sequence, heads = find_rows_and_heads(layout)
        return query.shape[0], query.shape[heads], query.shape[sequence], key.shape[sequence]
    for name, array in ("bias", bias), ("mask", mask):
        if array is not None:
            raise UnsupportedError(name, "an array with packed or paged sequences", "a function",
                                   "a score or mask function that reads it as a captured tensor")
    batch = starts[0].shape[0] - 1 if starts[0] is not None else query.shape[0]
    return batch, query.shape[-2], 0, 0


def trace_functions(score: Any, mask: Any, query: Any) -> tuple[Any, Any, list]:
    """score and mask for plan(), where they are functions traced, and the tensors that these capture."""
    captured: list[Any] = []
    if score is not None:
        score = _trace("score", score, query)
        captured += _split_captures(score)[0]
    if callable(mask):
        mask = _trace("mask", mask, query)
        captured += _split_captures(mask)[0]
    return score, mask, captured


def _trace(name: str, function: Any, query: Any) -> Traced:
    if isinstance(function, Traced):
        return function
    if not callable(function):
        raise refuse(name, f"is a {type(function).__name__}, expected a function " + (
            "(score, batch, head, query, key) -> score" if name == "score" else "(batch, head, query, key) -> bool"))
    if torch is not None and torch.compiler.is_dynamo_compiling():
        from . import graph_regions

        return Traced(*graph_regions.trace_region(name, function, query))
    try:
        from . import tracing
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UnsupportedError(name, "a function where torch is not installed, which traces it", "None or options such as "
                               "causal, window and softcap" + (", or an array" if name == "mask" else ""),
                               "pip install torch") from error

    return tracing.trace(name, function, query)


def _split_captures(traced: Traced) -> tuple[list, list]:
    """Tensors and numbers that a function captures."""
    tensors: list[Any] = []
    numbers: list[Any] = []
    for fields, value in zip(traced.captures, traced.values):
        (numbers if fields[2] is None else tensors).append(value)
    return tensors, numbers


def _add_function(name: str, function: Any, query: Any, tensors: list, numbers: list) -> tuple:
    """The clause and the captures of a function of Python."""
    traced = _trace(name, function, query)
    more_tensors, more_numbers = _split_captures(traced)
    tensors += more_tensors
    numbers += more_numbers
    return traced.clause, traced.captures
