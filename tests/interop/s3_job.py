#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job with its cuts in a real object store (versitygw): each process is killed 20 times, and the store is away for
10 s. It ends with the bits of one process on a disk. What it does: tests/soak/kills.py store.

usage: s3_job.py PROGRAMS [OPTION...]

PROGRAMS: the folder of the built interop programs. OPTIONs: of kills.py, as --seed 1 --kills 5.
"""

import pathlib
import subprocess
import sys

programs = pathlib.Path(sys.argv[1]).resolve()
kills = pathlib.Path(__file__).resolve().parent.parent / "soak/kills.py"
versitygw = pathlib.Path(sys.executable).parent / "versitygw"
sys.exit(subprocess.run([sys.executable, "-B", kills, programs.parents[1], "store", "--store", versitygw, *sys.argv[2:]],
                        check=False).returncode)
