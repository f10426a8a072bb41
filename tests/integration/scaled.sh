#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that change: a job of 4 ranks that becomes one of 12 that becomes one of 3, by `distrib scale`, while workers come
# and go and both parameter servers are killed, ends with the bits of one process that is given what the command printed,
# and of a job of one worker and one parameter server with a secret that is scaled at the same steps. Also what is
# refused. ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE DISTRIB_RANKS

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
steps=360
train=("$programs/fashion_mnist_train" --data data --batch 16 --evaluate_every 100 --save_every 20 --steps $steps)
changes=(--most_ranks 16 --ranks_ahead 20 --adopt_after 4)
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$2" ] || { fail "$1: the hash differs from that of one process"; tail -n 30 "$1"*.log >&2; }; }
has() { case $(cat "$1") in *"$2"*) ;; *) fail "$1 does not say '$2'"; tail -n 5 "$1" >&2 ;; esac; }

head -c 32 /dev/urandom >secret
chmod 600 secret
python3 - "$distrib" "$steps" "${train[@]}" "${changes[@]}" <<'END' || fail 'scaled'
import atexit, os, re, signal, socket, subprocess, sys, time

command, steps, *train = sys.argv[1:]
deadline = time.monotonic() + 250
running = {}
atexit.register(lambda: [process.kill() for process in running.values()])


class Cluster:
    def __init__(self, out, servers, secret):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(servers)]
        self.servers = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
        for s in sockets:
            s.close()
        self.out, self.secret = out, secret
        hosts = [f"--ps_hosts={','.join(self.servers)}", f"--worker_hosts={','.join(['127.0.0.1:1'] * 9)}", "--ranks=4"]
        self.program = [*train, f"--out={out}", *hosts]

    def start(self, job, index):
        log = open(f"{self.out}_{job}{index}.log", "ab")
        environment = os.environ | ({"DISTRIB_SECRET_FILE": "secret"} if self.secret else {})
        running[job, index] = subprocess.Popen(
            [*self.program, f"--job_name={job}", f"--task_index={index}"], stdout=log, stderr=log, env=environment)

    def ask(self, *arguments):
        return subprocess.run([command, *arguments], capture_output=True, text=True)

    def status(self):
        return self.ask("status", self.servers[0], *(["--secret", "secret"] if self.secret else [])).stdout

    def scale(self, *arguments):
        return self.ask("scale", "--ps", ",".join(self.servers), *(["--secret", "secret"] if self.secret else []), *arguments)

    def scaled(self, *arguments):
        """Asks for other ranks; they must be in force then. Returns what was printed."""
        asked = self.scale(*arguments)
        if asked.returncode != 0:
            sys.exit(f"scale {arguments} ended with {asked.returncode}: {asked.stderr}")
        return asked.stdout

    def step(self):
        found = re.search(r"^  step +(\d+) of", self.status(), re.MULTILINE)
        return int(found[1]) if found else 0

    def serving(self):
        """Who serves which rank, by the status of the first server; empty: it cannot be reached."""
        found = re.findall(r"^ +(\d+)  (?:connected|looks on).*served by worker (\d+)$", self.status(), re.MULTILINE)
        return {int(rank): int(worker) for rank, worker in found}

    def is_served(self, ranks, workers):
        served = self.serving()
        return set(served) == set(ranks) and set(served.values()) == set(workers)

    def end(self):
        for task, process in list(running.items()):
            if process.wait(timeout=max(1, deadline - time.monotonic())) != 0:
                sys.exit(f"{self.out}: {task} ended with {process.returncode}")
            running.pop(task)


def until(what, condition):
    while not (found := condition()):
        if time.monotonic() > deadline:
            sys.exit(f"still not true: {what}")
        for (job, index), process in running.items():
            if process.poll() not in (None, 0):
                sys.exit(f"{job}{index} ended with {process.poll()}")
        time.sleep(0.05)
    return found


