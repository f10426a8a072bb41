#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job with onlookers beside it, which come and are killed at any moment: one stays while a parameter server is
# killed and comes back. The job ends with the bits of one process; what is seen at a step is what the job had there;
# all processes end, also onlookers that see no checkpoint and cannot look when the job ends. Also with a secret and with TLS: who does not have them sees nothing. ctest calls it in
# build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_TLS_PEERS DISTRIB_SECRET DISTRIB_SECRET_FILE DISTRIB_RANKS

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
steps=1500
train=("$programs/fashion_mnist_train" --data data --batch 32 --parts 2 --save_every 100 --steps "$steps")
"${train[@]}" --workers 2 --evaluate_every 500 --out local >local.log
python3 - "$tests/support" "$distrib" "$steps" "${train[@]}" --evaluate_every 10 <<'END' || fail 'the job with onlookers'
import json, random, subprocess, sys, time

support, command, steps, *train = sys.argv[1:]
sys.path.insert(0, support)
from processes import Job  # noqa: E402

job = Job(command, "job", train, servers=2, workers=2, within=200)


def look(index, checkpoints="job/checkpoint", servers=None):
    job.start("onlooker", index, f"--out=look{index}", f"--checkpoints={checkpoints}", servers=servers)


def start(task, index):
    job.start(task, index, "--out=job", "--checkpoints=job/checkpoint")


def seen(directory):
    """The evaluations in the event files of a directory, by step; none if there is no file yet."""
    told = subprocess.run([command, "events", "--json", directory], capture_output=True, text=True).stdout
    points = [json.loads(line) for line in told.splitlines()]
    return {p["step"]: p["value"] for p in points if p.get("tag") == "evaluation/accuracy"}


look(0)  # before there is a job
for task, index in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]:
    start(task, index)
job.until("the job is on its way", lambda: job.step() > 20)
job.hold("worker", 1)  # the job waits for what the test does
job.until("the first onlooker has seen something", lambda: seen("look0/events"))
for index in range(1, 7):  # they die while they connect, ask, receive and measure
    look(index)
    time.sleep(random.random() * 0.4)
    if index == 5:
        job.go_on("worker", 1)
    job.end("onlooker", index)
before = job.step()
job.hold("worker", 1)
job.end("ps", 1)
start("ps", 1)
job.go_on("worker", 1)
job.until("the job goes on", lambda: job.step() > before + 20)
job.hold("worker", 1)
if job.step() >= int(steps) - 50:
    sys.exit("the job was nearly over before the onlooker could be looked at: more steps are needed")
job.until("the onlooker sees it", lambda: max(seen("look0/events")) >= before + 15)
# Two that see no checkpoint, and cannot look when the job ends: only a server can tell them so.
nobody = "127.0.0.1:1"
look(7, checkpoints="nowhere", servers=[job.servers[0], nobody])
job.until("the seventh reaches one server only", lambda: nobody in job.log_of("onlooker", 7))
look(8, checkpoints="nowhere")
job.until("the eighth has seen something", lambda: seen("look8/events"))
job.hold("onlooker", 8)
job.go_on("worker", 1)
job.join(("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1))
job.join(("onlooker", 0), ("onlooker", 7), within=20)
job.go_on("onlooker", 8)
job.join(("onlooker", 8), within=20)
expected = seen("job/events")
looked = seen("look0/events")
wrong = {at: (value, expected.get(at)) for at, value in looked.items() if at != 0 and value != expected.get(at)}
wrong = {at: pair for at, pair in wrong.items() if at in expected}  # the chief measures every tenth step
if wrong:
    sys.exit(f"seen, and measured by the chief: {wrong}")
print(f"{len(looked)} looks at steps {min(looked)} to {max(looked)} of {steps}")
END
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
[ "$(hash_of job 2>&1)" = "$(hash_of local)" ] || fail 'the hash differs from that of one process'

# --- a job with a secret, and one with TLS ---
guarded() {  # NAME LAUNCH_OPTION...
  local name=$1 launch status=0 tries=0
  shift
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 2 "$@" -- "${train[@]}" --evaluate_every 500 --out "$name" >"$name.log" 2>&1 &
  launch=$!
  until grep -qs 'worker0 | step [1-9][0-9]' "$name.log"; do
    [ $((tries += 1)) -le 3000 ] || { fail "$name: no step after 60 s"; break; }
    sleep 0.02
  done
  local stopped
  stopped=$(sed -nE 's/^launch \| worker1 is process ([0-9]+)$/\1/p' "$name.log")
  kill -STOP "$stopped"
  local hosts
  hosts=$(sed -nE 's/^launch \| (--ps_hosts=[^ ]*), *(--worker_hosts=[^ ]*).*$/\1 \2/p' "$name.log")
  [ -n "$hosts" ] || hosts=$(sed -nE 's/^launch \| (--ps_hosts=[^ ]*) (--worker_hosts=[^ ]*).*$/\1 \2/p' "$name.log")
  local look=("${train[@]}" --evaluate_every 500 --job_name=onlooker $hosts)
  [ "$name" != tls ] || DISTRIB_TLS_DIRECTORY=$(sed -n 's/^launch | certificates: //p' "$name.log")
  (
    [ "$name" != tls ] || export DISTRIB_TLS_DIRECTORY
    exec timeout -k 5 60 "${look[@]}" --out "look_$name" >"look_$name.log" 2>&1
  ) &
  local onlooker=$!
  tries=0
  until ls "look_$name"/events/events.out.tfevents.* >ls.log 2>&1 && [ -n "$("$distrib" events --json "look_$name/events")" ]; do
    [ $((tries += 1)) -le 600 ] || { fail "$name: the onlooker sees nothing"; tail -n 5 "look_$name.log" >&2; break; }
    sleep 0.1
  done
  status=0
  env -u DISTRIB_SECRET -u DISTRIB_TLS_DIRECTORY timeout -k 5 60 "${look[@]}" --out "none_$name" >"none_$name.log" 2>&1 || status=$?
  [ $status -eq 65 ] || { fail "$name: a stranger ended with $status, not 65"; tail -n 5 "none_$name.log" >&2; }
  kill -CONT "$stopped"
  status=0
  wait $launch || status=$?
  [ $status -eq 0 ] || { fail "$name: the job ended with $status"; tail -n 20 "$name.log" >&2; }
  status=0
  wait $onlooker || status=$?
  [ $status -eq 0 ] || { fail "$name: the onlooker ended with $status"; tail -n 5 "look_$name.log" >&2; }
  [ "$(hash_of "$name" 2>&1)" = "$(hash_of local)" ] || fail "$name: the hash differs from that of one process"
}
export DISTRIB_SECRET=an-onlooker-must-know-it-0123456789
guarded secret
unset DISTRIB_SECRET
DISTRIB_TLS_DIRECTORY=/nowhere "${train[@]}" --out none --job_name=ps --ps_hosts=127.0.0.1:1 --worker_hosts=127.0.0.1:2 \
  >none.log 2>&1 && fail 'a task without its certificates runs'
command -v openssl >/dev/null || echo 'this program speaks no TLS' >none.log  # no certificates can be made
case $(cat none.log) in
  *'this program speaks no TLS'*) echo 'the example is built without TLS' ;;
  *) guarded tls --tls ;;
esac

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
