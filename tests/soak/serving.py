#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the click example with tables that have a limit of rows, exports it, and serves it, all at once.

usage: serving.py BUILD [TEST...] [--seconds N] [--positions N] [--every N] [--interval S] [--rows N] [--seed N]
                  [-- TRAIN_OPTION...]

2 parameter servers, 2 workers and click_serve, each a process; a position each S seconds (0.5). TEST is one of these; by
default the first two run, in this order.
  flat    without kills, for --seconds (1800); then it is asked to stop. The resident memory of each process, as medians of
          eight parts of the last four fifths of the time, may differ by 5 % (judged from 600 seconds on: tables must be
          full before)
  kills   the same job, with a kill -9 of one of the five processes each --every (20) seconds, once the job has come
          further than before the last kill. With --positions: until the server was seen at so many positions instead, and
          each of these was compared with its manifest; a parameter server, a worker and the server must have been killed
  stream  the same without kills for --seconds, from files that are added while it runs, without a last step. Files that
          every kept checkpoint is behind are removed. Beside the memory of each process, the bytes of the log of the
          stream, of the log of the export, of the checkpoints and of the followed files are bounded: in the last four
          fifths of the time, the most in the second half may be 10 % above that in the first half (judged from 120 s on)
  fresh   without kills: both tables have --rows rows (1000000) before updates are followed for --seconds. Each position
          that the server was seen at must have the digests of the manifest

In the first two jobs, and in stream,
  - the server must have the digests of the manifest at each position that it serves, and positions never fall;
  - the rows of each checkpoint, and the state that a reader in Python makes of the log, must have these digests, too;
  - an answer to the same lines at the same position must always be the same, and be what Python computes from the log.
If both run, each step that both have exported must have the same digests, and each checkpoint of both the same bits. In
all jobs half of the updates must be served within 1 s: from the last look at the parameter servers before a step was
done, to the first look at the server after that step was served.

