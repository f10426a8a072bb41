#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that change: a job of 4 ranks that becomes one of 12 that becomes one of 3, by `distrib scale`, while workers come
# and go and both parameter servers are killed, ends with the bits of one process that is given what the command printed,
# and of a job of one worker and one parameter server with a secret that is scaled at the same steps. The learning rate
# changes with them, once with a warm-up. Also what is refused. ctest calls it in build/PRESET/tests, where the programs
# are ../examples/fashion_mnist_* and ../tools/distrib.
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
python3 - "$tests/support" "$distrib" "$steps" "${train[@]}" "${changes[@]}" <<'END' || fail 'scaled'
import signal, sys

support, command, steps, *train = sys.argv[1:]
sys.path.insert(0, support)
from processes import Job  # noqa: E402


class ScaledJob(Job):
    def __init__(self, out, servers, secret=None):
        super().__init__(command, out, [*train, f"--out={out}", "--ranks=4"], servers, 9, 250, secret)

    def scale(self, *arguments):
        return self.ask("scale", "--ps", ",".join(self.servers), *(["--secret", self.secret] if self.secret else []), *arguments)

    def scaled(self, *arguments):
        """Asks for other ranks; they must be in force then. Returns what was printed."""
        asked = self.scale(*arguments)
        if asked.returncode != 0:
            sys.exit(f"scale {arguments} ended with {asked.returncode}: {asked.stderr}")
        return asked.stdout

    def is_served(self, ranks, workers):
        served = self.serving()
        return set(served) == set(ranks) and set(served.values()) == set(workers)


def refused(asked, code, sentence):
    if asked.returncode != code or sentence not in asked.stderr:
        sys.exit(f"ended with {asked.returncode}, not {code}: {asked.stderr}: not '{sentence}'")


# --- 4 ranks become 12 become 3 ---
many = ScaledJob("many", 2)
for task in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]:
    many.start(*task)
many.until("2 processes serve 4 ranks", lambda: many.is_served(range(4), (0, 1)))
many.hold("worker", 1)
log = many.scaled("--ranks", "0-11", "--at", "120", "--rate", "linear", "--warm_up", "40")
if "rate 1 to 3 within 40" not in log:
    sys.exit(f"12 ranks for 4, and the rate is not in {log}")
refused(many.scale("--ranks", "1-3"), 64, "rank 0 is missing, which the chief makes")
refused(many.scale("--ranks", "0-3", "--at", "1"), 64, "the first possible one is ")
refused(many.scale("--ranks", "0-16"), 64, "all below most_ranks")
refused(many.scale("--ranks", "x"), 64, "give ranks like this: 0-15,20")
refused(many.scale("--ranks", "0-3", "--rate", "x"), 64, "give keep, linear, sqrt, or a factor")
refused(many.scale("--ranks", "0-3", "--rate", "0"), 64, "give a factor from 1e-4 to 1e4")
refused(many.scale("--ranks", "0-3", "--warm_up", "5"), 64, "the rate is kept")
many.go_on("worker", 1)
many.start("worker", 2)
many.until("3 processes serve 12 ranks", lambda: many.is_served(range(12), (0, 1, 2)))
many.end("ps", 1)
many.start("ps", 1)
many.until("the first change", lambda: many.step() > 122)
many.end("worker", 1)  # for ever: its ranks are adopted after 4 s
log += many.scaled("--ranks", "0,2,5", "--at", "240", "--rate", "sqrt")
many.end("ps", 0)
many.start("ps", 0)
many.until("the second change", lambda: many.step() > 262)
many.until("only 3 ranks are served", lambda: set(many.serving()) == {0, 2, 5})
many.until("the factor of the rate is shown", lambda: "the schedule times 0.866" in many.status())
shown = many.scaled()
if sorted(shown.split("\n")) != sorted(log.split("\n")):
    sys.exit(f"the log is {shown}, and not {log}")
many.end("worker", 2, how=signal.SIGTERM)
print(f"2 processes serve 3 ranks by step {many.step()} of {steps}")
many.join()
open("log", "w").write(log)

# --- one process and one parameter server, scaled at the same steps ---
one = ScaledJob("one", 1, "secret")
for task in [("ps", 0), ("worker", 0)]:
    one.start(*task)
one.until("1 process serves 4 ranks", lambda: one.is_served(range(4), (0,)))
one.hold("worker", 0)
one.scaled("--ranks", "0-11", "--at", "120", "--rate", "linear", "--warm_up", "40")
one.scaled("--ranks", "0,2,5", "--at", "240", "--rate", "sqrt")
one.go_on("worker", 0)
refused(one.ask("scale", "--ps", one.servers[0]), 64, "secret")
one.join()
refused(one.scale("--ranks", "0-3"), 69, one.servers[0])
END

"${train[@]}" --workers 4 --most_ranks 16 --rank_log log --out local >local.log
expected=$(hash_of local)
same_bits many "$expected"
same_bits one "$expected"
"${train[@]}" --workers 4 --most_ranks 16 --out fixed >fixed.log
[ "$(hash_of fixed)" != "$expected" ] || fail 'the changes have changed nothing'
sed 's/ rate .*//' log >plain
"${train[@]}" --workers 4 --most_ranks 16 --rank_log plain --out plain_rate >plain_rate.log
[ "$(hash_of plain_rate)" != "$expected" ] || fail 'the learning rate has changed nothing'

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
