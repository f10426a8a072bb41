# SPDX-License-Identifier: Apache-2.0
"""Measures what online training and serving promise: lookups in a replica, alone and beside deltas; updates of a table that
is full, beside the same stream to a table without a limit; steps of the click job with an export each 100 steps, beside the
job without. Each in turns, medians of three. Prints lines of results.jsonl. usage: serving.py BUILD_DIRECTORY"""
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
UPDATES = {"512/new_percent:16": 0.6, "2048/new_percent:70": 0.7}  # of the updates without a limit
EXAMPLES, STEPS_OF_JOB = 60_000, 1500
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}


def output(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT).stdout


def lookups(build):
    turns = [json.loads(output([build / "benchmarks/benchmark_serve_lookups_benchmark", 100])) for _ in range(TURNS)]
    alone, beside, deltas = (statistics.median(turn[name] for turn in turns) for name in ("alone", "beside", "deltas"))
    print(result("lookups by a thread", alone, LOOKUPS, "what is promised", "M/s", 1))
    print(result("lookups beside deltas", beside, alone, "alone", "M/s", BESIDE))
    print(result("rows of deltas beside lookups", deltas, alone, "lookups alone", "M/s", None))


def updates(build):
    told = json.loads(output([build / "benchmarks/benchmark_ps_row_quota_benchmark", "--benchmark_format=json",
                              f"--benchmark_repetitions={TURNS}", "--benchmark_enable_random_interleaving=true"]))
    runs = [run for run in told["benchmarks"] if run.get("run_type") != "aggregate"]
    for what, target in UPDATES.items():
        of = lambda limit, figure: statistics.median(
            run[figure] for run in runs if f"rows_ki:{what}/max_rows:{limit}" in run["name"])
        rows, percent = what.split("/new_percent:")
        name = f"{rows} Ki rows, {percent} % new"
        print(result(f"updates, {name}", of(1, "items_per_second") / 1e6, of(0, "items_per_second") / 1e6, "without a limit",
                     "M/s", target))
        slowest = of(0, "slowest_ms")
        print(result(f"slowest update, {name}", of(1, "slowest_ms"), slowest, "without a limit", "ms", (slowest + 1) / slowest))


def steps(build):
    with tempfile.TemporaryDirectory(dir=build) as directory:
        work = pathlib.Path(directory)
        output([build / "examples/click_convert", work / "data", "--generate", EXAMPLES, 300])
        rates = {"with": [], "without": []}
        for turn in range(TURNS):
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
    for part in lookups, updates, steps:
        part(build)
        sys.stdout.flush()


main()