def kill(job, index, how=signal.SIGKILL):
    process = running.pop((job, index))
    process.send_signal(how)
    if process.wait() != (1 if how == signal.SIGTERM else -how):
        sys.exit(f"{job}{index} ended with {process.returncode} after {how}")


def refused(asked, code, sentence):
    if asked.returncode != code or sentence not in asked.stderr:
        sys.exit(f"ended with {asked.returncode}, not {code}: {asked.stderr}: not '{sentence}'")


# --- 4 ranks become 12 become 3 ---
many = Cluster("many", 2, False)
for task in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]:
    many.start(*task)
until("2 processes serve 4 ranks", lambda: many.is_served(range(4), (0, 1)))
running["worker", 1].send_signal(signal.SIGSTOP)  # no step is done meanwhile, however fast the machine is
log = many.scaled("--ranks", "0-11", "--at", "120")
refused(many.scale("--ranks", "1-3"), 64, "rank 0 is missing, which the chief makes")
refused(many.scale("--ranks", "0-3", "--at", "1"), 64, "the first possible one is ")
refused(many.scale("--ranks", "0-16"), 64, "all below most_ranks")
refused(many.scale("--ranks", "x"), 64, "give ranks like this: 0-15,20")
running["worker", 1].send_signal(signal.SIGCONT)
many.start("worker", 2)
until("3 processes serve 12 ranks", lambda: many.is_served(range(12), (0, 1, 2)))
kill("ps", 1)
many.start("ps", 1)
until("the first change", lambda: many.step() > 122)
kill("worker", 1)  # for ever: its ranks are adopted after 4 s
log += many.scaled("--ranks", "0,2,5", "--at", "240")
kill("ps", 0)
many.start("ps", 0)
until("the second change", lambda: many.step() > 262)
until("only 3 ranks are served", lambda: set(many.serving()) == {0, 2, 5})
shown = many.scaled()
if sorted(shown.split("\n")) != sorted(log.split("\n")):
    sys.exit(f"the log is {shown}, and not {log}")
kill("worker", 2, signal.SIGTERM)
print(f"2 processes serve 3 ranks by step {many.step()} of {steps}")
many.end()
open("log", "w").write(log)

# --- one process and one parameter server, scaled at the same steps ---
one = Cluster("one", 1, True)
for task in [("ps", 0), ("worker", 0)]:
    one.start(*task)
until("1 process serves 4 ranks", lambda: one.is_served(range(4), (0,)))
running["worker", 0].send_signal(signal.SIGSTOP)
one.scaled("--ranks", "0-11", "--at", "120")
one.scaled("--ranks", "0,2,5", "--at", "240")
running["worker", 0].send_signal(signal.SIGCONT)
refused(one.ask("scale", "--ps", one.servers[0]), 64, "secret")
one.end()
refused(one.scale("--ranks", "0-3"), 69, one.servers[0])
END

"${train[@]}" --workers 4 --most_ranks 16 --rank_log log --out local >local.log
expected=$(hash_of local)
same_bits many "$expected"
same_bits one "$expected"
"${train[@]}" --workers 4 --most_ranks 16 --out fixed >fixed.log
[ "$(hash_of fixed)" != "$expected" ] || fail 'the changes have changed nothing'

# --- what is refused ---
refused() {  # SENTENCE LAUNCH_OPTION... -- TRAIN_OPTION...
  local sentence=$1 status=0 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 60 "$distrib" launch --ps 1 --workers 2 "${options[@]}" -- "${train[@]}" --out refused "${@:2}" >refused.log 2>&1 || status=$?
  [ $status -eq 65 ] || fail "exit code $status, not 65: $sentence"
  has refused.log "$sentence"
}
refused 'with_most_ranks(16): asynchronous' --ranks 16 -- --most_ranks 16 --mode async
refused 'with_most_ranks(16): each worker is one rank: start all tasks with --ranks' -- --most_ranks 16
refused 'with_most_ranks(8): the job begins with 16 ranks' --ranks 16 --most_ranks 8 --

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
