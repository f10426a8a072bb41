# SPDX-License-Identifier: Apache-2.0
"""Measures what onlookers cost a job: its time with none, with 1 and 8 that look without a pause, and with 1 that looks
once a second; and the memory of the parameter server. The parameter server and the workers have one processor, the
onlookers another one, as on a machine of their own. Prints lines of results.jsonl.
usage: onlookers.py BUILD_DIRECTORY RECORDS"""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from result import result

RUNS = 5
STEPS = 3000
MOST = 1.05  # of the time without onlookers, with one look a second
WAYS = {"none": (0, 0), "1, one look a second": (1, 1000), "1, without a pause": (1, 0), "8, without a pause": (8, 0)}


def peak_mib(pid):
    """Returns the most memory that was ever resident, in MiB; 0 if the process has ended."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0) / 1024


def run(processors, build, records, onlookers, pause):
    """Returns the seconds of the job, the MiB of its parameter server, and how often was looked. `processors`: of the
    onlookers, and of all other tasks."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = f"127.0.0.1:{listening.getsockname()[1]}"
    hosts = [f"--ps_hosts={server}", "--worker_hosts=127.0.0.1:1,127.0.0.1:1"]
    with tempfile.TemporaryDirectory(dir=build) as folder:
        tasks = []

        def start(job, index):
            processor = processors[0] if job == "onlooker" else processors[1]
            tasks.append((job, index, subprocess.Popen(
                ["taskset", "-c", processor, "timeout", "120", f"{build}/benchmarks/benchmark_main_job_looked_at", records,
                 str(STEPS), str(pause), f"--job_name={job}", f"--task_index={index}", *hosts],
                stdout=open(f"{folder}/{job}{index}", "wb"), stderr=subprocess.STDOUT)))

        for job, count in (("ps", 1), ("worker", 2), ("onlooker", onlookers)):
            for index in range(count):
                start(job, index)
        chief, mib = tasks[1][2], 0
        while chief.poll() is None:
            with open(f"/proc/{tasks[0][2].pid}/task/{tasks[0][2].pid}/children", encoding="ascii") as file:
                mib = max([mib] + [peak_mib(pid) for pid in file.read().split() if os.path.exists(f"/proc/{pid}")])
            time.sleep(0.1)
        codes = [(job, index, process.wait(60)) for job, index, process in tasks]
        told = {(job, index): open(f"{folder}/{job}{index}", encoding="utf-8").read() for job, index, _ in codes}
        if any(code != 0 for _, _, code in codes):
            raise RuntimeError(f"the job ended with {codes}: {told}")
        seconds = json.loads(re.search(r"^\{.*\}$", told["worker", 0], re.MULTILINE)[0])["seconds"]
        looks = sum(json.loads(text)["looks"] for (job, _), text in told.items() if job == "onlooker")
        return seconds, mib, looks


def main():
    build, records = sys.argv[1:]
    processors = [str(number) for number in sorted(os.sched_getaffinity(0))[:2]]
    if len(processors) < 2:
        raise RuntimeError("this benchmark needs two processors")
    found = {way: [] for way in WAYS}
    for _ in range(RUNS):  # alternating, so that a disturbance meets all ways
        for way, (onlookers, pause) in WAYS.items():
            found[way].append(run(processors, build, records, onlookers, pause))
    median = {way: [statistics.median(figures[at] for figures in runs) for at in range(3)] for way, runs in found.items()}
    for way in WAYS:
        if way == "none":
            continue
        target = MOST if "a second" in way else None
        print(result(f"{STEPS} steps, onlookers: {way} ({median[way][2]:.0f} looks)", median[way][0], median["none"][0],
                     "no onlooker", "s", target))
        print(result(f"memory of the ps, onlookers: {way}", median[way][1], median["none"][1], "no onlooker", "MiB", None))


main()
