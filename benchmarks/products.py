# SPDX-License-Identifier: Apache-2.0
"""products.py BUILD: compares matrix products with OpenBLAS on one thread: the AVX-512 kernel with the kernels that
OpenBLAS chooses, the AVX2 kernel with those for Haswell. Prints lines of results.jsonl."""
import json
import os
import subprocess
import sys

from result import result

KERNELS = {"avx512": {}, "avx2": {"OPENBLAS_CORETYPE": "Haswell"}}
# The least ratio to OpenBLAS of the main job's products; those of the others are only reported.
TARGETS = {"64x784 128": 0.9, "784x64 128, a transposed": 0.9, "64x128 10": 0.5, "128x64 10, a transposed": 0.5,
           "64x10 128, b transposed": 0.9}
ONE_COLUMN, MOST_MICROSECONDS = "64x64 1", 2.0


def main():
    program = sys.argv[1] + "/benchmarks/benchmark_products_matmul_benchmark"
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


main()
