# SPDX-License-Identifier: Apache-2.0
"""Processes of a job, and ports for them: for the tests in Python that start whole jobs."""
import contextlib
import pathlib
import re
import socket
import subprocess
import threading
import time


def free_ports(count):
    """Returns so many ports of this machine that nothing listens on. Trap: another process may take one meanwhile."""
    with contextlib.ExitStack() as held:  # all open at once, so that all differ
        return [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def free_ports_in_a_row(count):
    """Returns the first of so many free ports in a row."""
    while True:
        with contextlib.ExitStack() as held:
            try:
                first = held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
                for port in range(first + 1, first + count):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
                return first
            except (OSError, OverflowError):
                continue


class Task:
    """One process after the other, which run the same command. `lines`: when each line of their output came, and the
    line; the last `most_lines` of them."""

    def __init__(self, command, environment, most_lines=None):
        self.command, self.environment, self.most_lines = command, environment, most_lines
        self.process, self.lines = None, []

    def start(self, under=()):
        """Starts a process. `under`: a command that runs it."""
        self.process = subprocess.Popen([*under, *self.command], env=self.environment, text=True, errors="replace",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True).start()

    def read(self, stdout):
        for line in stdout:
            self.lines.append((time.monotonic(), line.rstrip()))
            if self.most_lines:
                del self.lines[:-self.most_lines]

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def memory_kib(self, name):
        """Returns a size of its process, as /proc has it: "VmRSS", "RssAnon"; 0 if the process has ended."""
        try:
            text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) if found else 0
