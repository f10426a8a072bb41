#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sessions as real processes: each of worker, chief and parameter server is killed, several times in one job, and the job
# ends with the bits of an undisturbed one. With batches of the program's own a killed worker ends all tasks with code 1;
# the launcher starts them again, and the bits are the same, because the loop brings the batches of the same steps. ctest
# calls it in build/PRESET/tests, where the programs are in ../examples. By hand from there: session.sh --full, which
# kills each of them ten times.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

kills=2
[ "${1:-}" != --full ] || kills=10
steps=$((kills * 100 + 100))
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
show() { tail -n 60 "$1.log" | sed 's/^/    /' >&2; }
pid_of() { sed -nE "s/^launch \| $2 is process ([0-9]+)\$/\1/p" "$1.log" | tail -n 1; }  # JOB TASK
nobody_left() {  # JOB
  local pid
  for pid in $(sed -nE 's/^launch \| [a-z]+[0-9]+ is process ([0-9]+)$/\1/p' "$1.log"); do
    ! kill -0 "$pid" 2>/dev/null || fail "$1: process $pid is left"
  done
}

# Kills the victim when the job has the checkpoint of step 100, then of 200, and so on; the last time before the end.
kill_each_hundred() {  # JOB VICTIM LAUNCHER
  local n pid before=''
  for ((n = 1; n <= kills; ++n)); do
    until [ -e "$1/model.ckpt-$((n * 100)).index" ]; do
      kill -0 "$3" 2>/dev/null || { fail "$1: it ended before kill $n"; return; }
      sleep 0.005
    done
    pid=$(pid_of "$1" "$2")
    until [ "$pid" != "$before" ] && kill -9 "$pid" 2>/dev/null; do  # it may be on its way back from an earlier kill
      kill -0 "$3" 2>/dev/null || { fail "$1: it ended before kill $n"; return; }
      sleep 0.005
      pid=$(pid_of "$1" "$2")
    done
    before=$pid
  done
}

for program in 34_session 35_own_batches; do
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 -- "$programs/$program" "$program" $steps >"$program.log" 2>&1 ||
    { fail "$program: exit code $?"; show "$program"; continue; }
  expected=$(hash_of "$program")
  grep -q "$steps steps" "$program.log" || fail "$program: no result is printed"

  # Asked to stop in the middle, and started again.
  job=$program-stopped
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 -- "$programs/$program" "$job" $steps >"$job.log" 2>&1 &
  launcher=$!
  until [ -e "$job/model.ckpt-100.index" ] || ! kill -0 $launcher 2>/dev/null; do sleep 0.005; done
  kill -TERM $launcher || true  # timeout passes it on
  status=0
  wait $launcher || status=$?
  [ $status -ne 0 ] || fail "$job: it was done before it was stopped"
  nobody_left "$job"
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 -- "$programs/$program" "$job" $steps >"$job.log" 2>&1 ||
    { fail "$job: exit code $? after the second start"; show "$job"; }
  [ "$(hash_of "$job")" = "$expected" ] || { fail "$job: other bits"; show "$job"; }

  # Killed, and started again by the launcher.
  for victim in worker1 worker0 ps1; do  # worker0 is the chief
    job=$program-$victim
    began=$EPOCHREALTIME
    timeout -k 5 300 "$distrib" launch --ps 2 --workers 3 --restart --max-restarts 100 -- \
      "$programs/$program" "$job" $steps >"$job.log" 2>&1 &
    launcher=$!
    kill_each_hundred "$job" $victim $launcher
    status=0
    wait $launcher || status=$?
    [ $status -eq 0 ] || { fail "$job: exit code $status"; show "$job"; continue; }
    nobody_left "$job"
    [ "$(hash_of "$job")" = "$expected" ] || { fail "$job: other bits"; show "$job"; }
    killed=$(grep -c "^launch | $victim was ended by SIGKILL" "$job.log" || true)
    [ "$killed" -eq $kills ] || fail "$job: $killed of $kills kills"
    others=$(grep -c '^launch | .* ended with code 1' "$job.log" || true)
    echo "$job: $kills kills, $others other restarts, $(awk -v b="$began" -v e="$EPOCHREALTIME" 'BEGIN {printf "%.1f", e - b}') s"
    case $program-$victim in
      35_own_batches-worker*)
        grep -q 'contributions of batches of the program.s own are lost' "$job.log" || fail "$job: no reason is given"
        [ "$others" -ge "$kills" ] || fail "$job: the other tasks were not started again" ;;
      *) [ "$others" -eq 0 ] || { fail "$job: $others tasks ended with 1"; show "$job"; } ;;
    esac
  done
done

[ "$failures" -eq 0 ] || exit 1
echo "all passed"
