# SPDX-License-Identifier: Apache-2.0
"""formats.py BUILD: compares the forms in which gradients travel with a copy. Prints lines of results.jsonl."""
import sys

from result import result
from speeds import speeds_of

NAMES = {str(64 << 10): "64 Ki", str(16 << 20): "16 Mi"}


def main():
    speeds = speeds_of(sys.argv[1] + "/benchmarks/benchmark_ps_formats_benchmark")
    for name, speed in speeds.items():
        what, size = name.split("/")
        direction, form = what.split()
        for other in {"bfloat16": ("float32",), "int8": ("float32", "bfloat16")}.get(form, ()):
            baseline = speeds[f"{direction} {other}/{size}"]
            print(result(f"formats {what} {NAMES[size]}", speed / 1e9, baseline / 1e9, other, "GB/s", None))


main()
