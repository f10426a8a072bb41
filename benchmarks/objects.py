# SPDX-License-Identifier: Apache-2.0
"""Measures records of 1 KiB in an object store (versitygw): in global order by a cache beside local files, in block order
beside a stream, the memory, and whole objects beside boto3. Prints lines of results.jsonl.

usage: objects.py BUILD_DIRECTORY [MIB]

A Python with boto3; versitygw lies beside it. MIB: of data (2048)."""
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import boto3
import botocore.config

from result import result

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
PIECE, AHEAD = 8 << 20, 16  # of S3Options


def start(folder):
    """Starts the server with an empty bucket; returns its process and URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    (folder / "objects/bucket").mkdir(parents=True)
    server = subprocess.Popen(
        [pathlib.Path(sys.executable).parent / "versitygw", "--port", f"127.0.0.1:{port}", "--quiet", "posix",
         folder / "objects"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]})
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server, f"http://127.0.0.1:{port}"
        except OSError:
            if time.monotonic() > end or server.poll() is not None:
                sys.exit("versitygw does not start")
            time.sleep(0.05)


def by_boto3(url):
    """Returns MiB a second of reading all objects by pieces, as many at once as ours."""
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
                          aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"], region_name=KEYS["AWS_REGION"],
                          config=botocore.config.Config(s3={"addressing_style": "path"}, max_pool_connections=AHEAD))
    pieces = [(one["Key"], first, min(first + PIECE, one["Size"])) for one in
              client.list_objects_v2(Bucket="bucket", Prefix="train-")["Contents"] for first in range(0, one["Size"], PIECE)]

    def read(piece):
        key, first, end = piece
        return len(client.get_object(Bucket="bucket", Key=key, Range=f"bytes={first}-{end - 1}")["Body"].read())

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AHEAD) as threads:
        total = sum(threads.map(read, pieces))
    return total / (time.monotonic() - began) / (1 << 20)


def main():
    build, mib = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "2048"
    with tempfile.TemporaryDirectory(dir=build) as folder:
        folder = pathlib.Path(folder)
        server, url = start(folder)
        try:
            def run(what, *words):
                command = [build / "benchmarks/benchmark_objects_read_benchmark", what, folder, f"s3+{url}/bucket", *words]
                return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                                 env=os.environ | KEYS).stdout)

            records = run("write", mib)
            memory = run("memory")
            rates = run("rates")
            pairs = [(run("whole"), by_boto3(url)) for _ in range(3)]
        finally:
            server.terminate()
            server.wait()
    ours, theirs = sorted(pairs, key=lambda pair: pair[0] / pair[1])[1]
    most = (128 << 10) + 8 * records / 1024 + AHEAD * PIECE / 1024
    print(result("1 KiB, global order, 2nd epoch, cache", rates["local"] * rates["cached_of_local"], rates["local"],
                 "local files", "MiB/s", 0.9))
    print(result("1 KiB, global order, 1st epoch, cache", rates["first"], rates["local"], "local files", "MiB/s", None))
    print(result("1 KiB, by blocks", rates["stream"] * rates["blocks_of_stream"], rates["stream"], "stream", "MiB/s", 0.7))
    print(result("RssAnon, cache, 2 epochs", memory["cached"] / 1024, most / 1024, "the limit", "MiB", 1))
    print(result("RssAnon, no cache", memory["without"] / 1024, most / 1024, "the limit", "MiB", 1))
    print(result("whole objects", ours, theirs, "boto3, 16 threads", "MiB/s", None))


main()
