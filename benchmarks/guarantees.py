# SPDX-License-Identifier: Apache-2.0
"""guarantees.py BUILD RECORDS [CASE...]: what the promises to count each contribution once, on whatever dies, and to
find each damaged byte cost; prints lines of results.jsonl, and each case to stderr when it is finished. CASEs are parts
of their names; all unless told.

A real `Server` and so many real `WorkerClient`s in one other process, over 127.0.0.1, asynchronous, with an update rule
of one multiplication: each worker pulls, pushes, and begins again. Counted are pushes and pulls. Beside the library as
it is stand programs that were compiled without some of these (benchmarks/parameters/guarantees.cpp), and without all:
  names      the shard looks at step and rank of a push and keeps account of what it has counted of each rank
  buffers    workers keep what they pushed until it is in a cut; cuts are made, in memory
  checksums  CRC-32C of each message's header, head and body
Nothing in the library turns off the first or the last. Without names there is nothing to empty a buffer by, so those go
together. Step and rank still travel where nobody looks at them. Buffers are smaller than the 256 MiB of a default where
those would take long to fill: cuts are only made more often so. Turns, rounds and medians are those of rpc.py.

Then the same of a job that computes something, too: the main job (main_job/train.cpp), asynchronous, on 2 parameter
servers and 3 workers, with buffers of 256 MiB, beside one compiled without all of these."""
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
SECONDS = "4"  # of a turn: a worker of rows is full, and has a cut made, once a second or two
ALL_OFF = "none of them"
# what, arguments of both ends, workers, MiB of a worker's buffer
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
    """All, by name."""
    guarded, unnamed, unchecked, unguarded = (f"{build}/benchmarks/{program}" for program in PROGRAMS)
    with_buffers, without = ["--budget", str(budget)], ["--budget", "0"]
    found = [Peer("ours", guarded, with_buffers), Peer("no buffers", guarded, without),
             Peer("no names, no buffers", unnamed, without), Peer("no checksums", unchecked, with_buffers),
             Peer(ALL_OFF, unguarded, without)]
    return {peer.name: peer for peer in found}


def operations(measured):
    """Thousands of pushes and pulls a second."""
    return 2 * measured["rate"] / 1e3


def run_main_job(build, records):
    """Its steps a second, with all and with none of them."""
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
    missing = [program for program in [*PROGRAMS, *MAIN_JOBS.values()]
               if not os.access(f"{build}/benchmarks/{program}", os.X_OK)]
    if missing:
        note(f"error: no {', '.join(missing)} in {build}/benchmarks; benchmarks/run.sh guarantees builds them")
        return 70
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C does: what was started is ended
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
