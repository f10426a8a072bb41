#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains modules of LibTorch by real processes: the same bits for any number of threads, parameter servers, parts and
shards, and after kills.

usage: jobs.py BUILD [--steps N] [--kills N] [--only PART]

BUILD: where distrib_torch was built. --steps: of each job (100). --kills: how many jobs have a worker, a parameter server
and the chief killed, one after the other (3). --only: shapes, kills or tables. Prints a line for each job, and ends with
1 if a hash differs.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RAW = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"} | {"OPENBLAS_NUM_THREADS": "1"}
LIMIT = 600  # seconds for a job
VICTIMS = ["worker1", "ps1", "worker0"]  # worker0 is the chief


class Failure(Exception):
    pass


class Jobs:
    def __init__(self, build, work):
        self.launcher, self.work, self.failures = build / "tools/distrib", work, 0
        self.programs = build / "examples"
        self.data = work / "data"
        subprocess.run([self.programs / "fashion_mnist_convert", RAW, self.data], check=True, stdout=subprocess.DEVNULL)

    def command(self, program, out, options):
        if program == "torch_recommend":
            return [self.programs / program, out]
        return [self.programs / program, "--data", self.data, "--out", out, *options]

    def run(self, program, *options, ps=0, under=(), kills=(), steps=0):
        """Runs a job; returns its summary. `kills`: tasks that are killed, one after the other, in a job of `steps`."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        if program == "torch_recommend":
            subprocess.run([self.programs / program, out, "--generate"], check=True)
        command = [*under, *self.command(program, out, options)]
        if ps:
            command = [self.launcher, "launch", "--ps", str(ps), "--workers", "3", "--restart", "--", *command]
        process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        lines, pids, due, began = [], {}, list(kills), time.monotonic()
        for line in process.stdout:
            lines.append(line)
            if started := re.search(r"launch \| (\w+) is process (\d+)", line):
                pids[started[1]] = int(started[2])
            step = re.search(r"step (\d+)/", line)
            # The kills are spread over the job.
            if due and step and int(step[1]) >= steps * (len(kills) - len(due) + 1) // (len(kills) + 1):
                os.kill(pids[due.pop(0)], signal.SIGKILL)
            if time.monotonic() - began > LIMIT:
                process.kill()
        if process.wait() != 0 or due:
            raise Failure(f"code {process.returncode}, not killed: {due}\n{''.join(lines[-40:])}")
        summary = json.loads((out / "summary.json").read_text())
        shutil.rmtree(out)
        return summary

    def compare(self, name, expected, program, *options, **how):
        """Runs a job, whose hash must be that of `expected` (None: any). Returns its summary."""
        try:
            summary = self.run(program, *options, **how)
        except Failure as failure:
            print(f"{name}: FAILED: {failure}", flush=True)
            self.failures += 1
            return expected
        found = summary["parameters_sha256"]
        same = expected is None or found == expected["parameters_sha256"]
        print(f"{name}: {found[:12]}{'' if same else ' FAILED: not ' + expected['parameters_sha256'][:12]}", flush=True)
        self.failures += not same
        return summary


def main():
    parser = argparse.ArgumentParser(usage="jobs.py BUILD [--steps N] [--kills N] [--only PART]")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--only", choices=["shapes", "kills", "tables"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        jobs = Jobs(options.build.resolve(), pathlib.Path(work))
        steps = ["--steps", str(options.steps), "--evaluate_every", str(options.steps), "--save_every", str(max(1, options.steps // 5))]
        if options.only != "tables":
            one = jobs.compare("cnn, one process", None, "torch_train", *steps)
        if options.only in (None, "shapes"):
            jobs.compare("cnn, one process, one thread", one, "torch_train", *steps, under=["taskset", "-c", "0"])
            for ps, cut in [(1, []), (2, ["--shards", "2"]), (3, ["--parts", "3", "--shards", "2"])]:
                jobs.compare(f"cnn, {ps} ps {' '.join(cut)}", one, "torch_train", *steps, *cut, ps=ps)
        if options.only in (None, "kills"):
            for i in range(options.kills):
                kills = VICTIMS[i % 3:] + VICTIMS[:i % 3]
                jobs.compare(f"cnn, 2 ps, killed: {' '.join(kills)}", one, "torch_train", *steps, ps=2, kills=kills,
                             steps=options.steps)
        if options.only in (None, "tables"):
            tables = jobs.compare("two towers, one process", None, "torch_recommend")
            jobs.compare("two towers, 2 ps", tables, "torch_recommend", ps=2)
    sys.exit(1 if jobs.failures else 0)


if __name__ == "__main__":
    main()
