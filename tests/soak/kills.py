#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disturbs jobs of real processes, 2 parameter servers and 3 workers. They must end as if undisturbed.

usage: kills.py BUILD [TEST...] [--seed N] [--count N] [--seconds N] [--case TEXT] [--kills N] [--store PROGRAM]
                [-- TRAIN_OPTION...]

TEST is one of these; by default all of them run. A killed process is restarted at once; nothing else is done for the
job.
  pauses      --count jobs (20) in which random processes are stopped for 5 to 200 ms
  kills       --count jobs (20) with 2 to 10 kills of random processes at random moments
  partitions  --count jobs (6) in which parameter servers are cut off the network for 0.1 to 3 s, in one direction or
              in both; some are killed during that time. Workers are not notified. As root, in a network of its own
  boundaries  --count cases (60; 0: all, 700 or more). In each case a process is killed just before its n-th call of one
              kind that moves something (sends, writes, syncs, renames), alone or together with another process; for
              every n of a job that makes 3 cuts
  orders      --count jobs (30) started in random order, and again if SIGTERM in random order has ended them before
  counts      --count asynchronous jobs (10) with such kills: each contribution must be counted once
  staleness   --count stale-synchronous jobs (10) with kills and pauses of workers: no worker may start a step further
              ahead of another one than the bound
  resharding  --count times (2): all processes of jobs with 3 parameter servers are stopped or killed, and each job
              continues from there on 1, on 2, on 4 and on 6 parameter servers
  replicas    --count jobs (3) with two replicas of each shard, in which one parameter server, then the other one, is
              killed, loses its disk, and stays away for 1.5 s: measures how long a worker finishes no step
  gaps        --count jobs (3) in which parameter servers are killed: measures how long a worker finishes no step. With
              --store, as below, their cuts are in an object store
  store       --count jobs (2), the main job and the click job in turn, whose data, cuts and checkpoints are in an object
              store: each process is killed --kills times (20), and meanwhile the store is away for 10 s. The store is a
              bucket in memory, or --store: the program versitygw, which is killed and started again, or the URL of a
              server, which is never away and has the bucket "bucket" and the keys of the environment. Also with replicas:
              `-- --replicas=2`
  endurance   --seconds (60) with a kill every 5 s: processes that are not killed must not grow

