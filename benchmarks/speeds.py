# SPDX-License-Identifier: Apache-2.0
"""Runs programs of Google Benchmark."""
import json
import subprocess


def speeds_of(program, rounds=5):
    """Returns the bytes a second of each benchmark of a program by its name, the best of so many rounds."""
    speeds = {}
    for _ in range(rounds):
        output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.05"], check=True,
                                stdout=subprocess.PIPE).stdout
        for benchmark in json.loads(output)["benchmarks"]:
            speeds[benchmark["name"]] = max(speeds.get(benchmark["name"], 0), benchmark["bytes_per_second"])
    return speeds
