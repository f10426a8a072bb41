#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job as real processes, started by `distrib launch`: it ends with the bits of one process, whichever process
# is killed and whatever else connects; clear errors for bad input. ctest calls it in build/PRESET/tests, where the
# programs are ../examples/fashion_mnist_* and ../tools/distrib. By hand from there: cluster.sh --full, which runs the
# whole job, makes ten kills, and checks times and memory.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

full=
steps=600 kills=4 loose_steps=300 loose_accuracy=0.6 accuracy=0.8
if [ "${1:-}" = --full ]; then full=yes steps=6000 kills=10 loose_steps=18000 loose_accuracy=0.875 accuracy=0.875; fi

# --- running jobs ---

train=("$programs/fashion_mnist_train" --data data)
# Starts a job in the background, with its log in NAME.log; $launch is its process.
begin() {  # NAME LAUNCH_OPTION... -- TRAIN_OPTION...
  name=$1
  shift
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 240 "$distrib" launch "${options[@]}" -- "${program[@]:-${train[@]}}" --out "$name" "${@:2}" >"$name.log" 2>&1 &
  launch=$!
}
# Waits until the job has ended, with this code and without leaving a process.
ends_with() {  # CODE
  local status=0
  wait "$launch" || status=$?
  [ "$status" -eq "$1" ] || { fail "$name: exit code $status, not $1"; show "$name.log"; }
  nobody_left
}
nobody_left() {
  local pid
  for pid in $(pids_of '[a-z]*[0-9]*'); do
    ! kill -0 "$pid" 2>/dev/null || fail "$name: process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
  done
}
job() { begin "$@"; ends_with 0; }  # NAME LAUNCH_OPTION... -- TRAIN_OPTION...
pids_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" "$name.log"; }  # TASK
says() { grep -qE -e "$1" "${2:-$name.log}" || { fail "$name: no '$1' in the log"; show "${2:-$name.log}"; }; }
show() { tail -n 40 "$1" | sed 's/^/    /' >&2; }
until_true() {  # COMMAND...      waits until it succeeds, for at most 30 s
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -le 1500 ] || { fail "$name: still not true after 30 s: $*"; return 0; }
    sleep 0.02
  done
}
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))[sys.argv[2]])' "$@"; }  # NAME FIELD
hash_of() { field "$1" parameters_sha256; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$expected" ] || fail "$1: the hash differs from that of one process: ${2:-}"; }
seconds_since() { awk -v began="$1" -v now="$EPOCHREALTIME" 'BEGIN {printf "%.2f", now - began}'; }

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
program=()

# --- the same bits as in one process ---

"${train[@]}" --out local --steps $steps >local.log
expected=$(hash_of local)
began=$EPOCHREALTIME first='' high=0
begin first --ps 2 --workers 3 -- --steps $steps
while kill -0 "$launch" 2>/dev/null; do
  [ -n "$first" ] || ! grep -q 'worker0 | step 1/' first.log || first=$(seconds_since "$began")
  for pid in $(pids_of 'ps[0-9]'); do
    now=$(sed -nE 's/^VmHWM:\s+([0-9]+) kB$/\1/p' "/proc/$pid/status" 2>/dev/null) || true
    [ "${now:-0}" -le "$high" ] || high=$now
  done
  sleep 0.02
done
ends_with 0
took=$(seconds_since "$began")
same_bits first
echo "first step after $first s, end after $took s; a parameter server used $high KiB; $(field first examples_per_second) examples/s"
if [ -n "$full" ]; then
  awk -v first="$first" 'BEGIN {exit !(first < 1)}' || fail "the first step came after $first s"
  [ "$high" -le $((40 << 10)) ] || fail "a parameter server used $high KiB"
fi
python3 - "$accuracy" <<'EOF' || fail 'the summary does not fit the job'
import json, sys
summary = json.load(open("first/summary.json"))
right = summary["ps"] == 2 and summary["workers"] == 3 and summary["complete"] and summary["test_accuracy"] >= float(sys.argv[1])
sys.exit(not right)
EOF
! grep -q $'\r' first.log || fail 'a progress bar was printed into a pipe'
[ -e "first/checkpoint/model.ckpt-$steps.index" ] || fail 'no checkpoint'

job again --ps 2 --workers 3 -- --steps $steps
same_bits again
job one_ps --ps 1 --workers 3 -- --steps $steps
same_bits one_ps
job three_ps --ps 3 --workers 3 -- --steps $steps --parts 3 --shards 2
same_bits three_ps

for mode in async ssp; do
  job $mode --ps 2 --workers 3 -- --steps $loose_steps --mode $mode
  python3 - $mode $loose_steps $loose_accuracy <<'EOF' || fail "--mode $mode learned too little"
import json, sys
summary = json.load(open(sys.argv[1] + "/summary.json"))
print(sys.argv[1], "accuracy", summary["test_accuracy"])
sys.exit(not (summary["steps"] == int(sys.argv[2]) and summary["test_accuracy"] >= float(sys.argv[3])))
EOF
done

# --- kill -9 at any moment; only the launcher restarts tasks ---

seed=${DISTRIB_SEED:-$RANDOM}
echo "kills: seed $seed (DISTRIB_SEED repeats it)"
RANDOM=$seed
runs=0
for ((n = 0; n < kills; ++n)); do
  run=kill$((runs++))
  # Spread over the run: each kill within its own share of it, the first two within a tenth of a second.
  after=$(awk -v n=$((n / 2)) -v of=$(((kills + 1) / 2)) -v r=$RANDOM -v took="$took" \
    'BEGIN {r /= 32768; printf "%.3f", n == 0 ? r / 10 : (n + r) / of * took}')
  case $((n % 2)) in 0) victim=worker$((RANDOM % 3)) ;; *) victim=ps$((RANDOM % 2)) ;; esac
  began=$EPOCHREALTIME
  begin $run --ps 2 --workers 3 --restart -- --steps $steps
  until_true grep -qs "^launch | $victim is process" $run.log
  sleep "$after"
  result=killed
  kill -9 "$(pids_of $victim | tail -n 1)" 2>/dev/null || result='done before'
  ends_with 0
  same_bits $run "$victim $result after $after s"
  printf '%-8s %-11s after %6s s   end after %6s s   %.16s\n' $victim "$result" "$after" "$(seconds_since "$began")" "$(hash_of $run 2>&1)"
  [ "$result" = killed ] && continue
  took=$(awk -v took="$took" 'BEGIN {print took * 0.8}')  # the kill came too late: repeat it, earlier
  n=$((n - 1))
