#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job that trains from files which are added while it runs, as real processes: it is stopped while it waits for files;
# chief, worker and both parameter servers are killed while files are added; and it ends with the bits that one process
# gives for the same log. What is wrong with a file ends the job with its name. ctest calls it in build/PRESET/tests,
# where the program is ../examples/37_stream.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

stream=$programs/37_stream steps=120 added=0
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
show() { tail -n 60 "$1.log" | sed 's/^/    /' >&2; }
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" job.log | tail -n 1; }  # TASK
nobody_left() {
  local pid
  for pid in $(sed -nE 's/^launch \| [a-z]+[0-9]+ is process ([0-9]+)$/\1/p' job.log); do
    ! kill -0 "$pid" 2>/dev/null || fail "process $pid is left"
  done
}
begin() {
  timeout -k 5 100 "$distrib" launch --ps 2 --workers 2 --restart --max-restarts 100 -- \
    "$stream" train in log job $steps >job.log 2>&1 &
  launcher=$!
}
ends() {  # returns its exit code
  local status=0
  wait "$launcher" || status=$?
  nobody_left
  return $status
}
files=$((steps / 2))
# Adds files. The order of their names is not the order in which they are added.
add() {  # COUNT
  local last=$((added + $1)) number
  for ((; added < last; ++added)); do
    number=$((added * 7 % files))
    "$stream" write in $number $((number + 1))
  done
}
newest() {  # step of the newest checkpoint
  local step
  step=$(ls job 2>/dev/null | sed -nE 's/^model\.ckpt-([0-9]+)\.index$/\1/p' | sort -n | tail -n 1)
  echo "${step:-0}"
}
until_true() {  # COMMAND...      waits until it succeeds, for at most 30 s
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -le 3000 ] || { fail "still not true after 30 s: $*"; show job; return 0; }
    sleep 0.01
  done
}
says() { [ -n "$(grep -E -e "$1" job.log)" ]; }

mkdir in
began=$EPOCHREALTIME

# Files for a few steps are there, and no more: a job that waits can be asked to stop.
begin
add 4  # 8 steps of 2 * 16 records
until_true says 'waits for the records of step 9$'
kill -TERM "$launcher"  # timeout passes it on
! ends || fail 'it was done before it was stopped'

# Killed while files are added.
begin
step=0
for victim in worker0 worker1 ps0 ps1; do  # worker0 is the chief
  step=$((step + 20))
  until [ "$(newest)" -ge $step ]; do
    [ $added -ge $files ] || add 1
    kill -0 "$launcher" 2>/dev/null || { fail "it ended before $victim was killed"; break; }
    sleep 0.01
  done
  kill -9 "$(pid_of $victim)" || fail "$victim is not there"
done
add $((files - added))
ends || { fail "exit code $?"; show job; }
killed=$(grep -c '^launch | .* was ended by SIGKILL' job.log || true)
[ "$killed" -eq 4 ] || fail "$killed of 4 kills"
took=$(awk -v b="$began" -v e="$EPOCHREALTIME" 'BEGIN {printf "%.1f", e - b}')

# One process, with the same log.
cp -r log log_of_one
timeout 60 "$stream" train in log_of_one one $steps >one.log 2>&1 || { fail "one process: exit code $?"; show one; }
[ "$(hash_of one)" = "$(hash_of job)" ] || { fail 'other bits than one process with the same log'; show job; }
[ "$(cat log_of_one/log-* | sha256sum)" = "$(cat log/log-* | sha256sum)" ] || fail 'one process has changed the log'
echo "4 kills, $added files, $took s"

# A file that is needed again, for the steps 19 and 20, is gone, or another one.
mv in/part-10003 in/_part-10003
timeout 60 "$stream" train in log gone 20 >gone.log 2>&1 && fail 'a file is gone, and nobody has noticed'
[ -n "$(grep -F 'part-10003: the log has its records 0 to 63, and it is not there' gone.log)" ] ||
  { fail 'the file that is gone is not named'; show gone; }
cp in/part-10002 in/part-10003
timeout 60 "$stream" train in log other 20 >other.log 2>&1 && fail 'a file was replaced, and nobody has noticed'
[ -n "$(grep -F 'part-10003: the log has its records 0 to 63, and it has other ones' other.log)" ] ||
  { fail 'the file that was replaced is not named'; show other; }

[ "$failures" -eq 0 ] || exit 1
echo "all passed"
