# SPDX-License-Identifier: Apache-2.0
"""Measures what online training and serving promise: lookups in a replica, alone and beside deltas; updates and lookups of a
table that is full, beside the same stream to a table without a limit; steps of the click job with an export each 100 steps,
beside the job without. Each in turns, medians of three. Prints lines of results.jsonl. usage: serving.py BUILD_DIRECTORY"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from result import result

TURNS = 3
LOOKUPS = 25  # million in a second, of one thread
BESIDE, STEPS = 0.7, 0.97
UPDATES, LOOKUPS_OF_FULL = (0.6, 0.7), 0.95  # of a table without a limit; the updates of each stream
EXAMPLES, STEPS_OF_JOB, TURNS_OF_JOB = 60_000, 3000, 5
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}


def output(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT).stdout


def lookups(build):
    turns = [json.loads(output([build / "benchmarks/benchmark_serve_lookups_benchmark", 100])) for _ in range(TURNS)]
    alone, beside, deltas = (statistics.median(turn[name] for turn in turns) for name in ("alone", "beside", "deltas"))
    print(result("lookups by a thread", alone, LOOKUPS, "what is promised", "M/s", 1))
    print(result("lookups beside deltas", beside, alone, "alone", "M/s", BESIDE))
    print(result("rows of deltas beside lookups", deltas, alone, "lookups alone", "M/s", None))


def full_table(build):
    """Updates and lookups of a table that is full, beside one without a limit that gets the same keys in the same process."""
    runs = [[json.loads(line) for line in output([build / "benchmarks/benchmark_ps_row_quota_benchmark"]).splitlines()]
            for _ in range(TURNS)]
    for stream, target in enumerate(UPDATES):
        of = lambda figure: statistics.median(run[stream][figure] for run in runs)
        name = f"{runs[0][stream]['rows_ki']} Ki rows, {runs[0][stream]['new_percent']} % new"
        for what, least in ("updates", target), ("lookups", LOOKUPS_OF_FULL):
            unlimited = of(what) / 1e6
            print(result(f"{what}, {name}", of(what + "_ratio") * unlimited, unlimited, "without a limit", "M/s", least))
        slowest = of("slowest_ms")
        print(result(f"slowest update, {name}", of("slowest_of_full_ms"), slowest, "without a limit", "ms", (slowest + 1) / slowest))


def steps(build):
    with tempfile.TemporaryDirectory(dir=build) as directory:
        work = pathlib.Path(directory)
        output([build / "examples/click_convert", work / "data", "--generate", EXAMPLES, 300])
        rates = {"with": [], "without": []}
        for turn in range(TURNS_OF_JOB):
            for way, rate in rates.items():
                out = work / f"{way}{turn}"
                exports = ["--export", out / "log", "--export_every", 100] if way == "with" else []
                output([build / "tools/distrib", "launch", "--ps", 2, "--workers", 2, "--", build / "examples/click_train", "--data",
                        work / "data", "--out", out, "--steps", STEPS_OF_JOB, "--evaluate_every", 1_000_000_000, "--max_rows",
                        50_000, *exports])
                rate.append(json.loads((out / "summary.json").read_text())["steps_per_second"])
        print(result("click job, an export each 100 steps", statistics.median(rates["with"]), statistics.median(rates["without"]),
                     "no export", "1/s", STEPS))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for part in lookups, full_table, steps:
        part(build)
        sys.stdout.flush()


main()
