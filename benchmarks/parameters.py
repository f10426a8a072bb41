# SPDX-License-Identifier: Apache-2.0
"""parameters.py BUILD [ROW...]: a parameter server beside others of its kind; prints lines of results.jsonl, and each
row to stderr when it is finished. ROWs are numbers, 1 to 13; all unless told. Rows 10, 11 and 13 are in tables.py; row
12, update rules beside memory and plain loops, is what kernels.py prints.

Every peer is a program of benchmarks/parameters, one process for the server and one for the worker, over 127.0.0.1. The
server applies `value -= learning_rate * gradient` to a dense variable at every push. Ours is a task of job "ps" and a
worker that speaks the protocol's methods: contributions are named and counted once, all bytes have checksums. gRPC is
what a careful user writes by hand (packed bytes, one mutex, a plain loop at -O3 -march=native), with a server of
completion queues; "gRPC sync" has a server of threads, and where one call is in flight a worker that blocks. In flight
are 32 requests up to 64 KiB, 8 of 1 MiB, 2 of 16 MiB; of a push-pull the value counts once although it crosses the wire
twice. Turns, rounds and medians are those of rpc.py.

"sockets" is the least that there is over TCP (floor.cpp): blocking sockets, no names, no checksums, one block that
changes under who reads it. It has no target. Where gRPC is slower than it by less than a target asks of us, no server
over TCP reaches that target on this machine.

Rows 7 and 8: a table of 1 Mi rows of 64 bytes by any 64-bit keys, so many ascending keys a request, 16, 8 or 4 requests
in flight. All rows are pushed once; then 64 requests without a common key go by turns, so 1k keys touch 64 000 rows,
10k keys 640 000, and 100k keys, of which there are 10 requests, nearly all. Servers have two threads: ours a shard on
each, and a request is one call to each shard; gRPC a completion queue on each, or a thread a call; ps-lite those that it
makes. gRPC and ps-lite send the keys packed, 8 bytes each, keep the numbers of rows in a std::unordered_map and update
row by row.

ps-lite: PS_LITE names a checkout of it, when it is built and here. Without, its lines say "not given"."""
import os
import sys
import time

import rpc
import tables
from result import not_given
from rpc import Case, Line, Peer, cpu_per_gigabyte, gigabytes, key, note

rpc.PATIENCE = 60  # so that all of it takes 6 minutes at most
OURS, GRPC, SYNC, PS_LITE, SOCKETS = "ours", "gRPC", "gRPC sync", "ps-lite", "sockets"
PEERS = [OURS, GRPC, SYNC, PS_LITE]


def peers(build):
    """All that there are, by name."""
    program = f"{build}/benchmarks/benchmark_parameters_"
    found = [Peer(OURS, program + "ours"), Peer(GRPC, program + "grpc"),
             Peer(SYNC, program + "grpc", ["--style", "sync"]), Peer(SOCKETS, program + "floor")]
    if os.environ.get("PS_LITE"):
        found.append(Peer(PS_LITE, program + "ps_lite"))
    return {peer.name: peer for peer in found if os.access(peer.program, os.X_OK)}


# row, of what size, bytes, in flight, seconds, {method: targets}, targets of CPU (row 6); targets are of gRPC, ps-lite
DENSE = [
    ("1", "4 KiB", 4 << 10, 32, 0.4, {"push": (20, 6)}, (0.04, 0.15)),
    ("2", "4 KiB", 4 << 10, 32, 0.4, {"pull": (20, 6)}, (0.04, 0.15)),
    ("3", "64 KiB", 64 << 10, 32, 0.4, {"push": (6, 2.8), "pull": (4.5, 1.6), "push-pull": (None, None)}, (0.2, 0.45)),
    ("4", "1 MiB", 1 << 20, 8, 0.5, {"push": (3, 1.6), "pull": (4, 1.6), "push-pull": (3.5, 1.8)}, (0.35, 0.6)),
    ("5", "16 MiB", 16 << 20, 2, 0.8, {"push": (2.3, 1.5), "pull": (2.3, 1.4), "push-pull": (3.5, 1.3)}, (0.35, 0.6)),
]


# row, of how many keys, number, in flight, seconds, targets as above
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
            # What sends and receives much at once would wait for itself on blocking sockets.
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
    """Prints its lines, those of peers that are not given among them."""
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