Exit code 1: something is wrong, or a target is missed. TRAIN_OPTIONs go to the jobs: `-- --max_rows=1000000`.
"""
import argparse
import hashlib
import http.client
import json
import math
import operator
import os
import pathlib
import random
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
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/support")]
from export_log import Log, table_digest  # noqa: E402
from processes import Task, free_ports  # noqa: E402

PS, WORKERS = ["ps0", "ps1"], ["worker0", "worker1"]  # worker0 is the chief
TRAINING = PS + WORKERS
EXAMPLES, LINES = 200_000, 24
GROWTH, LATENCY, LEAST_FOR_MEMORY = 0.05, 1.0, 600
GROWTH_OF_FILES, LEAST_FOR_FILES = 0.1, 120
BATCH, AHEAD = 48, 3  # records of a batch; files of a stream that wait for the job
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
TABLES = {"wide/weights": 1, "deep/embeddings": 16}
COLUMNS, NUMBERS = 26, 13


class Failure(Exception):
    pass


# --- what the model answers, computed from the log alone ---


def words_of_philox(key, counter):
    mask = 0xFFFFFFFF
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((second >> 32) ^ counter[1] ^ key[0], second & mask, (first >> 32) ^ counter[3] ^ key[1], first & mask)
        key = ((key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask)
    return counter


def initial_embedding(key, seed):
    """Returns the row of a key of deep/embeddings that has no row: even numbers in [-0.05, 0.05]."""
    name = 0xCBF29CE484222325
    for letter in b"deep/embeddings":
        name = (name ^ letter) * 0x100000001B3 & (1 << 64) - 1
    low, high = struct.unpack("<2f", struct.pack("<2f", -0.05, 0.05))
    row, mask = [], 0xFFFFFFFF
    for i in range(16):
        index = key * 16 + i & (1 << 64) - 1
        block = index // 4
        word = words_of_philox((seed & mask, seed >> 32), (block & mask, block >> 32, name & mask, name >> 32))[index % 4]
        row.append(low + (high - low) * (word >> 8) * 2.0**-24)
    return row


def dense_variables(log, manifest):
    """Returns {name: (extents, elements)} of a position. Slices must be cut along the first axis."""
    whole = {}
    for part in manifest["parts"]:
        tensors, metadata = log.tensors(part["name"])
        for tensor, place in metadata.items():
            if "/slice/" not in tensor:
                continue
            dtype, _, data = tensors[tensor]
            if dtype != "F32":
                continue
            extents, slices = place.split(" ")
            extents = [int(extent) for extent in extents.strip("[]").split(",") if extent]
            name = tensor[:tensor.rindex("/slice/")]
            elements = whole.setdefault(name, (extents, [None] * math.prod(extents)))[1]
            first = slices.split(":")[0]
            begin = int(first.split(",")[0]) * math.prod(extents[1:]) if "," in first else 0
            values = struct.unpack(f"<{len(data) // 4}f", data)
            elements[begin:begin + len(values)] = values
    if any(element is None for _, elements in whole.values() for element in elements):
        raise Failure("the parts of a position do not have all elements of a variable")
    return whole


def scaled(x):
    if x < 0:
        return 0.0
    bits = struct.unpack("<i", struct.pack("<f", 1.0 + x))[0]
    return (bits - 0x3F800000) * 2.0**-26


def layer(inputs, weights, bias):
    """Returns inputs * weights + bias. `weights`: its columns."""
    return [start + sum(map(operator.mul, inputs, column)) for column, start in zip(weights, bias)]


class Model:
    """The wide and deep model at a position."""

    def __init__(self, log, position):
        manifest, self.state = log.load(position)  # compares the digests
        self.seed = int(next(table["seed"] for table in manifest["tables"] if table["name"] == "deep/embeddings"), 16)
        self.dense = {name: elements for name, (_, elements) in dense_variables(log, manifest).items()}
        columns = lambda name, width: [self.dense[name][i::width] for i in range(width)]
        self.weights = [columns("deep/hidden1/weights", 128), columns("deep/hidden2/weights", 64),
                        columns("deep/output/weights", 1)]

    def predict(self, line):
        fields = line.split("\t")
        numbers = [scaled(float(max(int(field), 0)) if field else -1.0) for field in fields[1:1 + NUMBERS]]
        keys = [column << 56 | (int(field, 16) if field else -1) + 1 for column, field in enumerate(fields[1 + NUMBERS:])]
        inputs = []
        for key in keys:
            row = self.state["deep/embeddings"].get(key)
            inputs += struct.unpack("<16f", row) if row else initial_embedding(key, self.seed)
        inputs += numbers
        relu = lambda values: [max(value, 0.0) for value in values]
        first = relu(layer(inputs, self.weights[0], self.dense["deep/hidden1/bias"]))
        second = relu(layer(first, self.weights[1], self.dense["deep/hidden2/bias"]))
        logit = layer(second, self.weights[2], [0.0])[0] + self.dense["wide/bias"][0]
        logit += sum(struct.unpack("<f", self.state["wide/weights"].get(key, b"\0\0\0\0"))[0] for key in keys)
        logit += sum(map(operator.mul, self.dense["wide/numbers"], numbers))
        return 1 / (1 + math.exp(-logit))


# --- processes ---


class Run:
    """One job, its server, and all looks at them, each in a thread of its own."""

    def __init__(self, setting, name, steps, seconds=None, positions=None, data=None, **train):
        """`seconds`: the job is stopped then; `positions`: when the server was seen at so many. `train`: options."""
        self.setting, self.name, self.steps = setting, name, steps
        self.seconds, self.positions = seconds, positions
        self.out = setting.work / name
        self.out.mkdir()
        ports = free_ports(len(TRAINING) + 1)
        hosts = [f"127.0.0.1:{port}" for port in ports]
        self.servers, self.server = hosts[:len(PS)], hosts[-1]
        options = {"batch": BATCH, "max_rows": 20_000, "evaluate_every": 1_000_000_000, **train}
        given = {option.lstrip("-").partition("=")[0] for option in setting.options if option.startswith("--")}
        train = [setting.build / "examples/click_train", "--data", data or setting.data(), "--out", self.out,
                 *(("--steps", steps) if steps else ()), "--export", self.out / "log",
                 *(f"--{option}={value}" for option, value in options.items() if option not in given), *setting.options,
                 f"--ps_hosts={','.join(self.servers)}", f"--worker_hosts={','.join(hosts[len(PS):-1])}"]
        self.tasks = {name: Task([*map(str, train), f"--job_name={name[:-1]}", f"--task_index={name[-1]}"], ENVIRONMENT, 200)
                      for name in TRAINING}
        self.tasks["server"] = Task([str(setting.build / "examples/click_serve"), str(self.out / "log"), self.server],
                                    ENVIRONMENT, 200)
        self.rss = {name: [] for name in self.tasks}  # when it was looked at, and KiB of resident memory
        self.over, self.errors, self.threads, self.kills = threading.Event(), [], [], []
        self.looks = []  # more of them: seconds between two, and the function
        self.reached = [(time.monotonic(), 0)]  # the last look before a step was done, and the step
        self.served = {}  # position: (time, step, digests)
        self.manifests = {}  # position: (step, digests)
        self.removed = 0  # a position that was older than the base before the newest one before it was looked at
        self.rows = 0  # of the smallest table, at the newest position
        self.full_since = None  # when the tables had as many rows as they should
        self.checkpoints = {}  # step: digests
        self.answers = {}  # (position, first line): text
        self.computed = 0  # answers that Python has computed
        self.states = 0  # positions that Python has made of the log

    # Looks. An error of one of them ends the run.

    def look(self, every, once):
        def loop():
            while not self.over.wait(every):
                try:
                    once()
                except Exception as error:
                    self.errors.append(f"{once.__name__}: {type(error).__name__}: {error}")
                    return
        self.threads.append(threading.Thread(target=loop, daemon=True))
        self.threads[-1].start()

    def ask(self, path, data=None):
        """Returns the answer of the server; None if it is away, or not ready."""
        try:
            with urllib.request.urlopen(f"http://{self.server}{path}", data=data, timeout=5) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise Failure(f"{path} is answered by {error.code}: {error.read().decode()}") from None
        except (OSError, http.client.HTTPException):
            return None  # killed, or it starts

    def look_at_steps(self):
        before = time.monotonic()
        for server in self.servers:
            said = subprocess.run([self.setting.build / "tools/distrib", "status", "--json", "--within", "0.5", server],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT, text=True)
            if said.returncode == 0 and said.stdout:
                step = max(json.loads(line).get("step", 0) for line in said.stdout.splitlines())
                if step > self.reached[-1][1]:
                    self.reached.append((self.looked, step))
                break
        self.looked = before

    def look_at_server(self):
        text = self.ask("/status.json")
        if text is None:
            return
        now, status = time.monotonic(), json.loads(text)
        if not status["ready"]:
            return
        digests = {name: table["digest"] for name, table in status["tables"].items()}
        position = status["position"]
        if status["wrong_digests"] or status["damaged"]:
            raise Failure(f"the server refused a digest or an object: {text}")
        if self.served and position < max(self.served):
            raise Failure(f"the server went back from position {max(self.served)} to {position}")
        if self.served.setdefault(position, (now, status["step"], digests))[1:] != (status["step"], digests):
            raise Failure(f"position {position} is served with other digests than before")

    def look_at_answers(self):
        first = self.setting.dice.randrange(LINES - 4)
        text = self.ask("/predict", "".join(self.setting.lines[first:first + 4]).encode())
        if text is None:
            return
        position = json.loads(text)["position"]
        if self.answers.setdefault((position, first), text) != text:
            raise Failure(f"two answers at position {position}: {self.answers[position, first]} and {text}")

    def look_at_log(self):
        log = Log(self.out / "log")
        try:
            name = log.head()["manifest"]
        except FileNotFoundError:
            return
        while name:
            position = position_of(name)
            if position in self.manifests:
                break
            try:
                manifest = log.manifest(name)
            except FileNotFoundError:
                self.removed = max(self.removed, position)  # older than the base before the newest one
                break
            self.manifests[position] = manifest["step"], {table["name"]: table["digest"] for table in manifest["tables"]}
            if position == max(self.manifests):
                self.rows = min(table["rows"] for table in manifest["tables"])
            name = manifest["before"]

    def look_at_state(self):
        """What Python makes of the log at a position that is served, and what it answers there."""
        asked = {position for position, _ in list(self.answers)}
        if not asked:
            return
        position = max(asked)
        try:
            model = Model(Log(self.out / "log"), position)
        except FileNotFoundError:
            return  # it has been removed meanwhile
        self.states += 1
        for (at, first), text in list(self.answers.items()):
            if at != position:
                continue
            for line, probability in zip(self.setting.lines[first:first + 4], json.loads(text)["probabilities"]):
                expected = model.predict(line.rstrip("\n"))
                if abs(expected - probability) > 2e-5:
                    raise Failure(f"at position {position} the server answers {probability}, not {expected}, to {line}")
                self.computed += 1

    def look_at_checkpoints(self):
        for index in sorted((self.out / "checkpoint").glob("model.ckpt-*.index")):
            step = int(index.stem.rpartition("-")[2])
            if step in self.checkpoints:
                continue
            target = self.setting.work / "at.safetensors"
            target.unlink(missing_ok=True)
            done = subprocess.run([self.setting.build / "tools/distrib", "checkpoint", "export", index.with_suffix(""), target],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT, text=True)
            if done.returncode != 0:
                if index.exists():
                    raise Failure(f"checkpoint export of step {step}: {done.stdout}")
                continue  # it has been removed meanwhile
            self.checkpoints[step] = digests_of(target)

    def look_at_memory(self):
        for name, task in self.tasks.items():
            if size := task.memory_kib("VmRSS"):
                self.rss[name].append((time.monotonic(), size))

    # The run.

    def go(self, every=None, rows=None):
        """Trains to the end, for `seconds`, or for `positions`; kills a process each `every` seconds, if that is not None.
        `rows`: the seconds begin when the tables have so many, and what takes long in Python is not looked at."""
        began = time.monotonic()
        patience = 20 * self.positions * self.setting.interval if self.positions else self.seconds or 300
        limit = began + patience + (1800 if rows else 120)
        self.looked = began
        for task in self.tasks.values():
            task.start()
        for seconds, look in ((0.1, self.look_at_steps), (0.05, self.look_at_server), (0.2, self.look_at_log),
                              (0.5, self.look_at_memory)):
            self.look(seconds, look)
        for seconds, look in self.looks:
            self.look(seconds, look)
        if not rows:
            self.look(0.1, self.look_at_answers)
            self.look(1, self.look_at_checkpoints)
            self.look(1 if self.name == "trial" else self.setting.slow, self.look_at_state)
        due, shown, step_of_kill, killed = began + (every or 0), began, 0, began
        while not self.ended():
            time.sleep(0.02)
            now = time.monotonic()
            if self.errors:
                raise Failure(self.errors[0])
            if now > limit:
                raise Failure(f"{now - began:.0f} s, and the job has not ended")
            if rows and not self.full_since and self.rows >= rows:
                self.full_since = now
                print(f"  {now - began:5.0f} s: {self.rows} rows at step {self.reached[-1][1]}", flush=True)
            if self.is_enough(began if not rows else self.full_since or now, now, killed):
                self.end_training()
                break
            if every and now >= due and self.reached[-1][1] > step_of_kill:
                due, step_of_kill, killed = now + every, self.reached[-1][1], now
                victim = self.setting.dice.choice([name for name, task in self.tasks.items() if task.process.poll() is None])
                self.tasks[victim].process.kill()
                self.kills.append(victim)
            if now > shown + 30:
                shown = now
                print(f"  {now - began:5.0f} s: step {self.reached[-1][1]}, position {max(list(self.served), default=0)}, "
                      f"{len(self.served)} of them seen, {self.rows} rows, {len(self.kills)} kills", flush=True)
        self.until_served()
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise Failure(self.errors[0])
        self.look_at_log()
        if not rows:
            self.look_at_checkpoints()
        self.tasks["server"].process.send_signal(signal.SIGTERM)
        self.tasks["server"].process.wait(30)
        return time.monotonic() - began

    def is_enough(self, began, now, killed):
        if now < killed + 3:
            return False  # a killed task starts
        if self.positions:
            victims = {name.rstrip("012") for name in self.kills}
            return len(self.served.keys() & self.manifests.keys()) >= self.positions and victims == {"ps", "worker", "server"}
        return bool(self.seconds) and now > began + self.seconds

    def ended(self):
        """Starts again what was killed. Returns true if all tasks of the training have ended."""
        left = False
        for name, task in self.tasks.items():
            code = task.process.poll()
            if code is None:
                left = left or name != "server"
            elif code == -signal.SIGKILL:
                task.start()
                left = True
            elif code != 0 or name == "server":
                raise Failure(f"{name} ended with code {code}")
        return not left

    def end_training(self):
        """Asks all tasks of the training to stop."""
        for name in TRAINING:
            self.tasks[name].process.send_signal(signal.SIGTERM)
        for name in TRAINING:
            code = self.tasks[name].process.wait(90)
            if code not in (0, 1, -signal.SIGTERM, -signal.SIGKILL):
                raise Failure(f"{name} was asked to stop, and ended with code {code}")

    def until_served(self):
        """Waits until the server has the newest position."""
        end = time.monotonic() + 30
        while position_of(Log(self.out / "log").head()["manifest"]) != max(list(self.served), default=0):
            if time.monotonic() > end or self.errors:
                raise Failure(self.errors[0] if self.errors else "the newest position is not served after 30 s")
            time.sleep(0.05)

    def stop(self):
        self.over.set()
        for task in self.tasks.values():
            if task.process and task.process.poll() is None:
                task.process.kill()
                task.process.wait()

    def check_positions(self):
        """Compares the digests that the server had with those of the manifests. Returns the number of positions."""
        compared = 0
        for position, (_, step, digests) in self.served.items():
            if position not in self.manifests and position <= self.removed:
                continue
            if position not in self.manifests:
                raise Failure(f"position {position} was served, and is not in the log")
            if self.manifests[position] != (step, digests):
                raise Failure(f"position {position}: {step, digests} is served, {self.manifests[position]} is in the log")
            compared += 1
        return compared

    def check(self):
        """Compares what the looks have seen."""
        compared = self.check_positions()
        exported = {step: digests for step, digests in self.manifests.values()}
        if len(exported) != len(self.manifests):
            raise Failure("a step was exported twice")
        both = [step for step in self.checkpoints if step in exported]
        for step in both:
            if {table: self.checkpoints[step][table] for table in TABLES} != exported[step]:
                raise Failure(f"step {step}: the checkpoint has {self.checkpoints[step]}, the log {exported[step]}")
        if not (compared and both and self.states and self.computed):
            raise Failure(f"too little was compared: {compared} positions, {len(both)} checkpoints, {self.states} states")
        verified = subprocess.run([self.setting.build / "tools/distrib", "export", "verify", self.out / "log"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT)
        if verified.returncode != 0:
            raise Failure(f"the log is not right: {verified.stdout}")
        print(f"{self.name}: step {max(exported)}; {len(self.manifests)} positions in the log, {compared} seen at the server, "
              f"{len(both)} compared with checkpoints, {self.states} with Python; {len(self.answers)} answers, {self.computed} "
              f"probabilities computed again: all equal", flush=True)

    def latency(self):
        """Returns the median seconds from an update to its serving."""
        served = sorted((when, step) for when, step, _ in self.served.values())
        found, at = [], 0
        for before, step in self.reached[1:]:
            if self.full_since and before < self.full_since:
                continue
            while at < len(served) and served[at][1] < step:
                at += 1
            if at < len(served):
                found.append(max(0, served[at][0] - before))
        found.sort()
        middle = statistics.median(found)
        good = middle < LATENCY
        print(f"{self.name}: from update to serving: median {middle:.2f} s, nine tenths within {found[len(found) * 9 // 10]:.2f} s, "
              f"all within {found[-1]:.2f} s ({len(found)} looks): {'good' if good else 'MISSED'}", flush=True)
        return good

    def memory(self):
        """True if no process grew, or if the run was too short to tell."""
        judged = self.setting.seconds >= LEAST_FOR_MEMORY
        good = True
        for name, sizes in self.rss.items():
            begin, end = sizes[0][0], sizes[-1][0]
            late = [size for when, size in sizes if when > begin + (end - begin) / 5]
            parts = [statistics.median(late[len(late) * i // 8:len(late) * (i + 1) // 8]) for i in range(8)]
            grown = max(parts) / min(parts) - 1
            good = good and (grown <= GROWTH or not judged)
            print(f"{self.name}: {name}: medians of eight parts from {min(parts):.0f} to {max(parts):.0f} KiB, "
                  f"{100 * grown:.1f} %: {'good' if grown <= GROWTH else 'MISSED' if judged else 'too short'}", flush=True)
        return good


class StreamRun(Run):
    """A job that trains from files which are added while it runs, and which has no last step. What is on the disk stays
    bounded, because files go when no kept checkpoint is before their last record."""

    def __init__(self, setting, seconds, **train):
        self.incoming = setting.work / "incoming"
        self.incoming.mkdir()
        super().__init__(setting, "stream", None, seconds, data=self.incoming,
                         stream_log=setting.work / "stream/records", **train)
        self.files = sorted(setting.data().glob("train-*"))
        self.records = EXAMPLES // len(self.files)  # of a file
        self.added = self.removed_files = 0
        self.places = {"log of the stream": self.out / "records", "export log": self.out / "log",
                       "checkpoints": self.out / "checkpoint", "followed files": self.incoming}
        self.disk = {name: [] for name in self.places}  # when it was looked at, and bytes
        self.looks = [(0.1, self.add_files), (0.2, self.look_at_disk)]

    def files_of(self, step):
        """Returns how many files the steps up to this one have used to the end."""
        return step * BATCH * len(WORKERS) // self.records

    def add_files(self):
        """Adds files before they are needed, and removes those that no kept checkpoint needs."""
        while self.added < self.files_of(self.reached[-1][1]) + AHEAD:
            name = f"train-{self.added:08}"
            shutil.copyfile(self.files[self.added % len(self.files)], self.incoming / f"_{name}")
            (self.incoming / f"_{name}").rename(self.incoming / name)
            self.added += 1
        kept = [int(path.stem.rpartition("-")[2]) for path in (self.out / "checkpoint").glob("model.ckpt-*.index")]
        while kept and self.removed_files < self.files_of(min(kept)):
            (self.incoming / f"train-{self.removed_files:08}").unlink()
            self.removed_files += 1

    def look_at_disk(self):
        for name, place in self.places.items():
            self.disk[name].append((time.monotonic(), bytes_below(place)))

    def check(self):
        super().check()
        if not self.removed_files:
            raise Failure(f"none of the {self.added} files could be removed")
        print(f"stream: {self.added} files of {self.records} records were added, {self.removed_files} of them removed",
              flush=True)

    def space(self):
        """True if nothing grew on the disk, or if the run was too short to tell."""
        judged = self.seconds >= LEAST_FOR_FILES
        good = True
        for name, sizes in self.disk.items():
            begin, end = sizes[0][0], sizes[-1][0]
            late = [size for when, size in sizes if when > begin + (end - begin) / 5]
            first, second = max(late[:len(late) // 2]), max(late[len(late) // 2:])
            fits = second <= (1 + GROWTH_OF_FILES) * first
            good = good and (fits or not judged)
            print(f"stream: {name}: at most {first / 2**20:.3f} MiB, then {second / 2**20:.3f} MiB: "
                  f"{'good' if fits else 'MISSED' if judged else 'too short'}", flush=True)
        return good


def bytes_below(place):
    """Returns the bytes of the files below a directory. A file may go meanwhile."""
    found = 0
    for directory, _, names in os.walk(place):
        for name in names:
            try:
                found += os.stat(os.path.join(directory, name)).st_size
            except FileNotFoundError:
                pass
    return found


def position_of(manifest):
    return int(re.match(r"manifests/(\d+)-", manifest)[1])


def digests_of(path):
    """Returns the digests of the tables, and a hash of the other variables, of a file that `distrib checkpoint export` has
    written."""
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    bytes_of = lambda name: data[8 + size + header[name]["data_offsets"][0]:8 + size + header[name]["data_offsets"][1]]
    dense = hashlib.sha256()
    for name in sorted(header):
        if name != "__metadata__" and not name.startswith(tuple(f"{table}/" for table in TABLES)):
            dense.update(name.encode() + bytes_of(name))
    digests = {"": dense.hexdigest()}
    for table, dim in TABLES.items():
        keys, values = bytes_of(f"{table}/keys"), bytes_of(f"{table}/values")
        rows = {key: values[4 * dim * i:4 * dim * (i + 1)] for i, key in enumerate(struct.unpack(f"<{len(keys) // 8}Q", keys))}
        digests[table] = table_digest(rows)
    return digests


class Setting:
    def __init__(self, build, work, given, options):
        self.build, self.work, self.seconds, self.options = build, work, given.seconds, options
        self.dice, self.rate, self.interval = random.Random(given.seed), 0, given.interval
        self.slow = min(20, given.seconds / 10)  # seconds between states that Python makes of the log
        self.convert = build / "examples/click_convert"
        self.run([self.convert, "--criteo", work / "lines.txt", str(LINES), "7"])
        self.lines = (work / "lines.txt").read_text().splitlines(keepends=True)

    def run(self, command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)

    def data(self):
        """Returns a directory of examples."""
        if not (self.work / "data").exists():
            self.run([self.convert, self.work / "data", "--generate", str(EXAMPLES), "300"])
        return self.work / "data"

    def data_of_many_keys(self, rows):
        """Returns a directory of examples with more than `rows` keys: examples of another seed have other keys. 250 000 have
        480 000."""
        many = self.work / "many"
        many.mkdir()
        for seed in range(1, 2 + math.ceil(rows / 400_000)):
            self.run([self.convert, self.work / "some", "--generate", "250000", "300", str(seed)])
            for path in (self.work / "some").glob("t*-*"):
                path.rename(many / path.name.replace("-", f"-{seed}-", 1))
        return many


def main():
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].replace("%", "%%"))
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--positions", type=int)
    parser.add_argument("--interval", type=float, default=0.5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args(sys.argv[1:cut])
    tests = given.tests or ["flat", "kills"]
    if unknown := set(tests) - {"flat", "kills", "stream", "fresh"}:
        parser.error(f"no test {unknown.pop()}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    good, runs = True, []
    with tempfile.TemporaryDirectory(prefix="distrib-", ignore_cleanup_errors=True) as work:
        setting = Setting(given.build.resolve(), pathlib.Path(work), given, sys.argv[cut + 1:])
        print(f"--seed {given.seed}", flush=True)
        try:
            ran = {}
            if "fresh" in tests:
                run = Run(setting, "fresh", 1_000_000_000, given.seconds, data=setting.data_of_many_keys(given.rows), batch=512,
                          max_rows=0, save_every=1_000_000_000, export_ms=round(1000 * given.interval))
                runs.append(run)
                run.go(rows=given.rows)
                print(f"fresh: {run.rows} rows in each table; step {run.reached[-1][1]}, {run.check_positions()} positions seen "
                      f"at the server: all equal", flush=True)
                good = run.latency() and good
                tests.remove("fresh")
            # How fast is it with all looks?
            if tests:
                trial = Run(setting, "trial", 400, export_every=20, save_every=100)
                runs.append(trial)
                trial.go()
                trial.check()
                begin = next(when for when, step in trial.reached if step >= 100)
                setting.rate = (trial.reached[-1][1] - 100) / (trial.reached[-1][0] - begin)
                seconds = given.seconds if given.positions is None else 20 * given.positions * given.interval
                export_every = max(1, round(setting.rate * given.interval))
                save_every = export_every * max(1, round(min(20, seconds / 6) / given.interval))
                steps = save_every * (10 + round(10 * setting.rate * seconds / save_every))  # more than it can make
                print(f"trial: {setting.rate:.0f} steps/s; so a position each {export_every} steps, a checkpoint each "
                      f"{save_every}", flush=True)
            for test in tests:
                intervals = {"export_every": export_every, "save_every": save_every}
                positions = given.positions if test == "kills" else None
                run = StreamRun(setting, given.seconds, **intervals) if test == "stream" else Run(
                    setting, test, steps, given.seconds, positions, **intervals)
                ran[test] = run
                runs.append(run)
                took = run.go(given.every if test == "kills" else None)
                run.check()
                print(f"{test}: {took:.0f} s, {len(run.kills)} kills: "
                      + ", ".join(f"{run.kills.count(name)} of {name}" for name in run.tasks), flush=True)
                good = run.latency() and good
                if test != "kills":
                    good = run.memory() and good
                elif not run.kills:
                    raise Failure("nothing was killed")
                if test == "stream":
                    good = run.space() and good
            if "flat" in ran and "kills" in ran:
                flat, kills = ({step: digests for step, digests in ran[test].manifests.values()} for test in ("flat", "kills"))
                both = flat.keys() & kills.keys()
                if not both or any(flat[step] != kills[step] for step in both):
                    raise Failure("the digests of a step differ with kills")
                saved = ran["flat"].checkpoints.keys() & ran["kills"].checkpoints.keys()
                if not saved or any(ran["flat"].checkpoints[step] != ran["kills"].checkpoints[step] for step in saved):
                    raise Failure("the bits of a checkpoint differ with kills")
                print(f"the same with kills and without: digests of {len(both)} exported steps, {len(saved)} checkpoints")
        except Failure as failure:
            for name, task in runs[-1].tasks.items() if runs else ():
                for _, line in task.lines[-15:]:
                    print(f"    {name} | {line}")
            sys.exit(f"FAILED: --seed {given.seed}: {failure}")
        finally:
            for run in runs:
                run.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
