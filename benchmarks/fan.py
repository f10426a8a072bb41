# SPDX-License-Identifier: Apache-2.0
"""Measures what scale costs: CPU time of a contribution (a push and a pull of 4 KiB) at a parameter server by the
number of its workers, and at a worker by the number of its parameter servers; contributions that wait at a parameter
server, and the time from the last one to the answer, in a tree and in rank order; memory of a worker by the number of
ranks; and CPU time and memory of a simulated cluster of 64 parameter servers and 1024 workers. Each figure is the
median of three turns. Everything is on this machine: network cards and incast are not measured. Prints lines of
results.jsonl. usage: fan.py BUILD_DIRECTORY"""
import json
import statistics
import subprocess
import sys
import tempfile

from result import result

TURNS = 3
BYTES = 4096
LIMIT = 600  # seconds of a run
# name: number of parameter servers, of workers (with sums: of ranks), of steps; mode, and how many ranks a worker sums;
# which end is measured
FANS = {
    "64 workers": (1, 64, 400, "sync", "ps_us"),
    "256 workers": (1, 256, 100, "sync", "ps_us"),
    "1024 workers": (1, 1024, 30, "sync", "ps_us"),
    "4096 workers": (1, 4096, 10, "sync", "ps_us"),
    "1024 workers, asynchronous": (1, 1024, 30, "async", "ps_us"),
    "1024 workers, one is slow": (1, 1024, 30, "ssp", "ps_us"),
    "64 ranks in a tree": (1, 64, 400, "tree", "ps_us"),
    "64 ranks, 8 workers that sum 8": (1, 64, 400, "tree 8", "ps_us"),
    "16 ps": (16, 1, 1000, "sync", "worker_us"),
    "64 ps": (64, 1, 400, "sync", "worker_us"),
    "128 ps": (128, 1, 200, "sync", "worker_us"),
}
# 64 workers, each with 1 MiB: how contributions arrive, mode in rank order, mode in a tree
REDUCTIONS = {"as workers are served": ("sync", "tree"), "in a mixed order": ("sync-mixed", "tree-mixed")}
REDUCED = (1, 64, 20, 1 << 20)  # parameter servers, workers, steps, bytes


def told(*words):
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    return json.loads(done.stdout)


def main():
    programs = f"{sys.argv[1]}/benchmarks/benchmark_ps_"
    found = {name: [] for name in FANS}
    reductions = {mode: [] for modes in REDUCTIONS.values() for mode in modes}
    for _ in range(TURNS):
        for name, (ps, workers, steps, mode, end) in FANS.items():
            found[name].append(told(programs + "fan_benchmark", ps, workers, steps, BYTES, *mode.split())[end])
        for mode in reductions:
            reductions[mode].append(told(programs + "fan_benchmark", *REDUCED, mode))
    us = {name: statistics.median(values) for name, values in found.items()}

    def compare(name, baseline, most):
        what = "ps" if FANS[name][4] == "ps_us" else "worker"
        print(result(f"CPU a contribution, {what}: {name}", us[name], us[baseline], baseline, "us", most))

    compare("256 workers", "64 workers", None)
    compare("1024 workers", "64 workers", 1.7)
    compare("4096 workers", "64 workers", 2)
    compare("1024 workers, one is slow", "1024 workers, asynchronous", 2)
    compare("64 ranks, 8 workers that sum 8", "64 ranks in a tree", 0.2)
    compare("64 ps", "16 ps", None)
    compare("128 ps", "16 ps", 1.3)
    for arrive, modes in REDUCTIONS.items():
        for what, key, unit, most in (("most that waits", "waiting_mib", "MiB", 0.55),
                                      ("from the last contribution to the answer", "completion_ms", "ms", 0.5)):
            order, tree = (statistics.median(turn[key] for turn in reductions[mode]) for mode in modes)
            print(result(f"64 contributions of 1 MiB, {arrive}, in a tree: {what}", tree, order, "in rank order", unit, most))
    with tempfile.TemporaryDirectory() as directory:
        program = programs + "simulate_benchmark"
        few, many = (told(program, directory, "worker", ranks)["mib"] for ranks in (2, 512))
        print(result("memory of a worker: 512 ranks", many, few, "2 ranks", "MiB", (few + 1) / few))
        seen = told(program, directory, "run", 64, 1024, 3)
        print(result("simulated 64 ps, 1024 workers: an event", seen["event_us"], 20, "limit", "us", 1))
        print(result("simulated 64 ps, 1024 workers: memory", seen["mib"], 6144, "limit", "MiB", 1))


main()
