# SPDX-License-Identifier: Apache-2.0
"""main_job.py BUILD RECORDS [STEPS]: the cost of the main job outside of its model, compared with plain sockets that
move the same bytes between as many processes, and with the whole job. Prints lines of results.jsonl to stdout, and each
round to stderr.

In each round the job, its matrix products and the plain sockets ("floor") are measured one after the other; for each of
them the cheapest round counts. The job's CPU seconds are summed over all its processes from start to end, including
`distrib launch`, reading and shuffling, one cut and one evaluation. The model's CPU seconds are summed over all calls
of `gradients()` and `evaluate()` in the same job, by the clocks of the threads that make the calls
(main_job/timed_mlp.hpp), so both are measured on an equally fast machine with equally warm caches. With batches of 512
a step moves the same bytes and computes eight times as much; the model's share then depends on the instructions that
its matrix products use. If this user is allowed to, all of this runs in the round-robin real-time class."""
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
ENVIRONMENT = dict(os.environ)
ENVIRONMENT.pop("TF_CONFIG", None)


def run(command):
    """Runs a command and returns its stdout. If it fails, ends this program with all that the command printed."""
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}error: exit code {done.returncode}: {' '.join(command)}")
    return done.stdout


def cpu_seconds():
    """Returns the CPU seconds of all child processes that have ended, including their own children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def job(build, records, steps, batch):
    """Runs the job once. Returns (CPU seconds, CPU seconds of its model, steps a second)."""
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
        sys.exit(f"error: the summary is that of another job: {summary}")
    of_model = [float(seconds) for seconds in re.findall(r"worker\d+ \| model: ([\d.]+) CPU seconds", said)]
    if len(of_model) != WORKERS or min(of_model) == 0:
        sys.exit(f"error: not every worker printed the CPU time of its model: {said}")
    return cost, sum(of_model), summary["steps_per_second"]


def main():
    prepare("free", False)()  # all processes inherit it
    build, records = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    large_steps = max(steps // 3, 1)
    program = f"{build}/benchmarks/benchmark_main_job_"
    shard_bytes = run([program + "plan", str(PS)]).strip()

    def alone(name, *arguments):
        """Runs a program that does one part of the job's work in as many processes. Returns what it has measured."""
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
