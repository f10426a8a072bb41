#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job of real processes with an evaluator beside it: the evaluator measures the checkpoints and keeps the best one,
# every process leaves a trace, and the traces can be merged.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

rm -rf 31_evaluator.out
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --evaluator -- "$programs/31_evaluator" >job.log 2>&1 ||
  { fail "the job ended with $?"; cat job.log >&2; }
grep -qx 'evaluator0 | loss 0.000' job.log || fail 'the evaluator measured no small loss'
! grep -E '^worker. \| loss' job.log >&2 || fail 'a worker measured, too'
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
assert names == {"job-ps-task-0", "job-ps-task-1", "job-worker-task-0", "job-worker-task-1", "job-worker-task-2"}
assert len({e["pid"] for e in events}) == 5
phases = [e for e in events if e["ph"] == "X"]
assert {e["name"] for e in phases} == {"compute", "push", "wait", "pull", "save"}
assert min(e["ts"] for e in phases) >= 0
# Of each rank: the phases of a step sum to the time from its values to the values of its next step, which the moments
# `reached` mark, too.
durations = 0
for pid in {e["pid"] for e in phases if e["name"] == "compute"}:
    begun = {e["args"]["step"]: e["ts"] for e in phases if e["pid"] == pid and e["name"] == "compute"}
    reached = {e["args"]["step"]: e["ts"] for e in events if e["pid"] == pid and e["name"] == "reached"}
    for step in begun:
        if step + 1 not in begun: continue
        spent = sum(e["dur"] for e in phases if e["pid"] == pid and e["args"]["step"] == step)
        for duration in (begun[step + 1] - begun[step], reached[step] - reached[step - 1]):
            assert abs(spent - duration) <= 0.05 * duration, (pid, step, spent, duration)
            durations += 1
assert durations >= 3 * 2 * 190, durations
END
! "$distrib" trace merge merged.json "${traces[@]}" 2>again.log || fail 'an existing file was replaced'

# One that comes when the job is done measures the last checkpoint. It is told its role by TF_CONFIG.
TF_CONFIG='{"cluster":{"ps":["127.0.0.1:1"],"worker":["127.0.0.1:2"]},"task":{"type":"evaluator","index":0}}' \
  timeout -k 5 60 "$programs/31_evaluator" >late.log 2>&1 || { fail "the late evaluator ended with $?"; cat late.log >&2; }
grep -qx 'loss 0.000' late.log || fail 'the late evaluator measured nothing'
[ "$failures" -eq 0 ] || exit 1
echo "all passed"
