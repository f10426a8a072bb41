#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The script of examples/slurm, with programs in place of Slurm's: a job that is done ends with 0; one that is asked to stop
# before its time limit, or whose tasks are preempted, is queued again, if it shall be; a task that gives up ends the job
# with its code. ctest calls it in build/PRESET/tests.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"

mkdir bin
# Starts one task for each group: srun OPTION... sh -c SCRIPT task PROGRAM... : OPTION... sh -c SCRIPT task PROGRAM...
cat >bin/srun <<'EOF'
#!/usr/bin/env bash
rank=0 group=()
start() {
  while [ "${group[0]}" != sh ]; do group=("${group[@]:1}"); done
  SLURM_PROCID=$rank "${group[@]}" &
  echo $! >>pids
  rank=$((rank + 1)) group=()
}
for word; do if [ "$word" = : ]; then start; else group+=("$word"); fi; done
start
code=0
for pid in $(cat pids); do wait "$pid" || code=$?; done
exit $code
EOF
# Both signal the tasks and what they have started, as Slurm does.
cat >bin/scancel <<'EOF'
#!/usr/bin/env bash
for pid in $(cat pids); do pkill -TERM -P "$pid"; kill -TERM "$pid"; done
EOF
# A requeue ends the script that asks for it.
cat >bin/scontrol <<'EOF'
#!/usr/bin/env bash
echo "$*" >>requeued
kill -TERM "$PPID"
EOF
# Ends with the code of the file of its own name; without such a file it ends with 1 when it is asked to.
cat >program <<'EOF'
#!/usr/bin/env bash
trap 'exit 1' TERM
: >"ran.$SLURM_PROCID"
[ ! -e "code.$SLURM_PROCID" ] || exit "$(cat "code.$SLURM_PROCID")"
while :; do sleep 0.05; done
EOF
chmod +x bin/* program

begin() {  # RENDER-ARGUMENT...   starts the script, and sets $script
  rm -f pids requeued ran.*
  rm -rf out
  "$distrib" render "$tests/../examples/slurm/train.sbatch.jinja" -D ps_replicas=1 -D worker_replicas=1 -D data_dir=data \
    -D train_dir=out -D "command=[\"$work/program\"]" "$@" >script || { fail "render $*"; return; }
  SLURM_JOB_ID=7 PATH=$work/bin:$PATH bash script >said 2>&1 &
  script=$!
}
both_run() {
  local left=600
  until [ -e ran.0 ] && [ -e ran.1 ]; do
    left=$((left - 1))
    [ $left -gt 0 ] || { fail "the tasks did not start: $(cat said)"; return; }
    sleep 0.05
  done
}
ends() {  # CODE REQUEUED   waits for the script; 143: a requeue has ended it
  local status=0
  wait "$script" || status=$?
  [ $status -eq "$1" ] || fail "exit code $status, not $1: $(cat said)"
  [ "$(cat requeued 2>/dev/null)" = "$2" ] || fail "scontrol was asked '$(cat requeued 2>/dev/null)', not '$2'"
}

what='done'
echo 0 >code.0
echo 0 >code.1
begin -D requeue=true
ends 0 ''

what='a task gives up'
echo 70 >code.1
begin -D requeue=true
ends 70 ''
rm code.*

for requeue in true false; do
  [ $requeue = true ] && code=143 asked='requeue 7' || { code=1; asked=''; }
  what="stopped before the time limit, requeue=$requeue"
  begin -D requeue=$requeue
  both_run
  kill -USR1 "$script"
  ends $code "$asked"
  what="preempted, requeue=$requeue"
  begin -D requeue=$requeue
  both_run
  PATH=$work/bin:$PATH scancel
  ends $code "$asked"
  [[ $(cat said) = *'stopped, and saved'* ]] || fail "it says: $(cat said)"
done

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures != 0))