The output lines start with the options that repeat them; for a seed add --count 1. TRAIN_OPTIONs go to the disturbed
jobs only. They check the tests: with `-- --seed 2` every test must fail, counts with `-- --adds=2`, staleness with
`-- --staleness=9`.
"""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import Task, free_ports  # noqa: E402

PS, WORKERS = ["ps0", "ps1"], ["worker0", "worker1", "worker2"]  # worker0 is the chief
NAMES = PS + WORKERS
TABLES, DENSE = ["click_train", "--batch=32"], ["fashion_mnist_train", "--batch=8", "--parts=2"]
BOUNDED = [*TABLES, "--max_rows=2048", "--half_life=40", "--min_count=2"]  # rows are evicted all the time
JOBS = [(TABLES, 150), (BOUNDED, 150), (DENSE, 500)]  # with their numbers of steps, which take about a second
IN_STORE = [(DENSE, 500, 100), (TABLES, 150, 40)]  # steps, and more steps for each kill
COUNTING, CONTRIBUTIONS = ["counting", "--save_every=50"], 12000
STALENESS = 3
LIMIT = 90  # seconds for a job
LONGEST_GAP, LONGEST_WITH_REPLICAS = 10, 1
REPLAY_KIB = 256 << 10  # what a worker may keep while a disk is slow
# Calls that move something to another process or to the disk.
CALLS = ("sendto sendmsg write writev pwrite64 pwritev fsync fdatasync rename renameat renameat2 link linkat unlink "
         "unlinkat ftruncate mkdir").split()
# One task of each role, and the tasks that may die together with it.
VICTIMS = {"ps0": ["", "ps1", "worker0", "worker1"], "worker0": ["", "ps0", "worker1"],
           "worker1": ["", "ps0", "worker0", "worker2"]}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"} | {"OPENBLAS_NUM_THREADS": "1"}


STORE_USER = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "SECRETSECRET",
              "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


class Failure(Exception):
    pass


class Job:
    def __init__(self, setting, program, steps, *options, limit=LIMIT, directory=None, servers=PS):
        self.setting, self.program, self.steps = setting, program, steps
        self.began, self.limit, self.deaths, self.accomplice = time.monotonic(), limit, 0, ""
        self.again = ()  # codes after which a task is started again, as a launcher does
        self.away, self.back = 0, {}  # seconds until a killed task is restarted; when each killed task is due
        self.directory = directory or setting.directory()
        names = [*servers, *WORKERS]
        hosts = [f"127.0.0.1:{port}" for port in free_ports(len(names))]
        train = [*setting.train(program, steps, self.directory), *options, *setting.options,
                 f"--ps_hosts={','.join(hosts[:len(servers)])}", f"--worker_hosts={','.join(hosts[len(servers):])}"]
        self.tasks = {name: Task([*train, f"--job_name={name[:-1]}", f"--task_index={name[-1]}"], ENVIRONMENT)
                      for name in names}
        setting.jobs.append(self)

    def start(self, under={}):
        for name, task in self.tasks.items():
            task.start(under.get(name, ()))
        return self

    def send(self, number, names):
        """Sends a signal to these tasks; returns those that were still running."""
        running = [name for name in names if self.tasks[name].runs()]
        for name in running:
            self.tasks[name].process.send_signal(number)
        return running

    def tend(self, fine=(0,)):
        """Restarts tasks that were killed; returns the tasks that run. A code that is not in `fine` is a failure."""
        for name, task in self.tasks.items():
            code = task.process and task.process.poll()
            if name in self.back:
                if time.monotonic() >= self.back[name]:
                    del self.back[name]
                    task.start()
            elif code == -signal.SIGKILL:
                self.deaths += 1
                if self.accomplice:
                    self.send(signal.SIGKILL, [self.accomplice])
                    self.accomplice = ""
                self.back[name] = time.monotonic() + self.away
            elif code in self.again:
                self.back[name] = time.monotonic() + 0.1
            elif code not in (None, *fine):
                raise Failure(f"{name} ended with code {code}")
        running = [name for name, task in self.tasks.items() if task.runs() or name in self.back]
        if running and time.monotonic() - self.began > self.limit:
            raise Failure(f"after {self.limit:.0f} s {' and '.join(running)} had not ended")
        return running

    def until(self, true, names=None, fine=(0,)):
        """Waits until `true()`. Returns False if all of these tasks (without names: all tasks) have ended before."""
        while not true():
            if not set(names or self.tasks).intersection(self.tend(fine)):
                return False
            time.sleep(0.002)
        return True

    def during(self, seconds, names=None, fine=(0,)):
        end = time.monotonic() + seconds
        return self.until(lambda: time.monotonic() >= end, names, fine)

    def end(self, names=None, fine=(0,)):
        self.until(lambda: False, names, fine)
        return time.monotonic() - self.began

    def check(self):
        """Waits until the workers have ended, and checks the result; returns the time it took. Parameter servers may
        still run: see Setting.settle()."""
        took = self.end(WORKERS)
        if self.program[0] == "counting":
            self.check_counts()
        else:
            self.check_bits()
        if not self.during(0.2):
            self.drop()
        return took

    def check_bits(self):
        try:
            self.summary = json.loads((self.directory / "summary.json").read_text())
        except OSError as error:
            raise Failure(f"the chief wrote no summary: {error}") from None
        if self.summary["parameters_sha256"] != self.setting.expected(self.program, self.steps):
            raise Failure("the bits differ from those of one process")

    def check_counts(self):
        checkpoint = self.directory / "checkpoint"
        self.until((checkpoint / f"model.ckpt-{self.steps}.index").exists)  # the parameter servers merge it
        done = subprocess.run([self.setting.counting, "check", checkpoint, str(self.steps)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=self.limit)
        if done.returncode != 0:
            raise Failure(f"some contributions were not counted exactly once:\n{done.stdout.rstrip()}")

    def says(self, name, words, times=1):
        return sum(text.startswith(words) for _, text in self.tasks[name].lines) >= times

    def drop(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.setting.jobs.remove(self)

    def show(self):
        lines = sorted((at - self.began, name, text) for name, task in self.tasks.items() for at, text in task.lines)
        for at, name, text in lines[:40] + lines[40:][-40:]:
            print(f"    {at:7.3f}  {name} | {text}")


class Store:
    """An object store with the bucket "bucket": versitygw, a server that runs already, or one in memory."""

    def __init__(self, setting, program):
        self.program, self.process = program, None
        if program and "://" in program:
            self.address = program
            return
        ENVIRONMENT.update(STORE_USER)
        self.root = pathlib.Path(tempfile.mkdtemp(dir=setting.work))
        (self.root / "bucket").mkdir()
        if program:
            self.address = f"http://127.0.0.1:{free_ports(1)[0]}"
            self.start()
            return
        fake = pathlib.Path(__file__).resolve().parent.parent / "tools/support/fake_s3.py"
        self.process = subprocess.Popen([sys.executable, fake], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()

    def start(self):
        port = self.address.rpartition(":")[2]
        self.process = subprocess.Popen(
            [self.program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", self.root], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=ENVIRONMENT | {"ROOT_ACCESS_KEY": STORE_USER["AWS_ACCESS_KEY_ID"],
                               "ROOT_SECRET_KEY": STORE_USER["AWS_SECRET_ACCESS_KEY"]})
        until = time.monotonic() + 30
        while True:
            try:
                return socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise Failure("the object store does not start") from None
                time.sleep(0.05)

    def url(self):
        return f"s3+{self.address}/bucket"

    def has_data(self, setting, name):
        """Writes the records of a job into the bucket, with indexes; returns their URL."""
        url, files = f"{self.url()}/data/{name}", sorted((setting.work / name).glob("t*-*-of-*"))
        setting.run([setting.command, "records", "recompress", "--force", "--compression", "none", "--directory", url,
                     *files])
        setting.run([setting.command, "records", "index", f"{url}/train-*"])
        return url

    def away(self):
        self.process.send_signal(signal.SIGKILL if self.program else signal.SIGUSR1)
        if self.program:
            self.process.wait()

    def back(self):
        if self.program:
            self.start()
        else:
            self.process.send_signal(signal.SIGUSR2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()


class Setting:
    def __init__(self, build, work, options):
        self.build, self.work, self.options, self.jobs, self.hashes, self.now = build, work, options, [], {}, "data"
        self.counting, self.command = build / "tests/soak/counting", build / "tools/distrib"
        images = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
        self.run([build / "examples/click_convert", work / "click", "--generate", "6000", "300"])
        self.run([build / "examples/fashion_mnist_convert", images, work / "fashion_mnist"])
        self.run([self.counting, "write", work / "counting", str(CONTRIBUTIONS)])

    def run(self, command):
        subprocess.run(command, env=ENVIRONMENT, check=True, timeout=3600, stdout=subprocess.DEVNULL)

    def directory(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.work))

    def train(self, program, steps, out):
        name, *options = program
        if name == "counting":
            return [self.counting, "train", f"--data={self.work / name}", f"--out={out}", f"--steps={steps}", *options]
        return [self.build / "examples" / name, f"--data={self.work / name.removesuffix('_train')}", f"--out={out}",
                f"--steps={steps}", "--evaluate_every=1000000000", *options]

    def expected(self, program, steps):
        """Returns the hash of the same job in one process."""
        key = (*program, steps)
        if key not in self.hashes:
            out = self.directory()
            self.run([*self.train(program, steps, out), f"--workers={len(WORKERS)}"])
            self.hashes[key] = json.loads((out / "summary.json").read_text())["parameters_sha256"]
        return self.hashes[key]

    def drawn(self, test, count, seed):
        """Yields a source of random numbers for each job."""
        for number in range(seed, seed + count):
            self.now = f"{test} --seed {number}"
            yield random.Random(self.now)

    def say(self, text):
        print(f"{self.now:24}  {text}", flush=True)

    def settle(self):
        """Waits until all jobs have ended. A parameter server that lacks a worker's goodbye ends after 30 s."""
        self.now = "the end"
        while self.jobs:
            self.jobs[-1].end()
            self.jobs[-1].drop()


