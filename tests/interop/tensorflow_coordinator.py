#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the program of TensorFlow 2's guide to parameter servers and ours, side by side in
docs/guide/coordinator.md, learn the same: both run as a coordinator, a parameter server and two workers, and end with
the same accuracy, and with losses that differ by at most 0.01.

usage: tensorflow_coordinator.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the examples are found from there.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tensorflow"))
from hosts import free_hosts  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve().parents[1]
THEIRS = [sys.executable, pathlib.Path(__file__).with_name("tensorflow") / "coordinator.py"]
OURS = [BUILD / "examples/33_coordinator_train"]


def run(command, tasks_end):
    """Runs the cluster; returns accuracy and loss of the last epoch. `tasks_end`: workers and ps end by themselves."""
    chief, ps, *workers = free_hosts(4)
    cluster = {"chief": [chief], "ps": [ps], "worker": workers}

    def start(job, index, **options):
        config = json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
        return subprocess.Popen(command, env=dict(os.environ, TF_CONFIG=config), **options)

    tasks = [start("ps", 0), start("worker", 0), start("worker", 1)]
    try:
        coordinator = start("chief", 0, stdout=subprocess.PIPE, text=True)
        tasks.append(coordinator)
        printed, _ = coordinator.communicate(timeout=300)
        assert coordinator.returncode == 0, coordinator.returncode
        if tasks_end:
            assert [task.wait(timeout=10) for task in tasks] == [0, 0, 0, 0]
    finally:
        for task in tasks:
            task.kill()
            task.wait()
    epochs = re.findall(r"^epoch \d: accuracy ([\d.]+), loss ([\d.]+)$", printed, re.MULTILINE)
    assert len(epochs) == 4, printed
    return float(epochs[-1][0]), float(epochs[-1][1])


results = {}
for who, command, tasks_end in (("theirs", THEIRS, False), ("ours", OURS, True)):
    began = time.monotonic()
    accuracy, loss = results[who] = run(command, tasks_end)
    print(f"{who}: accuracy {accuracy:.2f}, loss {loss:.2f}, {time.monotonic() - began:.1f} s")
assert results["theirs"][0] == results["ours"][0] == 1, results
assert abs(results["theirs"][1] - results["ours"][1]) <= 0.01, results
