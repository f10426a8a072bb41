#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job of real processes with an evaluator beside it: the evaluator measures the checkpoints and keeps the best one,
# every process leaves a trace, and the traces can be merged.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

rm -rf 31_evaluator.out
TF_CONFIG='{"cluster":{"ps":["127.0.0.1:1"],"worker":["127.0.0.1:2"]},"task":{"type":"evaluator","index":0}}' \
  timeout -k 5 120 "$programs/31_evaluator" >evaluator.log 2>&1 &
evaluator=$!
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 -- "$programs/31_evaluator" >job.log 2>&1 ||
  { fail "the job ended with $?"; cat job.log >&2; }
status=0
wait $evaluator || status=$?
[ $status -eq 0 ] || { fail "the evaluator ended with $status"; cat evaluator.log >&2; }
grep -qx 'loss 0.000' evaluator.log || fail 'the evaluator measured no small loss'
[ -e 31_evaluator.out/best/best.json ] || fail 'no best checkpoint is kept'
"$distrib" checkpoint check 31_evaluator.out/best >check.log 2>&1 || fail "the best checkpoint is damaged: $(cat check.log)"
ls 31_evaluator.out/eval/events.out.tfevents.* >ls.log 2>&1 || fail 'the evaluator wrote no curve'

traces=(31_evaluator.out/traces/trace-*.json)
[ ${#traces[@]} -eq 5 ] || fail "not five traces: ${traces[*]}"
rm -f merged.json
"$distrib" trace merge merged.json "${traces[@]}" || fail 'the traces cannot be merged'
python3 - <<'END' || fail 'the merged trace is not what it should be'
import json
events = json.load(open("merged.json"))
names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
assert names == {"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:2"}
assert len({e["pid"] for e in events}) == 5
phases = [e for e in events if e["ph"] == "X"]
assert {e["name"] for e in phases} == {"compute", "push", "wait", "pull", "save"}
assert min(e["ts"] for e in phases) >= 0
# The phases of each rank follow each other without a gap.
for pid in {e["pid"] for e in phases if e["name"] == "compute"}:
    own = sorted((e["ts"], e["dur"]) for e in phases if e["pid"] == pid)
    span = own[-1][0] + own[-1][1] - own[0][0]
    assert abs(span - sum(d for _, d in own)) < 0.05 * span, pid
END
! "$distrib" trace merge merged.json "${traces[@]}" 2>again.log || fail 'an existing file was replaced'
[ "$failures" -eq 0 ] || exit 1
echo "all passed"
