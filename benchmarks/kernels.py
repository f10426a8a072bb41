# SPDX-License-Identifier: Apache-2.0
"""kernels.py BUILD: compares the update rules with hand-written loops and memcpy. Prints lines of results.jsonl."""
import sys

from result import result
from speeds import speeds_of

NAMES = {str(16 << 10): "16 Ki", str(256 << 10): "256 Ki", str(16 << 20): "16 Mi"}
# The least ratio to a plain loop, if it is not 1: 3.5 for Adagrad where memory is not the limit.
LOOPS = {"adagrad/" + str(16 << 10): 3.5, "adagrad/" + str(256 << 10): 3.5}
MEMCPY = 0.9  # the least ratio to a copy of the gradient, for SGD


def main():
    speeds = speeds_of(sys.argv[1] + "/benchmarks/benchmark_optimizer_kernels_benchmark")
    for name, speed in speeds.items():
        kernel, size = name.split("/")
        if kernel.endswith(("_loop", "_memcpy")):
            continue
        for other, words, target in (("loop", "plain loop", LOOPS.get(name, 1.0)), ("memcpy", "memcpy", MEMCPY)):
            baseline = speeds.get(f"{kernel}_{other}/{size}")
            if baseline is not None:
                print(result(f"kernels {kernel} {NAMES[size]}", speed / 1e9, baseline / 1e9, words, "GB/s", target))


main()