done
# Two kills at once, also two parameter servers.
for victims in 'ps0 worker1' 'ps0 ps1'; do
  name=pair
  rm -rf pair
  begin pair --ps 2 --workers 3 --restart -- --steps $steps
  until_true grep -qs 'worker0 | step [1-9][0-9]' pair.log
  for victim in $victims; do kill -9 "$(pids_of $victim)" 2>/dev/null || true; done
  ends_with 0
  same_bits pair "$victims killed"
done

# With replicas, the other server continues alone, and the server that comes back copies its state.
begin replicas --ps 2 --workers 3 --restart -- --steps $steps --replicas 2
until_true grep -qs 'worker0 | step [1-9][0-9]' replicas.log
kill -9 "$(pids_of ps1)" 2>/dev/null || true
ends_with 0
same_bits replicas 'ps1 killed'
[ -e "replicas/checkpoint/model.ckpt-$steps.index" ] || fail 'replicas: no checkpoint'
[ -z "$(compgen -G 'replicas/checkpoint/replica-*')" ] || fail 'replicas: cuts of second replicas are left'

# --- Ctrl-C, then the same command again ---

"${train[@]}" --out whole --steps 1500 >whole.log
expected=$(hash_of whole)
for signal in INT TERM; do
  begin cut --ps 2 --workers 3 -- --steps 1500
  until_true grep -qs 'worker0 | step [1-9]' cut.log
  kill -s $signal "$(cat "/proc/$launch/task/$launch/children")"  # the child of timeout, which passes on only SIGTERM
  ends_with 1
  says 'asked to stop: saving'
  [ "$(field cut complete)" = False ] || fail "SIG$signal: the summary of an interrupted job"
  job cut --ps 2 --workers 3 -- --steps 1500
  says 'going on from its cut of step [1-9]'
  same_bits cut "SIG$signal"
  rm -rf cut cut.log  # otherwise the next run would find the steps of this one before it has started
done

# --- other processes that connect ---

# worker2 waits for a file: until then the job stays in its first step.
cat >held <<EOF
#!/usr/bin/env bash
case " \$* " in *' --job_name=worker --task_index=2 '*) until [ -e go ]; do sleep 0.05; done ;; esac
exec ${train[*]@Q} "\$@"
EOF
chmod +x held
"${train[@]}" --out short --steps 200 >short.log
expected=$(hash_of short)
program=(./held)
begin door --ps 2 --workers 3 -- --steps 200
program=()
until_true grep -qs 'worker2 is process' door.log
hosts=$(sed -n 's/^launch | \(--ps_hosts=.*\)$/\1/p' door.log)
ps0=$(sed -E 's/--ps_hosts=([^,]*),.*/\1/' <<<"$hosts")
listens() { (exec 3<>"/dev/tcp/${ps0%:*}/${ps0#*:}") 2>/dev/null; }
until_true listens

