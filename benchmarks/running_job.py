# SPDX-License-Identifier: Apache-2.0
"""Runs a job of several processes that trains until it is ended, and measures what a step costs. The processes count
their steps in shared memory, so that counting costs a step nothing."""
import mmap
import os
import pathlib
import signal
import subprocess
import time

from rpc import machine_cpu

PS, WORKERS = 2, 3
WARM, SECONDS = 2.0, 4.0
LIMIT = 340  # seconds after which a process ends itself


def cpu(pid):
    """Returns the CPU seconds that a process has used."""
    return time.clock_gettime(~pid << 3 | 2)


def peak_mib(pid):
    """Returns the most memory that was ever resident, in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


class Job:
    """A running job with its files in `folder`. Its functions raise RuntimeError, with the last lines that the job
    printed, if one of its processes ends or `deadline` passes."""

    def __init__(self, folder, deadline):
        self.deadline, self.processes, self.tasks = deadline, [], {}
        self.log = pathlib.Path(folder, "log")
        self.log.write_bytes(b"")
        self.counter_file = pathlib.Path(folder, "counter")
        self.counter_file.write_bytes(bytes(8 * WORKERS))
        with open(self.counter_file, "r+b") as file:
            self.counter = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        self.began = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, command):
        """Starts a process and returns its id. If this script is killed, SIGALRM ends the process later; as `distrib
        launch` ends, so do its tasks."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        environment.pop("TF_CONFIG", None)
        with open(self.log, "ab") as log:
            self.processes.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=subprocess.STDOUT, preexec_fn=lambda: signal.alarm(LIMIT)))
        return self.processes[-1].pid

    def launch(self, build, program):
        """Starts the program as PS parameter servers and WORKERS workers. Returns the flags with the hosts."""
        self.start([f"{build}/tools/distrib", "launch", "--grace", "1", "--ps", str(PS), "--workers", str(WORKERS), "--",
                    *program])
        return self.read_tasks()

    def read_tasks(self):
        """Waits for the first lines of `distrib launch`, "launch | ps0 is process 21050". Returns the flags with the
        hosts."""
        while len(self.tasks) < PS + WORKERS:
            self.pause()
            whole_lines = self.log.read_text(errors="replace").split("\n")[:-1]
            said = [line.split()[2:] for line in whole_lines if line.startswith("launch | ")]
            self.tasks = {words[0]: int(words[3]) for words in said if words[1:3] == ["is", "process"]}
        return said[0]

    def pause(self):
        """Sleeps for a millisecond. Raises RuntimeError if a process has ended or the deadline has passed."""
        if any(process.poll() is not None for process in self.processes) or time.monotonic() > self.deadline:
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            raise RuntimeError(f"the job ended, or took too long: {end}")
        time.sleep(0.001)

    def steps(self):
        return sum(self.counter)

    def at_next_step(self):
        """Waits until the number of steps changes. Returns (time, steps done, {task: CPU seconds})."""
        steps = self.steps()
        while self.steps() == steps:
            self.pause()
        return time.monotonic(), self.steps(), {name: cpu(pid) for name, pid in self.tasks.items()}

    def sleep(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pause()

    def measure(self):
        """Measures the job in a steady state. Returns the figures by name."""
        self.at_next_step()
        first = time.monotonic() - self.began
        self.sleep(WARM)
        begin, machine = self.at_next_step(), machine_cpu()
        self.sleep(SECONDS)
        end, machine = self.at_next_step(), machine_cpu() - machine
        seconds, steps = end[0] - begin[0], end[1] - begin[1]
        used = {name: end[2][name] - begin[2][name] for name in self.tasks}
        workers = [used[name] for name in used if name.startswith("worker")]
        if workers and min(workers) < 0.2 * max(workers):
            raise RuntimeError(f"a worker is idle: CPU seconds {used}")
        servers = [name for name in self.tasks if name.startswith("ps")]
        return {"first": first, "rate": steps / seconds, "cpu": 1e3 * sum(used.values()) / steps,
                "ps_cpu": 1e3 * sum(used[name] for name in servers) / steps,
                "ps_mib": max((peak_mib(self.tasks[name]) for name in servers), default=0),
                "foreign": (machine - sum(used.values())) / seconds}

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
