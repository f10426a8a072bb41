# SPDX-License-Identifier: Apache-2.0
"""products.py BUILD RECORDS: compares matrix products with OpenBLAS on one thread: the AVX-512 kernel with the kernels
that OpenBLAS chooses, the AVX2 kernel with those for Haswell; then the main job in one process, with the same model by
OpenBLAS, in turns. Prints lines of results.jsonl."""
import json
import os
import resource
import subprocess
import sys
import tempfile

from result import result

KERNELS = {"avx512": {}, "avx2": {"OPENBLAS_CORETYPE": "Haswell"}}
# The least ratio to OpenBLAS of the main job's products; those of the others are only reported.
TARGETS = {"64x784 128": 0.9, "784x64 128, a transposed": 0.9, "64x128 10": 0.5, "128x64 10, a transposed": 0.5,
           "64x10 128, b transposed": 0.9}
ONE_COLUMN, MOST_MICROSECONDS = "64x64 1", 2.0
ROUNDS, STEPS = 7, 3000
MOST_TIME = {"avx512": 1.05, "avx2": 1.10}  # of the main job, beside OpenBLAS's


def job(program, records, environment, *options):
    """Returns the CPU seconds of the main job."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "--data", records, "--out", out, "--steps", str(STEPS), *options],
                              env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}error: {program}: exit code {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build, records = sys.argv[1:3]
    program = build + "/benchmarks/benchmark_products_matmul_benchmark"
    for kernel, environment in KERNELS.items():
        done = subprocess.run([program, kernel], env=os.environ | environment, stdout=subprocess.PIPE, check=False)
        if done.returncode == 69:
            continue  # the program has said that this processor does not have these instructions
        if done.returncode != 0:
            sys.exit(f"error: {program} {kernel}: exit code {done.returncode}")
        for line in map(json.loads, done.stdout.splitlines()):
            name = f"products {kernel} {line['name']}"
            print(result(name, line["ours"], line["openblas"], "OpenBLAS", "GFLOP/s", TARGETS.get(line["name"])))
            if line["name"] == ONE_COLUMN:
                print(result(f"{name} time", line["microseconds"], MOST_MICROSECONDS, "the most", "us", 1.0))
        rounds = [(job(f"{build}/examples/fashion_mnist_train", records, {}, "--products", kernel),
                   job(f"{build}/benchmarks/benchmark_products_openblas_train", records, environment))
                  for _ in range(ROUNDS)]
        ours, theirs = map(min, zip(*rounds))  # the best: another program on the machine only adds
        print(result(f"products {kernel}, the main job of {STEPS} steps", ours, theirs, "OpenBLAS", "CPU s",
                     MOST_TIME[kernel]))


main()
