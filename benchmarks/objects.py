# SPDX-License-Identifier: Apache-2.0
"""Measures records of 1 KiB in an object store (versitygw, which keeps connections open): in global order by a cache
beside local files, in block order beside a stream, and the memory; whole objects and uploads beside boto3, s5cmd and
bare sockets. Prints lines of results.jsonl.

usage: objects.py BUILD_DIRECTORY [MIB]

A Python with boto3; versitygw and s5cmd lie beside it. MIB: of data (2048)."""
import concurrent.futures
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import boto3
import boto3.s3.transfer
import botocore.config

from result import result

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
MIB = 1 << 20
PIECE, AHEAD = 8 * MIB, 16  # of S3Options
PART, PARTS_AHEAD = 16 * MIB, 4  # the same, of writers


def start(folder):
    """Starts the server with an empty bucket; returns its process and URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    (folder / "objects/bucket").mkdir(parents=True)
    server = subprocess.Popen(
        [pathlib.Path(sys.executable).parent / "versitygw", "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive",
         "posix", folder / "objects"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
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


class Baselines:
    """Other clients of the same bucket. Each function returns MiB a second."""

    def __init__(self, build, url):
        self.url, self.port = url, url.rpartition(":")[2]
        self.sockets = build / "benchmarks/benchmark_objects_sockets_benchmark"
        self.client = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"], region_name=KEYS["AWS_REGION"],
            config=botocore.config.Config(s3={"addressing_style": "path"}, max_pool_connections=AHEAD,
                                          signature_version="s3v4", request_checksum_calculation="when_required"))

    def pieces(self):
        listed = self.client.list_objects_v2(Bucket="bucket", Prefix="train-")["Contents"]
        return [(one["Key"], first, min(first + PIECE, one["Size"])) for one in listed
                for first in range(0, one["Size"], PIECE)]

    def boto3(self):
        """Reads all objects by pieces, as many at once as ours."""
        pieces = self.pieces()

        def read(piece):
            key, first, end = piece
            got = self.client.get_object(Bucket="bucket", Key=key, Range=f"bytes={first}-{end - 1}")
            return len(got["Body"].read())

        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(AHEAD) as threads:
            total = sum(threads.map(read, pieces))
        return total / (time.monotonic() - began) / MIB

    def s5cmd(self):
        """Reads all objects by pieces, as many at once as ours: the whole run of the program."""
        total = sum(end - first for _, first, end in self.pieces())
        command = [pathlib.Path(sys.executable).parent / "s5cmd", "--endpoint-url", self.url, "cat", "--concurrency",
                   str(AHEAD), "--part-size", str(PIECE // MIB), "s3://bucket/train-*"]
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | KEYS)
        return total / (time.monotonic() - began) / MIB

    def bare(self, what, operation, requests, connections):
        """Sends requests over bare sockets: a key, the first byte and the number of bytes of each."""
        def target(key):
            signed = self.client.generate_presigned_url(operation, Params={"Bucket": "bucket", "Key": key},
                                                        ExpiresIn=3600)
            return signed.removeprefix(self.url)

        targets = {key: target(key) for key in {key for key, _, _ in requests}}
        lines = "".join(f"{targets[key]} {first} {count}\n" for key, first, count in requests)
        return float(subprocess.run([self.sockets, what, self.port, str(connections)], check=True, input=lines,
                                    stdout=subprocess.PIPE, text=True).stdout)

    def bare_gets(self):
        return self.bare("get", "get_object", [(key, first, end - first) for key, first, end in self.pieces()], AHEAD)

    def bare_puts(self, mib):
        """Writes as many bytes as objects of the size of a part."""
        return self.bare("put", "put_object", [(f"raw-{i}", 0, PART) for i in range(mib * MIB // PART)], PARTS_AHEAD)

    def boto3_upload(self, mib):
        """Writes one object in parts of the same size."""
        config = boto3.s3.transfer.TransferConfig(multipart_threshold=PART, multipart_chunksize=PART,
                                                  max_concurrency=PARTS_AHEAD)
        content = io.BytesIO(bytes(mib * MIB))
        began = time.monotonic()
        self.client.upload_fileobj(content, "bucket", "boto3-upload", Config=config)
        return mib / (time.monotonic() - began)


def by_turns(ours, others, rounds=3):
    """Measures ours, then each of the others, by turns. Returns of each of the others the pair with the median ratio."""
    runs = [(ours(), [other() for other in others]) for _ in range(rounds)]
    return [sorted(((run[0], run[1][i]) for run in runs), key=lambda pair: pair[0] / pair[1])[rounds // 2]
            for i in range(len(others))]


def main():
    build, mib = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "2048"
    uploaded = max(2 * PART // MIB, int(mib) // 4)
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
            others = Baselines(build, url)
            whole = by_turns(lambda: run("whole"), [others.boto3, others.s5cmd, others.bare_gets])
            upload = by_turns(lambda: run("upload", str(uploaded)),
                              [lambda: others.bare_puts(uploaded), lambda: others.boto3_upload(uploaded)])
        finally:
            server.terminate()
            server.wait()
    most = (128 << 10) + 8 * records / 1024 + AHEAD * PIECE / 1024
    print(result("1 KiB, global order, 2nd epoch, cache", rates["local"] * rates["cached_of_local"], rates["local"],
                 "local files", "MiB/s", 0.9))
    print(result("1 KiB, global order, 1st epoch, cache", rates["first"], rates["local"], "local files", "MiB/s", None))
    print(result("1 KiB, by blocks of 1 MiB", rates["stream"] * rates["blocks_of_stream"], rates["stream"], "stream",
                 "MiB/s", 0.7))
    print(result("1 KiB, by blocks of 4 MiB", rates["stream"] * rates["long_blocks_of_stream"], rates["stream"],
                 "stream", "MiB/s", 0.7))
    print(result("RssAnon, cache, 2 epochs", memory["cached"] / 1024, most / 1024, "the limit", "MiB", 1))
    print(result("RssAnon, no cache", memory["without"] / 1024, most / 1024, "the limit", "MiB", 1))
    for (ours, theirs), name, target in zip(whole, ("boto3, 16 threads", "s5cmd cat, 16 pieces", "16 bare sockets"),
                                            (1.1, None, 0.85)):
        print(result("whole objects", ours, theirs, name, "MiB/s", target))
    for (ours, theirs), name, target in zip(upload, ("PUTs by 4 bare sockets", "boto3, 4 threads"), (0.8, None)):
        print(result("an upload by parts of 16 MiB", ours, theirs, name, "MiB/s", target))


main()
