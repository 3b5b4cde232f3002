"""Pages of the reference from the docstrings of python/fa_mlir, which is read and not imported.

`describe(package, name)` gives what a line `[python "NAME"]` of a template stands for: a function or class that the package
exports, with its signature; a module that it exports, with its functions; or what another module's docstring says.
"""

import ast
import re
import textwrap

WIDTH = 120
ARGUMENT = re.compile(r"^(?P<names>[a-z_*][\w*]*(?:, [a-z_*][\w*]*)*): (?P<text>.*)$")


def parse(package, module):
    return ast.parse((package / f"{module}.py").read_text())


def find_exports(package):
    """Names that the package exports, each with its module; modules with None."""
    exports = {}
    for node in ast.walk(parse(package, "__init__")):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            exports.update({alias.asname or alias.name: node.module for alias in node.names})
    return {name: module for name, module in exports.items() if not name.startswith("_")}


def write_docstring(text):
    """Descriptions of arguments, a line each whose next ones are indented, become lists; the rest is Markdown already."""
    lines = []
    is_argument = False
    source = text.splitlines()
    for line, following in zip(source, source[1:] + [""]):
        match = ARGUMENT.match(line)
        if match and (is_argument or following.startswith("    ")):
            if not is_argument and lines and lines[-1]:
                lines.append("")
            names = ", ".join(f"`{name}`" for name in match["names"].split(", "))
            lines.append(f"- {names}: {match['text']}")
            is_argument = True
        elif is_argument and line.startswith("    "):
            lines.append("  " + line.strip())
        else:
            if is_argument and line:
                lines.append("")
            is_argument = False
            lines.append(line)
    return "\n".join(lines)


def write_signature(name, function):
    """Without types, which most arguments take several of."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument:
            argument.annotation = None
    text = ast.unparse(arguments)
    return "\n".join(textwrap.wrap(f"{name}({text})", WIDTH, subsequent_indent=" " * (len(name) + 1), break_long_words=False,
                                   break_on_hyphens=False))


def write_definition(name, node):
    parts = [f"### {name}"]
    if isinstance(node, ast.FunctionDef):
        parts.append(f"```python\n{write_signature(name, node)}\n```")
    parts.append(write_docstring(ast.get_docstring(node)))
    return "\n\n".join(parts)


def find_definition(tree, name):
    """The last of this name: what comes before are its overloads."""
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name]
    if not found or not ast.get_docstring(found[-1]):
        raise LookupError(f"'{name}' has no docstring in its module")
    return found[-1]


def describe(package, name):
    """LookupError where the package has no such name, or one without a docstring."""
    exports = find_exports(package)
    head, _, rest = name.partition(".")
    if head == package.name and exports.get(rest):
        return write_definition(name, find_definition(parse(package, exports[rest]), rest))
    if head != package.name or not (package / f"{rest}.py").exists():
        raise LookupError(f"there is no '{name}'; the package exports {', '.join(sorted(exports))}")
    tree = parse(package, rest)
    parts = [write_docstring(ast.get_docstring(tree))]
    for node in tree.body if rest in exports else []:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node):
            parts.append(write_definition(f"{name}.{node.name}", node))
    return "\n\n".join(parts)
