#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as parameter servers and workers. Each is a task of one Spark barrier job, which sets its TF_CONFIG.

usage: spark-submit launch.py [--ps N] [--workers N] [--retries N] PROGRAM ARGUMENT...

  --ps N, --workers N   number of parameter servers (2) and of workers (2)
  --retries N           how often each task restarts its program, at most (10)
Example: spark-submit launch.py --ps 1 --workers 2 ./train --steps=1000
"""
import argparse, ctypes, json, os, socket, subprocess, sys, time  # noqa: E401
import pyspark


def run_task(options):
    context = pyspark.BarrierTaskContext.get()
    me = context.partitionId()
    with socket.socket() as held:  # keeps a port until all tasks have one
        held.bind(("", 0))
        host = context.getTaskInfos()[me].address.split(":")[0]
        all_hosts = context.allGather(f"{host}:{held.getsockname()[1]}")
    role, index = ("ps", me) if me < options.ps else ("worker", me - options.ps)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK", "PYTHON"))}
    environment["TF_CONFIG"] = json.dumps({"cluster": {"ps": all_hosts[:options.ps], "worker": all_hosts[options.ps:]},
                                           "task": {"type": role, "index": index}})
    start = lambda: subprocess.Popen(options.program, env=environment, stdout=sys.stderr,
                                     preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 15))  # SIGTERM if Spark dies
    child, retries, codes = start(), options.retries, [""]
    while "" in codes and not set(codes) - {"", "0"}:  # until all tasks are done, or one has failed
        time.sleep(0.5)
        code = child.poll()
        if code is not None and (code == 1 or code < 0) and retries > 0:  # 1: asks for a restart; < 0: a signal
            child, retries, code = start(), retries - 1, None
        codes = context.allGather("" if code is None else str(code))
    child.terminate()
    child.wait()
    return [(f"{role}{index}", codes[me])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    for flag, default in (("--ps", 2), ("--workers", 2), ("--retries", 10)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    tasks = pyspark.SparkContext.getOrCreate().parallelize(range(options.ps + options.workers), options.ps + options.workers)
    codes = dict(tasks.barrier().mapPartitions(lambda _: run_task(options)).collect())
    print(*(f"{name}: {'exit code ' + code if code else 'ended'}" for name, code in codes.items()), sep="\n")
    failed = [int(code) for code in codes.values() if code not in ("", "0")]
    sys.exit(max(code if code > 0 else 128 - code for code in failed) if failed else 0)
