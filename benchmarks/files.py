# SPDX-License-Identifier: Apache-2.0
"""Measures how fast a tensor of 1 GiB is read from files of safetensors and PyTorch, beside pread of the same bytes.
Prints lines of results.jsonl. usage: files.py BUILD_DIRECTORY"""
import json
import subprocess
import sys
import tempfile

from result import result

LEAST = 0.9  # of pread, for files without checksums


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as directory:
        program = f"{sys.argv[1]}/benchmarks/benchmark_files_tensors_benchmark"
        done = subprocess.run([program, f"{directory}/files"], check=True, stdout=subprocess.PIPE, text=True)
    told = json.loads(done.stdout)
    for way, what, target in (("safetensors", "safetensors, 1 GiB", LEAST),
                              ("safetensors_slices", "safetensors, 64 slices", LEAST),
                              ("torch", "PyTorch's, with CRC-32", None),
                              ("checkpoint", "checkpoint, with CRC-32C", None)):
        print(result(what, told[way], told["pread"], "pread", "GB/s", target))


main()
