# SPDX-License-Identifier: Apache-2.0
"""Measures what evaluation costs the chief of a job: not at all measured, measured by the chief, measured by a task
`evaluator`. The parameter server and the workers have one processor, the evaluator another one, as on a machine of its
own. Prints lines of results.jsonl. usage: evaluator.py BUILD_DIRECTORY RECORDS"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

from result import result

RUNS = 5
MOST = 1.05  # of the chief's time without evaluation

# Starts a task on the processor of its job.
PLACED = 'case " $* " in *" --job_name=evaluator "*) cpu=$1 ;; *) cpu=$2 ;; esac; shift 2; exec taskset -c "$cpu" "$@"'


def run(build, records, by, *options):
    """Returns the seconds and the CPU seconds of the chief."""
    others, own = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory(dir=build) as folder:
        done = subprocess.run(
            [f"{build}/tools/distrib", "launch", "--ps", "1", "--workers", "2", *options, "--", "sh", "-c", PLACED, "sh",
             str(own), str(others), f"{build}/benchmarks/benchmark_main_job_evaluated", records, f"{folder}/out", by],
            stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    told = re.search(r"^worker0 \| (\{.*\})$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not told:
        raise RuntimeError(f"the job ended with {done.returncode}: {done.stdout}")
    told = json.loads(told[1])
    return told["seconds"], told["cpu"]


def main():
    build, records = sys.argv[1:]
    ways = {"none": ("evaluator",), "chief": ("chief",), "evaluator": ("evaluator", "--evaluator")}
    found = {way: [] for way in ways}
    for _ in range(RUNS):  # alternating, so that a disturbance meets all ways
        for way, arguments in ways.items():
            found[way].append(run(build, records, *arguments))
    for position, what in enumerate(("time", "CPU time")):
        median = {way: statistics.median(figures[position] for figures in found[way]) for way in ways}
        for way, target in (("chief", None), ("evaluator", MOST)):
            print(result(f"{what} of a chief, 10 evaluations by the {way}", median[way], median["none"],
                         "no evaluation", "s", target))


main()
