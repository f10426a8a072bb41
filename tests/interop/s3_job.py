#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job and the click job with their data and their cuts in a real object store. versitygw: each process is killed
20 times, and the store is away for 10 s. SeaweedFS: each process is killed three times. All end with the bits of one
process on a disk. What it does: tests/soak/kills.py store.

usage: s3_job.py PROGRAMS [OPTION...]

PROGRAMS: the folder of the built interop programs. OPTIONs: of kills.py, as --seed 1 --kills 5; then only versitygw.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from s3 import ACCESS, PROGRAMS, SECRET, Weed

BUILD = pathlib.Path(sys.argv[1]).resolve().parents[1]
KILLS = pathlib.Path(__file__).resolve().parent.parent / "soak/kills.py"


def jobs(store, *options, **environment):
    print(f"with {store}", flush=True)
    return subprocess.run([sys.executable, "-B", KILLS, BUILD, "store", "--store", store, *options],
                          env=os.environ | environment, check=False).returncode


def main():
    failed = jobs(PROGRAMS / "versitygw", *sys.argv[2:])
    if failed or len(sys.argv) > 2:
        return failed
    with tempfile.TemporaryDirectory() as folder:
        server = Weed(pathlib.Path(folder))
        try:
            return jobs(server.url, "--kills", "3", AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=SECRET,
                        AWS_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true")
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
