#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real object stores (versitygw, SeaweedFS): boto3 reads what this library wrote, and this library reads what boto3
wrote, keys of all kinds, parts, conditions, listings, refusals; 2000 random requests are signed as botocore signs them;
and shards that save cuts are killed in uploads, which leaves nothing behind.

usage: s3.py PROGRAMS

PROGRAMS: the folder of the built interop programs.
"""

import json
import os
import pathlib
import random
import re
import select
import socket
import subprocess
import sys
import tempfile
import time

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions

ACCESS, SECRET, BUCKET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "bucket"
MIB = 1 << 20
PROGRAMS = pathlib.Path(sys.executable).parent  # where tools/s3.sh puts the servers
KEYS = ["a b+c", "x=y&z?w#v%25", "ü/日本", "tilde~star*(par)'q!", "com,ma;semi:colon@at$", "dir/deep/er"]
CONDITION_FAILED, NO_SUCH_OBJECT, DENIED = 9, 7, 4


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server with an empty bucket."""

    def __init__(self, folder, command, **environment):
        self.process = subprocess.Popen(command, stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT,
                                        env=os.environ | environment)
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = boto3.client("s3", endpoint_url=self.url, aws_access_key_id=ACCESS, aws_secret_access_key=SECRET,
                                   region_name="us-east-1",
                                   config=botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}))
        end = time.monotonic() + 300
        while True:
            try:
                self.client.create_bucket(Bucket=BUCKET)
                return
            except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit(f"{self.name} does not answer:\n" + (folder / "log").read_text()[-2000:])
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class VersityGw(Server):
    """A server of versitygw, whose objects are files."""

    name = "versitygw"

    def __init__(self, folder):
        self.port = free_port()
        (folder / "objects").mkdir()
        super().__init__(folder, [PROGRAMS / "versitygw", "--port", f"127.0.0.1:{self.port}", "--quiet", "posix",
                                  folder / "objects"], ROOT_ACCESS_KEY=ACCESS, ROOT_SECRET_KEY=SECRET)


