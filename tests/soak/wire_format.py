#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the main job with rounded numbers on the wire, and compares it with the job that sends float32.

usage: wire_format.py BUILD [TEST...] [--seeds N] [--steps N]

TEST is one of these; by default both run.
  bytes     one parameter server and two workers, as processes: what a worker pushes and pulls in a step, as the metrics of
            the parameter server count it, must be at most 4/8 with bfloat16, and 3.02/8 with int8 gradients, of what it is
            with float32
  accuracy  8 workers in one process with batches of 32, six epochs: the mean of three seeds with bfloat16, with int8
            gradients, and with int8 gradients of 16 local steps may be 0.01 below that of the same job with float32

--seeds, --steps: for accuracy (3, 1408). Exit code 1: a target is missed.
"""
import statistics
import time

from local_steps import run_tests, traffic

BYTES = {"bfloat16": 4.01 / 8, "int8": 3.02 / 8}
ACCURACY = 0.01
JOBS = (("bfloat16", 0), ("int8", 0), ("int8", 16))  # format and local steps


def bytes_of(fashion, _):
    plain = traffic(fashion, 0)
    good = True
    for name, most in BYTES.items():
        share = traffic(fashion, 0, "--wire_format", name) / plain
        good = good and share <= most
        print(f"bytes: {name}: {8 * share:.3f}/8 of {plain:.0f} bytes a step, limit {8 * most:.2f}/8: "
              f"{'good' if share <= most else 'MISSED'}", flush=True)
    return good


def accuracy(fashion, options):
    means = {}

    def mean(name, local):
        if (name, local) not in means:
            began = time.monotonic()
            found = [fashion.train(f"accuracy-{name}-{local}-{seed}", "--workers", 8, "--batch", 32, "--steps", options.steps,
                                   "--seed", seed, "--local_steps", local, "--wire_format", name)
                     for seed in range(1, options.seeds + 1)]
            means[name, local] = statistics.mean(found)
            print(f"{name}, local steps {local}: accuracy {means[name, local]:.4f} "
                  f"({' '.join(f'{one:.4f}' for one in found)}), {time.monotonic() - began:.0f} s", flush=True)
        return means[name, local]

    good = True
    for name, local in JOBS:
        less = mean("float32", local) - mean(name, local)
        good = good and less <= ACCURACY
        print(f"accuracy: {name}, local steps {local}: {less:+.4f} less, of {ACCURACY}: "
              f"{'good' if less <= ACCURACY else 'MISSED'}", flush=True)
    return good


if __name__ == "__main__":
    run_tests(__doc__, {"bytes": bytes_of, "accuracy": accuracy})
