"""Talks to fa-grid, the program that compiles and runs the problems."""

import json
import os
import select
import subprocess


class ServerError(Exception):
    """What the program answered, or how it ended."""


class Server:
    """One fa-grid process. It is started anew after it has died."""

    # Seconds for one answer: a kernel that never ends shall not end the run.
    LOAD_TIMEOUT, RUN_TIMEOUT = 300, 90

    def __init__(self, command, threads):
        self.command = [str(part) for part in command]
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = None
        self.module = None

    def load(self, **files):
        """Compiles a module; the problems that follow run on it."""
        self.module = files
        return self.ask(files, self.LOAD_TIMEOUT)

    def run(self, request):
        if self.process is None or self.process.poll() is not None:
            # The process died over an earlier problem of the same function.
            self.load(**self.module)
        return self.ask(request, self.RUN_TIMEOUT)

    def ask(self, request, timeout):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env=self.environment)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ServerError(self.obituary()) from None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        if not ready:
            self.process.kill()
            self.process.wait()
            raise ServerError(f"no answer within {timeout} s")
        line = self.process.stdout.readline()
        if not line:
            raise ServerError(self.obituary())
        answer = json.loads(line)
        if "error" in answer:
            raise ServerError(answer["error"])
        return answer

    def obituary(self):
        _, errors = self.process.communicate()
        lines = errors.strip().splitlines()
        return (f"fa-grid ended with status {self.process.returncode}"
                + (f": {lines[-1]}" if lines else ""))

    def discard(self):
        """Ends the process, whose device may be in any state. The next request starts
        another one."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
