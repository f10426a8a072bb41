#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job as real processes whose cuts are in an object store, and nothing else is shared: it ends with the bits of
# local disk, whichever process is killed, while the store is away, and with another process of a parameter server
# beside a stopped one. ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and
# ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 HTTP_PROXY HTTPS_PROXY \
  http_proxy https_proxy
start_store
url=$bucket

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
train=("$programs/fashion_mnist_train" --data data --workers 2 --save_every 50 --evaluate_every 1000000)
steps=600

show() { tail -n 40 "$1" | sed 's/^/    /' >&2; }
# Starts a job in the background; its log is NAME.log, its cuts are in the directory NAME of the store. What its chief
# writes is in the directory NAME, or $results.
begin() {  # NAME LAUNCH_OPTION... -- TRAIN_OPTION...
  name=$1
  shift
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 200 "$distrib" launch "${options[@]}" -- "${train[@]}" --out "${results:-$name}" --checkpoints "$url/$name" "${@:2}" \
    >>"$name.log" 2>&1 &
  launch=$!
}
ends_with() {  # CODE
  local status=0
  wait "$launch" || status=$?
  [ "$status" -eq "$1" ] || { fail "$name: exit code $status, not $1"; show "$name.log"; }
}
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" "$name.log" | tail -n 1; }  # TASK
says() { [ "$(grep -cE -e "$1" "$name.log")" -gt 0 ] || { fail "$name: no '$1' in the log"; show "$name.log"; }; }
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))[sys.argv[2]])' "$@"; }
same_bits() { [ "$(field "$1" parameters_sha256 2>&1)" = "$expected" ] || { fail "$1: other bits ${2:-}"; show "$name.log"; }; }
until_there() {  # REGEX      waits until the directory NAME of the store has an object like this
  local tries=0
  until python3 - "$(cat store)" "$name" "$1" <<'PY'
import re, sys, urllib.request
ask = urllib.request.Request(f"{sys.argv[1]}/bucket/?list-type=2&prefix={sys.argv[2]}/", headers={"Authorization": "x"})
keys = re.findall("<Key>(.*?)</Key>", urllib.request.urlopen(ask, timeout=10).read().decode())
sys.exit(not any(re.match(sys.argv[3], key[len(sys.argv[2]) + 1:]) for key in keys))
PY
  do
    kill -0 "$launch" 2>/dev/null || { fail "$name: it ended before $1"; show "$name.log"; return 0; }
    [ $((tries += 1)) -le 600 ] || { fail "$name: no $1 after 60 s"; show "$name.log"; return 0; }
    sleep 0.1
  done
}

# --- the bits of local disk ---

"${train[@]}" --out disk --steps $steps >disk.log
expected=$(field disk parameters_sha256)
begin calm --ps 1 --workers 2 -- --steps $steps
status=0
wait "$launch" || status=$?
if grep -qF 'link distrib::http' calm.log; then exit 77; fi  # built without the component
[ $status -eq 0 ] || { fail "calm: exit code $status"; show calm.log; }
same_bits calm
[ "$(field calm checkpoint)" = "$url/calm/model.ckpt-$steps" ] || fail "calm: the checkpoint is $(field calm checkpoint)"
[ ! -e calm/checkpoint ] || fail 'calm: something was written to disk'
for where in "$url/calm" "$url/calm/model.ckpt-$steps"; do
  "$distrib" checkpoint list --json "$where" >list.txt || fail "checkpoint list $where: $?"
  "$distrib" checkpoint list --json disk/checkpoint >expected.txt
  diff <(grep -v '"name":"distrib/' list.txt) <(grep -v '"name":"distrib/' expected.txt) >&2 || fail "checkpoint list $where"
  "$distrib" checkpoint show "$where" global_step >show.txt || fail "checkpoint show $where: $?"
  "$distrib" checkpoint check "$where" >check.txt || fail "checkpoint check $where: $?"
  [ "$(grep -c ': good, ' check.txt)" -gt 0 ] || fail "checkpoint check $where: $(cat check.txt)"
done
begin calm --ps 1 --workers 2 -- --steps $steps  # it is done already
ends_with 0
same_bits calm 'after the end'

