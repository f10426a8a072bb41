#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the click example with tables that have a limit of rows.

usage: tables.py BUILD [TEST...] [--examples N]

TEST is one of these; by default both run.
  quality   with a quarter of the rows that tables without a limit get, for three seeds: the AUC may differ by 0.004
  memory    one parameter server, tables that may have a fiftieth of these rows: the resident memory of its process is
            looked at five times a second. The medians of eight parts of the last four fifths of the job may differ by
            2 %. (While a cut is saved there are copies of rows.)

--examples: for the training (600000). Exit code 1: a target is missed.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SEEDS, AUC = (1, 2, 3), 0.004
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
LIMIT = 3600


class Click:
    def __init__(self, build, work, examples):
        self.build, self.work = build, work
        self.steps = examples // (3 * 64)  # one epoch
        self.run([build / "examples/click_convert", work / "data", "--generate", str(examples), str(examples // 10)])

    def run(self, command):
        return subprocess.run(command, env=ENVIRONMENT, check=True, timeout=LIMIT, stdout=subprocess.PIPE, text=True).stdout

    def command(self, out, *options):
        return [self.build / "examples/click_train", "--data", self.work / "data", "--out", self.work / out, "--steps",
                str(self.steps), "--evaluate_every", str(self.steps), *options]

    def train(self, out, *options):
        """Trains in one process. Returns (AUC, rows of the table of embeddings)."""
        self.run(self.command(out, *options))
        summary = json.loads((self.work / out / "summary.json").read_text())
        listed = self.run([self.build / "tools/distrib", "checkpoint", "list", "--json", self.work / out / "checkpoint"])
        tensors = map(json.loads, listed.splitlines())
        return summary["auc"], sum(tensor["shape"][0] for tensor in tensors
                                   if re.fullmatch(r"deep/embeddings/shard-.*/keys", tensor["name"]))


def quality(click, plain):
    worst = 0
    for seed in SEEDS:
        auc, rows = plain[seed]
        bounded, left = click.train(f"quarter{seed}", "--seed", str(seed), "--max_rows", str(rows // 4))
        print(f"seed {seed}: AUC {auc:.4f} with {rows} rows, {bounded:.4f} with {left}", flush=True)
        worst = max(worst, auc - bounded)
    print(f"quality: at most {worst:.4f} less, of {AUC}: {'good' if worst <= AUC else 'MISSED'}", flush=True)
    return worst <= AUC


def resident(pid):
    """Returns KiB of resident memory of a process, 0 if there is none."""
    try:
        found = re.search(r"^VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def memory(click, plain):
    rows = plain[SEEDS[0]][1] // 50
    launch = [click.build / "tools/distrib", "launch", "--ps", "1", "--workers", "3", "--"]
    command = click.command("memory", "--max_rows", str(rows), "--save_every", "100")
    known, looks, over = {"pid": 0, "step": 0}, [], threading.Event()

    def look():
        while not over.wait(0.2):
            if size := resident(known["pid"]):
                looks.append((known["step"], size))

    watching = threading.Thread(target=look)
    with subprocess.Popen([*launch, *command], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as process:
        watching.start()
        for line in process.stdout:
            if started := re.match(r"launch \| ps0 is process (\d+)", line):
                known["pid"] = int(started[1])
            if step := re.search(r"step (\d+)/", line):
                known["step"] = int(step[1])
    over.set()
    watching.join()
    if process.returncode != 0:
        raise SystemExit(f"memory: exit code {process.returncode}")
    first = click.steps // 5
    late = [size for step, size in looks if first <= step < click.steps]
    parts = [late[len(late) * i // 8:len(late) * (i + 1) // 8] for i in range(8)]
    medians = [statistics.median(part) for part in parts]
    grown = max(medians) / min(medians) - 1
    print(f"memory: {rows} rows, {plain[SEEDS[0]][1]} keys: medians from {min(medians):.0f} to {max(medians):.0f} KiB, at most "
          f"{max(late)} KiB, {len(late)} looks; {100 * grown:.1f} %: {'good' if grown <= 0.02 else 'MISSED'}", flush=True)
    return grown <= 0.02


TESTS = {test.__name__: test for test in (quality, memory)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", default=list(TESTS))
    parser.add_argument("--examples", type=int, default=600_000)
    options = parser.parse_args()
    if unknown := set(options.tests) - set(TESTS):
        parser.error(f"no test {unknown.pop()}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        click = Click(options.build.resolve(), pathlib.Path(work), options.examples)
        plain = {seed: click.train(f"plain{seed}", "--seed", str(seed))
                 for seed in (SEEDS if "quality" in options.tests else SEEDS[:1])}
        met = [TESTS[test](click, plain) for test in options.tests]
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
