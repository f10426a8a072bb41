#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes and reads files in a real HDFS, also through a real HttpFS, while data nodes are killed. Reads TFRecords of
TensorFlow from there with the command `distrib`. Checks the messages when Hadoop refuses.

usage: webhdfs.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the command `distrib` is found from there.
"""

import hashlib
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "hadoop"))
import mini_hdfs  # noqa: E402

MIB = 1 << 20
SIZE = 256 * MIB


class Standby(http.server.BaseHTTPRequestHandler):
    """Serves as a name node in standby."""

    def refuse(self):
        body = json.dumps({"RemoteException": {
            "exception": "StandbyException", "javaClassName": "org.apache.hadoop.ipc.StandbyException",
            "message": "Operation category READ is not supported in state standby"}}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = refuse

    def log_message(self, *_):
        pass


class Files:
    """Runs the program `webhdfs` on the files of one HDFS."""

    def __init__(self, programs, user, servers):
        self.programs, self.user, self.servers = programs, user, servers

    def start(self, command, path, *words):
        return subprocess.Popen([self.programs / "webhdfs", command, f"hdfs://mini{path}", self.user, self.servers,
                                 *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, command, path, *words, pause=None, meanwhile=None):
        """Returns what the program prints. With `pause`, it waits after that many bytes while `meanwhile` runs."""
        process = self.start(command, path, *words, *([pause] if pause else []))
        if pause:
            said = process.stdout.readline()
            if said != "paused\n":
                sys.exit(f"{command} {path} printed {said!r} instead of \"paused\": {process.communicate()[1]}")
            meanwhile()
        output, errors = process.communicate("\n", timeout=500)
        if process.returncode != 0:
            sys.exit(f"{command} {path}: exit code {process.returncode}: {errors}")
        return output.strip()

    def refusal(self, command, path, *words):
        process = self.start(command, path, *words)
        _, errors = process.communicate("", timeout=300)
        if process.returncode != 1:
            sys.exit(f"{command} {path}: exit code {process.returncode}, a refusal was expected: {errors}")
        return errors


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")
    print(f"ok: {what}", flush=True)


def contains(what, text, *parts):
    missing = [part for part in parts if part not in text]
    if missing:
        sys.exit(f"{what}: {missing} is not in {text!r}")
    print(f"ok: {what}", flush=True)


def by_hadoop(hdfs, path):
    """Returns size and SHA-256 of a file, read by Hadoop itself."""
    url = f"{hdfs.url}/webhdfs/v1{path}?op=OPEN&user.name={hdfs.user}"
    size, digest = 0, hashlib.sha256()
    with urllib.request.urlopen(url, timeout=300) as answer:
        while piece := answer.read(MIB):
            size, _ = size + len(piece), digest.update(piece)
    return f"{size} {digest.hexdigest()}"


def large_files(hdfs, files):
    written = files.run("write", "/t/a b+é%41", SIZE)
    same("256 MiB as Hadoop reads them", by_hadoop(hdfs, "/t/a%20b%2B%C3%A9%2541"), written)
    same("256 MiB read back", files.run("read", "/t/a b+é%41"), written)
    same("no part files are left", files.run("list", "/t"), f"a b+é%41 {SIZE}")

    def dies(name):
        return lambda: hdfs.kill(name)

    same("a data node is killed while its file is read",
         files.run("read", "/t/a b+é%41", 0, pause=20 * MIB, meanwhile=dies("datanode0")), written)
    hdfs.wait("namenode", lambda: hdfs.live() == 1)  # before that the name node counts the dead one as alive, too
    hdfs.start("datanode0")
    hdfs.wait("datanode0", lambda: hdfs.live() == 2)
    same("the other one is killed while a file is written",
         files.run("write", "/t/second", SIZE, pause=100 * MIB, meanwhile=dies("datanode1")), written)
    hdfs.wait("namenode", lambda: hdfs.live() == 1)  # otherwise the name node may redirect this script to the dead one
    same("256 MiB as Hadoop reads them afterwards", by_hadoop(hdfs, "/t/second"), written)

    def stops_and_comes_back():
        hdfs.kill("datanode0")
        hdfs.start("datanode0")

    same("the only remaining data node stops and restarts while the file is read",
         files.run("read", "/t/second", 0, pause=20 * MIB, meanwhile=stops_and_comes_back), written)
    hdfs.start("datanode1")
    hdfs.wait("datanode1", lambda: hdfs.live() == 2)


def refusals(files, stranger):
    contains("a missing file", files.refusal("read", "/none"), "GETFILESTATUS /none",
             "FileNotFoundException: File does not exist: /none", "the file does not exist")
    contains("a directory", files.refusal("read", "/t"), "the path is a directory")
    contains("a user without permission", stranger.refusal("write", "/t/x", 10), "AccessControlException: Permission denied",
             "user=stranger", "the user has no permission")
    contains("below a file", files.refusal("write", "/t/small/x", 10), "ParentNotDirectoryException")
    contains("a name that exists", files.refusal("rename", "/t/small", "/t/empty"), "the target already exists")


def standby(hdfs, programs):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Standby)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    both = Files(programs, hdfs.user, f"{url},{hdfs.url}")
    same("the standby leads to the active name node", both.run("list", "/t/small"), "1000000")
    alone = Files(programs, hdfs.user, url)
    contains("a standby alone", alone.refusal("list", "/t"), "StandbyException",
             "none of the given name nodes is active: name all of them")


def records(hdfs, files, programs, directory):
    import tensorflow as tf  # imported only here, because it takes seconds
    payloads = [f"record {i} ".encode() * (i % 50) for i in range(20000)]
    digest = hashlib.sha256(b"".join(payloads)).hexdigest()
    for name, options in {"part-0": None, "part-1": "GZIP", "part-2": "ZLIB"}.items():
        path = str(directory / name)
        with tf.io.TFRecordWriter(path, options) as writer:
            for payload in payloads:
                writer.write(payload)
        with open(path, "rb") as stream:
            subprocess.run([programs / "webhdfs", "put", f"hdfs://mini/records/{name}", hdfs.user, hdfs.url],
                           stdin=stream, check=True)
    files.run("write", "/records/_SUCCESS", 0)
    command = programs.parent.parent / "tools/distrib"
    found = subprocess.run([command, "records", "count", "--json", "--namenode", hdfs.url, "--hdfs-user", hdfs.user,
                            "hdfs://mini/records/part-*"], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [json.loads(line) for line in found.splitlines()]
    same("TensorFlow's records, plain, gzip and zlib, by `distrib records`",
         [(row["file"], row["records"], row["sha256"], row["damage"]) for row in rows],
         [(f"hdfs://mini/records/part-{i}", len(payloads), digest, []) for i in range(3)])


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        with mini_hdfs.MiniHdfs(directory / "hdfs", data_nodes=2) as hdfs:
            files = Files(programs, hdfs.user, hdfs.url)
            large_files(hdfs, files)
            small = files.run("write", "/t/small", 1000000)
            empty = files.run("write", "/t/empty", 0)
            same("an empty file", (files.run("read", "/t/empty"), by_hadoop(hdfs, "/t/empty")), (empty, empty))
            refusals(files, Files(programs, "stranger", hdfs.url))
            standby(hdfs, programs)
            gateway = Files(programs, hdfs.user, "httpfs=" + hdfs.start_httpfs())
            same("read through HttpFS", gateway.run("read", "/t/small"), small)
            written = gateway.run("write", "/t/by httpfs", 100 * MIB)
            same("written through HttpFS", by_hadoop(hdfs, "/t/by%20httpfs"), written)
            same("written again, replacing the file", gateway.run("write", "/t/by httpfs", 1000000), small)
            same("and read back", (gateway.run("read", "/t/by httpfs"), by_hadoop(hdfs, "/t/by%20httpfs")), (small, small))
            contains("a missing file, through HttpFS", gateway.refusal("read", "/none"), "FileNotFoundException")
            records(hdfs, files, programs, directory)


main()
