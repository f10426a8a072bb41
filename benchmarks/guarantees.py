# SPDX-License-Identifier: Apache-2.0
"""guarantees.py BUILD RECORDS [CASE...]: the cost of two guarantees: each contribution counts exactly once, whatever
fails, and each damaged byte is found. Prints lines of results.jsonl to stdout, and each case to stderr when it is
finished. A CASE is a part of the name of a case; without any, all are run.

A real `Server`, and real `WorkerClient`s in one other process, over 127.0.0.1, asynchronous, with an update rule of one
multiplication: each worker pulls, pushes, and begins again. Pushes and pulls are counted. The library as it is is
compared with programs that were compiled (benchmarks/parameters/guarantees.cpp) without some or all of these:
  names      the shard checks step and rank of a push, and records which contributions of each rank have counted
  buffers    workers keep what they pushed until a cut, in memory, contains it
  checksums  CRC-32C of each message's header, head and body
The library has no option to turn off names or checksums. Without names a buffer can never be emptied, so programs
without names have no buffers. Step and rank are still sent, although the shard ignores them. Where buffers of 256 MiB,
the default, would take too long to fill, they are smaller; then cuts are only more frequent. Turns, rounds and medians
are as in rpc.py.

After that, a job that also computes something: the main job (main_job/train.cpp), asynchronous, on 2 parameter servers
and 3 workers, with buffers of 256 MiB, compared with the same job compiled without all of these."""
import os
import signal
import statistics
import sys
import tempfile
import time

import rpc
from result import result
from rpc import Case, Line, Peer, note
from running_job import LIMIT, Job

rpc.PATIENCE = 60
SECONDS = "4"  # that are measured: a worker that pushes rows fills its buffer, which causes a cut, every 1 to 2 s
ALL_OFF = "none of them"
# name, arguments of both ends, workers, MiB of a worker's buffer
CASES = [
    ("4 KiB", ["--bytes", str(4 << 10)], 8, 16),
    ("64 KiB", ["--bytes", str(64 << 10)], 8, 64),
    ("1 MiB", ["--bytes", str(1 << 20)], 4, 256),
    ("16 MiB", ["--bytes", str(16 << 20)], 2, 256),
    ("1k rows of 64 B", ["--keys", "1000"], 8, 64),
    ("10k rows of 64 B", ["--keys", "10000"], 4, 256),
]


PROGRAMS = ["benchmark_parameters_" + name for name in ("guarded", "unnamed", "unchecked", "unguarded")]
MAIN_JOBS = {"ours": ["benchmark_main_job_train"], ALL_OFF: ["benchmark_main_job_unguarded", "unkept"]}


def peers(build, budget):
    """Returns {name: Peer}."""
    guarded, unnamed, unchecked, unguarded = (f"{build}/benchmarks/{program}" for program in PROGRAMS)
    with_buffers, without = ["--budget", str(budget)], ["--budget", "0"]
    found = [Peer("ours", guarded, with_buffers), Peer("no buffers", guarded, without),
             Peer("no names, no buffers", unnamed, without), Peer("no checksums", unchecked, with_buffers),
             Peer(ALL_OFF, unguarded, without)]
    return {peer.name: peer for peer in found}


def operations(measured):
    """Returns the pushes and pulls in thousands a second."""
    return 2 * measured["rate"] / 1e3


def run_main_job(build, records):
    """Compares the steps a second of the main job with and without all of these, and prints the result."""
    rates = {name: [] for name in MAIN_JOBS}
    deadline = time.monotonic() + LIMIT
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rpc.ROUNDS):
            for name in list(MAIN_JOBS)[::1 if number % 2 == 0 else -1]:
                with Job(folder, deadline) as job:
                    program, *options = MAIN_JOBS[name]
                    job.launch(build, [f"{build}/benchmarks/{program}", records, str(job.counter_file), *options])
                    rates[name].append(job.measure()["rate"])
    note("  2 parameter servers, 3 workers, main job")
    note("    steps of the main job [1/s]: " + "; ".join(
        f"{name} {statistics.median(of):.0f} ({min(of):.0f}-{max(of):.0f})" for name, of in rates.items()))
    print(result("steps of the main job", *map(statistics.median, rates.values()), ALL_OFF, "1/s", 0.90), flush=True)


def main():
    build, records, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    missing = [program for program in [*PROGRAMS, *(program for program, *_ in MAIN_JOBS.values())]
               if not os.access(f"{build}/benchmarks/{program}", os.X_OK)]
    if missing:
        note(f"error: no {', '.join(missing)} in {build}/benchmarks; benchmarks/run.sh guarantees builds them")
        return 70
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are ended
    began = time.monotonic()
    for what, both, workers, budget in CASES:
        if wanted and not any(text in what for text in wanted):
            continue
        known = peers(build, budget)
        both = both + ["--connections", str(workers)]
        targets = {ALL_OFF: 0.90, "no buffers": None, "no names, no buffers": None, "no checksums": None}
        rpc.run_case(Case({what}, f"{workers} workers, {what}", list(known), [
            Line(f"push and pull {what}", operations, "k/s", targets),
        ], [*both, "--warm_budget", str(budget), "--seconds", SECONDS], both), known)
    if not wanted or any(text in "main job" for text in wanted):
        run_main_job(build, records)
    note(f"  {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