# --- the tests ---

def pauses(setting, seed, count=20, **_):
    for dice in setting.drawn("pauses", count, seed):
        job, paused = Job(setting, *dice.choice(JOBS), "--save_every=5").start(), 0
        while job.during(dice.uniform(0, 0.06)):
            still = job.send(signal.SIGSTOP, dice.sample(NAMES, dice.randint(1, 3)))
            job.during(dice.uniform(0.005, 0.2))
            paused += len(job.send(signal.SIGCONT, still))
        setting.say(f"{job.check():5.1f} s  {paused} pauses")


def kills(setting, seed, count=20, **_):
    for dice in setting.drawn("kills", count, seed):
        job, killed = Job(setting, *dice.choice(JOBS), "--save_every=5").start(), []
        for _ in range(dice.randint(2, 5)):
            job.during(dice.uniform(0, 0.4))
            killed += job.send(signal.SIGKILL, dice.sample(NAMES, dice.choice([1, 1, 1, 2])))
        setting.say(f"{job.check():5.1f} s  killed {' '.join(killed)}")


def own_network(setting):
    """Moves this process and its later children into a private loopback network. Returns False if it cannot."""
    new_network = 0x40000000
    if os.geteuid() != 0 or not shutil.which("iptables") or not shutil.which("ip"):
        setting.say("skipped: only root with iptables and iproute2 can cut a network")
        return False
    if ctypes.CDLL(None, use_errno=True).unshare(new_network) != 0:
        setting.say(f"skipped: cannot make a private network: {os.strerror(ctypes.get_errno())}")
        return False
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    probe = subprocess.run(["iptables", "-L", "-n"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if probe.returncode != 0:
        setting.say(f"skipped: {probe.stderr.strip()}")
    return probe.returncode == 0


def cut_off(how, ports, directions):
    """Starts (-A) or ends (-D) dropping the packets to (dport) and from (sport) these ports."""
    for port in ports:
        for direction in directions:
            subprocess.run(["iptables", how, "INPUT", "-p", "tcp", f"--{direction}", port, "-j", "DROP"], check=True)


def lost_packets():
    """Returns the number of packets that the current rules have dropped."""
    said = subprocess.run(["iptables", "-xvnL", "INPUT"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sum(int(line.split()[0]) for line in said.splitlines() if " DROP " in line and not line.startswith("Chain"))


def partitions(setting, seed, count=6, **_):
    setting.now = "partitions"
    if not own_network(setting):
        return
    for dice in setting.drawn("partitions", count, seed):
        program, steps = dice.choice([*((program, 3 * steps) for program, steps in JOBS), (COUNTING, CONTRIBUTIONS)])
        save = [] if program is COUNTING else ["--save_every=5"]
        job, killed, cuts, away, lost = Job(setting, program, steps, *save).start(), [], 0, 0, 0
        hosts = next(word for word in job.tasks["ps0"].command if str(word).startswith("--ps_hosts="))
        port_of = dict(zip(PS, re.findall(r":(\d+)", hosts)))
        for _ in range(dice.randint(2, 4)):
            if not job.during(dice.uniform(0, 0.5)):
                break
            names = dice.sample(PS, dice.randint(1, 2))
            directions = dice.choice([["dport", "sport"], ["dport"], ["sport"]])
            seconds = dice.uniform(0.1, 3)
            cut_off("-A", [port_of[name] for name in names], directions)
            job.during(seconds / 2)
            if dice.random() < 0.4:
                killed += job.send(signal.SIGKILL, names[:1])
            job.during(seconds / 2)
            lost += lost_packets()
            cut_off("-D", [port_of[name] for name in names], directions)
            cuts, away = cuts + 1, away + seconds
        setting.say(f"{job.check():5.1f} s  {cuts} partitions, {away:.1f} s in all, {lost} packets lost, killed "
                    f"{' '.join(killed) or 'none'}")
        if not lost:
            raise Failure("no packet was lost")


def counts(setting, seed, count=10, **_):
    for dice in setting.drawn("counts", count, seed):
        job, killed = Job(setting, COUNTING, CONTRIBUTIONS).start(), []
        for _ in range(dice.randint(2, 6)):
            job.during(dice.uniform(0, 0.3))
            killed += job.send(signal.SIGKILL, dice.sample(NAMES, dice.choice([1, 1, 1, 2])))
        setting.say(f"{job.check():5.1f} s  {CONTRIBUTIONS} counted once, killed {' '.join(killed)}")


def farthest_ahead(job):
    """Returns the largest lead of a worker over the slowest one when it started a step, in finished steps, and the
    number of steps that were started and ended. A worker prints a line when it starts a step, after it has its values,
    and another one when its contribution is made, before it sends it. So every step that was counted has ended."""
    said = [text.split()[1:] for name in WORKERS for _, text in job.tasks[name].lines if text.startswith("at ")]
    ended, farthest = dict.fromkeys(range(len(WORKERS)), 0), 0
    for _, what, step, rank in sorted((int(at), what, int(step), int(rank)) for what, step, rank, at in said):
        if what == "ends":
            ended[rank] = max(ended[rank], step)  # a step may be made again
        else:
            farthest = max(farthest, step - 1 - min(ended.values()))
    return farthest, len(said) // 2


def staleness(setting, seed, count=10, **_):
    reached = 0
    for dice in setting.drawn("staleness", count, seed):
        program = [*COUNTING, "--mode=ssp", f"--staleness={STALENESS}", "--tell=1"]
        job, killed, paused = Job(setting, program, CONTRIBUTIONS).start(), [], 0
        kills_left = dice.randint(0, 4)
        while job.during(dice.uniform(0, 0.08), WORKERS):
            if kills_left and dice.random() < 0.3:
                kills_left -= 1
                killed += job.send(signal.SIGKILL, [dice.choice(NAMES)])
                continue
            still = job.send(signal.SIGSTOP, dice.sample(WORKERS, dice.randint(1, 2)))
            job.during(dice.uniform(0.005, 0.1))
            paused += len(job.send(signal.SIGCONT, still))
        took = job.check()
        farthest, made = farthest_ahead(job)
        if made < CONTRIBUTIONS:
            raise Failure(f"workers reported {made} steps, but made {CONTRIBUTIONS}")
        if farthest > STALENESS:
            raise Failure(f"a worker was {farthest} steps ahead, but at most {STALENESS} are allowed")
        reached = max(reached, farthest)
        setting.say(f"{took:5.1f} s  at most {farthest} steps ahead in {made}, {paused} pauses, killed "
                    f"{' '.join(killed) or 'none'}")
    if reached < STALENESS:
        raise Failure(f"no worker had to wait: at most {reached} steps ahead, and {STALENESS} are allowed")


def strace(log, *options):
    return ["strace", "-D", "-f", "-qq", "-o", log, "-e", "trace=" + ",".join(CALLS), *options]


def boundary_cases(setting):
    """All cases of an undisturbed job, as "VICTIM+PARTNER CALL N"."""
    job = Job(setting, TABLES, 6, "--save_every=2").start({name: strace(setting.work / name) for name in VICTIMS})
    job.end()
    job.check()
    for name, partners in VICTIMS.items():
        made = re.findall(r"^(\d+) +(\w+)\(", (setting.work / name).read_text(), re.MULTILINE)
        most = {}
        for thread, call in set(made):  # strace counts the calls of each thread
            most[call] = max(most.get(call, 0), made.count((thread, call)))
        for call in sorted(most):
            yield from (f"{name}+{partner} {call} {n + 1}" for n in range(most[call]) for partner in partners)


def boundaries(setting, seed, count=60, case=None, **_):
    setting.now = "boundaries"
    probe = ["strace", "-o", "/dev/null", "true"]
    if not shutil.which("strace") or subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
        return setting.say("skipped: strace is not installed, or not allowed to trace")
    cases = [case] if case else list(boundary_cases(setting))
    chosen = random.Random(seed).sample(cases, min(count or len(cases), len(cases)))
    met, slowest, shown = 0, (0, ""), time.monotonic()
    for number, name in enumerate(chosen, 1):
        setting.now = f"boundaries --case '{name}'"
        pair, call, n = name.split()
        job = Job(setting, TABLES, 6, "--save_every=2")
        victim, job.accomplice = pair.split("+")
        job.start({victim: strace("/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={n}")})
        slowest = max(slowest, (job.check(), name))
        met += job.deaths > 0
        if number == len(chosen) or time.monotonic() - shown > 5:
            setting.now, shown = "boundaries", time.monotonic()
            setting.say(f"{number} of {len(chosen)}, all are {len(cases)}; slowest {slowest[0]:.1f} s: {slowest[1]}")
    if met < 0.8 * len(chosen):
        raise Failure(f"in {len(chosen) - met} of {len(chosen)} cases no process was killed: no such calls any more")


def orders(setting, seed, count=30, **_):
    for dice in setting.drawn("orders", count, seed):
        directory, starts, longest, codes = setting.directory(), 0, 0, [1]
        while any(codes):
            job, ask = Job(setting, TABLES, 30, "--save_every=5", directory=directory), dice.random() < 0.6
            fine = (0, 1, -signal.SIGTERM) if ask else (0,)  # before and after run() the signal itself ends a task
            for name in dice.sample(NAMES, len(NAMES)):
                job.tasks[name].start()
                job.during(dice.uniform(0, 0.04), fine=fine)
            job.during(dice.uniform(0, 0.15), fine=fine)
            for name in dice.sample(NAMES, len(NAMES) if ask else 0):
                job.send(signal.SIGTERM, [name])
                job.during(dice.uniform(0, 0.04), fine=fine)
            longest, starts = max(longest, job.end(fine=fine)), starts + 1
            codes = [task.process.returncode for task in job.tasks.values()]
            setting.jobs.remove(job)
        setting.jobs.append(job)
        job.check()
        setting.say(f"{longest:5.1f} s at most, {starts} starts")


def servers_of(count):
    return [f"ps{number}" for number in range(count)]


def resharding(setting, seed, count=2, **_):
    before = 3
    for dice in setting.drawn("resharding", count, seed):
        for program, steps in JOBS:
            steps *= 2  # so that the job is not over before it is stopped
            job = Job(setting, program, steps, "--save_every=5", servers=servers_of(before)).start()
            ask = dice.random() < 0.5
            job.until(lambda: any((job.directory / "checkpoint").glob("*.index")))
            job.during(dice.uniform(0, 0.2))
            for name in dice.sample(list(job.tasks), len(job.tasks)):
                job.send(signal.SIGTERM if ask else signal.SIGKILL, [name])
            codes = {task.process.wait(job.limit) for task in job.tasks.values()}
            if not codes <= {0, 1, -signal.SIGTERM, -signal.SIGKILL}:
                raise Failure(f"after the stop, the tasks ended with codes {codes}")
            took, went_on = 0, set()
            for after in 1, before - 1, before + 1, 2 * before:
                directory = setting.directory()
                shutil.copytree(job.directory, directory, dirs_exist_ok=True)
                (directory / "summary.json").unlink(missing_ok=True)
                other = Job(setting, program, steps, "--save_every=5", directory=directory,
                            servers=servers_of(after)).start()
                took += other.check()
                said = [text for name in servers_of(after) for _, text in other.tasks[name].lines]
                steps_said = re.findall(r"going on from its cut of step (\d+)", "\n".join(said))
                if len(steps_said) != after:
                    raise Failure(f"on {after} parameter servers, {len(steps_said)} continued from a cut")
                went_on.update(map(int, steps_said))
            if len(went_on) != 1 or not 0 < max(went_on) < steps:
                raise Failure(f"the shards continued from steps {sorted(went_on)} of {steps}")
            job.drop()
            setting.say(f"{took:5.1f} s  {program[0]} {'stopped' if ask else 'killed'}, continued from step "
                        f"{max(went_on)} of {steps}")


def gaps(setting, seed, count=3, store=None, **_):
    with contextlib.nullcontext() if store is None else Store(setting, store) as bucket:
        for number, dice in enumerate(setting.drawn("gaps", count, seed), seed):
            options = [f"--checkpoints={bucket.url()}/gaps-{number}"] if bucket else []
            # Few and long steps, so that each has a line of output.
            job = Job(setting, ["fashion_mnist_train", "--batch=2000"], 39, "--save_every=5", *options).start()
            job.again = (1,) if bucket else ()  # the claim of a killed process may be written late
            for step in 8, 18, 28:
                job.until(lambda: job.says("worker0", f"step {step}/"))
                job.send(signal.SIGKILL, [dice.choice(PS)])
            look_for_gaps(setting, job, 3, LONGEST_GAP)
            job.end()  # while its store is there


def look_for_gaps(setting, job, kills, longest):
    took = job.check()
    ends = [at for at, text in job.tasks["worker0"].lines if text.startswith("step ")]
    between = sorted(later - sooner for sooner, later in zip(ends, ends[1:]))
    setting.say(f"{took:5.1f} s  {job.deaths} kills, one step per {between[len(between) // 2]:.2f} s, after kills "
                f"{between[-kills]:.2f} to {between[-1]:.2f} s")
    if len(ends) != 39 or job.deaths != kills or between[-1] > longest:
        raise Failure(f"{len(ends)} steps, {job.deaths} kills, a gap of {between[-1]:.2f} s")


def replicas(setting, seed, count=3, **_):
    for dice in setting.drawn("replicas", count, seed):
        job = Job(setting, ["fashion_mnist_train", "--batch=16000"], 39, "--save_every=5", "--replicas=2")
        disks = {name: job.directory / name for name in PS}  # each server has its own
        for name in PS:
            command = job.tasks[name].command
            command[command.index(f"--out={job.directory}")] = f"--out={disks[name]}"
        job.away = 1.5
        job.start()
        victims = dice.sample(PS, 2)
        for step, victim in zip((5, 22), victims):
            job.until(lambda: job.says("worker0", f"step {step}/"))
            job.send(signal.SIGKILL, [victim])
            job.until(lambda: victim in job.back)
            shutil.rmtree(disks[victim])
            # Its own shard, and its replica of the other shard; a moment later both are saved.
            words = f"/job:ps/task:{victim[-1]}: going on from the state of its other replica"
            job.until(lambda: job.says(victim, words, 2))
            job.during(0.3)
        look_for_gaps(setting, job, 2, LONGEST_WITH_REPLICAS)


def endurance(setting, seed, seconds=60, **_):
    for dice in setting.drawn("endurance", 1, seed):
        trial = Job(setting, DENSE, 2000, "--save_every=5").start()
        trial.check()
        steps = int(trial.summary["steps_per_second"] * seconds)
        job = Job(setting, DENSE, steps, "--save_every=5", limit=4 * seconds + LIMIT).start()
        spared = {dice.choice(PS): [], dice.choice(WORKERS[1:]): []}
        killed = shown = job.began
        while job.during(0.2, WORKERS):
            for name, sizes in spared.items():
                sizes.append(job.tasks[name].memory_kib("RssAnon"))
            now = time.monotonic()
            if now - killed > 5:
                killed = now
                job.send(signal.SIGKILL, [dice.choice([name for name in NAMES if name not in spared])])
            if now - shown > 15:
                shown = now
                sizes = ", ".join(f"{name} {sizes[-1]} KiB" for name, sizes in spared.items())
                setting.say(f"{now - job.began:5.0f} s  {job.deaths} kills; {sizes}")
        setting.say(f"{job.check():5.0f} s  {job.deaths} kills, {steps} steps")
        for name, sizes in spared.items():
            first, last = max(sizes[:len(sizes) // 3]), max(sizes[-(len(sizes) // 3):])
            setting.say(f"{name}: at most {first} KiB in the first third, {last} KiB in the last")
            if not first or last > first + (REPLAY_KIB if name in WORKERS else 1024 + first // 20):
                raise Failure(f"{name} grew")


def store(setting, seed, count=2, kills=20, store="", **_):
    stays = "://" in store
    for number, dice in enumerate(setting.drawn("store", count, seed), seed):
        with Store(setting, store) as bucket:
            program, steps, more = IN_STORE[number % len(IN_STORE)]
            steps += more * kills
            name = program[0].removesuffix("_train")
            job = Job(setting, program, steps, "--save_every=50", f"--checkpoints={bucket.url()}/{name}-{number}",
                      limit=LIMIT + 20 * kills)
            data = bucket.has_data(setting, name)
            for task in job.tasks.values():
                task.command[task.command.index(f"--data={setting.work / name}")] = f"--data={data}"
            job.start()
            job.again = (1,)  # the claim of a killed process may be written late
            left, gone, back = dict.fromkeys(NAMES, kills), 0, None
            while any(left.values()):
                if not job.during(dice.uniform(0.02, 0.3), WORKERS):
                    raise Failure(f"the job ended before all kills: {left}")
                for killed in job.send(signal.SIGKILL, [dice.choice([task for task in NAMES if left[task]])]):
                    left[killed] -= 1
                if not gone and not stays and sum(left.values()) < kills * len(NAMES) / 2:
                    bucket.away()
                    gone, back = time.monotonic(), time.monotonic() + 10
                if back and time.monotonic() > back:
                    bucket.back()
                    back = None
            if back:
                job.during(max(0, back - time.monotonic()))
                bucket.back()
            took = job.check()
            if not job.summary["checkpoint"].startswith(bucket.url()) or (job.directory / "checkpoint").exists():
                raise Failure(f"the checkpoint is {job.summary['checkpoint']}")
            setting.say(f"{took:5.1f} s  {name}: {job.deaths} kills, {kills} of each of {len(NAMES)}; the store was "
                        f"{'never away' if stays else 'away for 10 s'}")
            job.end()


TESTS = {test.__name__: test for test in (pauses, kills, partitions, boundaries, counts, staleness, orders, resharding,
                                         gaps, replicas, store, endurance)}


def main():
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    for name, kind in (("--count", int), ("--seconds", int), ("--case", str), ("--kills", int),
                       ("--store", str)):
        parser.add_argument(name, type=kind, default=argparse.SUPPRESS)
    given = vars(parser.parse_args(sys.argv[1:cut]))
    build, tests = given.pop("build").resolve(), given.pop("tests") or list(TESTS)
    if not set(tests) <= set(TESTS):
        parser.error(f"tests are {', '.join(TESTS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="distrib-", ignore_cleanup_errors=True) as work:
        setting = Setting(build, pathlib.Path(work), sys.argv[cut + 1:])
        try:
            for test in tests:
                began = time.monotonic()
                TESTS[test](setting, **given)
                print(f"{test}: no failure in {time.monotonic() - began:.0f} s", flush=True)
            setting.settle()
        except Failure as failure:
            if setting.jobs:
                setting.jobs[-1].show()
            sys.exit(f"FAILED: {setting.now}: {failure}")
        finally:
            for job in setting.jobs:
                job.send(signal.SIGKILL, job.tasks)


main()
