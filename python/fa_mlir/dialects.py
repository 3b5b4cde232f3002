"""Operations of the fa dialect in another package's MLIR.

    fa = fa_mlir.dialects.bind("jaxlib.mlir")     # or iree.compiler, torch_mlir
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        ...
        output, lse = fa.build_attention(query, key, value, init, lse=lse_init, mask="causal")

That package's MLIR need not know the dialect: operations are unregistered there,
and fa-opt and fa_mlir.compile read the generic text.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import sys
import threading
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from .compiler import Context, Module
from .runtime import COMPILER_LIBRARY, find_library

# What mlir-tblgen makes of the dialect, beside the library.
BINDINGS = "_fa_ops_gen.py"
_OPERANDS = ("query", "key", "value", "output")
_SEGMENTS = re.compile(r'"fa\.attention"\(([^)]*)\) <(\{.*?\})> \(\{', re.DOTALL)

_lock = threading.Lock()
_bound: dict[str, ModuleType] = {}


def bind(package: str | ModuleType) -> ModuleType:
    """The dialect's operation classes on an MLIR package, and build_attention.

    package: its name, or itself, such as jaxlib.mlir. Raises ImportError where it
    is no MLIR package with operation classes of its own.
    """
    name = package if isinstance(package, str) else package.__name__
    with _lock:
        if name not in _bound:
            _bound[name] = _bind(name)
        return _bound[name]


def _bind(name: str) -> ModuleType:
    try:
        importlib.import_module(f"{name}.dialects._ods_common")
        ir = importlib.import_module(f"{name}.ir")
    except ImportError as error:
        raise ImportError(f"'{name}' is no MLIR package: {error}; expected one with ir and dialects, such as "
                          "jaxlib.mlir, iree.compiler or torch_mlir") from error
    path = Path(find_library(COMPILER_LIBRARY, "FA_COMPILER_LIBRARY")).with_name(BINDINGS)
    # A name in that package, as the file imports from beside itself.
    loader = SourceFileLoader(f"{name}.dialects._fa_ops_gen", str(path))
    spec = ModuleSpec(loader.name, loader, origin=str(path))
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[loader.name]
        raise
    setattr(module, "build_attention", functools.partial(_build_attention, ir))
    return module


def _write_template(types: dict[str, str], clauses: dict[str, str]) -> str:
    """A function with an attention of these operand types, whose regions are the
    ones to build."""
    inputs = ", ".join(types[name] for name in ("query", "key", "value"))
    outputs = [name for name in ("output", "lse") if name in types]
    destinations = ", ".join(types[name] for name in outputs)
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
    parts = [f"fa.attention ins(%query, %key, %value : {inputs})",
             f"outs({', '.join('%' + name for name in outputs)} : {destinations})"]
    if "scale" in types:
        parts.append("scale(%scale)")
    for name in ("query_lengths", "key_lengths"):
        if name in types:
            parts.append(f"{name}(%{name} : {types[name]})")
    parts += [f"{keyword} {clause}" for keyword, clause in clauses.items() if keyword in ("score", "mask")]
    orders = [f"{name}_dims = #fa.dims<{', '.join(clauses[name])}>" for name in _OPERANDS if name in clauses]
    if "config" in clauses:
        orders.append(f"config = {clauses['config']}")
    results = ", ".join(f"%r{i}" for i in range(len(outputs)))
    return (f"func.func @template({arguments}) -> ({destinations}) {{\n  {results} = {' '.join(parts)} "
            f"{{{', '.join(orders)}}}\n  return {results} : {destinations}\n}}\n")


def _build_attention(ir: Any, query: Any, key: Any, value: Any, output: Any, *, lse: Any = None,
                     scale: Any = None, query_lengths: Any = None, key_lengths: Any = None,
                     score: str | None = None, mask: str | None = None,
                     captures: dict[str, Any] | None = None, dims: dict[str, str] | None = None,
                     config: str | None = None, ip: Any = None, loc: Any = None) -> Any:
    """Builds fa.attention on values of an MLIR package, at its insertion point.

    query, key, value: tensors; output, lse: destinations. score, mask: what stands
    behind these words in the text of fa.attention, as in "softcap(%cap)" and "causal
    window(%left, %right)", or a region in brackets. captures: the values that they
    name. dims: orders of dims by operand, as in {"query": "bhsd"}. config: text of a
    #fa.config. Returns the results. Raises CompilationError for what the dialect
    refuses.
    """
    named = {"query": query, "key": key, "value": value, "output": output, "lse": lse, "scale": scale,
             "query_lengths": query_lengths, "key_lengths": key_lengths}
    for name in captures or {}:
        if name in named:
            raise ValueError(f"a capture is called '{name}', which is an operand; expected another name")
    for operand in dims or {}:
        if operand not in _OPERANDS:
            raise ValueError(f"dims are given for '{operand}', expected one of {', '.join(_OPERANDS)}")
    named = {name: each for name, each in {**named, **(captures or {})}.items() if each is not None}
    clauses = {name: clause for name, clause in (("score", score), ("mask", mask), ("config", config)) if clause}
    template = _write_template({name: str(each.type) for name, each in named.items()}, {**clauses, **(dims or {})})
    with Context() as context:
        text = Module(context, template, "attention").print("generic")
    _, properties = _SEGMENTS.findall(text)[0]
    block_arguments = list(named.values())
    parsed = ir.Module.parse(text, query.context)
    function = parsed.body.operations[0]
    made = next(each for each in function.regions[0].blocks[0].operations if each.name == "fa.attention")
    operands = [block_arguments[ir.BlockArgument(each).arg_number] for each in made.operands]
    attributes = {each.name: each.attr for each in ir.DictAttr(ir.Attribute.parse(properties, query.context))}
    operation = ir.Operation.create("fa.attention", results=[each.type for each in made.results],
                                    operands=operands, attributes=attributes, regions=len(made.regions), loc=loc,
                                    ip=ip)
    # Its regions refer to nothing outside.
    for source, target in zip(made.regions, operation.regions):
        for block in list(source.blocks):
            block.append_to(target)
    results = list(operation.results)
    return results[0] if len(results) == 1 else tuple(results)
