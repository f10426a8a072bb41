#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib launch` with small programs as tasks: their arguments, the log, exit codes, restarts, and that no process is
# left, in whatever way it ends.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR

# Writes the program of the tasks. It notes its process, then does ACT, in which $name is "worker1" and $run is the
# number of its starts.
task() {  # ACT
  cat >task <<END
#!/usr/bin/env bash
job='' index=''
for flag; do case \$flag in --job_name=*) job=\${flag#*=} ;; --task_index=*) index=\${flag#*=} ;; esac; done
name=\$job\$index
note() { echo "\$1" >>pids; }
note \$\$
echo >>"\$name.runs"
run=\$(wc -l <"\$name.runs")
$1
END
  chmod +x task
  rm -f ./*.runs pids log
}

launch() {  # EXPECTED_CODE OPTION...
  local status=0
  "$distrib" launch "${@:2}" -- ./task >log 2>&1 </dev/null || status=$?
  [ $status -eq "$1" ] || { fail "exit code $status, not $1"; sed 's/^/    /' log >&2; }
  all_gone
}
says() { grep -qE -e "$1" log || { fail "no '$1' in the log"; tail -n 30 log | sed 's/^/    /' >&2; }; }
says_not() { ! grep -E -e "$1" log >&2 || fail "'$1' in the log"; }
runs() { [ "$(wc -l <"$1.runs")" -eq "$2" ] || fail "$1 ran $(wc -l <"$1.runs") times, not $2"; }

until_true() {  # COMMAND...      waits until it succeeds, for at most 20 s
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -le 1000 ] || return
    sleep 0.02
  done
}
is_gone() { ! grep -qsE '^[0-9]+ \(.*\) [^Z]' "/proc/$1/stat"; }  # a zombie counts as gone
all_gone() {
  local pid
  while read -r pid; do
    until_true is_gone "$pid" || { fail "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"; kill -9 "$pid"; }
  done <pids
}
lines_of() { [ "$(cat "$1" 2>/dev/null | wc -l)" -ge "$2" ]; }
in_background() {  # COUNT OPTION...      returns when COUNT processes are noted; $launch is the command's process
  "$distrib" launch "${@:2}" -- ./task >log 2>&1 </dev/null &
  launch=$!
  until_true lines_of pids "$1" || fail "the tasks did not start"
}
ends_with() {  # EXPECTED_CODE
  local status=0
  wait "$launch" 2>/dev/null || status=$?
  [ $status -eq "$1" ] || { fail "exit code $status, not $1"; sed 's/^/    /' log >&2; }
  all_gone
}
supervisor() { cat "/proc/$launch/task/$launch/children"; }
forever='exec sleep 1000'

what='flags and TF_CONFIG'
task 'python3 -c "import json,os,sys; print(json.dumps([sys.argv[1:], json.loads(os.environ[\"TF_CONFIG\"]), sys.stdin.read()]))" "$@"'
status=0
TF_CONFIG=old "$distrib" launch --ps 2 --workers 3 --evaluator -- ./task --data 'a b' '' -- --ps 9 '*' >log 2>&1 <<<'nothing of this' || status=$?
[ $status -eq 0 ] || fail "exit code $status"
python3 - <<'END' || { fail 'wrong flags or TF_CONFIG'; cat log >&2; }
import json
tasks = dict(line.split(" | ", 1) for line in open("log") if not line.startswith("launch"))
assert sorted(tasks) == ["evaluator0", "ps0", "ps1", "worker0", "worker1", "worker2"], sorted(tasks)
seen = set()
for name, text in tasks.items():
    job, index = name[:-1], int(name[-1])
    arguments, config, stdin = json.loads(text)
    hosts = config["cluster"]
    assert arguments == ["--data", "a b", "", "--", "--ps", "9", "*", f"--job_name={job}", f"--task_index={index}",
                         "--ps_hosts=" + ",".join(hosts["ps"]), "--worker_hosts=" + ",".join(hosts["worker"])], arguments
    assert config["task"] == {"type": job, "index": index}, config
    assert stdin == "", stdin
    seen.add(json.dumps(hosts))
assert len(seen) == 1, seen
addresses = hosts["ps"] + hosts["worker"]
assert len(hosts["ps"]) == 2 and len(set(addresses)) == 5, addresses
assert all(a.startswith("127.0.0.1:") and int(a[10:]) >= 1024 for a in addresses), addresses
END

what='prefixes'
task 'echo "out $name"; echo "err $name" >&2; printf "10%%\r20%%\r100%%\n"; printf "no end"; '
launch 0 --ps 1 --workers 2
for name in ps0 worker0 worker1; do
  for line in "out $name" "err $name" '100%' 'no end'; do says "^$name \| $line\$"; done
  says "^launch \| $name is process [0-9]+\$"
done
says '^launch \| exit code 0: all 3 tasks are done$'
awk '/^launch . ps0 ended/ {ended = 1} /^ps0 / && ended {late = 1} END {exit late}' log || fail "output after the end"
says_not $'\x1b|\r|20%'

what='lines stay whole'
task 'exec python3 -c "
import os, sys
name = sys.argv[1]
for number in range(400):
    line = (name + \" %d \" % number + \"x\" * (number * 37 % 9000) + \" end\\n\").encode()
    for at in range(0, len(line), 1000): os.write(1 + number % 2, line[at:at + 1000])
os.write(1, b\"y\" * 200000)
" "$name"'
launch 0 --ps 2 --workers 3
python3 - <<'END' || fail 'wrong lines'
import collections
count, long = collections.Counter(), collections.Counter()
for line in open("log", newline="\n"):
    name, text = line.rstrip("\n").split(" | ", 1)
    if name == "launch": continue
    if text.startswith("y"):
        assert set(text) == {"y"} and len(text) in (65536, 200000 - 3 * 65536), len(text)
        long[name] += len(text)
        continue
    who, number, *rest = text.split(" ")
    assert who == name and rest[-1] == "end" and rest[0] == "x" * (int(number) * 37 % 9000), line[:200]
    count[name] += 1
assert set(count.values()) == {400} and len(count) == 5, count
assert set(long.values()) == {200000} and len(long) == 5, long
END

what='exit codes'
task 'exit 0'
launch 0 --ps 1 --workers 1
for end in 'exit 1:1:ended with code 1 \(retry\)' 'exit 70:70:ended with code 70 \(permanent\)' \
  'exit 3:3:ended with code 3 \(permanent\)' 'kill -9 $$:137:was ended by SIGKILL'; do
  IFS=: read -r act code words <<<"$end"
  task "[ \$name != worker1 ] || { $act; }; $forever"
  launch "$code" --ps 2 --workers 3
  says "^launch \| worker1 $words: stopping the job\$"
  says "^launch \| exit code $code: worker1 $words\$"
  says '^launch \| ps1 was ended by SIGTERM$'
done

what='--restart'
task 'case $name$run in worker11) kill -9 $$ ;; ps01|ps02) exit 1 ;; esac; echo "run $run"'
launch 0 --ps 1 --workers 2 --restart
runs ps0 3; runs worker0 1; runs worker1 2
says '^launch \| worker1 was ended by SIGKILL: starting it again in 0\.1 s \(1 of at most 10\)$'
says '^worker1 \| run 2$'
says '^ps0 \| run 3$'

what='--restart with the same flags'
task 'echo "$TF_CONFIG $*"; [ $run = 2 ] || exit 1'
launch 0 --ps 1 --workers 1 --restart
[ "$(grep -c '^ps0 | {' log)" = 2 ] && [ "$(grep '^ps0 | {' log | sort -u | wc -l)" = 1 ] || fail 'other flags'

what='--restart gives up'
task "[ \$name = ps0 ] || exit 1; $forever"
launch 1 --ps 1 --workers 1 --restart --max-restarts 2
runs worker0 3; runs ps0 1
says '^launch \| worker0 ended with code 1 \(retry\) after 2 restarts: stopping the job$'

what='--restart and a permanent code'
task "[ \$name = ps0 ] || exit 70; $forever"
launch 70 --ps 1 --workers 1 --restart
runs worker0 1

what='kill -9 of a task from outside'
task 'if [ $name = ps0 ] && [ $run = 1 ]; then sleep 1000 & echo $! >child; note $!; wait; fi
if [ $name$run = ps02 ] && grep -qsE "^[0-9]+ \(.*\) [^Z]" /proc/$(cat child)/stat; then echo still there; fi'
in_background 3 --ps 1 --workers 1 --restart
kill -9 "$(sed -nE 's/^launch \| ps0 is process ([0-9]+)$/\1/p' log)"
ends_with 0
runs ps0 2
says_not 'still there'

# However it ends, no process is left: no task, no process that a task started, also if that is in a session of its own.
group='(sleep 1000 & echo $! >>pids; wait) & note $!
sleep 1000 & note $!'
family="$group; setsid sleep 1000 & note \$!"
for signal in INT TERM HUP; do
  what="SIG$signal"
  case $signal in INT) all=$family grace=3.0 count=15 ;; *) all=$group grace=600.0 count=12 ;; esac
  task "trap 'echo saved; exit 1' TERM; $all; wait"
  in_background $count --ps 1 --workers 2 --grace $grace --restart
  kill -s $signal "$launch"
  ends_with 1
  says "^launch \| asked to stop: the tasks have ${grace/./\\.} s to end, then they are killed\$"
  says '^ps0 \| saved$'
  says '^worker1 \| saved$'
  runs ps0 1
done

what='SIGTERM to tasks that ignore it'
task "trap '' TERM; $family; wait"
in_background 15 --ps 1 --workers 2 --grace 0.2
kill -TERM "$launch"
ends_with 137
says '^launch \| after 0\.2 s ps0 worker0 worker1 still ran: killed$'

what='SIGTERM and a script around the program'
task "(trap 'sleep 0.3; echo saved; exit 1' TERM; note \$BASHPID; while :; do sleep 0.05; done) & wait"
in_background 4 --ps 1 --workers 1
kill -TERM "$launch"
ends_with 143
says '^ps0 \| saved$'
says '^worker0 \| saved$'

what='a second SIGINT'
task "trap 'echo no' TERM; $family; while :; do wait; done"
in_background 15 --ps 1 --workers 2 --grace 1000
kill -INT "$launch"
until_true grep -q 'worker1 | no' log
kill -INT "$launch"
ends_with 137

what='kill -9 of the command'
task "trap '' TERM INT HUP; $family; wait"
in_background 15 --ps 1 --workers 2
other=$(supervisor)
kill -9 "$launch"
ends_with 137
until_true is_gone "$other" || fail "its child $other is left"

what='kill -9 of its child'
task "trap '' TERM INT HUP; $family; wait"
in_background 15 --ps 1 --workers 2
kill -9 "$(supervisor)"
ends_with 137
says '^error: the supervisor of distrib launch was killed by signal 9; all processes that it had started were ended too$'

what='a reader that has gone'
task "$family; exec yes"
"$distrib" launch --ps 1 --workers 1 --grace 0.2 -- ./task 2>errors </dev/null | head -n 20 >log
[ "${PIPESTATUS[0]}" -eq 74 ] || fail "exit code"
grep -qx 'error: stdout: Broken pipe' errors || fail "no error text"
all_gone

what='a reader that pauses'
task "note \$BASHPID; exec yes"
mkfifo pipe
"$distrib" launch --ps 1 --workers 1 --grace 1000 -- ./task >pipe 2>&1 </dev/null &
launch=$!
exec 3<pipe
until_true lines_of pids 4 || fail "the tasks did not start"
kill -INT "$launch"
all_gone
kill -INT "$launch"
ends_with 143
exec 3<&-

what='a terminal'
task 'trap "echo term >>$name.terms; exit 1" TERM; note $BASHPID; echo hello; while :; do sleep 0.05; done'
python3 - "$distrib" >log <<'END' || fail 'wrong output or exit code'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "launch", "--ps", "1", "--workers", "1", "--", "./task"])
seen = b""
while True:
    try:
        got = os.read(terminal, 4096)
    except OSError:
        break
    if not got:
        break
    before = seen.count(b"hello\x1b[0m\r\n")
    seen += got
    if before < 2 and seen.count(b"hello\x1b[0m\r\n") == 2:
        os.write(terminal, b"\x03")  # Ctrl-C
_, status = os.waitpid(pid, 0)
sys.stdout.write(seen.decode())
assert os.waitstatus_to_exitcode(status) == 1, status
assert b"\x1b[36mps0 | \x1b[0mhello\x1b[0m\r\n" in seen and b"\x1b[33mworker0 | \x1b[0mhello\x1b[0m\r\n" in seen, seen
END
for name in ps0 worker0; do [ "$(cat $name.terms | wc -l)" = 1 ] || fail "$name was not asked once to end"; done
all_gone

# Wrong usage: a clear error, and no task is started.
refused() {  # CODE TEXT ARGUMENTS...
  local status=0
  "$distrib" "${@:3}" >log 2>&1 </dev/null || status=$?
  what="distrib ${*:3}"
  [ $status -eq "$1" ] || fail "exit code $status, not $1"
  says "$2"
  says_not '^launch \|'
}
touch text
refused 127 '^error: no-such-program: not found in PATH$' launch --ps 1 --workers 1 -- no-such-program
refused 127 '^error: \./nowhere: not found$' launch --ps 1 --workers 1 -- ./nowhere
refused 126 '^error: \./text: is not executable$' launch --ps 1 --workers 1 -- ./text
refused 126 '^error: /: is a directory$' launch --ps 1 --workers 1 -- /
refused 64 '^error: --ps 0: .*run PROGRAM itself' launch --ps 0 --workers 3 -- ./task
refused 64 '^error: --workers 0' launch --ps 1 --workers 0 -- ./task
refused 64 'PROGRAM' launch --ps 1 --workers 1
refused 64 'PROGRAM' launch --ps 1 --workers 1 --
refused 64 '--ps' launch --workers 1 -- ./task
refused 64 '--workers' launch --ps 1 --workers -1 -- ./task
refused 64 '--workers' launch --ps 1 --workers many -- ./task
refused 64 'restart' launch --ps 1 --workers 1 --max-restarts 5 -- ./task
refused 64 'nonsense' launch --ps 1 --workers 1 --nonsense -- ./task
refused 64 '.' launch --ps 1 --workers 1 ./task
refused 64 'subcommand'

what='--tls'
if command -v openssl >/dev/null; then
  task 'cd "$DISTRIB_TLS_DIRECTORY" || exit; echo "directory $PWD"
for use in sslserver sslclient; do openssl verify -purpose $use -verify_ip 127.0.0.1 -CAfile ca.crt tls.crt; done
openssl verify -verify_hostname localhost -CAfile ca.crt tls.crt
[ "$(openssl x509 -in tls.crt -pubkey -noout)" = "$(openssl pkey -in tls.key -pubout)" ] && echo "the key fits"
stat -c "%n %a" -- . *'
  DISTRIB_TLS_DIRECTORY=/of/the/starter launch 0 --ps 1 --workers 1 --tls
  directory=$(sed -n 's/^launch | certificates: //p' log)
  [ -n "$directory" ] || fail 'the directory is not told'
  for name in ps0 worker0; do
    says "^$name \| directory $directory\$"
    [ "$(grep -c "^$name | tls.crt: OK\$" log)" -eq 3 ] || fail "$name: the certificate is not good for both ends"
    says "^$name \| the key fits\$"
    says "^$name \| \. 700\$"
    says "^$name \| tls\.key 600\$"
    says_not "^$name \| ca\.key"  # no further certificate can be made
  done
  [ ! -e "$directory" ] || fail "$directory is left"
  task 'echo "directory ${DISTRIB_TLS_DIRECTORY-none}"'
  launch 0 --ps 1 --workers 1
  says '^ps0 \| directory none$'
  task "$forever"
  in_background 2 --ps 1 --workers 1 --tls
  directory=$(sed -n 's/^launch | certificates: //p' log)
  [ -e "$directory/tls.key" ] || fail 'no certificate while the job runs'
  kill -INT "$launch"
  ends_with 143
  [ ! -e "$directory" ] || fail "$directory is left after Ctrl-C"
  task 'exit 0'
  mkdir nothing
  status=0
  PATH=$PWD/nothing "$distrib" launch --ps 1 --workers 1 --tls -- ./task >log 2>&1 || status=$?
  [ $status -eq 70 ] || fail "without openssl: exit code $status"
  says '^error: the program openssl .*cannot make certificates'
fi

what='a file that cannot be executed'
printf '#!/no/such/interpreter\n' >task && chmod +x task && : >pids
launch 126 --ps 1 --workers 1
says '^(ps0|worker0) \| cannot run \./task: No such file or directory$'

what='--help'
"$distrib" launch --help >log || fail "exit code"
says '-- PROGRAM ARGS'

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
