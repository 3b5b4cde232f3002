"""flash_attn_with_kvcache, of FlashAttention-2 and -3: rows go into a cache, contiguous or in pages, and queries attend to it.

Begin with `run_step`. It finds where sequences are in the cache, then new rows and their positions. append.py writes these
between plan and run of attention. kvcache_arguments.py has what a call was given, a `Step`, and says what is wrong with it.
What only a device knows gives NaN for its sequence.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .append import Arguments, append
from .arguments import TorchArrays, check_flag, check_tensors, check_window, is_run_now, refuse, refuse_array, show_shape
from .attention import Call, attention, cast_operands, plan_call, run_call
from .entries import find_refusal
from .errors import UnsupportedError
from .flash_masks import check_chunk, make_mask
from .kvcache_arguments import (Step, check_cache, check_memory, check_range, check_ranks, check_rows, check_starts, check_table,
                                check_writes, has_integers, is_on_host)

# Asked in each step that writes a cache.
_ask_refusal = functools.lru_cache(maxsize=256)(find_refusal)


class _Sequences(NamedTuple):
    """Where sequences are in a cache."""

    batch: int
    #: Rows that the cache has for each.
    size: int
    #: int32, (batch): rows ahead of the new ones; None for all.
    lengths: Any
    #: int32, (batch, pages); None where each has an item of its own.
    pages: Any


class _NewRows(NamedTuple):
    k: Any
    v: Any
    #: int32, (batch): rows of each sequence with the new ones.
    ends: Any


def run_step(step: Step) -> Any:
    """The output, or (output, lse)."""
    import torch

    check_tensors(torch, step.q, step.k_cache, step.v_cache)
    check_chunk(step.attention_chunk)
    step = step._replace(rotary_interleaved=check_flag("rotary_interleaved", step.rotary_interleaved))
    window = check_window(step.window_size, takes_negative=True)
    with torch.no_grad():
        sequences = _find_sequences(step)
        if step.k is None and step.rotary_cos is None:
            return attention(step.q, step.k_cache, step.v_cache, **_find_options(step, window, sequences.lengths, sequences.pages))
        rows = _find_new_rows(step, sequences)
        # In autocast alone it is of another type.
        q = step.q.to(step.k_cache.dtype)
        # What attention refuses is refused before anything is written.
        call = plan_call(q, step.k_cache, step.v_cache, **_find_options(step, window, rows.ends, sequences.pages))
        _check_form(call)
        # Whether queries have positions one after another.
        is_local = bool(step.causal) or window != (-1, -1)
        query_firsts, key_firsts = _find_firsts(step, sequences, rows, is_local)
        q = append(Arguments(q, rows.k, rows.v, step.k_cache, step.v_cache, rows.ends, step.new_starts, sequences.pages,
                             step.rotary_cos, step.rotary_sin, query_firsts, key_firsts, step.rotary_interleaved, is_local))
        return run_call(call._replace(operands=cast_operands(q, step.k_cache, step.v_cache)))


def _find_options(step: Step, window: tuple, lengths: Any, pages: Any) -> dict[str, Any]:
    """Of attention() to so many rows of each sequence."""
    return {"mask": _find_mask(step, lengths), "causal": "bottom_right" if check_flag("causal", step.causal) else None,
            "window": None if window == (-1, -1) else window, "softcap": step.softcap or None, "alibi": step.alibi_slopes,
            "scale": step.softmax_scale, "return_lse": step.return_lse, "query_starts": step.query_starts, "key_lengths": lengths,
            "key_pages": pages}


def _find_mask(step: Step, lengths: Any) -> Any:
    if not step.attention_chunk:
        return make_mask(0, 0, step.cache_leftpad)
    keys = step.k_cache.shape[1] if lengths is None else lengths
    queries = step.q.shape[1] if step.query_starts is None else step.query_starts.diff()
    return make_mask(step.attention_chunk, keys - queries, step.cache_leftpad)


def _check_form(call: Call) -> None:
    """A graph asks when it is traced."""
    import torch

    if torch.compiler.is_compiling() or torch._C._is_any_autocast_enabled():
        return
    q, _, v_cache = call.operands
    refusal = _ask_refusal(call.text, TorchArrays.type(q), TorchArrays.type(v_cache), q.shape[-1], v_cache.shape[3],
                           q.device.index or 0 if q.is_cuda else None)
    if refusal is not None:
        raise UnsupportedError(*refusal)


def _find_sequences(step: Step) -> _Sequences:
    import torch

    batch = check_ranks(step)
    pages = None if step.block_table is None else _find_tables(step, batch)
    has_items = step.cache_batch_idx is not None and pages is None
    if step.k is not None or has_items or step.query_starts is not None or step.rotary_cos is not None:
        check_cache(step, batch)
    size = step.k_cache.shape[1] if pages is None else pages.shape[1] * step.k_cache.shape[1]
    if step.k is not None or step.v is not None or step.rotary_cos is not None or step.rotary_sin is not None:
        check_rows(step, batch, size)
        check_writes(step)
        if step.k is not None and is_run_now(step.q):
            check_memory(step)
    lengths: Any = None
    if step.cache_seqlens is not None:
        fewest = 0 if step.k is None or step.new_starts is not None else step.k.shape[1]
        lengths = _find_lengths("cache_seqlens", step.cache_seqlens, batch, step.q.device, size - fewest)
    if has_items:
        # An item of the cache is a page.
        pages = _find_items(step.cache_batch_idx, batch, step.k_cache.shape[0])[:, None]
    elif step.query_starts is not None and pages is None:
        pages = torch.arange(batch, dtype=torch.int32, device=step.q.device)[:, None]
    if pages is not None and lengths is None:
        lengths = torch.full((batch,), size, dtype=torch.int32, device=step.q.device)
    if pages is not None and step.k is None and is_on_host(lengths):
        check_range("cache_seqlens", "the length", lengths, size)
    return _Sequences(batch, size, lengths, pages)


def _find_tables(step: Step, batch: int) -> Any:
    """Pages of sequences, which with cache_batch_idx are rows of block_table."""
    import torch

    tables = step.block_table
    if step.cache_batch_idx is not None:
        if not step.has_item_tables:
            raise refuse("cache_batch_idx", "is given with block_table, expected one of the two")
        check_table("block_table", tables, ("items", "pages"), step.q.device)
        count = tables.shape[0]
        items = _find_items(step.cache_batch_idx, batch, count)
        is_item = (items >= 0) & (items < count)
        tables = torch.where(is_item[:, None], tables[torch.where(is_item, items, 0)], -1).to(torch.int32)
    check_table("block_table", tables, (batch, "pages"), step.q.device)
    return tables


def _find_new_rows(step: Step, sequences: _Sequences) -> _NewRows:
    k, v = step.k, step.v
    if k is None:
        # None are written, and queries are turned.
        k, v = (cache.new_empty((sequences.batch, 0, *cache.shape[2:])) for cache in (step.k_cache, step.v_cache))
    return _NewRows(k, v, _find_ends(step, sequences, k.shape))


def _find_ends(step: Step, sequences: _Sequences, shape: Any) -> Any:
    """Negative or behind the cache, for NaN, where numbers cannot be and the host has not looked at them. shape: of k."""
    import torch

    starts, lengths = step.new_starts, sequences.lengths
    if starts is not None and is_on_host(starts):
        check_starts("new_starts", starts, shape[0], "k")
    new: Any = shape[1] if starts is None else starts.diff()
    if is_on_host(lengths):
        check_range("cache_seqlens", "the length", lengths, sequences.size - new, ", which leaves room for k")
        if starts is None or is_on_host(starts):
            return lengths + new
    # Sums of lengths that are too long may wrap, to negative ones.
    ends = torch.where(lengths < 0, lengths, lengths + new)
    if starts is None:
        return ends
    is_wrong = (starts[:-1] < 0) | (new < 0) | (starts[1:] > shape[0])
    return torch.where(is_wrong, 2**31 - 1, ends).to(torch.int32)


def _find_firsts(step: Step, sequences: _Sequences, rows: _NewRows, is_local: bool) -> tuple:
    """Positions that queries and new rows have from the first on, for rotary embedding; None where they are rows of the cache."""
    if step.rotary_cos is None:
        return None, None
    positions, columns = step.rotary_cos.shape
    firsts, name, what = sequences.lengths, "cache_seqlens", "the length"
    if step.rotary_seqlens is not None:
        name, what = "rotary_seqlens", "the position"
        firsts = _find_lengths(name, step.rotary_seqlens, sequences.batch, step.q.device, positions - 1, what)
    if is_on_host(firsts) and columns:
        queries = step.q.shape[1] if is_local and step.query_starts is None else 1
        new = rows.k.shape[1] if step.new_starts is None else 1
        check_range(name, what, firsts, positions - max(queries, new), ", a row of rotary_cos")
    if step.query_starts is None and step.new_starts is None and step.rotary_seqlens is None:
        return None, None
    return (_find_positions(step.q.shape[0], step.query_starts, firsts, is_local),
            _find_positions(rows.k.shape[0], step.new_starts, firsts, True))


def _find_positions(rows: int, starts: Any, firsts: Any, is_local: bool) -> Any:
    """Of packed rows, where those of a sequence are at firsts and on; firsts where rows are not packed."""
    import torch

    if starts is None:
        return firsts
    if not firsts.shape[0]:
        return firsts.new_zeros((rows,))
    places = torch.arange(rows, dtype=torch.int32, device=firsts.device)
    items = torch.searchsorted(starts[1:-1].contiguous(), places, right=True)
    return firsts[items] + (places - starts[items]) if is_local else firsts[items]


def _find_lengths(name: str, given: Any, batch: int, device: Any, most: int, what: str = "the length") -> Any:
    """int32, (batch): of one number for all, or of a number for each."""
    import torch

    if isinstance(given, int):
        if not 0 <= given <= most:
            raise refuse(name, f"has {what} {given}, expected 0 to {most}")
        return torch.full((batch,), given, dtype=torch.int32, device=device)
    if type(given) is torch.Tensor and given.dtype == torch.int32 and tuple(given.shape) == (batch,) and given.device == device:
        return given
    try:
        lengths = given if isinstance(given, torch.Tensor) else torch.tensor(given, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        raise refuse(name, f"is {given!r}, expected an int, or int32, ({batch},)") from None
    if not has_integers(lengths):
        raise refuse(name, f"has dtype {lengths.dtype}, expected int32")
    if lengths.shape not in ((batch,), (1,), ()):
        raise refuse(name, f"has shape {show_shape(lengths.shape)}, expected ({batch},), or an int")
    if lengths.dtype == torch.int64:
        # One that is too long stays so.
        lengths = lengths.clamp(-1, 2**31 - 1)
    if device.type != "cpu" and is_on_host(lengths):
        # Where they go nothing would wait to read them.
        check_range(name, what, lengths.reshape(-1), most)
    return lengths.to(device, torch.int32).expand(batch)


def _find_items(cache_batch_idx: Any, batch: int, count: int) -> Any:
    """int32. A page that is none, which -1 is, gives NaN."""
    import torch

    if not isinstance(cache_batch_idx, torch.Tensor):
        raise refuse_array("cache_batch_idx", cache_batch_idx)
    if tuple(cache_batch_idx.shape) != (batch,) or not has_integers(cache_batch_idx):
        raise refuse("cache_batch_idx", f"has shape {show_shape(cache_batch_idx.shape)} and dtype {cache_batch_idx.dtype}, "
                     f"expected ({batch},) and int32 or int64")
    if is_on_host(cache_batch_idx):
        check_range("cache_batch_idx", "the item", cache_batch_idx, count - 1)
    if cache_batch_idx.dtype == torch.int64:
        cache_batch_idx = cache_batch_idx.clamp(-1, 2**31 - 1)
    return cache_batch_idx.to(torch.int32)
