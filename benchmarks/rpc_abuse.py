# SPDX-License-Identifier: Apache-2.0
"""rpc_abuse.py BUILD [R...]: abuses a server of the library and measures times, memory and the rate of a well-behaved
client beside the abuse. Prints lines of results.jsonl to stdout, and what it observes to stderr. The cases are R1 to
R10; without any, all are run. Tests check the logic of these cases in simulated time; this script measures the
milliseconds on real sockets."""
import contextlib
import json
import os
import random
import resource
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import rpc
from result import result

HIGH_WATER = 32  # MiB, the most that the server owes one connection (rpc/ours.cpp)
GREETING_WITHIN = 5.0  # seconds that a greeting may take: the default of RpcServerOptions
HALF_FRAME_WITHIN = 1.0  # seconds that the rest of a frame may take (rpc/ours.cpp)
GRACE = 2.0  # seconds that a drain may take (rpc/ours.cpp)
SCRATCH = 256  # KiB that 20 bad connections may cost together
HEADER = 32  # bytes of a frame header


def say(text):
    print("  " + text, file=sys.stderr, flush=True)


def tell(name, ours, figure, unit, baseline="figure", target=1):
    say(f"{name}: {ours:.3g} {unit} ({baseline} {figure:.3g})")
    print(result(name, ours, figure, baseline, unit, target), flush=True)


def missing(name, why):
    say(f"{name}: NO FIGURE: {why}")


# --- pieces ---

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def until_closed(connection, said, limit):
    """Sends `said`. Returns the milliseconds until the other end closes; None if it does not within `limit` seconds."""
    began = time.monotonic()
    with contextlib.suppress(OSError):
        connection.sendall(said)
    while True:
        left = began + limit - time.monotonic()
        if left <= 0:
            return None
        connection.settimeout(left)
        try:
            if not connection.recv(65536):
                break
        except socket.timeout:
            return None
        except OSError:
            break
    return 1e3 * (time.monotonic() - began)


