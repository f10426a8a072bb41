#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as parameter servers and workers on YARN. Each is a map task of one job, which sets its TF_CONFIG.

usage: launch.py [--ps N] [--workers N] [--retries N] [-D KEY=VALUE]... PROGRAM ARGUMENT...

Example: launch.py --ps 1 --workers 2 ./train --steps=1000
It calls `hdfs` and `mapred`. The tasks ask this process for their roles, so it must run until the end, and they must be
able to reach its port.
"""
import argparse, ctypes, json, os, secrets, select, socket, subprocess, sys  # noqa: E401


def line_from(connection):  # empty if the other end is gone
    line = b""
    while not line.endswith(b"\n") and len(line) < 1 << 20:
        line, before = line + connection.recv(1), line
        if line == before:
            return ""
    return line.decode()


def run_task(address, token):  # in a container
    server = socket.create_connection(address.rsplit(":", 1))
    with socket.create_server(("", 0)) as held:  # keeps a port until all tasks have one
        hello = [token, f"{server.getsockname()[0]}:{held.getsockname()[1]}"]
        server.sendall(json.dumps(hello).encode() + b"\n")
        told = json.loads(line_from(server) or sys.exit(3))
    start = lambda: subprocess.Popen(told["program"], env=dict(os.environ, TF_CONFIG=told["TF_CONFIG"]), stdout=sys.stderr,
                                     preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 15))  # SIGTERM if this process dies
    child, retries = start(), told["retries"]
    while not select.select([server], [], [], 0.5)[0]:  # until the other end hangs up
        code = child.poll()
        if code is not None and (code == 1 or code < 0) and retries > 0:  # 1: asks for a restart; < 0: a signal
            child, retries, code = start(), retries - 1, None
        if code is not None:
            server.sendall(b"%d\n" % code)
            select.select([server], [], [])
    child.terminate()
    child.wait()


def serve(server, job, options, token):  # sends the roles once all tasks are connected; returns the first code except 0
    talks, hosts, codes = [], [], {}
    count = options.ps + options.workers
    while len(codes) < count and not any(codes.values()):
        if job.poll() is not None:
            return job.returncode or 3
        for ready in select.select([server, *(t for i, t in enumerate(talks) if i not in codes)], [], [], 0.5)[0]:
            if ready is not server:
                code = codes[talks.index(ready)] = int(line_from(ready) or 3)  # a lost connection is a lost container
                print(f"task {talks.index(ready)} of {count}: exit code {code}", flush=True)
            elif len(talks) < count:
                talk = server.accept()[0]
                talk.settimeout(10)
                proof, host = json.loads(line_from(talk) or "[0, 0]")
                if secrets.compare_digest(str(proof), token):
                    talks, hosts = [*talks, talk], [*hosts, host]
                for i, talk in enumerate(talks if len(talks) == count else []):
                    task = {"type": "ps", "index": i} if i < options.ps else {"type": "worker", "index": i - options.ps}
                    config = {"cluster": {"ps": hosts[:options.ps], "worker": hosts[options.ps:]}, "task": task}
                    told = {"TF_CONFIG": json.dumps(config), "program": options.program, "retries": options.retries}
                    talk.sendall(json.dumps(told).encode() + b"\n")
    return next((c if c > 0 else 128 - c for c in codes.values() if c), 0)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    for flag, default in (("--ps", 2), ("--workers", 3), ("--retries", 10)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("-D", action="append", default=[], dest="settings")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    token, folder = secrets.token_hex(16), f"distrib-{secrets.token_hex(4)}"
    lines = "".join(f"{i}\n" for i in range(options.ps + options.workers))  # one map task per line
    settings = ["mapreduce.job.reduces=0", "mapreduce.map.speculative=false", "mapreduce.map.maxattempts=1",
                "mapreduce.task.timeout=0", *options.settings]
    subprocess.run(["hdfs", "dfs", "-mkdir", "-p", folder], check=True)
    subprocess.run(["hdfs", "dfs", "-put", "-", f"{folder}/in"], input=lines, text=True, check=True)
    with socket.create_server(("", 0)) as server:
        here = f"{socket.gethostbyname(socket.gethostname())}:{server.getsockname()[1]}"
        job = subprocess.Popen(["mapred", "streaming", *(w for s in settings for w in ("-D", s)), "-files", __file__,
                                "-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat", "-input", f"{folder}/in",
                                "-output", f"{folder}/out", "-mapper", f"python3 launch.py --task {here} {token}"])
        code = serve(server, job, options, token)
    job.wait()
    subprocess.run(["hdfs", "dfs", "-rm", "-r", "-skipTrash", folder], check=False, stdout=subprocess.DEVNULL)
    sys.exit(code)


if __name__ == "__main__":
    run_task(*sys.argv[2:]) if sys.argv[1:2] == ["--task"] else main()
