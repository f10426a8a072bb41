# SPDX-License-Identifier: Apache-2.0
"""formats.py BUILD: compares the forms in which gradients travel with a copy. Prints lines of results.jsonl."""
import json
import subprocess
import sys

from result import result

ROUNDS = 5
NAMES = {str(64 << 10): "64 Ki", str(16 << 20): "16 Mi"}


def main():
    program = sys.argv[1] + "/benchmarks/benchmark_ps_formats_benchmark"
    speeds = {}
    for _ in range(ROUNDS):
        output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.05"], check=True,
                                stdout=subprocess.PIPE).stdout
        for benchmark in json.loads(output)["benchmarks"]:
            speeds[benchmark["name"]] = max(speeds.get(benchmark["name"], 0), benchmark["bytes_per_second"])
    for name, speed in speeds.items():
        what, size = name.split("/")
        direction, form = what.split()
        for other in {"bfloat16": ("float32",), "int8": ("float32", "bfloat16")}.get(form, ()):
            baseline = speeds[f"{direction} {other}/{size}"]
            print(result(f"formats {what} {NAMES[size]}", speed / 1e9, baseline / 1e9, other, "GB/s", None))


main()
