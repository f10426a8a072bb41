# SPDX-License-Identifier: Apache-2.0
"""rpc.py BUILD [ROW...]: compares the library's calls with Asio alone ("floor"), epoll alone, the usual first attempt
with Asio ("naive") and gRPC. Prints lines of results.jsonl to stdout, and each row to stderr when it is finished. ROWs
are numbers from 1 to 19; without any, all rows are measured.

Every peer is a program of benchmarks/rpc, with one process for the server and one for the client, over 127.0.0.1. In
each round all peers are measured one after the other, so that a ratio compares figures of the same minutes; the medians
of the rounds are compared. If other processes used more than 0.3 of a core during a round, it is repeated, up to 3
times (for 2 minutes in all), and the quietest counts. CPU time is that of both processes in the measured time. If this
user is allowed to, timed processes run in the round-robin real-time class. In rows 1, 2 and 4 both ends run on one
core, in row 3 each end has its own core.

Row 19 is mutual TLS 1.3, of the library and of gRPC, beside plain calls of both; it needs the program openssl.

More peers: DISTRIB_BENCH_BRPC, DISTRIB_BENCH_CORO_RPC and DISTRIB_BENCH_PS_LITE may each name a folder with a program
`benchmark_rpc` that accepts the command line of benchmarks/rpc/load.hpp: `benchmark_rpc serve` prints its port, and
`benchmark_rpc load --port PORT --server PID ...` prints what it measured (class `Load`). A peer whose variable is not
set is left out."""
import dataclasses
import json
import os
import pathlib
import resource
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from result import result

ROUNDS, REPEATS, FOREIGN = 5, 3, 0.3
PATIENCE = 120  # seconds that all repeated rounds together may take
SECONDS, WARM = 0.35, 0.1
SILENT, USED = 9500, 1000  # connections whose memory is measured
UNCHECKED, UNCOUNTED, WHOLE = "ours, no checksums", "ours, no metrics", "ours, whole"
SECURED, GRPC_SECURED = "ours, TLS", "gRPC, TLS"
HERE = pathlib.Path(__file__).resolve().parent
CPUS = sorted(os.sched_getaffinity(0))


@dataclasses.dataclass
class Peer:
    name: str
    program: str
    both: list = dataclasses.field(default_factory=list)  # arguments of both ends
    script: list = dataclasses.field(default_factory=list)  # the script to run, if the program is an interpreter


@dataclasses.dataclass
class Line:
    """One printed line of a case: the library's figure, that of each peer, and the targets for the ratios."""
    name: str
    figure: object  # a function: measurement -> number
    unit: str
    targets: dict


@dataclasses.dataclass
class Case:
    rows: set
    name: str
    peers: list
    lines: list
    load: list
    serve: list = dataclasses.field(default_factory=list)
    place: str = "free"
    own: str = "ours"  # the peer that the others are compared with


