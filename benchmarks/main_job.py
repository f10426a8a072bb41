# SPDX-License-Identifier: Apache-2.0
"""main_job.py BUILD RECORDS [STEPS]: what the main job costs outside of its matrix products, beside bare sockets that
move the same bytes between as many processes; prints a line of results.jsonl, and each round to stderr.

The job, its products and the floor take turns, and of each the cheapest round counts. Its CPU seconds are those of all
its processes from their starts to their ends: `distrib launch`, reading and shuffling, one cut and one evaluation
included."""
import json
import os
import resource
import subprocess
import sys
import tempfile

from result import result

ROUNDS, PS, WORKERS, BATCH = 3, 2, 3, 64
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


def job(build, records, steps):
    with tempfile.TemporaryDirectory() as out:
        before = cpu_seconds()
        run([f"{build}/tools/distrib", "launch", "--ps", str(PS), "--workers", str(WORKERS), "--",
             f"{build}/examples/fashion_mnist_train", "--data", records, "--out", out, "--steps", str(steps),
             "--batch", str(BATCH), "--save_every", str(steps), "--evaluate_every", str(steps)])
        cost = cpu_seconds() - before
        with open(f"{out}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
    if [summary[key] for key in ("ps", "workers", "steps")] != [PS, WORKERS, steps]:
        sys.exit(f"error: this was another job: {summary}")
    return cost, summary["steps_per_second"]


def main():
    build, records = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    program = f"{build}/benchmarks/benchmark_main_job_"
    shard_bytes = run([program + "plan", str(PS)]).strip()
    costs = []
    print(f"{steps} steps, {shard_bytes} bytes a shard. CPU seconds:", file=sys.stderr)
    for _ in range(ROUNDS):
        whole, speed = job(build, records, steps)
        products = json.loads(run([program + "products", "--workers", str(WORKERS), "--steps", str(steps),
                                   "--batch", str(BATCH)]))
        floor = json.loads(run([program + "floor", "--workers", str(WORKERS), "--steps", str(steps),
                                "--push_bytes", shard_bytes, "--pull_bytes", shard_bytes]))
        costs.append((whole, products["cpu_seconds"], floor["cpu_seconds"]))
        print("  job {:.2f}  products {:.2f}  floor {:.2f}    (steps/s: job {:.0f}, floor {:.0f})".format(
            *costs[-1], speed, floor["steps_per_second"]), file=sys.stderr)
    whole, products, floor = map(min, zip(*costs))
    print(result("main-job outside of products", whole - products, floor, "bare sockets, same bytes", "CPU s", 4))


main()
