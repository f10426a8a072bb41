# SPDX-License-Identifier: Apache-2.0
"""parameters.py BUILD [ROW...]: compares the library's parameter server with others. Prints lines of results.jsonl to
stdout, and each row to stderr when it is finished. ROWs are numbers from 1 to 13; without any, all are measured. Rows
10, 11 and 13 are in tables.py; row 12, update rules compared with memcpy and plain loops, is printed by kernels.py.

Every peer is a program of benchmarks/parameters, with one process for the server and one for the worker, over
127.0.0.1. At every push the server applies `value -= learning_rate * gradient` to a dense variable. Ours is a task of
job "ps" and a worker that calls the protocol's methods: contributions have names and count once, all bytes have
checksums. gRPC is what a careful user writes by hand (packed bytes, one mutex, a plain loop at -O3 -march=native), with
a server of completion queues; "gRPC sync" has a server with threads, and a worker that blocks if only one call is in
flight. 32 requests of up to 64 KiB are in flight, 8 of 1 MiB, 2 of 16 MiB. A push-pull counts its values once, although
they are sent in both directions. Turns, rounds and medians are as in rpc.py.

"sockets" is the lower bound over TCP (floor.cpp): blocking sockets, no names, no checksums, and a pull may see values
that change meanwhile. It has no target. If "sockets" beats gRPC by less than our target demands, no server over TCP can
reach that target on this machine.

Rows 7 and 8: a table of 1 Mi rows of 64 bytes with arbitrary 64-bit keys; each request has the keys in ascending order,
and 16, 8 or 4 requests are in flight. All rows are pushed once; then up to 64 requests without a common key are sent in
turn: with 1k keys they use 64 000 rows, with 10k keys 640 000, and with 100k keys, where there are only 10 requests,
nearly all. Servers have two threads: ours has a shard on each, and a request is one call to each shard; gRPC has a
completion queue on each, or a thread for each call; ps-lite makes its own threads. gRPC and ps-lite send the keys
packed, 8 bytes each, keep the positions of rows in a std::unordered_map and update row by row.

ps-lite: PS_LITE names a checkout of it when the benchmarks are built. Without it, the lines of ps-lite say "not
given"."""
import os
import sys
import time

import rpc
import tables
from result import not_given
from rpc import Case, Line, Peer, cpu_per_gigabyte, gigabytes, key, note

rpc.PATIENCE = 60  # seconds, so that all rows together take 6 minutes at most
OURS, GRPC, SYNC, PS_LITE, SOCKETS = "ours", "gRPC", "gRPC sync", "ps-lite", "sockets"
PEERS = [OURS, GRPC, SYNC, PS_LITE]


def peers(build):
    """Returns {name: Peer} of all peers whose program exists."""
    program = f"{build}/benchmarks/benchmark_parameters_"
    found = [Peer(OURS, program + "ours"), Peer(GRPC, program + "grpc"),
             Peer(SYNC, program + "grpc", ["--style", "sync"]), Peer(SOCKETS, program + "floor")]
    if os.environ.get("PS_LITE"):
        found.append(Peer(PS_LITE, program + "ps_lite"))
    return {peer.name: peer for peer in found if os.access(peer.program, os.X_OK)}


# row, size, bytes, requests in flight, seconds, {method: targets}, targets for CPU (row 6). Targets: (gRPC, ps-lite)
DENSE = [
    ("1", "4 KiB", 4 << 10, 32, 0.4, {"push": (20, 6)}, (0.04, 0.15)),
    ("2", "4 KiB", 4 << 10, 32, 0.4, {"pull": (20, 6)}, (0.04, 0.15)),
    ("3", "64 KiB", 64 << 10, 32, 0.4, {"push": (6, 2.8), "pull": (4.5, 1.6), "push-pull": (None, None)}, (0.2, 0.45)),
    ("4", "1 MiB", 1 << 20, 8, 0.5, {"push": (3, 1.6), "pull": (4, 1.6), "push-pull": (3.5, 1.8)}, (0.35, 0.6)),
    ("5", "16 MiB", 16 << 20, 2, 0.8, {"push": (2.3, 1.5), "pull": (2.3, 1.4), "push-pull": (3.5, 1.3)}, (0.35, 0.6)),
]


