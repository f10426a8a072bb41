# SPDX-License-Identifier: Apache-2.0
"""torch.py BUILD RECORDS: modules of LibTorch trained by this library, compared with a plain loop in one process,
and with three processes that add up their gradients by Gloo. Prints lines of results.jsonl to stdout, and each round to
stderr.

All programs are measured one after the other in each round; the median of the rounds counts. One worker in one process
and the plain loop run with the memory of glibc as it is, and with memory that is kept (GLIBC_TUNABLES); the better
setting of each counts. Beside Gloo, a step is one of all three workers; the CPU time of a step is that of all processes,
in a long job less that in a short one, which takes out start and end."""
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile

from result import result

ROUNDS, WORLD = 5, 3
KEPT = "glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=1073741824"
# Most microseconds of a contribution outside of loss() and backward().
DOOR = {"mlp": 20, "norm": 100}
# Steps alone, then steps of three processes (short, long), for each network; the least ratio to the plain loop.
NETS = {"mlp": (3000, (300, 1300), 0.65), "cnn": (60, (15, 45), 0.80), "norm": (120, (15, 60), 0.90)}
LIMIT = 600


def environment(kept):
    names = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "GLIBC_TUNABLES")}
    names["OPENBLAS_NUM_THREADS"] = "1"
    if kept:
        names["GLIBC_TUNABLES"] = KEPT
    return names


def run(command, kept=False):
    """Runs a command and returns its stdout. If it fails, ends this program with all that it printed."""
    done = subprocess.run(command, env=environment(kept), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}error: exit code {done.returncode}: {' '.join(command)}")
    return done.stdout


def cpu_seconds():
    """Returns the CPU seconds of all child processes that have ended, including their own children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Programs:
    def __init__(self, build, records):
        self.build, self.records = build, records

    def program(self, name):
        return f"{self.build}/benchmarks/benchmark_torch_{name}"

    def plain(self, net, steps, kept):
        """Returns the steps per second of the plain loop."""
        said = run([self.program("plain"), net, self.records, str(steps)], kept)
        return json.loads(said)["steps_per_second"]

    def ours(self, net, steps, kept=False, launch=()):
        """Returns the steps per second of this library."""
        with tempfile.TemporaryDirectory() as out:
            run([*launch, self.program("train"), net, self.records, str(steps), out], kept)
            return json.loads(pathlib.Path(out, "summary.json").read_text(encoding="utf-8"))["steps_per_second"]

    def ours_in_processes(self, net, steps):
        launch = [f"{self.build}/tools/distrib", "launch", "--ps", "2", "--workers", str(WORLD), "--"]
        return self.ours(net, steps, launch=launch)

    def gloo(self, net, steps):
        """Returns the steps per second of three processes that use Gloo."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [subprocess.Popen([self.program("gloo"), net, self.records, str(steps), str(rank), str(WORLD), str(port)],
                                  env=environment(False), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                 for rank in range(WORLD)]
        said = [process.communicate(timeout=LIMIT)[0] for process in ranks]
        if any(process.returncode for process in ranks):
            sys.exit(f"error: a rank of Gloo ended with {[process.returncode for process in ranks]}")
        return json.loads(said[0])["steps_per_second"]


def of_a_step(measure, net, steps):
    """Returns (steps per second of the long job, CPU milliseconds of a step in all processes)."""
    short, long = steps
    before = cpu_seconds()
    measure(net, short)
    between = cpu_seconds()
    rate = measure(net, long)
    return rate, 1e3 * ((cpu_seconds() - between) - (between - before)) / (long - short)


def main():
    programs = Programs(*sys.argv[1:3])
    for net, most in DOOR.items():
        cost = float(run([programs.program("bind"), net]))
        print(result(f"torch {net}, outside of loss() and backward()", cost, most, "the target", "us", 1))
    for net, (alone, steps, least) in NETS.items():
        plain, ours, gloo, jobs = {}, {}, [], []
        for number in range(ROUNDS):
            for kept in (False, True):
                plain.setdefault(kept, []).append(programs.plain(net, alone, kept))
                ours.setdefault(kept, []).append(programs.ours(net, alone, kept))
            gloo.append(of_a_step(programs.gloo, net, steps))
            jobs.append(of_a_step(programs.ours_in_processes, net, steps))
            print(f"  {net} {number}: alone, memory as it is: ours {ours[False][-1]:.1f}, plain {plain[False][-1]:.1f}; kept: "
                  f"ours {ours[True][-1]:.1f}, plain {plain[True][-1]:.1f} steps/s; {WORLD} processes: ours "
                  f"{jobs[-1][0]:.1f} steps/s, {jobs[-1][1]:.2f} CPU ms, Gloo {gloo[-1][0]:.1f} steps/s, {gloo[-1][1]:.2f} CPU ms",
                  file=sys.stderr)
        best_of = lambda rates: max(statistics.median(rates[kept]) for kept in rates)
        print(result(f"torch {net}, one process", best_of(ours), best_of(plain), "a plain loop", "step/s", least))
        rate, cost = (statistics.median(values) for values in zip(*jobs))
        their_rate, their_cost = (statistics.median(values) for values in zip(*gloo))
        fast = net == "mlp"
        print(result(f"torch {net}, {WORLD} workers", rate, their_rate, "all-reduce of Gloo", "step/s", 2 if fast else 0.95))
        print(result(f"torch {net}, {WORLD} workers", cost, their_cost, "all-reduce of Gloo", "CPU ms", 0.5 if fast else None))


main()
