# SPDX-License-Identifier: Apache-2.0
"""main_job_tensorflow.py BUILD RECORDS [ROUNDS]: the same small job here and in TensorFlow; prints lines of
results.jsonl, and each run to stderr. Run by a Python that has TensorFlow.

The job: a multilayer perceptron 784-128-10 on Fashion-MNIST, batches of 64, plain gradient descent, asynchronous, 2
parameter servers and 3 workers, each a process, on loopback. Ours (main_job/train.cpp) reads, shuffles and parses its
TFRecords while it trains; TensorFlow (main_job_tensorflow_peer.py) has them parsed in memory. It comes in three forms:
between-graph replication, ClusterCoordinator, and one process without a cluster. Both choose by themselves with
which instructions they multiply matrices, so what the environment tells OpenBLAS alone is left out. What a job with
tables would do beside it, gathering and scattering rows, is what tables_tensorflow.py measures after that.

All take turns, ROUNDS (5) times; medians are compared. When time is short 3 rounds must do. A figure is of SECONDS in a
steady state: the steps of all workers, told through shared memory, and the CPU time of processes. Where this user may,
all of this runs in the round-robin real-time class. The clusters are started by `distrib launch`."""
import importlib.metadata
import mmap
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import tables_tensorflow
from result import result
from rpc import machine_cpu, note, prepare

ROUNDS, LEAST_ROUNDS, PS, WORKERS = 5, 3, 2, 3
WARM, SECONDS = 2.0, 4.0
ENOUGH = 240  # seconds after which no round begins that need not be
LIMIT = 340  # seconds after which all ends
FOREIGN = 0.3  # cores that others may use without a word
OURS, BETWEEN, COORDINATOR, ALONE = "ours", "between-graph", "coordinator", "one-process"
HERE = pathlib.Path(__file__).resolve().parent


def cpu(pid):
    """CPU seconds that a process has used."""
    return time.clock_gettime(~pid << 3 | 2)


def peak_mib(pid):
    """The most memory that was ever resident."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


class Job:
    """A job that runs. Throws `RuntimeError` with what it printed when it ends, or does nothing for too long."""

    def __init__(self, form, build, records, folder, deadline):
        self.deadline, self.processes, self.tasks = deadline, [], {}
        self.log = pathlib.Path(folder, "log")
        self.log.write_bytes(b"")
        counter = pathlib.Path(folder, "counter")
        counter.write_bytes(bytes(8 * WORKERS))
        with open(counter, "r+b") as file:
            self.counter = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        peer = [sys.executable, "-B", str(HERE / "main_job_tensorflow_peer.py"), form, records, str(counter)]
        try:
            self.began = time.monotonic()
            if form == ALONE:
                self.tasks["one"] = self.start(peer)
                return
            ours = [f"{build}/benchmarks/benchmark_main_job_train", records, str(counter)]
            self.start([f"{build}/tools/distrib", "launch", "--grace", "1", "--ps", str(PS), "--workers", str(WORKERS),
                        "--", *(ours if form == OURS else peer)])
            hosts = self.read_tasks()
            if form == COORDINATOR:
                self.tasks["chief"] = self.start([*peer, "--job_name=chief", *hosts])
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, command):
        """The process id. Should we be killed, it ends by SIGALRM; `distrib launch` takes its tasks along."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        environment.pop("TF_CONFIG", None)
        with open(self.log, "ab") as log:
            self.processes.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=subprocess.STDOUT, preexec_fn=lambda: signal.alarm(LIMIT)))
        return self.processes[-1].pid

    def read_tasks(self):
        """Waits for what `distrib launch` says first, "launch | ps0 is process 21050"; gives the flags with the hosts."""
        while len(self.tasks) < PS + WORKERS:
            self.pause()
            whole_lines = self.log.read_text(errors="replace").split("\n")[:-1]
            said = [line.split()[2:] for line in whole_lines if line.startswith("launch | ")]
            self.tasks = {words[0]: int(words[3]) for words in said if words[1:3] == ["is", "process"]}
        return said[0]

    def pause(self):
        """A millisecond."""
        if any(process.poll() is not None for process in self.processes) or time.monotonic() > self.deadline:
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            raise RuntimeError(f"it ended, or took too long: {end}")
        time.sleep(0.001)

    def steps(self):
        return sum(self.counter)

    def at_next_step(self):
        """(now, steps done, CPU seconds of each task) when the number of steps has just changed."""
        steps = self.steps()
        while self.steps() == steps:
            self.pause()
        return time.monotonic(), self.steps(), {name: cpu(pid) for name, pid in self.tasks.items()}

    def sleep(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pause()

    def measure(self):
        """What one job comes to, all by name."""
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
            raise RuntimeError(f"a worker does not work: CPU seconds {used}")
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


def play(build, records, rounds):
    """{form: [what each round measured]}"""
    measured = {OURS: [], BETWEEN: [], COORDINATOR: [], ALONE: []}
    began = time.monotonic()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else build  # that nobody waits for a disk
    with tempfile.TemporaryDirectory(prefix="distrib-", dir=memory) as folder:
        for number in range(rounds):
            if number >= LEAST_ROUNDS and time.monotonic() - began > ENOUGH:
                break
            for form, list_ in measured.items():
                try:
                    with Job(form, build, records, folder, began + LIMIT) as job:
                        m = job.measure()
                except RuntimeError as error:
                    sys.exit(f"error: {form}: {error}")
                list_.append(m)
                others = f", others used {m['foreign']:.1f} cores" if m["foreign"] > FOREIGN else ""
                servers = f", ps {m['ps_cpu']:.2f} CPU ms and {m['ps_mib']:.0f} MiB" if form != ALONE else ""
                note(f"  {number + 1}/{rounds} {form:13}: {m['rate']:.0f} steps/s, first after {m['first']:.2f} s; "
                     f"a step {m['cpu']:.2f} CPU ms{servers}{others}")
    note(f"  {time.monotonic() - began:.0f} s")
    return measured


def report_dense(build, records, rounds):
    """All variables in every step."""
    measured = play(build, records, rounds)
    version = importlib.metadata.version("tensorflow-cpu")

    def median(form, key):
        return statistics.median(one[key] for one in measured[form])

    def line(what, key, theirs, unit, target=None, figure=None):
        """Ours beside theirs; and beside a figure that it is not to be above."""
        ours = median(OURS, key)
        if figure is not None:
            print(result(f"main-job-tensorflow {what}", ours, figure, "figure", unit, 1), flush=True)
        print(result(f"main-job-tensorflow {what}", ours, median(theirs, key), f"TF {version} {theirs}", unit, target),
              flush=True)

    line("steps", "rate", BETWEEN, "1/s", target=4.5)
    line("steps", "rate", COORDINATOR, "1/s")
    line("steps", "rate", ALONE, "1/s", target=1.0)
    line("CPU a step", "cpu", BETWEEN, "CPU ms")
    line("CPU of all ps a step", "ps_cpu", BETWEEN, "CPU ms", figure=0.45)
    line("most memory of a ps", "ps_mib", BETWEEN, "MiB", figure=30)
    line("launch to first step", "first", BETWEEN, "s", figure=0.3)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C does: what was started is ended
    prepare("free", False)()  # all of them inherit it; and who waits for a step must not hear of it late
    build, records = sys.argv[1:3]
    report_dense(build, records, int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS)
    try:
        tables_tensorflow.report(build)
    except RuntimeError as error:
        sys.exit(f"error: {error}")


main()