def make_certificates(folder):
    """Makes an authority, and a certificate of it for this machine, in the files that the programs read. Returns false
    without the program openssl."""
    if not shutil.which("openssl"):
        note("  without TLS: the program openssl is missing")
        return False
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    pathlib.Path(folder, "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n"
                                             "extendedKeyUsage=serverAuth,clientAuth\n", encoding="ascii")
    for command in (
            ["req", "-x509", *new, "-days", "2", "-subj", "/CN=benchmark", "-keyout", "ca.key", "-out", "ca.crt"],
            ["req", *new, "-subj", "/CN=end", "-keyout", "tls.key", "-out", "request"],
            ["x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
             "-extfile", "names", "-out", "tls.crt"]):
        subprocess.run(["openssl", *command], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return True


def peers(build, certificates=""):
    """Returns {name: Peer} of all peers whose program exists. `certificates`: a folder for those of TLS."""
    program = f"{build}/benchmarks/benchmark_rpc_"
    found = [Peer("ours", program + "ours", ["--metrics"]), Peer("floor", program + "floor"), Peer("epoll", program + "epoll"),
             Peer("blocking", program + "blocking"), Peer("naive", program + "naive"),
             Peer("gRPC", program + "grpc", ["--style", "cq"]),
             Peer("gRPC callback", program + "grpc", ["--style", "callback"]),
             Peer("gRPC bytes-buffer", program + "grpc", ["--style", "generic"]),
             Peer(UNCHECKED, program + "unchecked", ["--metrics"]), Peer(UNCOUNTED, program + "ours"),
             Peer(WHOLE, program + "ours", ["--metrics", "--chunks", "0"])]
    if certificates and make_certificates(certificates):
        found += [Peer(SECURED, program + "secured", ["--metrics", "--tls", certificates]),
                  Peer(GRPC_SECURED, program + "grpc", ["--style", "cq", "--tls", certificates])]
    for name, variable in ("brpc", "BRPC"), ("coro_rpc", "CORO_RPC"), ("ps-lite", "PS_LITE"):
        checkout = os.environ.get("DISTRIB_BENCH_" + variable)
        if checkout:
            found.append(Peer(name, f"{checkout}/benchmark_rpc"))
    return {peer.name: peer for peer in found if os.access(peer.program, os.X_OK)}


# --- figures of a measurement ---

def rate(m):
    return m["rate"] / 1e3


def cpu_per_call(m):
    return 1e6 * (m["client_cpu"] + m["server_cpu"]) / m["calls"]


def gigabytes(size):
    return lambda m: m["rate"] * size / 1e9


def cpu_per_gigabyte(size):
    return lambda m: (m["client_cpu"] + m["server_cpu"]) / (m["calls"] * size / 1e9)


def key(name):
    return lambda m: m[name]


# --- the rows ---

OTHERS = ["brpc", "coro_rpc", "ps-lite"]
BASE = ["floor", "ours", "gRPC", "epoll"] + OTHERS


def cases():
    yield Case({"1", "2", "4"}, "16 B, 1 call in flight, on one core", BASE + ["blocking", "naive", "gRPC callback"], [
        Line("row1 p50 16 B", key("p50"), "us", {"floor": 1.10, "gRPC": 0.60, "gRPC callback": 0.40, "coro_rpc": 0.80,
                                                 "brpc": 0.50, "epoll": None, "blocking": None, "naive": None}),
        Line("row2 p99 16 B", key("p99"), "us", {"floor": 1.25, "gRPC": 0.80}),
        Line("row2 p99.9 16 B", key("p999"), "us", {"floor": 1.5, "gRPC": 1.0}),
        Line("row4 CPU a call 16 B", cpu_per_call, "CPU us", {"floor": 1.10, "gRPC": 0.60, "coro_rpc": 0.85}),
    ], ["--latency"], place="one core")
    yield Case({"3"}, "16 B, 1 call in flight, on two cores", BASE, [
        Line("row3 p50 16 B two cores", key("p50"), "us", {"floor": 1.10, "gRPC": 0.75, "ps-lite": 0.33,
                                                           "coro_rpc": 0.95, "epoll": None}),
    ], ["--latency"], place="two cores")

    def rates(row, what, load, targets, peer_names=None, serve=()):
        return Case({row}, what, peer_names or BASE, [
            Line(f"row{row} {what}", rate, "k/s", {"epoll": None, **targets}),
            Line(f"row{row} {what}, CPU", cpu_per_call, "CPU us", {"floor": None, "gRPC": None}),
        ], load, list(serve))

    yield rates("5", "16 B x 32", ["--in_flight", "32"],
                {"floor": 0.88, "gRPC": 6, "coro_rpc": 5, "brpc": 3.8, "ps-lite": 2.3, "naive": 4.5}, BASE + ["naive"])
    yield rates("6", "16 B x 256", ["--in_flight", "256"],
                {"floor": 0.80, "gRPC": 35, "coro_rpc": 30, "brpc": 20})
    yield rates("7", "256 B x 32", ["--bytes", "256", "--in_flight", "32"], {"floor": 0.88, "gRPC": 6, "brpc": 3.8})
    yield rates("7", "256 B x 256", ["--bytes", "256", "--in_flight", "256"],
                {"floor": 0.80, "gRPC": 32, "brpc": 18})
    four = ["--connections", "4", "--in_flight", "32"]
    yield rates("8", "4 connections x 32", four, {"floor": 0.85, "gRPC": 36, "brpc": 22})
    yield rates("8", "4 x 32, 2 threads", four, {"floor": 0.85, "gRPC": 36, "brpc": 22}, serve=["--threads", "2"])
    yield rates("9", "1000 connections x 1", ["--connections", "1000"],
                {"floor": 0.90, "gRPC": 4.5, "gRPC callback": 3.5, "coro_rpc": 1.15, "brpc": 1.15},
                BASE + ["gRPC callback"])

    bulk = [  # row, size, bytes, calls in flight, {method: targets}, targets for CPU time
        ("11", "4 KiB", 4 << 10, 32,
         {"push": {"floor": 0.60, "gRPC": 4.5, "brpc": 3, "ps-lite": 2.4},
          "pull": {"floor": 0.70, "gRPC": 6, "brpc": 3.8, "ps-lite": 3.5}}, {"floor": 1.2, "gRPC": 0.14}),
        ("12", "64 KiB", 64 << 10, 32,
         {"push": {"floor": 1.0, "gRPC": 1.8, "brpc": 1.0, "ps-lite": 1.05},
          "pull": {"floor": 1.0, "gRPC": 1.7, "brpc": 1.0, "ps-lite": 1.05}}, {"floor": 1.0, "gRPC": 0.60}),
        ("13", "1 MiB", 1 << 20, 8,
         {"push": {"floor": 0.90, "gRPC": 1.25, "brpc": 0.75}, "pull": {"floor": 0.85, "gRPC": 1.35, "brpc": 0.90}},
         {"floor": 1.15, "gRPC": 0.95}),
        ("14", "16 MiB", 16 << 20, 2,
         {"push": {"floor": 0.90, "gRPC": 1.0, "gRPC bytes-buffer": 0.90},
          "pull": {"floor": 0.85, "gRPC": 1.2, "gRPC bytes-buffer": 1.0}}, {"floor": 1.15, "gRPC": 0.95}),
    ]
    for row, size, number, flight, methods, cpu in bulk:
        for method, targets in methods.items():
            names = BASE + (["gRPC bytes-buffer"] if row in ("13", "14") else [])
            lines = [Line(f"row{row} {method} {size}", gigabytes(number), "GB/s", {"epoll": None, **targets}),
                     Line(f"row15 {method} {size}, CPU", cpu_per_gigabyte(number), "s/GB", cpu)]
            if row != "11":
                names = names + [UNCHECKED]
                lines[0].targets[UNCHECKED] = None
            yield Case({row, "15"}, f"{method} {size}", names, lines,
                       ["--method", method, "--bytes", str(number), "--in_flight", str(flight)])
    for what, target, apply in ("in chunks", 0.85, "0"), ("added up in chunks", None, "1"):
        yield Case({"14"}, f"push 16 MiB, {what}", ["ours", WHOLE], [
            Line(f"row14 push 16 MiB, {what}", gigabytes(16 << 20), "GB/s", {WHOLE: target}),
        ], ["--method", "push", "--bytes", str(16 << 20), "--in_flight", "2"], ["--chunks", "1", "--apply", apply])
    for flight in "32", "256":
        yield Case({"18"}, f"16 B x {flight}, checksums and metrics on and off", ["ours", UNCHECKED, UNCOUNTED], [
            Line(f"row18 16 B x {flight}", rate, "k/s", {UNCHECKED: 0.90, UNCOUNTED: 0.90}),
            Line(f"row18 16 B x {flight}, CPU", cpu_per_call, "CPU us", {UNCHECKED: None, UNCOUNTED: None}),
        ], ["--in_flight", flight])

    secured = [SECURED, "ours", GRPC_SECURED, "gRPC"]  # the figure is that of SECURED
    for flight in "1", "32":
        yield Case({"19"}, f"16 B x {flight}, TLS", secured, [
            Line(f"row19 16 B x {flight}, TLS", rate, "k/s", {"ours": None, GRPC_SECURED: 1.2, "gRPC": None}),
            Line(f"row19 16 B x {flight}, TLS, CPU", cpu_per_call, "CPU us", {"ours": None, GRPC_SECURED: 1.0}),
        ], ["--in_flight", flight], own=SECURED)
    for size, number in ("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20):
        for method in "push", "pull":
            target = 1.2 if number >= 64 << 10 else None
            yield Case({"19"}, f"{method} {size}, TLS", secured, [
                Line(f"row19 {method} {size}, TLS", gigabytes(number), "GB/s",
                     {"ours": None, GRPC_SECURED: target, "gRPC": None}),
                Line(f"row19 {method} {size}, TLS, CPU", cpu_per_gigabyte(number), "s/GB",
                     {"ours": None, GRPC_SECURED: 1.0}),
            ], ["--method", method, "--bytes", str(number), "--in_flight", "2"], own=SECURED)


# --- processes ---

def note(text):
    print(text, file=sys.stderr, flush=True)


def prepare(place, server):
    """Returns what a timed process runs before its program: it chooses the core and the scheduling class."""
    def do():
        if place == "one core":
            os.sched_setaffinity(0, {CPUS[-1]})
        elif place == "two cores":
            os.sched_setaffinity(0, {CPUS[0 if server else -1]})
        try:
            if place != "plain":
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except PermissionError:
            pass
    return do


class Server:
    """A running server of a peer. Raises RuntimeError with its error output if it does not start."""

    def __init__(self, peer, arguments=(), place="plain"):
        self.process = subprocess.Popen([peer.program, *peer.script, "serve", *arguments, *peer.both], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=prepare(place, True))
        self.peer = peer
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            raise RuntimeError(self.process.communicate()[1].strip() or "the server did not start in 20 s")
        self.port, self.pid = json.loads(line)["port"], self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def cpu(self):
        return time.clock_gettime(~self.pid << 3 | 2)

    def memory(self):
        """Returns the resident memory in KiB."""
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Rss:"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def load(self, arguments, place="plain", role="load"):
        """Returns the command line of a client."""
        return [self.peer.program, *self.peer.script, role, *self.peer.both, "--port", str(self.port), "--server",
                str(self.pid), *arguments]

    def measure(self, arguments, place="plain"):
        done = subprocess.run(self.load(["--seconds", str(SECONDS), "--warm", str(WARM), *arguments]),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False, preexec_fn=prepare(place, False))
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        return json.loads(done.stdout)


def machine_cpu():
    """Returns the seconds that all cores together were busy since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        numbers = [int(word) for word in file.readline().split()[1:8]]
    user, nice, system, _, _, irq, softirq = numbers
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_cpu(servers):
    used = sum(server.cpu() for server in servers)
    for who in resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN:
        usage = resource.getrusage(who)
        used += usage.ru_utime + usage.ru_stime
    return used


def play_round(case, servers):
    """Measures all peers once. Returns {peer: measurement} of the quietest attempt, and the load of other processes
    during that attempt, in cores."""
    global PATIENCE
    best = None
    for _ in range(1 + REPEATS):
        began, machine, own = time.monotonic(), machine_cpu(), own_cpu(servers)
        measured = {server.peer.name: server.measure(case.load, case.place) for server in servers}
        seconds = time.monotonic() - began
        foreign = (machine_cpu() - machine - own_cpu(servers) + own) / seconds
        if best is not None:
            PATIENCE -= seconds
        if best is None or foreign < best[1]:
            best = measured, foreign
        if foreign <= FOREIGN or PATIENCE < seconds:
            break
    return best


def run_case(case, known):
    """Measures a case and prints its lines. Returns {line: {peer: median}}, empty without a peer to compare with."""
    servers, foreign, rounds, compared = [], [], [], {}
    try:
        for name in case.peers:
            if name not in known:
                continue
            try:
                servers.append(Server(known[name], case.serve, case.place))
            except RuntimeError as error:
                note(f"  {case.name}: without {name}: {error}")
        if len(servers) < 2 or not any(server.peer.name == case.own for server in servers):
            return {}
        for number in range(ROUNDS):
            turn = number % len(servers)
            measured, load = play_round(case, servers[turn:] + servers[:turn])
            rounds.append(measured)
            foreign.append(load)
    finally:
        for server in servers:
            server.stop()
    loud = f", other processes used {max(foreign):.1f} cores" if max(foreign) > FOREIGN else ""
    note(f"  {case.name}{loud}")
    for line in case.lines:
        figures = {server.peer.name: sorted(line.figure(one[server.peer.name]) for one in rounds)
                   for server in servers}
        medians = {name: statistics.median(values) for name, values in figures.items()}
        compared[line.name] = medians
        note(f"    {line.name} [{line.unit}]: " + "; ".join(
            f"{name} {medians[name]:.4g} ({values[0]:.3g}-{values[-1]:.3g})" for name, values in figures.items()))
        for name, target in line.targets.items():
            if name in medians:
                print(result(line.name, medians[case.own], medians[name], name, line.unit, target), flush=True)
    return compared


# --- rows that are measured in another way ---

def idle_memory(known, name, connections, used):
    """Returns the memory that a server needs for each connection, in KiB."""
    with Server(known[name]) as server:
        for _ in range(20):  # the memory that it needs without connections, once it has settled
            before = server.memory()
            time.sleep(0.02)
        client = subprocess.Popen(server.load(["--connections", str(connections), *(["--used"] if used else [])],
                                              role="idle"),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            ready, _, _ = select.select([client.stdout], [], [], 60)
            if not ready or not client.stdout.readline():
                raise RuntimeError(f"{name}: not connected")
            time.sleep(0.5)
            return (server.memory() - before) / connections
        finally:
            client.kill()
            client.communicate()


def row10(known):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200
    for connections, used in (min(SILENT, most), False), (min(USED, most), True):
        title = f"row10 KiB a connection, {connections} {'used' if used else 'silent'}"
        figures = {}
        for name in "ours", "floor", "gRPC", *OTHERS:
            if name in known:
                try:
                    figures[name] = max(idle_memory(known, name, connections, used), 0.001)
                except RuntimeError as error:
                    note(f"  {title}: without {error}")
        note(f"  {title}: " + "; ".join(f"{name} {value:.3g}" for name, value in figures.items()))
        if "ours" not in figures:
            continue
        targets = {"brpc": 0.4, "coro_rpc": 0.4} if used else {"floor": 0.15, "gRPC": 0.10}
        if not used:
            print(result(title, figures["ours"], 1.25, "figure", "KiB", 1))
        for name, value in figures.items():
            if name != "ours":
                print(result(title, figures["ours"], value, name, "KiB", targets.get(name)), flush=True)


def row16(known):
    for what, load, target in (("16 B x 32", ["--in_flight", "32"], 0.01),
                               ("push 64 KiB", ["--method", "push", "--bytes", "65536", "--in_flight", "32"], None),
                               ("pull 64 KiB", ["--method", "pull", "--bytes", "65536", "--in_flight", "32"], None)):
        figures = {}
        for name in "ours", "floor", "gRPC":
            if name not in known:
                continue
            with tempfile.NamedTemporaryFile() as file:
                file.write(bytes(16))
                file.flush()
                counters = ["--counters", file.name]
                with Server(known[name], counters) as server:
                    figures[name] = server.measure([*load, *counters])["allocations"]
        note(f"  row16 allocations a call, {what}: " + "; ".join(f"{name} {n:.4g}" for name, n in figures.items()))
        title = f"row16 allocations a call, {what}"
        print(result(title, figures["ours"], 1, "one", "", target))
        if "gRPC" in figures:
            print(result(title, figures["ours"], figures["gRPC"], "gRPC", "", target and 0.01), flush=True)


def compile_once(sources, options, level, folder):
    """Compiles the sources. Returns (CPU seconds, object files)."""
    include = [f"-I{HERE.parent}/include", f"-I{folder['generated']}", "-DASIO_STANDALONE"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    objects = []
    for source in sources:
        objects.append(f"{folder['out']}/{pathlib.Path(source).name}{level}.o")
        subprocess.run(["g++", "-std=c++20", level, *include, *options, "-c", str(source), "-o", objects[-1]],
                       check=True, env=dict(os.environ, CCACHE_DISABLE="1"), stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, objects


def binary_size(objects, libraries, out):
    program = f"{out}/program"
    subprocess.run(["g++", "-O2", *objects, "-o", program, *libraries, "-pthread"], check=True)
    subprocess.run(["strip", program], check=True)
    return os.path.getsize(program) / 1024


def row17(build, known):
    minimal = HERE / "rpc" / "minimal"
    generated = pathlib.Path(build, "benchmarks/rpc/generated")
    whole = {  # sources, options, libraries
        "ours": ([minimal / "distrib.cpp"], [], []), "bare Asio": ([minimal / "asio.cpp"], [], []),
        "Asio, narrow includes": ([minimal / "asio.cpp"], ["-DNARROW_INCLUDES"], [])}
    if "gRPC" in known and shutil.which("pkg-config"):
        libraries = subprocess.run(["pkg-config", "--libs", "grpc++", "protobuf"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.split()
        whole["gRPC, generated"] = ([minimal / "grpc.cpp", generated / "blob.pb.cc", generated / "blob.grpc.pb.cc"],
                                    [], libraries)
    with tempfile.TemporaryDirectory() as out:
        folder = {"out": out, "generated": generated}
        figures = {}  # the least of ROUNDS rounds; each round measures all of them one after the other
        for _ in range(ROUNDS):
            for name, (sources, options, libraries) in list(whole.items()):
                try:
                    (debug, _), (fast, objects) = (compile_once(sources, options, level, folder)
                                                   for level in ("-O0", "-O2"))
                    figure = debug, fast, binary_size(objects, libraries, out)
                    figures[name] = tuple(map(min, figures.get(name, figure), figure))
                except subprocess.CalledProcessError as error:
                    note(f"  row17: without {name}: {error}")
                    del whole[name]
    note("  row17 minimal server, s at -O0, s at -O2, KiB: " + "; ".join(
        f"{name} {d:.2f} {f:.2f} {s:.0f}" for name, (d, f, s) in figures.items()))
    if "ours" not in figures:
        return
    for index, (what, unit) in enumerate((("compile -O0", "CPU s"), ("compile -O2", "CPU s"), ("binary", "KiB"))):
        binary = unit == "KiB"
        for name, target in (("bare Asio", 2 if binary else 1.5), ("Asio, narrow includes", None),
                             ("gRPC, generated", None if binary else 0.7)):
            if name in figures:
                print(result(f"row17 {what}", figures["ours"][index], figures[name][index], name, unit, target),
                      flush=True)


def main():
    with tempfile.TemporaryDirectory() as certificates:
        return measure_rows(sys.argv[1], set(sys.argv[2:]), certificates)


def measure_rows(build, wanted, certificates):
    known = peers(build, certificates)
    if "ours" not in known or "floor" not in known:
        note(f"error: {build} has no benchmark_rpc_ours or no benchmark_rpc_floor; benchmarks/run.sh rpc builds them")
        return 70
    if "gRPC" not in known:
        note("  without gRPC: its packages were not found when the benchmarks were configured")
    if len(CPUS) < 2:
        note("error: two cores are needed")
        return 70
    began = time.monotonic()
    for case in cases():
        if not wanted or case.rows & wanted:
            run_case(case, known)
    for row, function in ("10", row10), ("16", row16), ("17", lambda peers_: row17(build, peers_)):
        if not wanted or row in wanted:
            function(known)
    note(f"  {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