def recorded(known, arguments, role="load"):
    """Returns the first bytes that a client sends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = subprocess.Popen([known["ours"].program, role, "--port", str(listener.getsockname()[1]), *arguments],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            connection = listener.accept()[0]
            connection.settimeout(0.5)
            said = b""
            with contextlib.suppress(OSError):
                while True:
                    more = connection.recv(65536)
                    if not more:
                        break
                    said += more
            connection.close()
            return said
        finally:
            client.kill()
            client.communicate()


class Wire:
    """Frames as a real client of the library sends them."""

    def __init__(self, known):
        self.greeting = recorded(known, [], "idle")
        said = recorded(known, ["--in_flight", "1"])
        assert len(said) > len(self.greeting) + HEADER
        self.request = said[len(self.greeting):]

    def bogus(self, offset):
        """Returns a request's header that announces nearly 4 GiB, with a valid checksum. `offset`: which length it
        sets: 12: of the head, 24: of the body."""
        header = bytearray(self.request[:HEADER])
        header[offset:offset + 4] = b"\xf0\xff\xff\xff"
        header[28:32] = struct.pack("<I", crc32c(header[:28]))
        return bytes(header)


def neighbour(server, seconds=0.5):
    """Returns the rate of a well-behaved client, in thousand calls a second."""
    done = subprocess.run(server.load(["--in_flight", "32", "--seconds", str(seconds)]), check=True, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          preexec_fn=rpc.prepare("free", False))
    return json.loads(done.stdout)["rate"] / 1e3


class Peak(threading.Thread):
    """Samples the memory of a server inside a `with` block; `most` is the maximum, in KiB."""

    def __init__(self, server):
        super().__init__()
        self.server, self.most, self.ends = server, 0, False

    def run(self):
        while not self.ends:
            self.most = max(self.most, self.server.memory())
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.join()


def client(known, role, server, arguments=()):
    return subprocess.Popen([known["abuse"].program, role, "--port", str(server.port), *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def line_of(process, limit=20):
    ready, _, _ = select.select([process.stdout], [], [], limit)
    line = process.stdout.readline() if ready else ""
    if not line:
        process.kill()
        raise RuntimeError(process.communicate()[1].strip() or "no line of output in time")
    return json.loads(line)


# --- R1 to R10 ---

def r1(known, wire):
    noise = random.Random(1).randbytes(4096)
    cases = (("garbage", noise), ("garbage after the greeting", wire.greeting + noise),
             ("bogus length before the greeting", wire.bogus(24)), ("bogus body", wire.greeting + wire.bogus(24)),
             ("bogus head", wire.greeting + wire.bogus(12)))
    for what, said in cases:
        with rpc.Server(known["ours"]) as server:
            neighbour(server, 0.1)
            before, times = server.memory(), []
            for _ in range(20):
                with connect(server.port) as connection:
                    times.append(until_closed(connection, said, 2))
            if None in times:
                missing(f"R1 {what}", f"{times.count(None)} of {len(times)} connections stay open for 2 s")
            else:
                tell(f"R1 {what}: until closed", max(times), 10, "ms")
            tell(f"R1 {what}: memory of 20", max(server.memory() - before, 0), SCRATCH, "KiB")


def r2(known, wire):
    for what, said, limit in (("half a greeting", wire.greeting[:20], GREETING_WITHIN),
                              ("half a frame", wire.greeting + wire.request[:20], HALF_FRAME_WITHIN)):
        with rpc.Server(known["ours"]) as server, connect(server.port) as connection:
            took = until_closed(connection, said, limit + 2)
        if took is None:
            missing(f"R2 {what}", f"it is still open after {limit + 2:.0f} s")
        else:
            tell(f"R2 {what}: until closed", took / 1e3, limit + 0.5, "s")
    with rpc.Server(known["ours"], place="free") as server:
        quiet, among, halves = [], [], []
        neighbour(server)
        for _ in range(3):
            quiet.append(neighbour(server))
            for _ in range(min(10000, most_connections())):
                halves.append(connect(server.port))
                halves[-1].sendall(wire.greeting + wire.request[:20])
            time.sleep(0.2)
            among.append(neighbour(server))
            count = len(halves)
            while halves:
                reset(halves.pop())
            time.sleep(0.2)
        tell(f"R2 {count} half frames: a neighbour's rate", statistics.median(among), statistics.median(quiet), "k/s",
             "alone", 0.9)


def most_connections():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200


def r3(known, _):
    """A client asks for 512 replies of 1 MiB, each in new memory, but the replies are never read: between the two is a
    pipe that forwards only requests."""
    with rpc.Server(known["ours"], place="free") as server:
        neighbour(server, 0.1)
        quiet = [neighbour(server) for _ in range(3)]
        before = server.memory()
        with socket.create_server(("127.0.0.1", 0)) as pipe, Peak(server) as peak:
            asks = subprocess.Popen([known["ours"].program, "load", "--method", "make", "--bytes", "1048576",
                                     "--in_flight", "512", "--port", str(pipe.getsockname()[1])],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            try:
                there, back = connect(server.port), pipe.accept()[0]
                back.settimeout(0.5)
                with contextlib.suppress(OSError):
                    while True:
                        there.sendall(back.recv(65536))
                time.sleep(0.5)
                slow = [neighbour(server) for _ in range(5)]
            finally:
                asks.kill()
                asks.communicate()
        reset(there)
        back.close()
        time.sleep(0.3)
        after = server.memory()
        quiet += [neighbour(server) for _ in range(2)]
        tell("R3 slow reader: most memory", (peak.most - before) / 1024, HIGH_WATER + 1, "MiB", "high water + 1",
             1.05)
        tell("R3 slow reader: a neighbour's rate", statistics.median(slow), statistics.median(quiet), "k/s",
             "alone", 0.9)
        tell("R3 slow reader: memory after it", max(after - before, 0) / 1024, 4, "MiB")


def r4(known, _):
    with rpc.Server(known["ours"]) as server:
        seen = line_of(client(known, "deadline", server))
    tell("R4 deadline of 50 ms: median", seen["median"], 55, "ms")
    tell("R4 deadline of 50 ms: latest of 40", seen["most"], 55, "ms")
    if seen["least"] < 49:
        missing("R4", f"a deadline of 50 ms passed after only {seen['least']} ms")
    tell("R4 calls lost beside it", 4 - seen["neighbours"], 1, "", "one", 0.5)


def r5(known, _):
    for arguments in ["--in_flight", "32"], ["--in_flight", "1000"]:
        server = rpc.Server(known["ours"])
        process = client(known, "pending", server, arguments)
        line_of(process)
        killed = time.clock_gettime(time.CLOCK_MONOTONIC)
        server.stop()
        seen = line_of(process)
        name = f"R5 server killed, {arguments[1]} calls in flight"
        tell(f"{name}: last has failed", 1e3 * (seen["last"] - killed), 10, "ms")
        say(f"{name}: {seen['reason']!r}; each once: {seen['once']}; inline: {seen['inline']}; the next call fails "
            f"after {seen['later']} ms")
        tell(f"{name}: wrong ends", (not seen["once"]) + seen["inline"], 1, "", "one", 0.5)


def r6(known, _):
    server = rpc.Server(known["ours"])
    process = client(known, "drain", server)
    line_of(process)
    began = time.monotonic()
    server.process.terminate()
    seen = line_of(process)
    try:
        server.process.wait(10)
        tell("R6 drain with 3 calls of 300 ms: until the server is gone", 1e3 * (time.monotonic() - began), 400, "ms")
    except subprocess.TimeoutExpired:
        missing("R6 drain with 3 calls of 300 ms", "the server has not ended in 10 s")
    server.stop()
    tell("R6 calls lost by a drain", 3 - seen["answered"], 1, "", "one", 0.5)
    say(f"R6 a new call while it drains: {seen['refused']}")

    server = rpc.Server(known["ours"])
    process = client(known, "pending", server, ["--in_flight", "1"])
    line_of(process)
    began = time.monotonic()
    server.process.terminate()
    try:
        server.process.wait(10)
        tell("R6 drain with a call that is never answered: until the server is gone", time.monotonic() - began,
             GRACE + 0.5, "s")
    except subprocess.TimeoutExpired:
        missing("R6 grace limit", "a call that is never answered keeps the server for more than 10 s")
    server.stop()
    process.kill()
    process.communicate()


def latency(server):
    done = subprocess.run(server.load(["--latency", "--seconds", "0.5"]), check=True, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          preexec_fn=rpc.prepare("free", False))
    return json.loads(done.stdout)["p50"]


def r7(known, _):
    count = min(10000, most_connections())
    with rpc.Server(known["ours"], place="free") as server:
        latency(server)
        quiet = [latency(server) for _ in range(3)]
        before = server.memory()
        idle = subprocess.Popen(server.load(["--connections", str(count)], role="idle"), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)
        try:
            line_of(idle, 60)
            time.sleep(0.5)
            tell(f"R7 {count} silent connections, each", (server.memory() - before) / count, 1.25, "KiB")
            among = [latency(server) for _ in range(3)]
            tell(f"R7 a new client among {count}: p50", statistics.median(among), statistics.median(quiet), "us",
                 "alone", 1.1)
        finally:
            idle.kill()
            idle.communicate()


def r8(known, _):
    limit = ["--max_calls", "64"]
    with rpc.Server(known["ours"], limit) as server:
        seen = line_of(client(known, "overload", server, limit))
    # The client knows the limit from the greeting. At the limit its calls fail without asking the server.
    tell("R8 exhausted: until the caller knows", seen["refused"], seen["normal"], "us", "a normal call", 1.1)


def r9(known, wire):
    with rpc.Server(known["ours"]) as server:
        def storm(count):
            for number in range(count):
                connection = connect(server.port)
                connection.sendall((wire.greeting + wire.request)[:1 + number % len(wire.greeting + wire.request)])
                reset(connection)
            time.sleep(0.3)
        neighbour(server, 0.1)
        storm(500)
        memory, descriptors = server.memory(), server.descriptors()
        storm(5000)
        tell("R9 5000 resets: memory kept", max(server.memory() - memory, 0), 512, "KiB")
        tell("R9 5000 resets: descriptors kept", max(server.descriptors() - descriptors, 0), 1, "", "one", 0.5)


def r10(known, _):
    """Ends processes in random order and looks for one that hangs. (A test runs 1000 random orders in one process.)"""
    dice, hangs, orders = random.Random(10), 0, 50
    for _ in range(orders):
        server = rpc.Server(known["ours"])
        clients = [subprocess.Popen(server.load(["--seconds", str(dice.uniform(0.01, 0.1)), "--warm", "0.01",
                                                 "--in_flight", str(dice.choice([1, 32, 256]))]),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for _ in range(dice.randint(1, 3))]
        time.sleep(dice.uniform(0, 0.1))
        for process in dice.sample([*clients, server.process], len(clients) + 1):
            if process is server.process or dice.random() < 0.3:
                process.send_signal(dice.choice([signal.SIGTERM, signal.SIGKILL]))
            time.sleep(dice.uniform(0, 0.02))
        for process in (*clients, server.process):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                hangs += 1
                process.kill()
        server.stop()
    tell(f"R10 processes that hang in {orders} orders", hangs, 1, "", "one", 0.5)


def main():
    build, wanted = sys.argv[1], {name.upper() for name in sys.argv[2:]}
    known = rpc.peers(build)
    known["abuse"] = rpc.Peer("abuse", f"{build}/benchmarks/benchmark_rpc_abuse")
    if "ours" not in known or not os.access(known["abuse"].program, os.X_OK):
        print(f"error: {build} has no benchmark_rpc_ours or no benchmark_rpc_abuse; benchmarks/run.sh rpc-abuse builds "
              "them", file=sys.stderr)
        return 70
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wire = Wire(known)
    for number, function in enumerate((r1, r2, r3, r4, r5, r6, r7, r8, r9, r10), 1):
        if not wanted or f"R{number}" in wanted:
            try:
                function(known, wire)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                missing(f"R{number}", str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
