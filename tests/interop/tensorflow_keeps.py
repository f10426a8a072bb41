#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that this library keeps the same checkpoints as TensorFlow's CheckpointManager, after each of many saves at
random times.

usage: tensorflow_keeps.py PROGRAMS

PROGRAMS: the folder of the built interop programs; `keep_checkpoints` is run.
"""

import random
import subprocess
import sys
import tempfile
from unittest import mock

import tensorflow as tf

SEEDS = 12


def of_tensorflow(directory, most, hours, times):
    """Returns, after each save, the numbers of the checkpoints that exist."""
    variable = tf.Variable(0.0)
    kept = []
    with mock.patch("time.time", side_effect=lambda: now[0]):
        now = [times[0]]  # the first hours count from the creation of the manager
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=variable), directory, most,
                                             keep_checkpoint_every_n_hours=hours or None)
        for number, time in enumerate(times, 1):
            now[0] = time
            manager.save(checkpoint_number=number)
            names = tf.io.gfile.glob(f"{directory}/ckpt-*.index")
            kept.append(sorted(int(name.rsplit("-", 1)[1].removesuffix(".index")) for name in names))
    return kept


def ours(program, directory, most, hours, times):
    command = [program, directory, str(most), str(hours), *(repr(time) for time in times)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [sorted(int(number) for number in line.split()) for line in lines]


def main():
    preserved = 0
    for seed in range(SEEDS):
        dice = random.Random(seed)
        most, hours = dice.choice([1, 2, 5]), dice.choice([0.5, 1, 3])
        times = [1.7e9]
        while len(times) < 30:
            times.append(times[-1] + dice.choice([60, 900, 1799, 1800, 3600, 3601, 10800, 40000]))
        with tempfile.TemporaryDirectory() as theirs, tempfile.TemporaryDirectory() as here:
            expected = of_tensorflow(theirs, most, hours, times)
            found = ours(f"{sys.argv[1]}/keep_checkpoints", here, most, hours, times)
        for number, (one, other) in enumerate(zip(found, expected, strict=True), 1):
            if one != other:
                sys.exit(f"seed {seed}: max_to_keep {most}, every {hours} hours, after save {number}: we keep {one}, "
                         f"TensorFlow {other}")
        preserved += len(expected[-1]) - most
    if preserved == 0:
        sys.exit("no checkpoint was preserved because of its time")
    print(f"{SEEDS} series of 30 saves: the same checkpoints are kept, {preserved} of them because of their time")


if __name__ == "__main__":
    main()
