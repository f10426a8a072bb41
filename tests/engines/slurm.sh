#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: slurm.sh BUILD
# Slurm with five nodes, all on this machine, runs examples/slurm. A parameter server and a worker are killed during the
# training, and the job must end by itself with the parameters of an undisturbed job; then the same over TLS. Another job
# is stopped and submitted again, the next one is requeued by the script itself, and the last has a wrong flag and must
# fail at once.
# The functions are in tests/engines/support.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/job.sh"
for program in slurmctld slurmd srun munged; do
  need $program 'slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge'
done
alone "$@"
prepare "$1"
hosts
cd "$work" || exit

show_logs() {
  local log
  for log in "$work"/slurm-*.out "$work"/*/logs/*.log "$work/slurm/ctld.log"; do
    [ ! -s "$log" ] || { echo "--- ${log#"$work/"}"; tail -n 10 "$log"; }
  done
}

# --- the cluster ---

chmod 711 "$work"  # munged runs as another user
mkdir -p slurm/state slurm/spool
install -d -m 711 -o munge -g munge munge
head -c 128 /dev/urandom >munge/key
chown munge:munge munge/key
chmod 600 munge/key
runuser -u munge -- munged --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed" || fail 'munged did not start'
cat >slurm.conf <<END
ClusterName=distrib
SlurmctldHost=distrib(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$work/munge/socket,cred_expire=10
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool/%n
SlurmctldPidFile=$work/slurm/ctld.pid
SlurmdPidFile=$work/slurm/%n.pid
SlurmctldLogFile=$work/slurm/ctld.log
SlurmdLogFile=$work/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
KillWait=10
$(for n in 1 2 3 4 5; do
  echo "NodeName=n$n NodeAddr=10.77.0.$n NodeHostname=distrib Port=1682$n CPUs=1 RealMemory=1000"
done)
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$work/slurm.conf
slurmctld -f "$SLURM_CONF" || fail 'slurmctld did not start'
for n in 1 2 3 4 5; do slurmd -f "$SLURM_CONF" -N n$n || fail "slurmd of n$n did not start"; done
idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 5 ]; }
until_true 60 'five idle nodes' idle
echo "$(slurmctld -V): five nodes idle"

# --- the job ---

submit() {  # NAME RENDER_OPTION...
  name=$1
  render slurm/train.sbatch.jinja "$1.sbatch" "${values[@]}" -D name="$1" -D train_dir="$work/$1" "${@:2}"
  job=$(sbatch --parsable "$1.sbatch") || fail 'sbatch refused it'
  echo "sbatch $1.sbatch: job $job"
}
state() { scontrol show job "$job" | sed -nE 's/.*JobState=([A-Z]+).*/\1/p' | sort -u; }
over() { ! state | grep -qE 'PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED'; }
exit_code() { scontrol show job "$job" | sed -nE 's/.* ExitCode=([0-9:]+).*/\1/p' | sort -u | tail -n 1; }
# Prints the program of a task and its node. The program is the child of the process that slurmd lists. Components of
# the heterogeneous job: 0 is the parameter servers, 1 the workers.
program_of() {  # COMPONENT INDEX
  local node task
  for node in n1 n2 n3 n4 n5; do
    task=$(scontrol listpids "$((job + $1)).0" $node 2>/dev/null | awk -v index_="$2" '$5 == index_ {print $1; exit}')
    [ -z "$task" ] || { echo "$(cat "/proc/$task/task/$task/children")" $node; return; }
  done
}
kill_task() {  # ps|worker INDEX
  local pid node component=0
  [ "$1" = ps ] || component=1
  read -r pid node < <(program_of $component "$2")
  [ -n "${node:-}" ] || fail "slurmd does not list $1$2"
  kill -KILL "$pid" || fail "$1$2 does not run, so it cannot be killed"
  echo "killed $1$2, process $pid of node $node, after step $(step_of "$name/logs/worker0.log")"
  until_true 60 "the restart of $1$2" grep -q 'ended with 137: starting it again' "$name/logs/$1$2.log"
}
ends_with() {  # STATE EXIT_CODE
  until_true 120 'the end of the job' over
  echo "job $job: $(state), exit code $(exit_code)"
  [ "$(state)" = "$1" ] && [ "$(exit_code)" = "$2:0" ] || fail "$name: the job did not end as $1 with code $2"
}

certificates
for run in main secure; do
  [ $run = main ] && submit main || submit secure -D tls_secret_name="$work/tls"
  until_true 90 'step 40' reached 40
  echo "nodes: $(squeue -h -j "$job" -o '%i %N' | sort | tr '\n' ' ')"
  read -r pid node < <(program_of 1 0)
  [ $run = main ] || encrypts "$pid"
  kill_task ps 1
  until_true 90 'step 120' reached 120
  kill_task worker 1
  ends_with COMPLETED 0
  check_result $run
done

# Sends the signal that Slurm sends before the time limit. The job must stop, and continue when it is submitted again.
submit stopped
until_true 90 'step 40' reached 40
scancel --batch --signal=USR1 "$job"
ends_with FAILED 1
grep 'stopped, and saved' "slurm-$job.out" && [ "$(field stopped complete)" = False ] || fail 'it did not stop and save'
submit stopped
ends_with COMPLETED 0
grep -h 'going on from its cut' stopped/logs/ps0.log || fail 'the job started from the initial values again'
check_result stopped

# With requeue=true the stopped job queues itself again, and continues.
submit again -D requeue=true
until_true 90 'step 40' reached 40
scancel --batch --signal=USR1 "$job"
# Slurm schedules heterogeneous jobs only when something in the cluster changes. Here nothing else changes, so this does
# it.
second_turn() { grep 'going on from its cut' again/logs/ps0.log || { scontrol update jobid="$job" nice=1; false; }; }
until_true 60 'its second turn' second_turn
ends_with COMPLETED 0
check_result again

# A wrong flag: no restart helps, so the job must end at once.
submit wrong -D data_flag=--date
ends_with FAILED 64
! grep 'starting it again' wrong/logs/*.log || fail 'a task was restarted although no restart helps'
