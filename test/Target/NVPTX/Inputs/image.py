"""Writes the image of the first object of a module's gpu.binary to standard output."""
import re
import sys

escaped = re.search(r'(?:assembly|bin) = "((?:[^"\\]|\\.)*)"', sys.stdin.read()).group(1)
image = re.sub(r"\\([0-9A-F]{2}|.)", lambda m: chr(int(m.group(1), 16)) if len(m.group(1)) == 2 else m.group(1), escaped)
sys.stdout.buffer.write(image.encode("latin-1"))
