#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gradients that travel as int8 numbers: one process and a cluster end with the same bits, also with other parts and
# shards, after a worker, a parameter server and the chief were killed, and when processes push the sums of their ranks.
# ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE DISTRIB_RANKS

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
train=("$programs/fashion_mnist_train" --data data --batch 16 --wire_format int8)
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$expected" ] || { fail "$1: the hash differs from that of one process"; tail -n 30 "$1.log" >&2; }; }

few=(--steps 600 --save_every 20 --evaluate_every 20)
"${train[@]}" "${few[@]}" --workers 3 --out local >local.log
expected=$(hash_of local)
python3 - <<'EOF' || fail 'one process'
import json, sys
summary = json.load(open("local/summary.json"))
sys.exit(not (summary["steps"] == 600 and summary["test_accuracy"] > 0.6))
EOF
timeout -k 5 120 "$distrib" launch --ps 3 --workers 3 -- "${train[@]}" "${few[@]}" --parts 3 --shards 2 --out cut >cut.log 2>&1 ||
  fail 'cut'
same_bits cut

timeout -k 15 120 "$distrib" launch --ps 2 --workers 3 --restart -- "${train[@]}" "${few[@]}" --out killed >killed.log 2>&1 &
launch=$!
for task in worker2 ps1 worker0; do
  before=$(grep -cE '^worker0 \| step ' killed.log || true)
  until [ "$(grep -cE '^worker0 \| step ' killed.log || true)" -ge $((before + 2)) ] || ! kill -0 $launch 2>/dev/null; do sleep 0.02; done
  kill -KILL "$(sed -nE "s/^launch \| $task is process ([0-9]+)\$/\1/p" killed.log | tail -n 1)" || fail "killed: there is no $task"
done
wait $launch || fail 'killed'
same_bits killed

"${train[@]}" --steps 20 --workers 16 --out sixteen >sixteen.log
expected=$(hash_of sixteen)
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --ranks 16 -- "${train[@]}" --steps 20 --parts 2 --out sums >sums.log 2>&1 ||
  fail 'sums'
same_bits sums

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
