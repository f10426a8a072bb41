#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers that make local steps: one process and a cluster end with the same bits, also with other parts and shards, and
# after a worker, a parameter server and the chief were killed. ctest calls it in build/PRESET/tests, where the programs
# are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
train=("$programs/fashion_mnist_train" --data data --steps 1600 --local_steps 8 --batch 16 --save_every 10 --evaluate_every 4)
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$expected" ] || { fail "$1: the hash differs from that of one process"; tail -n 30 "$1.log" >&2; }; }

"${train[@]}" --workers 3 --out local >local.log
expected=$(hash_of local)
python3 - <<'EOF' || fail 'one process'
import json, sys
summary = json.load(open("local/summary.json"))
sys.exit(not (summary["steps"] == 200 and summary["test_accuracy"] > 0.6))
EOF
timeout -k 5 120 "$distrib" launch --ps 3 --workers 3 -- "${train[@]}" --parts 3 --shards 2 --out cut >cut.log 2>&1 || fail 'cut'
same_bits cut

timeout -k 15 120 "$distrib" launch --ps 2 --workers 3 --restart -- "${train[@]}" --out killed >killed.log 2>&1 &
launch=$!
for task in worker2 ps1 worker0; do
  before=$(grep -cE '^worker0 \| step ' killed.log || true)
  until [ "$(grep -cE '^worker0 \| step ' killed.log || true)" -ge $((before + 3)) ] || ! kill -0 $launch 2>/dev/null; do sleep 0.02; done
  kill -KILL "$(sed -nE "s/^launch \| $task is process ([0-9]+)\$/\1/p" killed.log | tail -n 1)" || fail "killed: there is no $task"
done
wait $launch || fail 'killed'
same_bits killed

status=0
"${train[@]/1600/1601}" --out wrong >wrong.log 2>&1 || status=$?
[ $status -eq 65 ] || fail "a number of steps that is no multiple: exit code $status"
said=$(cat wrong.log)
case $said in *'with_local_steps: 8 steps, StopAtStep of 1601: '*) ;; *) fail "the message is: $said" ;; esac

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
