# SPDX-License-Identifier: Apache-2.0
"""main_job_tensorflow.py BUILD RECORDS [ROUNDS]: the same small job in this library and in TensorFlow. Prints lines of
results.jsonl to stdout, and each run to stderr. Needs a Python that has TensorFlow.

The job: a multilayer perceptron 784-128-10 on Fashion-MNIST, batches of 64, plain gradient descent, asynchronous, with
2 parameter servers and 3 workers, each a process, on loopback. Ours (main_job/train.cpp) reads, shuffles and parses its
TFRecords while it trains; TensorFlow (main_job_tensorflow_peer.py) has them parsed in memory. TensorFlow runs in three
forms: between-graph replication, ClusterCoordinator, and one process without a cluster. Both libraries choose the
instructions for their matrix products themselves, so environment variables for OpenBLAS are removed. After that,
tables_tensorflow.py measures gathering and scattering rows, as a job with tables does.

All forms are run in turn, ROUNDS (5) times, but only 3 times if that takes too long; medians are compared. A figure is
measured in 4 s of a steady state: the steps of all workers, which they count in shared memory, and the CPU time of the
processes. If this user is allowed to, all of this runs in the round-robin real-time class. `distrib launch` starts the
clusters."""
import importlib.metadata
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import time

import tables_tensorflow
from result import result
from rpc import note, prepare
from running_job import LIMIT, Job

ROUNDS, LEAST_ROUNDS = 5, 3
ENOUGH = 240  # seconds after which only the first LEAST_ROUNDS rounds begin
FOREIGN = 0.3  # cores that other processes may use before a note says so
OURS, BETWEEN, COORDINATOR, ALONE = "ours", "between-graph", "coordinator", "one-process"
HERE = pathlib.Path(__file__).resolve().parent


def begin(job, form, build, records):
    """Starts the processes of one form."""
    peer = [sys.executable, "-B", str(HERE / "main_job_tensorflow_peer.py"), form, records, str(job.counter_file)]
    if form == ALONE:
        job.tasks["one"] = job.start(peer)
        return
    ours = [f"{build}/benchmarks/benchmark_main_job_train", records, str(job.counter_file)]
    hosts = job.launch(build, ours if form == OURS else peer)
    if form == COORDINATOR:
        job.tasks["chief"] = job.start([*peer, "--job_name=chief", *hosts])


def play(build, records, rounds):
    """Runs all forms in turn. Returns {form: [measurement of each round]}."""
    measured = {OURS: [], BETWEEN: [], COORDINATOR: [], ALONE: []}
    began = time.monotonic()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else build  # so that no process waits for a disk
    with tempfile.TemporaryDirectory(prefix="distrib-", dir=memory) as folder:
        for number in range(rounds):
            if number >= LEAST_ROUNDS and time.monotonic() - began > ENOUGH:
                break
            for form, list_ in measured.items():
                try:
                    with Job(folder, began + LIMIT) as job:
                        begin(job, form, build, records)
                        m = job.measure()
                except RuntimeError as error:
                    sys.exit(f"error: {form}: {error}")
                list_.append(m)
                others = f", other processes used {m['foreign']:.1f} cores" if m["foreign"] > FOREIGN else ""
                servers = f", ps {m['ps_cpu']:.2f} CPU ms and {m['ps_mib']:.0f} MiB" if form != ALONE else ""
                note(f"  {number + 1}/{rounds} {form:13}: {m['rate']:.0f} steps/s, first after {m['first']:.2f} s; "
                     f"a step {m['cpu']:.2f} CPU ms{servers}{others}")
    note(f"  {time.monotonic() - began:.0f} s")
    return measured


def report_dense(build, records, rounds):
    """Runs the job and prints its lines. Every step uses all variables."""
    measured = play(build, records, rounds)
    version = importlib.metadata.version("tensorflow-cpu")

    def median(form, key):
        return statistics.median(one[key] for one in measured[form])

    def line(what, key, theirs, unit, target=None, figure=None):
        """Prints a line that compares ours with theirs; with `figure` also one that compares ours with this maximum."""
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are ended
    prepare("free", False)()  # all processes inherit it; this one must notice a step without delay
    build, records = sys.argv[1:3]
    report_dense(build, records, int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS)
    try:
        tables_tensorflow.report(build)
    except RuntimeError as error:
        sys.exit(f"error: {error}")


main()
