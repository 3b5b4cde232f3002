"""Prints the command that the header of each file says it is run and verified by.

    python3 header_command.py FILE...

The command stands below "Run and verify" and goes on while lines end with a
backslash. A file without one is an error.
"""

import re
import sys

COMMAND = re.compile(r"^// Run and verify.*:\n((?://.*\\\n)*//.*\n)", re.MULTILINE)

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        found = COMMAND.search(file.read())
    if not found:
        sys.exit(f"{path} has no line '// Run and verify...:' with a command below")
    print(re.sub(r"^//\s*", "", found[1], flags=re.MULTILINE).replace("\\\n", " ").rstrip("\n"))
