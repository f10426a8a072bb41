# SPDX-License-Identifier: Apache-2.0
"""main_job.py BUILD RECORDS [STEPS]: what the main job costs outside of its model, beside bare sockets that move the
same bytes between as many processes, and beside the whole job; prints lines of results.jsonl, and each round to stderr.

The job, its matrix products and the floor take turns, and of each the cheapest round counts. The job's CPU seconds are
those of all its processes from their starts to their ends: `distrib launch`, reading and shuffling, one cut and one
evaluation included. The model's are those of all calls of `gradients()` and `evaluate()` in the very same job, on the
clocks of the threads that make them (main_job/timed_mlp.hpp): how fast the machine is from one minute to the next, and
whether the bytes of images are in its caches, is alike for both. With batches of 512 a step moves the same bytes and
computes eight times as much; its share depends on OpenBLAS's kernels, which OPENBLAS_CORETYPE may choose. Where this
user may, all of this runs in the round-robin real-time class."""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

from result import result
from rpc import prepare
from running_job import PS, WORKERS

ROUNDS = 5
BATCH, LARGE_BATCH = 64, 512
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1")
ENVIRONMENT.pop("TF_CONFIG", None)


def run(command):
    """Its stdout; when it fails, all it printed, and the end of this program."""
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}error: exit code {done.returncode}: {' '.join(command)}")
    return done.stdout


def cpu_seconds():
    """Of all processes that ended and were waited for, theirs included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def job(build, records, steps, batch):
    """(CPU seconds, those of its model, steps a second)"""
    with tempfile.TemporaryDirectory() as out:
        before = cpu_seconds()
        said = run([f"{build}/tools/distrib", "launch", "--ps", str(PS), "--workers", str(WORKERS), "--",
                    f"{build}/benchmarks/benchmark_main_job_timed", "--data", records, "--out", out,
                    "--steps", str(steps), "--batch", str(batch), "--save_every", str(steps),
                    "--evaluate_every", str(steps)])
        cost = cpu_seconds() - before
        with open(f"{out}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
    if [summary[key] for key in ("ps", "workers", "steps")] != [PS, WORKERS, steps]:
        sys.exit(f"error: this was another job: {summary}")
    of_model = [float(seconds) for seconds in re.findall(r"worker\d+ \| model: ([\d.]+) CPU seconds", said)]
    if len(of_model) != WORKERS or min(of_model) == 0:
        sys.exit(f"error: not every worker said what its model took: {said}")
    return cost, sum(of_model), summary["steps_per_second"]


def main():
    prepare("free", False)()  # all of them inherit it
    build, records = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    large_steps = max(steps // 3, 1)
    program = f"{build}/benchmarks/benchmark_main_job_"
    shard_bytes = run([program + "plan", str(PS)]).strip()

    def alone(name, *arguments):
        """What a program prints that does one part of the job's work in as many processes."""
        return json.loads(run([program + name, *arguments, "--workers", str(WORKERS)]))

    rounds, large_rounds = [], []
    print(f"{steps} steps, {shard_bytes} bytes a shard; {large_steps} steps of {LARGE_BATCH}. CPU seconds:",
          file=sys.stderr)
    for _ in range(ROUNDS):
        whole, model, speed = job(build, records, steps, BATCH)
        products = alone("products", "--steps", str(steps), "--batch", str(BATCH))
        floor = alone("floor", "--steps", str(steps), "--push_bytes", shard_bytes, "--pull_bytes", shard_bytes)
        large, large_model, large_speed = job(build, records, large_steps, LARGE_BATCH)
        rounds.append((whole, whole - model, products["cpu_seconds"], floor["cpu_seconds"]))
        large_rounds.append((large, large - large_model))
        print(f"  job {whole:.2f}  its model {model:.2f}  products {products['cpu_seconds']:.2f}  "
              f"floor {floor['cpu_seconds']:.2f}  large job {large:.2f}  its model {large_model:.2f}    "
              f"(steps/s: job {speed:.0f}, floor {floor['steps_per_second']:.0f}, large job {large_speed:.0f})",
              file=sys.stderr)
    whole, outside, products, floor = map(min, zip(*rounds))
    large, large_outside = min(large_rounds)
    print(result("main-job outside of products", whole - products, floor, "bare sockets, same bytes", "CPU s", 4))
    print(result("main-job outside of the model", outside, floor, "bare sockets, same bytes", "CPU s", 2.5))
    print(result(f"main-job outside of the model, batch {LARGE_BATCH}", large_outside, large, "the whole job", "CPU s",
                 0.3))


main()
