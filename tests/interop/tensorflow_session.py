#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program of TensorFlow 1 and ours, side by side in docs/guide/sessions.md, learn the same: both run as a
parameter server and two workers, and end with the line that the data are on.

usage: tensorflow_session.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the command and the examples are found from there.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tensorflow"))
from hosts import free_hosts  # noqa: E402

STEPS = 300
BUILD = pathlib.Path(sys.argv[1]).resolve().parents[1]
PROGRAM = pathlib.Path(__file__).with_name("tensorflow") / "monitored_session.py"


def run_theirs(out):
    ps, *workers = free_hosts(3)

    def start(job, index):
        return subprocess.Popen([sys.executable, PROGRAM, f"--job_name={job}", f"--task_index={index}", f"--out={out}",
                                 f"--ps_hosts={ps}", f"--worker_hosts={','.join(workers)}", f"--steps={STEPS}"])

    server, *tasks = start("ps", 0), start("worker", 0), start("worker", 1)
    try:
        # The chief, and then the other worker, which may find a cluster that is gone: both count by the checkpoint.
        tasks[0].wait(timeout=100)
        deadline = time.monotonic() + 10
        while tasks[1].poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        for process in [*tasks, server]:  # a parameter server of TensorFlow never ends
            process.kill()
            process.wait()


def run_ours(out):
    subprocess.run([BUILD / "tools/distrib", "launch", "--ps", "1", "--workers", "2", "--", BUILD / "examples/34_session",
                    out, str(STEPS)], check=True, capture_output=True, timeout=60)


def line_in(directory):
    reader = tf.train.load_checkpoint(str(directory))
    return float(reader.get_tensor("slope")), float(reader.get_tensor("offset")), int(reader.get_tensor("global_step"))


with tempfile.TemporaryDirectory() as work:
    theirs, ours = pathlib.Path(work, "theirs"), pathlib.Path(work, "ours")
    run_theirs(theirs)
    run_ours(ours)
    for who, directory in (("theirs", theirs), ("ours", ours)):
        slope, offset, step = line_in(directory)
        print(f"{who}: slope {slope:.4f}, offset {offset:.4f}, step {step}")
        assert abs(slope - 2) < 1e-3 and abs(offset - 1) < 1e-3, who
        # TensorFlow's other worker makes steps until it hears that the chief has seen the last one.
        assert step == STEPS or (who == "theirs" and step > STEPS), step
