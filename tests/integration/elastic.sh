#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that are dealt to processes: a job of 16 ranks ends with the bits of one process with 16 ranks, served by 1, 3 and
# 16 processes, with sums of their ranks and without, and by 3 that become 8 that become 2, with a process that is killed and never comes back, one that is
# killed and comes back, and a parameter server that is killed. Also what is refused. ctest calls it in
# build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE DISTRIB_RANKS

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
train=("$programs/fashion_mnist_train" --data data --batch 16 --evaluate_every 20 --adopt_after 4)
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$2" ] || { fail "$1: the hash differs from that of one process"; tail -n 30 "$1"*.log >&2; }; }
has() { case $(cat "$1") in *"$2"*) ;; *) fail "$1 does not say '$2'"; tail -n 5 "$1" >&2 ;; esac; }

# --- 1, 3 and 16 processes ---
"${train[@]}" --steps 40 --save_every 8 --workers 16 --out local >local.log
expected=$(hash_of local)
for workers in 1 3 16; do
  timeout -k 5 120 "$distrib" launch --ps 2 --workers $workers --ranks 16 -- "${train[@]}" --steps 40 --save_every 8 \
    --parts 2 --out "of$workers" >"of$workers.log" 2>&1 || fail "$workers processes"
  same_bits "of$workers" "$expected"
done
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --ranks 16 -- "${train[@]}" --steps 40 --save_every 8 --parts 2 \
  --single_ranks --out single >single.log 2>&1 || fail 'single ranks'
same_bits single "$expected"

# --- 3 become 8 become 2 ---
steps=700
"${train[@]}" --steps $steps --save_every 50 --workers 16 --out long >long.log
expected=$(hash_of long)
python3 - "$tests/support" "$distrib" "$steps" "${train[@]}" <<'END' || fail 'elastic'
import signal, sys

support, command, steps, *train = sys.argv[1:]
sys.path.insert(0, support)
from processes import Job  # noqa: E402

train += [f"--steps={steps}", "--save_every=50", "--out=elastic", "--ranks=16"]
job = Job(command, "elastic", train, servers=2, workers=9, within=200)


def served_by(*indexes):
    served = job.serving()
    counts = sorted(list(served.values()).count(index) for index in indexes)
    return len(served) == 16 and set(served.values()) == set(indexes) and counts[-1] - counts[0] <= 1


def some_steps():
    """Lets the job go on for a while. While a server is stopped, no step is done, however fast the machine is."""
    job.go_on("ps", 1)
    now = job.step()
    job.until("further steps", lambda: job.step() > now + 5)
    job.hold("ps", 1)


for task in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1), ("worker", 2)]:
    job.start(*task)
job.until("3 processes serve all ranks", lambda: served_by(0, 1, 2))
some_steps()
for index in range(3, 8):
    job.start("worker", index)
job.until("8 processes serve all ranks", lambda: served_by(*range(8)))
some_steps()

job.end("ps", 1)  # workers send it again what it lacks
job.start("ps", 1)
some_steps()
job.end("worker", 3)  # comes back at once, and has its ranks again
job.start("worker", 3)
job.until("8 processes again", lambda: served_by(*range(8)))
some_steps()

job.end("worker", 7)  # for ever: its ranks are adopted after 4 s
job.end("worker", 2, 3, 4, 5, 6, how=signal.SIGTERM)
job.until("2 processes serve all ranks", lambda: served_by(0, 1))
some_steps()
job.go_on("ps", 1)
now = job.step()
if now >= int(steps):
    sys.exit("the job was over before 2 processes served it: more steps are needed")
print(f"3 became 8 became 2 by step {now} of {steps}")
job.join()
END
same_bits elastic "$expected"

# --- the launcher starts one more worker when it is asked; one that is killed is not missed ---
timeout -k 15 120 "$distrib" launch --ps 1 --workers 1..3 --ranks 16 -- "${train[@]}" --steps $steps --save_every 50 --out asked >asked.log 2>&1 &
launch=$!
count() { grep -cE "$1" asked.log || true; }
until_said() { until [ "$(count "$1")" -ge 1 ] || ! kill -0 $launch 2>/dev/null; do sleep 0.05; done; }
until_said '^worker0 \| step [1-9]'
supervisor=$(cat /proc/$launch/task/$launch/children)  # of timeout: the launcher
kill -USR2 $supervisor
until_said '^launch \| worker1 is process'
kill -USR2 $supervisor
until_said '^launch \| worker2 is process'
kill -KILL "$(sed -nE 's/^launch \| worker2 is process ([0-9]+)$/\1/p' asked.log)" || fail 'asked: there is no worker2'
until_said '^launch \| worker2 .*the other workers serve its ranks'
wait $launch || { fail 'asked'; tail -n 30 asked.log >&2; }
same_bits asked "$expected"

# --- what is refused ---
refused() {  # SENTENCE LAUNCH_OPTION... -- TRAIN_OPTION...
  local sentence=$1 status=0 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 60 "$distrib" launch --ps 1 --workers 2 "${options[@]}" -- "${train[@]}" --steps 40 --out refused "${@:2}" >refused.log 2>&1 || status=$?
  [ $status -eq 65 ] || fail "exit code $status, not 65: $sentence"
  has refused.log "$sentence"
}
refused '--ranks 16: asynchronous' --ranks 16 -- --mode async
refused '--ranks 4: it adds in rank order: say with_reduction(ReductionOrder::tree)' --ranks 4 --
status=0
timeout 60 "${train[@]}" --ranks 16 --out refused >refused.log 2>&1 || status=$?
[ $status -eq 65 ] || fail "one process with --ranks ended with $status"
has refused.log '--ranks 16: one process is the whole job'

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
