#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job that trains from files which are added while it runs, as real processes: it is stopped while it waits for files;
# chief, worker and both parameter servers are killed while files are added; and it ends with the bits that one process
# gives for the same log. What is wrong with a file ends the job with its name. Then the same with files and log in an
# object store, which is away for a while. ctest calls it in build/PRESET/tests, where the program is
# ../examples/37_stream.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 HTTP_PROXY HTTPS_PROXY \
  http_proxy https_proxy

stream=$programs/37_stream steps=120 added=0 name=job in=in log=log
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
show() { tail -n 60 "$1.log" | sed 's/^/    /' >&2; }
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" $name.log | tail -n 1; }  # TASK
nobody_left() {
  local pid
  for pid in $(sed -nE 's/^launch \| [a-z]+[0-9]+ is process ([0-9]+)$/\1/p' $name.log); do
    ! kill -0 "$pid" 2>/dev/null || fail "process $pid is left"
  done
}
begin() {
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 2 --restart --max-restarts 100 -- \
    "$stream" train "$in" "$log" $name $steps >$name.log 2>&1 &
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
    add_file $number
  done
}
add_file() { "$stream" write in $1 $(($1 + 1)); }  # NUMBER
newest() {  # step of the newest checkpoint
  local step
  step=$(ls $name 2>/dev/null | sed -nE 's/^model\.ckpt-([0-9]+)\.index$/\1/p' | sort -n | tail -n 1)
  echo "${step:-0}"
}
until_true() {  # COMMAND...      waits until it succeeds, for at most 30 s
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -le 3000 ] || { fail "still not true after 30 s: $*"; show $name; return 0; }
    sleep 0.01
  done
}
says() { [ -n "$(grep -E -e "$1" $name.log)" ]; }
# Kills tasks in turn while files are added, and adds the rest.
kill_in_turn() {  # TASK...
  local step=0 victim killed
  for victim in "$@"; do
    step=$((step + 20))
    until [ "$(newest)" -ge $step ]; do
      [ $added -ge $files ] || [ $((2 * added)) -gt $(($(newest) + 20)) ] || add 1  # a file is for 2 steps
      kill -0 "$launcher" 2>/dev/null || { fail "it ended before $victim was killed"; break; }
      sleep 0.01
    done
    kill -9 "$(pid_of $victim)" || fail "$victim is not there"
  done
  add $((files - added))
  ends || { fail "exit code $?"; show $name; }
  killed=$(grep -c '^launch | .* was ended by SIGKILL' $name.log || true)
  [ "$killed" -eq $# ] || fail "$killed of $# kills"
}

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
kill_in_turn worker0 worker1 ps0 ps1  # worker0 is the chief
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

# --- in an object store ---

start_store
url=$bucket
name=stored in=$url/in log=$url/run/log steps=80 files=40 added=0
"$stream" write staged 0 $files
mkfifo puts
python3 -c 'import sys, urllib.request
for line in sys.stdin:
    name, file = line.split()
    ask = urllib.request.Request(sys.argv[1] + name, open(file, "rb").read(), {"Authorization": "x"}, method="PUT")
    urllib.request.urlopen(ask, timeout=10)' "$(cat store)/bucket/in/" <puts &
putter=$!
exec 7>puts
put() { echo "$1 $2" >&7; }  # NAME FILE
add_file() { put part-$((10000 + $1)) staged/part-$((10000 + $1)); }
listed() {  # what the log consists of
  python3 -c 'import sys, urllib.request
ask = urllib.request.Request(sys.argv[1], headers={"Authorization": "x"})
print(urllib.request.urlopen(ask, timeout=10).read().decode())' "$(cat store)/bucket/?list-type=2&prefix=run/log/log-"
}

timeout 60 "$stream" train s3+http://127.0.0.1:1/bucket/in s3+http://127.0.0.1:1/bucket/log probe 1 >probe.log 2>&1 || true
if [ -n "$(grep -F 'link distrib::http' probe.log)" ]; then
  [ "$failures" -eq 0 ] || exit 1
  echo 'all passed, without an object store: built without the component http'
  exit
fi
began=$EPOCHREALTIME
begin
add 8
until_true says 'waits for the records of step 17$'
kill -USR1 $store  # it is away
sleep 1
kill -USR2 $store
kill_in_turn worker0 worker1 ps0
took=$(awk -v b="$began" -v e="$EPOCHREALTIME" 'BEGIN {printf "%.1f", e - b}')
before=$(listed)
timeout 60 "$stream" train "$in" "$log" stored_one $steps >stored_one.log 2>&1 ||
  { fail "one process: exit code $?"; show stored_one; }
[ "$(hash_of stored_one)" = "$(hash_of stored)" ] || { fail 'store: other bits than one process'; show stored; }
[ "$(listed)" = "$before" ] || fail 'store: one process has changed the log'
echo "store: 3 kills, $added objects, $took s"
put part-10021 staged/part-10002  # one of the first
exec 7>&-
wait $putter || fail 'objects could not be written'
timeout 60 "$stream" train "$in" "$log" stored_other 20 >stored_other.log 2>&1 &&
  fail 'an object was replaced, and nobody has noticed'
[ -n "$(grep -E 'part-10021: the log has its records 0 to 63, and it has other ones: it was "[0-9a-f]+", and is "[0-9a-f]+" now' \
  stored_other.log)" ] || { fail 'the object that was replaced is not named'; show stored_other; }

[ "$failures" -eq 0 ] || exit 1
echo "all passed"
