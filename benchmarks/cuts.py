# SPDX-License-Identifier: Apache-2.0
"""Measures a shard of 512 MiB that is saved under load, and compares it with the same cut in one piece and with updates
without a cut. Then measures how long pushes to such a parameter server, in another process, take before, while and
after it saves; and how many bytes cuts of the click example's tables have if they may be links. Prints lines of results.jsonl. usage: cuts.py BUILD_DIRECTORY"""
import json
import subprocess
import sys
import tempfile

from result import result

LONGEST_SLICE_MS = 10


def measure(name):
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as directory:
        program = f"{sys.argv[1]}/benchmarks/benchmark_ps_{name}_benchmark"
        done = subprocess.run([program, f"{directory}/cuts"], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)


def main():
    told = measure("cuts")
    at_once = told["at_once"]
    print(result("cut of 512 MiB: longest piece", told["longest_piece"], at_once, "copied at once", "ms",
                 LONGEST_SLICE_MS / at_once))
    print(result("cut of 512 MiB: all pieces", told["all_pieces"], at_once, "copied at once", "ms", None))
    for part in "p50", "p99", "longest":
        during, quiet = told["during"][part], told["quiet"][part]
        print(result(f"update of 1000 rows, {part}", during, quiet, "without a cut", "ms", None))
    told = measure("saves")
    for when, what in ("during", "while it saves"), ("after", "after"):
        for part in "p50", "p99", "longest":
            print(result(f"push to a ps {what}, {part}", told[when][part], told["before"][part], "before", "ms", None))
    told = measure("links")
    for when, what, target in ("new", "tables that grow from nothing", None), ("on", "tables that have grown", 0.25):
        print(result(f"30 cuts, {what}", told[when]["mib"], told[when]["whole_mib"], "whole cuts", "MiB", target))


main()
