# SPDX-License-Identifier: Apache-2.0
"""main_job.py BUILD RECORDS [STEPS]: what the main job costs outside of its model, beside bare sockets that move the
same bytes between as many processes, and beside the whole job; prints lines of results.jsonl, and each round to stderr.

The job, its matrix products, its model (all of `gradients()`, and one evaluation) and the floor take turns, and of each
the cheapest round counts. The job's CPU seconds are those of all its processes from their starts to their ends:
`distrib launch`, reading and shuffling, one cut and one evaluation included. With batches of 512 a step moves the same
bytes and computes eight times as much; its share depends on OpenBLAS's kernels, which OPENBLAS_CORETYPE may choose.
Where this user may, all of this runs in the round-robin real-time class."""
import json
import os
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
    """(CPU seconds, steps a second)"""
    with tempfile.TemporaryDirectory() as out:
        before = cpu_seconds()
        run([f"{build}/tools/distrib", "launch", "--ps", str(PS), "--workers", str(WORKERS), "--",
             f"{build}/examples/fashion_mnist_train", "--data", records, "--out", out, "--steps", str(steps),
             "--batch", str(batch), "--save_every", str(steps), "--evaluate_every", str(steps)])
        cost = cpu_seconds() - before
        with open(f"{out}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
    if [summary[key] for key in ("ps", "workers", "steps")] != [PS, WORKERS, steps]:
        sys.exit(f"error: this was another job: {summary}")
    return cost, summary["steps_per_second"]


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

    costs = []
    print(f"{steps} steps, {shard_bytes} bytes a shard; {large_steps} steps of {LARGE_BATCH}. CPU seconds:",
          file=sys.stderr)
    for _ in range(ROUNDS):
        whole, speed = job(build, records, steps, BATCH)
        of_batch = ["--steps", str(steps), "--batch", str(BATCH)]
        products = alone("products", *of_batch)
        model = alone("model", records, *of_batch)
        floor = alone("floor", "--steps", str(steps), "--push_bytes", shard_bytes, "--pull_bytes", shard_bytes)
        large, large_speed = job(build, records, large_steps, LARGE_BATCH)
        large_model = alone("model", records, "--steps", str(large_steps), "--batch", str(LARGE_BATCH))
        costs.append((whole, *(part["cpu_seconds"] for part in (products, model, floor)), large,
                      large_model["cpu_seconds"]))
        print("  job {:.2f}  products {:.2f}  model {:.2f}  floor {:.2f}  large job {:.2f}  its model {:.2f}    "
              "(steps/s: job {:.0f}, floor {:.0f}, large job {:.0f})".format(
                  *costs[-1], speed, floor["steps_per_second"], large_speed), file=sys.stderr)
    whole, products, model, floor, large, large_model = map(min, zip(*costs))
    print(result("main-job outside of products", whole - products, floor, "bare sockets, same bytes", "CPU s", 4))
    print(result("main-job outside of the model", whole - model, floor, "bare sockets, same bytes", "CPU s", 2.5))
    print(result(f"main-job outside of the model, batch {LARGE_BATCH}", large - large_model, large, "the whole job",
                 "CPU s", 0.3))


main()
