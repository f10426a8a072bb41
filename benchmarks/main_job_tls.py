# SPDX-License-Identifier: Apache-2.0
"""main_job_tls.py BUILD RECORDS [STEPS]: what encryption costs the main job on one machine, where its processes share
the processors with the cipher: steps a second, and CPU seconds of all processes for 1000 steps. Prints lines of
results.jsonl. The job over mutual TLS and the plain one take turns; medians."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from result import result
from running_job import PS, WORKERS

ROUNDS = 5
LEAST_RATE = 0.45  # of the plain job


def job(build, records, steps, *options):
    """Runs the job once. Returns (steps a second, CPU seconds for 1000 steps, parameters_sha256)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(dir=build) as out:
        done = subprocess.run(
            [f"{build}/tools/distrib", "launch", "--ps", str(PS), "--workers", str(WORKERS), *options, "--",
             f"{build}/examples/fashion_mnist_train", "--data", records, "--out", out, "--steps", str(steps)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
            env={name: value for name, value in os.environ.items() if not name.startswith(("TF_CONFIG", "DISTRIB_"))})
        if done.returncode != 0:
            sys.exit(f"{done.stdout}error: the job ended with {done.returncode}")
        with open(f"{out}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return summary["steps_per_second"], 1000 * used / steps, summary["parameters_sha256"]


def main():
    build, records = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    plain, secured = [], []
    for number in range(ROUNDS):
        plain.append(job(build, records, steps))
        secured.append(job(build, records, steps, "--tls"))
        print(f"  round {number + 1}: plain {plain[-1][0]:.0f} steps/s, {plain[-1][1]:.2f} CPU s for 1000 steps; over TLS "
              f"{secured[-1][0]:.0f}, {secured[-1][1]:.2f}", file=sys.stderr)
    hashes = {found[2] for found in plain + secured}
    if len(hashes) != 1:
        sys.exit(f"error: the jobs ended with different parameters: {hashes}")
    rate, cpu = ([statistics.median(found[position] for found in jobs) for jobs in (secured, plain)]
                 for position in (0, 1))
    print(result("main-job over mutual TLS", *rate, "plain", "step/s", LEAST_RATE))
    print(result("main-job over mutual TLS, 1000 steps", *cpu, "plain", "CPU s", None))


main()