class Weed(Server):
    """A server of SeaweedFS."""

    name = "SeaweedFS"

    def __init__(self, folder):
        self.port = free_port()
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": [{
            "name": "me", "credentials": [{"accessKey": ACCESS, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"]}]}))
        (folder / "data").mkdir()
        ports = [f"-{name}={free_port()}" for name in ("master.port", "volume.port", "filer.port")]
        grpc = [f"-{name}={free_port()}" for name in ("master.port.grpc", "volume.port.grpc", "filer.port.grpc",
                                                      "s3.port.grpc")]
        super().__init__(folder, [PROGRAMS / "weed", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                                  f"-dir={folder / 'data'}", "-s3", f"-s3.port={self.port}", f"-s3.config={config}",
                                  "-volume.max=100", *ports, *grpc])


class Ours:
    """Runs the program `s3`."""

    def __init__(self, programs, server):
        self.program = programs / "s3"
        self.environment = {"AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
                            "HOME": "/nonexistent", "PATH": os.environ["PATH"]}

    def run(self, command, key="", *words, data=b"", fails=None, **environment):
        done = subprocess.run([self.program, command, f"s3://{BUCKET}/{key}", *words], input=data, capture_output=True,
                              env=self.environment | environment)
        told = done.stderr.decode()
        assert SECRET not in told and "Signature=" not in told, told
        if fails is None:
            assert done.returncode == 0, f"{command} {key}: {told}"
            return done.stdout
        assert told.startswith(f"error: {fails} distrib.s3: "), f"{command} {key}: {told}"
        return told


def canonical_requests(programs):
    """Compares paths, queries and canonical requests with botocore's."""
    dice = random.Random(48)
    letters = "abcXYZ0189-._~/!*'()&$@=;:+ ,?\\{}^%`[]\"<>#|é日\n\t"

    def text(most, least=0):
        return "".join(dice.choice(letters) for _ in range(dice.randint(least, most)))

    asked, wanted = [], []
    signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(ACCESS, SECRET), "s3", "us-east-1")
    for _ in range(2000):
        method = dice.choice(["GET", "PUT", "POST", "DELETE", "HEAD"])
        key = text(30, 1)
        query = {text(8, 1): text(10) for _ in range(dice.randint(0, 4))}
        headers = {"host": "h", **{f"x-amz-{dice.choice('abcdefgh')}": "".join(dice.choices("aZ9 -,;=", k=8)).strip()
                                   for _ in range(dice.randint(0, 4))}}
        request = botocore.awsrequest.AWSRequest(
            method=method, url="http://h/bucket/" + botocore.auth.quote(key, safe="/~"), params=query, headers=headers)
        request.headers["X-Amz-Content-SHA256"] = "UNSIGNED-PAYLOAD"
        request.context["payload_signing_enabled"] = False
        wanted.append(signer.canonical_request(request))
        pairs = lambda named: ",".join(f"{n.encode().hex()}={v.encode().hex()}" for n, v in named)  # noqa: E731
        asked.append(f"{method} {key.encode().hex()} {pairs(query.items())} "
                     f"{pairs([*headers.items(), ('x-amz-content-sha256', 'UNSIGNED-PAYLOAD')])}")
    done = subprocess.run([programs / "s3", "canonical"], input="\n".join(asked).encode(), capture_output=True, check=True)
    for line, right, question in zip(done.stdout.decode().splitlines(), wanted, asked, strict=True):
        ours = bytes.fromhex(line.rsplit(" ", 1)[1]).decode()
        assert ours == right, f"{question}\nours:\n{ours}\nbotocore:\n{right}"


def objects(ours, boto):
    dice = random.Random(1)
    for key in KEYS:
        data = dice.randbytes(1000)
        ours.run("put", key, data=data)
        assert boto.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data, key
        boto.put_object(Bucket=BUCKET, Key=key, Body=data[::-1])
        assert ours.run("get", key) == data[::-1], key
    listed = [line.split(" ", 2)[2] for line in ours.run("list").decode().splitlines()]
    assert listed == sorted(KEYS, key=str.encode), listed
    ours.run("put", "empty", data=b"")
    assert ours.run("get", "empty") == b""

    data = dice.randbytes(11 * MIB + 5)
    version = ours.run("put", "large", data=data).decode().strip()
    told = boto.head_object(Bucket=BUCKET, Key="large")
    assert told["ETag"] == version and told["ContentLength"] == len(data), told
    assert boto.get_object(Bucket=BUCKET, Key="large")["Body"].read() == data
    assert ours.run("get", "large") == data
    ours.run("copy", "large", "copied/large")
    assert ours.run("get", "copied/large") == data

    ours.run("remove", "", *KEYS, "large", "copied/large", "empty", "never there")
    assert ours.run("list") == b""


def conditions(ours, boto):
    first = ours.run("absent", "c", data=b"1").decode().strip()
    ours.run("absent", "c", data=b"2", fails=CONDITION_FAILED)
    second = ours.run("replace", "c", first, data=b"3").decode().strip()
    ours.run("replace", "c", first, data=b"4", fails=CONDITION_FAILED)
    assert ours.run("info", "c").decode().split()[1] == second
    assert boto.get_object(Bucket=BUCKET, Key="c")["Body"].read() == b"3"


def uploads(ours, boto):
    upload = boto.create_multipart_upload(Bucket=BUCKET, Key="u/x")["UploadId"]
    assert ours.run("uploads", "u/").decode().split() == [upload, "u/x"]
    boto.abort_multipart_upload(Bucket=BUCKET, Key="u/x", UploadId=upload)
    assert ours.run("uploads", "u/") == b""


def pages(ours, boto):
    for number in range(1100):
        boto.put_object(Bucket=BUCKET, Key=f"p/{number:05}", Body=b"")
    assert len(ours.run("list", "p/").splitlines()) == 1100
    ours.run("remove", "", *[f"p/{number:05}" for number in range(1100)])
    assert ours.run("list", "p/") == b""


def refusals(ours):
    told = ours.run("get", "none", fails=NO_SUCH_OBJECT)
    assert f"HEAD s3://{BUCKET}/none" in told, told
    for wrong in ({"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_ACCESS_KEY_ID": "wrong"}):
        ours.run("list", fails=DENIED, **wrong)


class Shard:
    """A process of one shard of a job that saves cuts: the program `cut_uploads`."""

    def __init__(self, programs, environment, number):
        self.command, self.environment = [programs / "cut_uploads", f"s3://{BUCKET}/run", str(number)], environment
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.asked, self.newest = None, int(self.answer())

    def answer(self):
        line = self.process.stdout.readline().strip()
        assert line, f"shard {self.command[-1]} ended with code {self.process.wait()}"
        return line

    def ask(self, command, step):
        self.asked = f"{command} {step}"
        print(self.asked, file=self.process.stdin, flush=True)

    def answers(self):
        """True if it has done what it was asked, without waiting for it."""
        return not self.asked or select.select([self.process.stdout], [], [], 0)[0] != []

    def done(self):
        assert not self.asked or self.answer() == self.asked
        self.asked = None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def uploads_there(boto):
    """The identifiers of the uploads that are not over, and the shard of each."""
    listed = boto.list_multipart_uploads(Bucket=BUCKET, Prefix="run/").get("Uploads", [])
    return {one["UploadId"]: int(re.search(r"/(\d+)-of-", one["Key"])[1]) for one in listed}


def kills_in_uploads(programs, ours, boto, kills):
    """Two shards save cuts; in each step the process of one of them is killed in its upload. Returns the steps."""
    shards, step, killed, last_kill = [Shard(programs, ours.environment, number) for number in range(2)], 0, 0, 0
    seen, end = set(), time.monotonic() + 120 + 20 * kills
    while killed < kills or step < last_kill + 4 or step % 2 == 0:  # the last step is not wanted
        assert time.monotonic() < end, f"{killed} of {kills} kills were in an upload"
        step += 1
        for shard in shards:
            shard.ask("save", step)
        while killed < kills and last_kill < step and not all(shard.answers() for shard in shards):
            for upload, number in uploads_there(boto).items():
                if upload in seen or last_kill == step:
                    continue
                seen.add(upload)
                shards[number].kill()
                if upload in uploads_there(boto):  # else it was over before
                    killed, last_kill = killed + 1, step
                shards[number].start()
                if shards[number].newest < step:
                    shards[number].ask("save", step)
        for shard in shards:
            shard.done()
            if step > 2:
                shard.ask("drop", step - 2)
                shard.done()
    for shard in 4 * shards:  # each look removes cuts, or finds out which may go
        shard.ask("look", step)
        shard.done()
    for shard in shards:
        shard.end()
    what_is_left(boto, step)
    return step


def what_is_left(boto, step):
    """Claims of both last processes, the two newest checkpoints with their cuts, and the newest cut of each shard."""
    uploads = uploads_there(boto)
    assert not uploads, f"uploads are left: {uploads}"
    keys = [one["Key"] for one in boto.list_objects_v2(Bucket=BUCKET, Prefix="run/")["Contents"]]
    claims = [key for key in keys if key.startswith("run/claims/")]
    indexes = [key for key in keys if key.startswith("run/model.ckpt-")]
    cuts = [key for key in keys if key.startswith("run/cuts/")]
    assert len(claims) == 2 and len(claims) + len(indexes) + len(cuts) == len(keys), keys
    assert [int(re.search(r"ckpt-(\d+)", key)[1]) for key in indexes] == [step - 3, step - 1], indexes
    named = b"".join(boto.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in indexes)
    others = [key for key in cuts if key.removeprefix("run/").encode() not in named]
    assert len(cuts) == 6 and [key.split(".")[0] for key in others] == \
        [f"run/cuts/{step:020}/{shard:05}-of-00002" for shard in range(2)], cuts


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    canonical_requests(programs)
    print("2000 requests are signed as botocore signs them")
    for kind, kills in (VersityGw, 50), (Weed, 10):
        with tempfile.TemporaryDirectory() as folder:
            server, began = kind(pathlib.Path(folder)), time.monotonic()
            try:
                ours = Ours(programs, server.url)
                objects(ours, server.client)
                conditions(ours, server.client)
                uploads(ours, server.client)
                pages(ours, server.client)
                refusals(ours)
                print(f"{kind.name}, boto3 and this library agree ({time.monotonic() - began:.0f} s)", flush=True)
                began = time.monotonic()
                steps = kills_in_uploads(programs, ours, server.client, kills)
                print(f"{kind.name}: {kills} kills in uploads, {steps} steps of two shards, and nothing but checkpoints,"
                      f" newest cuts and claims is left ({time.monotonic() - began:.0f} s)", flush=True)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
