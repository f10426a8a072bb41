#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first 20 steps of the main job with tasks on aarch64, under qemu: each job must end with the hash of
tests/integration/same_bits.expected.

usage: aarch64_jobs.py BUILD EMULATED WORK

BUILD: the release build of this processor. EMULATED: a script that runs fashion_mnist_train for aarch64 under qemu. WORK:
an empty directory. Prints a line for each job, and ends with 1 if one failed. The jobs:
  alone      one process on aarch64
  emulated   2 parameter servers and 3 workers, all on aarch64
  mixed      the same with parameter server 1 and worker 1 on aarch64, the others on this processor
  encrypted  both parameter servers and the chief on this processor, workers 1 and 2 on aarch64, over mutual TLS; one of
             each kind is killed with SIGKILL, one after the other
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

TREE = pathlib.Path(__file__).resolve().parents[2]
RAW = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
STEPS, LIMIT = 20, 900  # LIMIT: seconds for a job
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
# Which task is killed when the chief has finished this many steps.
KILLS = [(3, "worker1"), (7, "ps1"), (11, "worker0"), (15, "ps0")]


def script(path, emulated, native, tasks):
    """Writes a script that runs the program of aarch64 if its arguments name one of `tasks`, else that of this machine."""
    cases = "|".join(f"*'--job_name={job} --task_index={index} '*" for job, index in tasks)
    path.write_text(f"""#!/bin/sh
case "$* " in {cases}) exec '{emulated}' "$@" ;; esac
exec '{native}' "$@"
""", encoding="utf-8")
    path.chmod(0o755)
    return path


def run(command, kills=()):
    """Runs a job. Kills tasks, and returns what is wrong, or None."""
    process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    alarm = threading.Timer(LIMIT, process.terminate)
    alarm.start()
    lines, pids, due = [], {}, list(kills)
    for line in process.stdout:
        lines.append(line)
        if started := re.search(r"launch \| (\w+) is process (\d+)", line):
            pids[started[1]] = int(started[2])
        step = re.search(r"step (\d+)/", line)
        if due and step and int(step[1]) >= due[0][0]:
            os.kill(pids[due.pop(0)[1]], signal.SIGKILL)
    code = process.wait()
    alarm.cancel()
    if code != 0 or due:
        return f"exit code {code}, not killed: {[task for _, task in due]}\n{''.join(lines[-40:])}"
    return None


def main():
    build, emulated, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    native, launcher = build / "examples/fashion_mnist_train", build / "tools/distrib"
    subprocess.run([build / "examples/fashion_mnist_convert", RAW, work / "data"], check=True, stdout=subprocess.DEVNULL)
    expected = re.search(r"^fashion_mnist (\w+)$", (TREE / "tests/integration/same_bits.expected").read_text(), re.MULTILINE)[1]
    options = ["--data", work / "data", "--steps", str(STEPS)]
    quick = [*options, "--evaluate_every", str(STEPS)]
    cluster = [launcher, "launch", "--ps", "2", "--workers", "3"]
    mixed = script(work / "mixed_task", emulated, native, [("ps", 1), ("worker", 1)])
    encrypted = script(work / "encrypted_task", emulated, native, [("worker", 1), ("worker", 2)])
    # The chief prints a line at each evaluation.
    encrypted_job = [*cluster, "--restart", "--tls", "--", encrypted, *options, "--save_every", "2", "--evaluate_every", "1"]
    jobs = {"alone": ([emulated, *quick], []),
            "emulated": ([*cluster, "--", emulated, *quick], []),
            "mixed": ([*cluster, "--", mixed, *quick], []),
            "encrypted": (encrypted_job, KILLS)}
    failed = 0
    for name, (command, kills) in jobs.items():
        wrong, found = run([*command, "--out", work / f"{name}.out"], kills), "no hash"
        if wrong is None:
            found = json.loads((work / f"{name}.out" / "summary.json").read_text())["parameters_sha256"]
            if found != expected:
                wrong = f"not {expected}"
        print(f"{name:10} {found}{'' if wrong is None else ' FAILED: ' + wrong}", flush=True)
        failed += wrong is not None
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
