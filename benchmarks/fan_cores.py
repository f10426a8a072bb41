# SPDX-License-Identifier: Apache-2.0
"""Measures parameter servers with many workers on a machine with 16 cores: 4 parameter servers with two shards each, and
8, 64 and 512 workers in 8 processes, pinned, beside bare sockets that move the same bytes over as many connections; then
with one worker that is stopped for 2 s, and with a parameter server that is killed. Each figure is the median of three
turns. Everything is on this machine: network cards and incast are not measured. Prints lines of results.jsonl.
usage: fan_cores.py [--cores N] BUILD_DIRECTORY
--cores N, below 16: the same programs with fewer processes and workers, each for a moment, to see that they run; these
figures mean nothing."""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

from result import result

CORES = 16
LIMIT = 660  # seconds of a run; the program itself ends after 600
BODIES = {"4 KiB": 4096, "64 KiB": 65536, "1 MiB": 1 << 20, "1000 rows": "rows"}
SHARDS_PER_TASK = 2


class Form:
    """How large the measurement is."""

    def __init__(self, cores):
        self.full = cores >= CORES
        self.cores = min(cores, CORES)
        self.ps = 4 if self.full else max(1, cores // 4)
        self.processes = 8 if self.full else max(2, cores // 2)
        clients = 64 if self.full else 4  # of a process
        self.most = self.processes * clients
        self.workers = (8, 64, 512) if self.full else (2, self.most)
        self.seconds = 5 if self.full else 0.3
        self.turns = 3 if self.full else 1


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", type=int, default=CORES)
    parser.add_argument("build")
    arguments = parser.parse_args()
    form = Form(arguments.cores)
    program = f"{arguments.build}/benchmarks/benchmark_ps_fan_cores_benchmark"
    if not form.full:
        print("the small form: it shows that the programs run, its figures mean nothing", file=sys.stderr)

    def told(what, workers, *words):
        command = [program, what, form.cores, form.ps, form.processes, workers, *words]
        done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True,
                              timeout=LIMIT)
        return json.loads(done.stdout)

    def compare(name, ours, bare):
        for what, key, unit, scale in (("contributions", "per_s", "K/s", 1e-3), ("bytes", "gb_s", "GB/s", 1),
                                       ("p99 of a worker's step", "p99_ms", "ms", 1),
                                       ("CPU a contribution, ps", "ps_us", "us", 1),
                                       ("CPU a contribution, worker", "worker_us", "us", 1),
                                       ("peak memory of a ps", "ps_mib", "MiB", 1)):
            print(result(f"{name}: {what}", ours[key] * scale, bare[key] * scale, "bare sockets", unit, None), flush=True)

    for workers in form.workers:
        for body, size in BODIES.items():
            name = f"{workers} workers, {body}"
            # A worker keeps values and receives the next ones, its process sends, a server keeps half of what comes.
            need = 4 * workers * form.ps * SHARDS_PER_TASK * (size if size != "rows" else 80_000)
            if need > available_bytes():
                print(f"left out: {name}: needs {need / 2**30:.0f} GiB of memory", file=sys.stderr)
                continue
            runs = []
            for _ in range(form.turns):
                ours = told("rate", workers, form.seconds, size)
                runs.append((ours, told("sockets", workers, form.seconds, ours["up"], ours["down"])))
            compare(name, medians([ours for ours, _ in runs]), medians([bare for _, bare in runs]))

    for mode, name in (("ssp", "SSP"), ("backup", "backup workers")):
        seen = medians([told("stop", form.most, form.seconds, mode) for _ in range(form.turns)])
        for when in ("meanwhile", "after"):
            print(result(f"{form.most} workers, {name}, one is stopped: {when}", seen[when] / 1000,
                         seen["before"] / 1000, "before", "K/s", None), flush=True)

    runs = []
    for _ in range(form.turns):
        with tempfile.TemporaryDirectory() as directory:
            runs.append(told("kill", form.most, directory))
    seen = medians(runs)
    for what, key in (("the first worker's next step", "first_s"), ("the last worker's next step", "last_s")):
        print(result(f"{form.most} workers, a ps is killed: {what}", seen[key], seen["listens_s"], "the ps listens", "s",
                     None), flush=True)


main()
