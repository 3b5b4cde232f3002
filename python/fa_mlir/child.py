"""The process of FA_MLIR_COMPILE=process: a request on stdin, an entry on stdout."""

import json
import sys
from dataclasses import asdict

from .compilation import Request, compile_entry
from .errors import Error


def main() -> None:
    fields = json.load(sys.stdin.buffer)
    request = Request(**dict(fields, source=bytes.fromhex(fields["source"])))
    try:
        answer = b"entry\n" + compile_entry(request)
    except Error as error:
        failure = {"status": error.status, "message": str(error),
                   "diagnostics": [asdict(diagnostic) for diagnostic in error.diagnostics]}
        answer = b"error\n" + json.dumps(failure).encode()
    sys.stdout.buffer.write(answer)