# --- one process ---

# Starts the whole job in one process, which also writes its events and its summary into the store.
alone() {  # NAME TRAIN_OPTION...
  name=$1
  "${train[@]}" --out "$url/$name/out" --checkpoints "$url/$name" --steps $steps "${@:2}" >>"$name.log" 2>&1 &
  launch=$!
}
get() {  # KEY      an object of the store
  python3 -c 'import sys, urllib.request
ask = urllib.request.Request(f"{sys.argv[1]}/bucket/{sys.argv[2]}", headers={"Authorization": "x"})
sys.stdout.buffer.write(urllib.request.urlopen(ask, timeout=10).read())' "$(cat store)" "$1"
}
same_bits_there() {  # NAME WHEN
  mkdir -p "$1"
  get "$1/out/summary.json" >"$1/summary.json" || fail "$1: no summary in the store"
  same_bits "$@"
}

alone alone
until_there model.ckpt-
kill -USR1 $store  # it cannot end before it is killed
kill -9 $launch 2>/dev/null || fail 'alone: it has ended'
wait $launch 2>/dev/null || true
kill -USR2 $store
alone alone
ends_with 0
same_bits_there alone 'after kill -9'
says 'continuing after step [1-9][0-9]* from s3'
until_there 'out/events/events.out.tfevents.'
[ ! -e s3+http: ] || fail 'alone: a directory with the name of a URL'

# In turns: one process, parameter servers, one process with other shards.
alone turns
until_there model.ckpt-
kill -TERM $launch 2>/dev/null || true
wait $launch || true
begin turns --ps 2 --workers 2 -- --steps $steps
until_there 'cuts/[0-9]*/00001-of-00002'
kill -TERM "$launch" 2>/dev/null || true
wait "$launch" || true
alone turns --shards 2 --parts 2
ends_with 0
same_bits_there turns 'in turns'

# --- files and store ---

"${train[@]}" --out up --steps 300 >up.log
"$distrib" checkpoint copy up/checkpoint "$url/up" >copy.txt || fail "checkpoint copy into the store: $?"
[ "$(cat copy.txt)" = "$url/up/model.ckpt-300" ] || fail "checkpoint copy: $(cat copy.txt)"
begin up --ps 2 --workers 2 -- --steps $steps
ends_with 0
says 'going on from its cut of step 300'
same_bits up 'from files'
"$distrib" checkpoint copy "$url/up" down >copy.txt || fail "checkpoint copy out of the store: $?"
[ "$(cat copy.txt)" = "down/model.ckpt-$steps" ] || fail "checkpoint copy: $(cat copy.txt)"
"$distrib" checkpoint list --json down >list.txt || fail "checkpoint list down: $?"
diff <(grep -v '"name":"distrib/' list.txt) <(grep -v '"name":"distrib/' expected.txt) >&2 || fail 'checkpoint list down'
"$distrib" checkpoint copy --json "$url/up/model.ckpt-$steps" "$url/tf" >copy.txt || fail "checkpoint copy in the store: $?"
mkdir tf
for file in index data-00000-of-00002 data-00001-of-00002; do
  get "tf/model.ckpt-$steps.$file" >"tf/model.ckpt-$steps.$file" || fail "no tf/model.ckpt-$steps.$file"
done
"$distrib" checkpoint check "tf/model.ckpt-$steps" >check.txt || fail "checkpoint check of TensorFlow's names: $?"
status=0
"$distrib" checkpoint copy up down 2>/dev/null || status=$?
[ $status -eq 64 ] || fail "checkpoint copy of files to files: $status"

# --- kill -9, a store that is away ---

begin kills --ps 2 --workers 2 --restart -- --steps $steps
until_there model.ckpt-
for victim in ps0 ps1 worker1 worker0; do
  kill -9 "$(pid_of $victim)" 2>/dev/null || fail "kills: $victim is not there"
done
ends_with 0
same_bits kills

