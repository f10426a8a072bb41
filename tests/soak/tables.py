#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the click example with tables that have a limit of rows.

usage: tables.py BUILD [TEST...] [--examples N]

TEST is one of these; by default all run.
  bits      tables that may have a tenth of the rows: the same parameters_sha256, and the same keys, counts and rows in the
            checkpoint at the end, in one process with 1, 2 and 3 shards, on 1, 2 and 3 parameter servers with 1 and 2
            shards each, with replicas, after kill -9 of a parameter server, of a worker and of both, and after a job was
            stopped or killed as a whole and went on with other servers and shards
  quality   with a quarter of the rows that tables without a limit get, for three seeds: the AUC may differ by 0.004
  memory    one parameter server, tables that may have a fiftieth of these rows: the resident memory of its process is
            looked at five times a second. The medians of eight parts of the last four fifths of the job may differ by
            2 %. (While a cut is saved there are copies of rows.)

--examples: for the training (600000). Exit code 1: a target is missed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

SEEDS, AUC = (1, 2, 3), 0.004
STEPS_OF_BITS = 200
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


# --- the same bits ---


class BitsJob:
    """A short job with a limit of rows."""

    def __init__(self, click, name, *options):
        self.click, self.name, self.out = click, name, click.work / name
        self.train = [str(word) for word in (
            click.build / "examples/click_train", "--data", click.work / "data", "--out", self.out, "--steps", STEPS_OF_BITS,
            "--evaluate_every", STEPS_OF_BITS, "--batch", 32, "--min_count", 2, "--save_every", 20, *options)]
        self.pids, self.kills = {}, 0

    def alone(self, shards):
        self.click.run([*self.train, "--shards", str(shards)])
        return self.result()

    def launch(self, ps, shards, options=(), victims=(), end=None):
        """Runs on `ps` parameter servers. `victims`: tasks that are killed after step 50, after step 80, and so on; `end`:
        the signal for all tasks after step 50. Returns the exit code."""
        command = [self.click.build / "tools/distrib", "launch", "--ps", str(ps), "--workers", "3",
                   *(["--restart", "--max-restarts", "20"] if victims else []), "--", *self.train, "--shards", str(shards),
                   *options]
        victims, lines = list(victims), []
        with subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as process:
            limit = threading.Timer(300, process.kill)
            limit.start()
            for line in process.stdout:
                lines.append(line)
                if started := re.match(r"launch \| (\w+) is process (\d+)", line):
                    self.pids[started[1]] = int(started[2])
                step = re.match(r"worker0 \| step (\d+)/", line)
                if step and int(step[1]) >= 50 + 30 * self.kills and victims:
                    for victim in victims.pop(0).split("+"):
                        self.kill(victim)
                    self.kills += 1
                if step and int(step[1]) >= 50 and end is not None:
                    if end == signal.SIGTERM:
                        process.send_signal(end)
                    else:
                        for task in self.pids:
                            self.kill(task)
                    end = None
            limit.cancel()
        if victims or (process.returncode != 0 and not self.stopped(lines)):
            print(*lines[-40:], sep="", end="")
            raise SystemExit(f"{self.name}: exit code {process.returncode}, not killed: {victims}")
        return process.returncode

    def kill(self, task):
        try:
            os.kill(self.pids[task], signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended

    def stopped(self, lines):
        return any("asked to stop" in line or "SIGKILL" in line for line in lines)

    def result(self):
        """Returns the hash of the parameters, and that of the keys, counts, rows and slots of all tables."""
        summary = json.loads((self.out / "summary.json").read_text())
        if not summary["complete"]:
            raise SystemExit(f"{self.name}: the job is not complete")
        target = self.out / "last.safetensors"
        self.click.run([self.click.build / "tools/distrib", "checkpoint", "export", "--force", "--slots",
                        self.out / "checkpoint", target])
        data = target.read_bytes()
        size = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + size])
        header.pop("__metadata__", None)
        bytes_of = lambda name: data[8 + size + header[name]["data_offsets"][0]:8 + size + header[name]["data_offsets"][1]]
        hashed, rows = hashlib.sha256(), 0
        for table in "wide/weights", "deep/embeddings":
            keys = struct.unpack(f"<{len(bytes_of(f'{table}/keys')) // 8}Q", bytes_of(f"{table}/keys"))
            blocks = [bytes_of(name) for name in sorted(header) if name.startswith(f"{table}/") and not name.endswith("/keys")]
            widths = [len(block) // len(keys) for block in blocks]
            for i in sorted(range(len(keys)), key=keys.__getitem__):
                hashed.update(struct.pack("<Q", keys[i]))
                for block, width in zip(blocks, widths):
                    hashed.update(block[i * width:(i + 1) * width])
            rows += len(keys)
        return summary["parameters_sha256"], hashed.hexdigest(), rows


def bits(click, _):
    plain = BitsJob(click, "bits_plain").alone(1)[2] // 2
    limit = ["--max_rows", str(plain // 10), "--half_life", "40"]
    expected = BitsJob(click, "bits", *limit).alone(1)
    print(f"bits: {plain} rows without a limit, {expected[2] // 2} with one of {plain // 10}", flush=True)
    wrong, jobs, kills = [], 0, 0

    def compare(what, job):
        nonlocal jobs, kills
        jobs, kills = jobs + 1, kills + job.kills
        if (found := job.result()) != expected:
            wrong.append(what)
        print(f"  {what}: {'the same' if found == expected else 'OTHER BITS'}", flush=True)
        shutil.rmtree(job.out)

    for shards in 2, 3:
        job = BitsJob(click, f"alone{shards}", *limit)
        job.alone(shards)
        compare(f"one process, {shards} shards", job)
    for ps in 1, 2, 3:
        for shards in 1, 2:
            job = BitsJob(click, f"on{ps}x{shards}", *limit)
            job.launch(ps, shards)
            compare(f"{ps} ps, {shards} shards each", job)
    for ps, shards in (2, 1), (3, 2):
        job = BitsJob(click, f"replicas{ps}", *limit)
        job.launch(ps, shards, ["--replicas", "2"])
        compare(f"{ps} ps, {shards} shards each, two replicas", job)
    for number, victims in enumerate((["ps1"], ["worker1"], ["ps0+worker2"], ["ps0", "worker0", "ps1+worker1"])):
        job = BitsJob(click, f"killed{number}", *limit)
        job.launch(2, 1 + number % 2, victims=victims)
        compare(f"2 ps, kill -9 of {', '.join(victims)}", job)
    job = BitsJob(click, "killed_replica", *limit)
    job.launch(2, 1, ["--replicas", "2"], victims=["ps1", "ps0"])
    compare("2 ps, two replicas, kill -9 of ps1, ps0", job)
    for end, (ps, shards) in (signal.SIGTERM, (3, 1)), (signal.SIGKILL, (2, 2)):
        stopped = BitsJob(click, f"stopped{ps}", *limit)
        if stopped.launch(ps, shards, end=end) == 0:
            raise SystemExit(f"{stopped.name}: the job ended before it was stopped")
        for after, of_each in (1, 2), (2, 1), (3, 2):
            job = BitsJob(click, f"on_from{ps}_{after}", *limit)
            shutil.copytree(stopped.out, job.out)
            (job.out / "summary.json").unlink(missing_ok=True)
            job.launch(after, of_each)
            compare(f"{end.name} on {ps} ps with {shards} shards each, then {after} ps with {of_each}", job)
    print(f"bits: {jobs} jobs, {kills} times something was killed: {'good' if not wrong else 'MISSED: ' + '; '.join(wrong)}",
          flush=True)
    return not wrong


TESTS = {test.__name__: test for test in (bits, quality, memory)}


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
        seeds = SEEDS if "quality" in options.tests else SEEDS[:1] if "memory" in options.tests else ()
        plain = {seed: click.train(f"plain{seed}", "--seed", str(seed)) for seed in seeds}
        met = [TESTS[test](click, plain) for test in options.tests]
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
