#!/usr/bin/env python3
"""Looks for lanes of machine code that are elected while others of their warp are elsewhere.

    nvdisasm -c KERNEL.cubin | elected_lanes.py

Behind a branch on what ELECT chose, the elected lane and the others are on their own until they wait for each other (BSYNC of the
innermost BSSY around the branch). An ELECT before that chooses once for each of them, so that a warp arrives twice where it
has to arrive once; a barrier of warps (BAR) counts both. Prints each such pair; the last line is `N elections, N branches, N
wrong`, and the exit status 1 where one is wrong or there is no branch. Where what ELECT chose only guards instructions, or is
written to another predicate first, nothing is followed.
"""

import re
import sys
from typing import NamedTuple, Optional


class Function(NamedTuple):
    name: str
    instructions: list
    labels: dict


def read(lines):
    """The functions of a listing."""
    functions = []
    for line in map(str.strip, lines):
        if found := re.match(r"\.text\.(\S+):", line):
            functions.append(Function(found[1], [], {}))
        elif functions and (found := re.match(r"(\.L\w+):", line)):
            functions[-1].labels[found[1]] = len(functions[-1].instructions)
        elif functions and (found := re.match(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)):
            functions[-1].instructions.append(found[1])
    return functions


def find_target(instruction) -> Optional[str]:
    found = re.search(r"\bBRA\b.*`\((\.L\w+)\)", instruction)
    return found and found[1]


def find_branch(function, election):
    """Where the elected lane and the others part; None where no branch reads what ELECT chose."""
    predicate = re.search(r"ELECT (\w+)", function.instructions[election])[1]
    for place in range(election + 1, len(function.instructions)):
        instruction = function.instructions[place]
        if re.match(rf"@!?{predicate} ", instruction) and find_target(instruction):
            return place
        # Written anew, or the code ends.
        if re.match(rf"(@\S+ )?\S+ {predicate},", instruction) or re.match(r"EXIT|ELECT", instruction):
            return None
    return None


def find_scope(function, branch):
    """The barrier of the innermost BSSY around it."""
    scopes = []
    for instruction in function.instructions[:branch]:
        if found := re.match(r"BSSY\S* (B\d+)", instruction):
            scopes.append(found[1])
        elif (found := re.match(r"BSYNC\S* (B\d+)", instruction)) and found[1] in scopes:
            del scopes[scopes.index(found[1]):]
    return scopes[-1] if scopes else None


def find_wrong(function, branch):
    """What lanes reach that have not met again behind the branch of an elected one."""
    scope = find_scope(function, branch)
    wrong, seen = [], set()
    waiting = [branch + 1, function.labels[find_target(function.instructions[branch])]]
    while waiting:
        place = waiting.pop()
        if place in seen or place >= len(function.instructions):
            continue
        seen.add(place)
        instruction = function.instructions[place]
        if scope and re.match(rf"BSYNC\S* {scope}\b", instruction):
            continue
        if re.search(r"\b(ELECT|BAR\.SYNC)", instruction):
            wrong.append(place)
            continue
        target = find_target(instruction)
        if target:
            waiting.append(function.labels[target])
        if not re.match(r"BRA `|EXIT", instruction):
            waiting.append(place + 1)
    return wrong


def main():
    elections = branches = count = 0
    for function in read(sys.stdin):
        for place, instruction in enumerate(function.instructions):
            if not re.search(r"\bELECT\b", instruction):
                continue
            elections += 1
            branch = find_branch(function, place)
            if branch is None:
                continue
            branches += 1
            for other in find_wrong(function, branch):
                count += 1
                print(f"{function.name}: {instruction} at {place} reaches {function.instructions[other]} at {other}")
    print(f"{elections} elections, {branches} branches, {count} wrong")
    return 1 if count or not branches else 0


if __name__ == "__main__":
    sys.exit(main())