# Two replicas of each shard: the one is killed, then the other, while a worker stands still; and again after the end.
begin replicas --ps 2 --workers 2 --restart -- --steps $steps --replicas 2
until_there 'cuts/[0-9]*/00000-r1-of-00002'
until_there model.ckpt-
still=$(pid_of worker1)
kill -STOP "$still" 2>/dev/null || fail 'replicas: worker1 is not there'
for victim in ps0 ps1; do
  before=$(pid_of $victim)
  kill -9 "$before" 2>/dev/null || fail "replicas: $victim is not there"
  tries=0
  until [ "$(pid_of $victim)" != "$before" ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
  sleep 0.5  # it asks the other replica for its state
done
kill -CONT "$still"
ends_with 0
same_bits replicas
until_there "model.ckpt-0*$steps[.]"
begin replicas --ps 2 --workers 2 -- --steps $steps --replicas 2
ends_with 0
same_bits replicas 'after the end'
begin replicas --ps 2 --workers 2 -- --steps $steps
ends_with 0
same_bits replicas 'after the end, without replicas'

begin away --ps 2 --workers 2 --restart -- --steps $steps
until_there model.ckpt-
kill -USR1 $store
sleep 3
kill -9 "$(pid_of ps1)" 2>/dev/null || fail 'away: ps1 is not there'
sleep 1
kill -USR2 $store
ends_with 0
same_bits away
says 'the object store of the cuts does not answer, waiting: '

# --- stopped, and continued by another number of parameter servers ---

begin moved --ps 2 --workers 2 -- --steps $steps
until_there model.ckpt-
kill -TERM "$launch"
ends_with 1
begin moved --ps 3 --workers 2 -- --steps $steps --parts 3
ends_with 0
says 'going on from its cut of step [1-9]'
same_bits moved

# --- incremental cuts ---

"$programs/click_convert" clicks --generate 2000 200 >convert.txt
whole=("${train[@]}") bits=$expected
train=("$programs/click_train" --data clicks --steps 120 --evaluate_every 120 --save_every 40 --batch 32 --replay_kib 800)
"${train[@]}" --workers 2 --out clicks_disk >clicks_disk.log
expected=$(field clicks_disk parameters_sha256)
link='cuts/[0-9]*/0000[01]-of-00002[.].*[.][0-9]{10}-[0-9]{10}$'
begin links --ps 2 --workers 2 --restart -- --incremental
until_there "$link"
kill -USR1 $store
for victim in ps0 ps1 worker1; do
  kill -9 "$(pid_of $victim)" 2>/dev/null || fail "links: $victim is not there"
done
kill -USR2 $store
ends_with 0
same_bits links 'with incremental cuts'
says 'going on from its cut of step [1-9]'
train=("${whole[@]}") expected=$bits

# --- asynchronous ---

begin loose --ps 2 --workers 2 --restart -- --steps $steps --mode async
sleep 1
kill -9 "$(pid_of ps0)" 2>/dev/null || true
ends_with 0
[ "$(field loose steps)" = $steps ] || fail "loose: $(field loose steps) steps"

# --- two processes of one parameter server ---

begin twice --ps 1 --workers 2 -- --steps $steps
first=$launch
until_there claims/
stopped=$(pid_of ps0)
kill -STOP "$stopped"
results=second begin twice --ps 1 --workers 2 -- --steps $steps
ends_with 0
same_bits second 'beside a stopped process'
kill -CONT "$stopped"
status=0
wait "$first" || status=$?
[ $status -eq 1 ] || { fail "twice: the process that was followed ends with $status"; show twice.log; }
says 'another process of this task has taken over its cuts'

begin busy --ps 1 --workers 2 -- --steps 400000
first=$launch
until_there model.ckpt-
owner=$(pid_of ps0)
began=$EPOCHREALTIME
results=third begin busy --ps 1 --workers 2 -- --steps 400000
status=0
wait "$launch" || status=$?
[ $status -eq 65 ] || fail "busy: the second process ends with $status"
took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
says "/job:ps/task:0 on .*, process $owner: .*the directory is in use"
echo "the second job ends after $took ms"
[ $took -le 6000 ] || fail "busy: the second job ends after $took ms, not within 6 s"
kill -TERM "$first"
wait "$first" || true

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