# row, method, size, keys of a request, requests in flight, seconds, targets as above
SPARSE = [
    ("7", "push", "1k", 1000, 16, 0.4, (4.5, 2.2)), ("7", "push", "10k", 10000, 8, 0.5, (1.8, 1.8)),
    ("7", "push", "100k", 100000, 4, 0.8, (1.8, 2.2)),
    ("8", "pull", "1k", 1000, 16, 0.4, (3, 1.8)), ("8", "pull", "10k", 10000, 8, 0.5, (1.2, 1.2)),
    ("8", "pull", "100k", 100000, 4, 0.8, (1.5, 1.8)),
]


TWO = ["--threads", "2"]


def against(of_grpc, of_ps_lite):
    return {GRPC: of_grpc, SYNC: of_grpc, PS_LITE: of_ps_lite}


def cases():
    for row, size, number, flight, seconds, methods, cpu in DENSE:
        for method, targets in methods.items():
            # With blocking sockets a push-pull could deadlock: both ends would send much at the same time.
            peers, floor = (PEERS, {}) if method == "push-pull" else (PEERS + [SOCKETS], {SOCKETS: None})
            yield Case({row, "6"}, f"{method} {size}", peers, [
                Line(f"row{row} dense {method} {size}", gigabytes(number), "GB/s", {**against(*targets), **floor}),
                Line(f"row6 dense {method} {size}, CPU", cpu_per_gigabyte(number), "s/GB", {**against(*cpu), **floor}),
            ], ["--method", method, "--bytes", str(number), "--in_flight", str(flight), "--seconds", str(seconds)],
                ["--bytes", str(number)])
    for row, method, keys, number, flight, seconds, targets in SPARSE:
        yield Case({row}, f"{method} {keys} rows of 64 B", PEERS, [
            Line(f"row{row} {method} {keys} rows of 64 B", lambda m, n=number: m["rate"] * n / 1e6, "M/s",
                 against(*targets)),
        ], ["--method", method, "--keys", str(number), "--in_flight", str(flight), "--seconds", str(seconds), *TWO],
            TWO)
    yield Case({"9"}, "push 64 B, 1 in flight", PEERS, [
        Line("row9 push 64 B p50", key("p50"), "us", against(0.25, 0.25)),
        Line("row9 push 64 B p99", key("p99"), "us", against(0.25, 0.25)),
    ], ["--method", "push", "--bytes", "64", "--latency"], ["--bytes", "64"])


def run_case(case, known):
    """Measures a case and prints its lines, also a line "not given" for ps-lite if it is not available."""
    medians = rpc.run_case(case, known)
    for line in case.lines:
        if line.name in medians and PS_LITE not in medians[line.name]:
            print(not_given(line.name, medians[line.name][OURS], PS_LITE, line.unit), flush=True)


def main():
    build, wanted = sys.argv[1], set(sys.argv[2:])
    known = peers(build)
    if OURS not in known:
        note(f"error: {build} has no benchmark_parameters_ours; benchmarks/run.sh parameters builds it")
        return 70
    if GRPC not in known:
        note("  without gRPC: its packages were not found when the benchmarks were configured")
    if PS_LITE not in known:
        note("  ps-lite: not given (PS_LITE names a checkout)")
    began = time.monotonic()
    for case in cases():
        if not wanted or case.rows & wanted:
            run_case(case, known)
    for row, function in ("10", tables.row10), ("11", tables.row11), ("13", tables.row13):
        if not wanted or row in wanted:
            function(build)
    note(f"  {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
