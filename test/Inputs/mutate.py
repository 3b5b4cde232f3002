"""Prints a schedule with a change in it, which is said by its statements.

    mutate.py FILE STEP [then STEP]...

A statement is an operation with its lines joined, without the body of its region. A
STATEMENT is named by text in it, of whole names; %* there stands for any value. Steps:

    drop STATEMENT                    move STATEMENT before STATEMENT
    insert TEXT before STATEMENT      change OLD to NEW [in STATEMENT]
    attribute STATEMENT TEXT          adds to its attributes
    element TYPE                      instead of bf16
    chip NAME                         of all kernels
    bare [except LAYOUT...]           block values without their layouts

A step is for one statement: that none is meant, or two, is an error. In front of
drop, insert, change and attribute, `every` takes all there are, `first` and `last` one of them.
"""

import re
import sys


class Statement:
    """lines: as they stand; text: joined, without comments."""

    def __init__(self, lines):
        self.lines = lines
        self.indent = re.match(" *", lines[0]).group()
        code = [re.sub(r"\s*//.*", "", line).strip() for line in lines]
        self.text = " ".join(filter(None, code))

    def set(self, text):
        self.text = text
        self.lines = [self.indent + text]


def parse(source):
    """The statements of a text; comments and blank lines stand alone."""
    statements = []
    for line in source.splitlines():
        last = statements[-1] if statements else None
        goes_on = (last and last.text and line.strip() and not last.text.endswith("{")
                   and len(re.match(" *", line).group()) > len(last.indent))
        if goes_on:
            statements[-1] = Statement([*last.lines, line])
        else:
            statements.append(Statement([line]))
    return statements


def make_pattern(text):
    """Of whole names: %k is not found in %kt."""
    pattern = re.escape(text).replace(re.escape("%*"), r"%[\w#]+")
    return re.compile(("" if not re.match(r"[\w%#]", text) else r"(?<![\w%#])") + pattern
                      + (r"(?![\w#])" if re.search(r"\w$", text) else ""))


def find(statements, which, *texts):
    """The statements that have all of the texts."""
    patterns = [make_pattern(text) for text in texts]
    found = [each for each in statements if all(pattern.search(each.text) for pattern in patterns)]
    if not found or which == "one" and len(found) > 1:
        named = " in ".join(repr(text) for text in texts)
        sys.exit(f"error: {named} is in {len(found)} statements, expected "
                 f"{'one' if which == 'one' else 'some'}" + "".join(f"\n  {each.text}" for each in found[:5]))
    return {"one": found, "every": found, "first": found[:1], "last": found[-1:]}[which]


def add_attribute(statement, attribute):
    """In its dictionary, else in one in front of its types."""
    name = attribute.split(" =")[0]
    has_one = re.search(r"\{(fagpu\.[^{}]*)\}", statement.text)
    if has_one:
        kept = [part for part in re.split(r", (?=fagpu\.)", has_one.group(1)) if part.split(" =")[0] != name]
        statement.set(statement.text[:has_one.start()] + "{" + ", ".join([*kept, attribute]) + "}"
                      + statement.text[has_one.end():])
        return
    types = None if statement.text.endswith("}") else statement.text.rfind(" : ")
    place = len(statement.text) if types in (None, -1) else types
    statement.set(f"{statement.text[:place]} {{{attribute}}}{statement.text[place:]}")


def replace_all(statements, pattern, replacement, what):
    count = 0
    for statement in statements:
        text, replaced = re.subn(pattern, replacement, statement.text)
        count += replaced
        if replaced:
            statement.set(text)
    if not count:
        sys.exit(f"error: the text has no {what}")


def apply(statements, step):
    """One step, in place."""
    words = list(step)
    which = words.pop(0) if words[0] in ("every", "first", "last") else "one"
    match words:
        case ["drop", name]:
            for statement in find(statements, which, name):
                statements.remove(statement)
        case ["move", name, "before", other] if which == "one":
            moved, = find(statements, "one", name)
            place, = find(statements, "one", other)
            statements.remove(moved)
            statements.insert(statements.index(place), moved)
        case ["insert", text, "before", name]:
            for place in find(statements, which, name):
                statements.insert(statements.index(place), Statement([place.indent + text]))
        case ["change", old, "to", new, *rest] if not rest or rest[0] == "in" and len(rest) == 2:
            for statement in find(statements, which, old, *rest[1:]):
                text, count = make_pattern(old).subn(lambda _: new, statement.text)
                if count != 1 and which == "one":
                    sys.exit(f"error: {old!r} is {count} times in a statement, expected once\n  {statement.text}")
                statement.set(text)
        case ["attribute", name, text]:
            for statement in find(statements, which, name):
                add_attribute(statement, text)
        case ["element", name]:
            replace_all(statements, "bf16", name, "element type bf16")
        case ["chip", name]:
            replace_all(statements, r'(fagpu\.kernel = )"\w+"', rf'\1"{name}"', "kernel of a chip")
        case ["bare", *rest] if not rest or rest[0] == "except":
            kept = "".join(f"(?!{re.escape(layout)}>)" for layout in rest[1:])
            replace_all(statements, rf"(tensor<[^<>,]*), {kept}#[\w.]+(<\w+>)?>", r"\1>", "layout")
        case _:
            sys.exit(f"error: {' '.join(step)!r} is no step\n{__doc__}")


def main(file, *words):
    with open(file) as opened:
        statements = parse(opened.read())
    step = []
    for word in [*words, "then"]:
        if word != "then":
            step.append(word)
            continue
        if not step:
            sys.exit(f"error: a step is empty\n{__doc__}")
        apply(statements, step)
        step = []
    for statement in statements:
        print(*statement.lines, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
