# SPDX-License-Identifier: Apache-2.0
"""The rows of main_job_tensorflow.py about tables: gathering and scattering rows of 64 bytes of a table of 1 Mi rows,
with one parameter server and one worker, each a process, over 127.0.0.1. Ours is the program of parameters.py with a
table whose keys are the numbers of the rows; the server keeps such a table as an array, as TensorFlow does
(parameters/tensorflow_peer.py). Our server has one shard on each of two threads; TensorFlow makes its own threads. Both
have the same number of keys in each request (random, ascending, no key twice) and the same number of requests in
flight, and both build the messages before measuring. Turns, rounds and medians are as in rpc.py, but with 3 rounds,
because TensorFlow's worker must be started for each measurement."""
import importlib.metadata
import pathlib
import socket
import sys

import rpc
from rpc import Case, Line, Peer

OURS = "ours"
# name, keys of a request, requests in flight, seconds, least ratio to TensorFlow's keys a second
REQUESTS = [("1k", 1000, 16, 0.5, 6), ("10k", 10000, 8, 0.6, 1.5), ("100k", 100000, 4, 1.0, 1.5)]


def free_ports(number):
    """Returns `number` ports that are free now. Trap: another process may take one before it is used."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [str(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def report(build):
    """Prints lines of results.jsonl to stdout, and each row to stderr. Raises RuntimeError if a peer does not run."""
    rpc.ROUNDS, rpc.PATIENCE = 3, 30
    tensorflow = "TF " + importlib.metadata.version("tensorflow-cpu")
    server, worker = free_ports(2)
    known = {OURS: Peer(OURS, f"{build}/benchmarks/benchmark_parameters_ours", ["--numbered", "--threads", "2"]),
             tensorflow: Peer(tensorflow, sys.executable, ["--server_port", server, "--worker_port", worker],
                              ["-B", str(pathlib.Path(__file__).parent / "parameters" / "tensorflow_peer.py")])}
    for method, what in ("pull", "gather"), ("push", "scatter"):
        for keys, number, flight, seconds, target in REQUESTS:
            line = Line(f"main-job-tensorflow {what} {keys} rows of 64 B", lambda m, n=number: m["rate"] * n / 1e6,
                        "M/s", {tensorflow: target})
            load = ["--method", method, "--keys", str(number), "--in_flight", str(flight), "--seconds", str(seconds)]
            if not rpc.run_case(Case(set(), f"{what} {keys} rows", [OURS, tensorflow], [line], load), known):
                raise RuntimeError(f"{what} of {keys} rows: our program or TensorFlow's does not run")
