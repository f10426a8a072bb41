# SPDX-License-Identifier: Apache-2.0
"""Processes of a job, and ports for them: for the tests in Python that start whole jobs."""
import atexit
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
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


class Job:
    """The tasks of a job whose parameter servers listen on free ports of this machine. Task 1 of job "worker" appends
    its output to NAME_worker1.log. The test ends, and says why, if a task ends with another code than is expected, or
    if something has not come true when the time is over. What still runs then is killed."""

    def __init__(self, command, name, train, servers, workers, within, secret=None):
        """`command`: the command `distrib`. `train`: the program and what all tasks give it. `within`: seconds.
        `secret`: a file; None: the job has no secret."""
        self.command, self.name, self.train, self.secret = command, name, train, secret
        self.servers = [f"127.0.0.1:{port}" for port in free_ports(servers)]
        self.workers = ",".join(["127.0.0.1:1"] * workers)
        self.deadline = time.monotonic() + within
        self.running = {}
        atexit.register(lambda: [process.kill() for process in self.running.values()])

    def start(self, job, index, *options, servers=None):
        """`servers`: the addresses that the task is given for those of the parameter servers."""
        environment = os.environ | ({"DISTRIB_SECRET_FILE": self.secret} if self.secret else {})
        with open(f"{self.name}_{job}{index}.log", "ab") as log:
            self.running[job, index] = subprocess.Popen(
                [*self.train, *options, f"--job_name={job}", f"--task_index={index}",
                 f"--ps_hosts={','.join(servers or self.servers)}", f"--worker_hosts={self.workers}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def log_of(self, job, index):
        return pathlib.Path(f"{self.name}_{job}{index}.log").read_text(errors="replace")

    def hold(self, job, index):
        """Stops a task until `go_on`. While it is stopped, no step is done that needs it, however fast the machine."""
        self.running[job, index].send_signal(signal.SIGSTOP)

    def go_on(self, job, index):
        self.running[job, index].send_signal(signal.SIGCONT)

    def end(self, job, *indexes, how=signal.SIGKILL):
        """Ends some tasks of a job, all at the same time."""
        ending = [self.running.pop((job, index)) for index in indexes]
        for process in ending:
            process.send_signal(how)
        for index, process in zip(indexes, ending):
            code = self.code_of(f"{job}{index}", process)
            if code != (1 if how == signal.SIGTERM else -how):
                sys.exit(f"{self.name}: {job}{index} ended with {code} after {how}")

    def code_of(self, task, process, within=None):
        """Waits until a process has ended, and returns its code."""
        try:
            return process.wait(timeout=within or max(1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired as late:
            process.kill()
            sys.exit(f"{self.name}: {task} has not ended after {late.timeout:.0f} s")

    def until(self, what, condition):
        """Waits until the condition is true, and returns its value."""
        while not (found := condition()):
            if time.monotonic() > self.deadline:
                sys.exit(f"{self.name}: still not true: {what}")
            for (job, index), process in self.running.items():
                if process.poll() not in (None, 0):
                    sys.exit(f"{self.name}: {job}{index} ended with {process.returncode}")
            time.sleep(0.05)
        return found

    def join(self, *tasks, within=None):
        """Waits until these tasks, or all, have ended with 0. `within`: seconds; None: those that are left."""
        for job, index in tasks or list(self.running):
            code = self.code_of(f"{job}{index}", self.running[job, index], within)
            if code != 0:
                sys.exit(f"{self.name}: {job}{index} ended with {code}")
            del self.running[job, index]

    # --- what the command says of it ---

    def ask(self, *arguments):
        return subprocess.run([self.command, *arguments], capture_output=True, text=True)

    def status(self):
        """Returns the status of the first parameter server; empty if it cannot be reached."""
        return self.ask("status", self.servers[0], *(["--secret", self.secret] if self.secret else [])).stdout

    def step(self):
        found = re.search(r"^  step +(\d+) of", self.status(), re.MULTILINE)
        return int(found[1]) if found else 0

    def serving(self):
        """Returns which worker serves each rank; empty if the parameter server cannot be reached."""
        found = re.findall(r"^ +(\d+)  (?:connected|looks on).*served by worker (\d+)$", self.status(), re.MULTILINE)
        return {int(rank): int(worker) for rank, worker in found}
