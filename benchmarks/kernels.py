# SPDX-License-Identifier: Apache-2.0
"""kernels.py BUILD: the update rules beside the loops one would write by hand; prints lines of results.jsonl."""
import json
import subprocess
import sys

from result import result

ROUNDS = 5
NAMES = {str(16 << 10): "16 Ki", "100000": "100,000", str(4 << 20): "4 Mi"}


def main():
    program = sys.argv[1] + "/benchmarks/benchmark_optimizer_kernels_benchmark"
    speeds = {}
    for _ in range(ROUNDS):
        output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.05"], check=True,
                                stdout=subprocess.PIPE).stdout
        for benchmark in json.loads(output)["benchmarks"]:
            speeds[benchmark["name"]] = max(speeds.get(benchmark["name"], 0), benchmark["bytes_per_second"])
    for name, speed in speeds.items():
        kernel, size = name.split("/")
        if not kernel.endswith("_loop"):
            print(result(f"kernels {kernel} {NAMES[size]}", speed / 1e9, speeds[f"{kernel}_loop/{size}"] / 1e9,
                         "plain loop", "GB/s", 0.9))


main()
