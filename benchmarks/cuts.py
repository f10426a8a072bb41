# SPDX-License-Identifier: Apache-2.0
"""Measures a shard of 512 MiB that is saved under load, beside the same cut in one piece and updates without one; prints
lines of results.jsonl. usage: cuts.py BUILD_DIRECTORY"""
import json
import subprocess
import sys
import tempfile

from result import result

LONGEST_SLICE_MS = 10


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as directory:
        program = f"{sys.argv[1]}/benchmarks/benchmark_ps_cuts_benchmark"
        told = json.loads(subprocess.run([program, directory], check=True, stdout=subprocess.PIPE, text=True).stdout)
    at_once = told["at_once"]
    print(result("cut of 512 MiB: longest piece", told["longest_piece"], at_once, "copied at once", "ms",
                 LONGEST_SLICE_MS / at_once))
    print(result("cut of 512 MiB: all pieces", told["all_pieces"], at_once, "copied at once", "ms", None))
    for part in "p50", "p99", "longest":
        during, quiet = told["during"][part], told["quiet"][part]
        print(result(f"update of 1000 rows, {part}", during, quiet, "without a cut", "ms", None))


main()