refused() {  # EXPECTED ARGUMENTS...
  local status=0 name=refused
  timeout -k 5 60 "${@:2}" >refused.log 2>&1 || status=$?
  [ $status -ne 0 ] && [ $status -lt 124 ] || fail "exit code $status: ${*:2}"
  grep -qE -e "$1" refused.log || { fail "no '$1' in the output of: ${*:2}"; show refused.log; }
  nobody_left
}
# shellcheck disable=SC2206
other=("${train[@]}" --out other --steps 200 $hosts)
refused "$ps0: the address is in use" "${other[@]}" --job_name=ps --task_index=0
# shellcheck disable=SC2086
refused "/job:ps/task:0 in .*/door/checkpoint, held by process $(pids_of ps0) on .*: the directory is in use: .*use another" \
  "${train[@]}" --out door --steps 200 $hosts --job_name=ps --task_index=0
refused '2 replicas, 1 parameter servers, .*: 2 replicas need a synchronous job .*at least 2 parameter servers' \
  "${train[@]}" --out other --steps 200 --replicas 2 --ps_hosts="$ps0" --worker_hosts=127.0.0.1:1 --job_name=worker --task_index=0
refused '--job_name=sp \(must be ps, worker, evaluator or onlooker\)' "${other[@]}" --job_name=sp --task_index=0
refused "--task_index=3: job 'worker' has 3 hosts" "${other[@]}" --job_name=worker --task_index=3
refused "--task_index=2: job 'ps' has 2 hosts" "${other[@]}" --job_name=ps --task_index=2
until_true test -e door/checkpoint/.saving.lock  # a worker has brought the job
refused 'another job.*0\.05.*0\.06|0\.05.*0\.06.*another job' "${other[@]}" --job_name=worker --task_index=1 --learning_rate 0.06
refused 'another job.*seed 1.*seed 2|seed 1.*seed 2.*another job' "${other[@]}" --job_name=worker --task_index=1 --seed 2

python3 - "$hosts" <<'EOF' &
import os, random, socket, sys, time
random.seed(1)
addresses = [host.rsplit(":", 1) for host in sys.argv[1].split()[0].split("=")[1].split(",")]
half_a_greeting = b"DSTB\1\1\0\0"  # nothing follows it
held = []
for host, port in addresses:
    def say(words):
        stranger = socket.create_connection((host, int(port)))
        try:
            stranger.sendall(words)
        except OSError:
            pass  # the server has closed the connection meanwhile
        held.append(stranger)
    say(random.randbytes(100000))
    say(b"GET / HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
    say(b"")
    say(b"\0" * 64)
    say(half_a_greeting)
open("strangers", "w").close()
while not os.path.exists("over"):  # keep the connections until the end of the job
    time.sleep(0.05)
EOF
strangers=$!
until_true test -e strangers
"${train[@]}" --out second $hosts --steps 200 --job_name=worker --task_index=1 >second.log 2>&1 &
second=$!
touch go
name=door
ends_with 0
same_bits door 'unknown clients connected'
touch over
wait $strangers
wait $second || { fail "the second process of one rank: exit code $?"; show second.log; }

# --- bad input: a clear error, an exit code other than 0, and no process hangs ---

refused 'waiting for /job:ps/task:0 at no-such-host\.invalid:2222 since [0-9]+ s: the host.s name has no address' \
  "${train[@]}" --out x --start_within 10 --job_name=worker --task_index=0 --ps_hosts=no-such-host.invalid:2222 --worker_hosts=localhost:2223
grep -q '/job:ps/task:0 at no-such-host.invalid:2222: the host' refused.log || { fail 'no error for a host without an address'; show refused.log; }

cat >unlike <<EOF
#!/usr/bin/env bash
case " \$* " in *' --job_name=worker --task_index=1 '*) set -- --learning_rate 0.06 "\$@" ;; esac
exec ${train[*]@Q} "\$@"
EOF
chmod +x unlike
cluster=("$distrib" launch --ps 2 --workers 3)
refused 'another job.*0\.0[56].*0\.0[56]|0\.0[56].*0\.0[56].*another job' "${cluster[@]}" -- ./unlike --out unlike.out --steps 200000
touch file
refused 'file/deeper/checkpoint' "${cluster[@]}" -- "${train[@]}" --out file/deeper --steps 200000
refused 'another job.*seed 1.*seed 2|seed 1.*seed 2.*another job' "${cluster[@]}" -- "${train[@]}" --out first --steps $steps --seed 2
cp -r data damaged
printf 'X' | dd of=damaged/train-00003-of-00010 bs=1 seek=100000 conv=notrunc status=none
refused 'train-00003-of-00010.*record 1[0-9]+ at offset' "${cluster[@]}" --restart -- "$programs/fashion_mnist_train" --data damaged --out damaged.out --steps 400
refused 'nowhere' "${cluster[@]}" --restart -- "$programs/fashion_mnist_train" --data nowhere --out x --steps 400

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
