#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the main job with local steps, and compares it with the job that sends each gradient.

usage: local_steps.py BUILD [TEST...] [--seeds N] [--steps N]

TEST is one of these; by default both run.
  bytes     one parameter server and two workers, as processes: what a batch of a worker pushes and pulls, as the metrics of
            the parameter server count it, for 16 and 64 local steps, must be at most 1.02 / 16 and 1.02 / 64 of what it
            is without
  accuracy  8 workers in one process with batches of 32, six epochs: the mean of three seeds with 16 and 64 local steps may
            be 0.01 below that of the job without

--seeds, --steps: for accuracy (3, 1408). Exit code 1: a target is missed.
"""
import argparse
import contextlib
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
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import free_ports_in_a_row  # noqa: E402

LOCAL = (16, 64)
ACCURACY, BYTES = 0.01, 1.02
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "DISTRIB_TLS_DIRECTORY")}
LIMIT = 3600


class Fashion:
    def __init__(self, build, work):
        self.build, self.work = build, work
        raw = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
        subprocess.run([build / "examples/fashion_mnist_convert", raw, work / "data"], env=ENVIRONMENT, check=True,
                       timeout=LIMIT, stdout=subprocess.DEVNULL)

    def command(self, out, *options):
        return [self.build / "examples/fashion_mnist_train", "--data", self.work / "data", "--out", self.work / out,
                "--save_every", "0", "--evaluate_every", "1000000", *map(str, options)]

    def train(self, out, *options):
        """Trains in one process. Returns the accuracy."""
        subprocess.run(self.command(out, *options), env=ENVIRONMENT, check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
        return json.loads((self.work / out / "summary.json").read_text())["test_accuracy"]


def sums(text):
    """Returns the sums over all shards of the metrics that are needed."""
    return {name: sum(float(value) for value in re.findall(rf"^distrib_ps_{name}\{{.*\}} (\S+)$", text, re.MULTILINE))
            for name in ("pushed_bytes_total", "pulled_bytes_total", "pushes_total", "pulls_total")}


def traffic(fashion, local, *more):
    """Returns the bytes that a batch of a worker pushes and pulls. more: further options of the job."""
    rounds, at_once, port = 400, max(1, local), free_ports_in_a_row(3)
    launch = [fashion.build / "tools/distrib", "launch", "--ps", "1", "--workers", "2", "--"]
    command = fashion.command("-".join(["bytes", str(local), *more]), "--steps", rounds * at_once, "--local_steps", local,
                              "--batch", 2, "--metrics", f"127.0.0.1:{port}", *more)
    last = {}
    over = threading.Event()

    def look():
        while not over.wait(0.01):
            with contextlib.suppress(OSError):  # it has not begun, or has ended
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                    seen = sums(page.read().decode())
                    if seen["pushes_total"] > 0:
                        last.update(seen)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        subprocess.run([*launch, *command], env=ENVIRONMENT, check=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
    finally:
        over.set()
        watching.join()
    if not last:
        raise SystemExit("bytes: there were no metrics")
    # Each push is a contribution of one worker, and so is the share of a pull; both at the time of the last look.
    pushed = last["pushed_bytes_total"] / last["pushes_total"]
    pulled = last["pulled_bytes_total"] / last["pulls_total"]
    pulls = last["pulls_total"] / last["pushes_total"]
    title = " ".join(["local steps", str(local), *more])
    print(f"{title}: {last['pushes_total']:.0f} pushes of {pushed:.0f} bytes, {pulls:.3f} pulls of {pulled:.0f} "
          f"bytes for each", flush=True)
    if last["pushes_total"] < rounds:
        raise SystemExit(f"bytes: the last look was after {last['pushes_total']:.0f} pushes")
    return (pushed + pulls * pulled) / at_once


def bytes_of(fashion, _):
    plain = traffic(fashion, 0)
    good = True
    for local in LOCAL:
        share = traffic(fashion, local) / plain
        met = share <= BYTES / local
        good = good and met
        print(f"bytes: {local} local steps: {share:.5f} of {plain:.0f} bytes a batch, limit {BYTES / local:.5f}: "
              f"{'good' if met else 'MISSED'}", flush=True)
    return good


def accuracy(fashion, options):
    means = {}
    for local in (0, *LOCAL):
        began = time.monotonic()
        found = [fashion.train(f"accuracy{local}-{seed}", "--workers", 8, "--batch", 32, "--steps", options.steps, "--seed",
                               seed, "--local_steps", local) for seed in range(1, options.seeds + 1)]
        means[local] = statistics.mean(found)
        print(f"local steps {local}: accuracy {means[local]:.4f} ({' '.join(f'{one:.4f}' for one in found)}), "
              f"{time.monotonic() - began:.0f} s", flush=True)
    worst = means[0] - min(means[local] for local in LOCAL)
    print(f"accuracy: at most {worst:.4f} less, of {ACCURACY}: {'good' if worst <= ACCURACY else 'MISSED'}", flush=True)
    return worst <= ACCURACY


def run_tests(usage, tests):
    """Runs those of `tests` that the command line names, all by default: a test takes a Fashion and the options, and returns
    whether its targets are met. Ends with exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(usage=usage.split("usage: ")[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", default=list(tests))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1408)  # 6 epochs of 60 000 images; 88 rounds of 16, 22 of 64
    options = parser.parse_args()
    if unknown := set(options.tests) - set(tests):
        parser.error(f"no test {unknown.pop()}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        fashion = Fashion(options.build.resolve(), pathlib.Path(work))
        met = [tests[test](fashion, options) for test in options.tests]
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    run_tests(__doc__, {"bytes": bytes_of, "accuracy": accuracy})
