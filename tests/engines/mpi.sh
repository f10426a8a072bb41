#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: mpi.sh BUILD
# Open MPI's mpirun runs examples/mpi three times: without host lists, with lists of four host names that all mean this
# machine, and with these lists over TLS. Each time a parameter server and a worker are killed during the training, and
# the job must end by itself with the parameters of an undisturbed job. Another job is stopped and continued; the last has
# a wrong flag and must fail at once. The functions are in tests/engines/support.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/job.sh"
need mpirun openmpi-bin
alone "$@"
prepare "$1"
hosts
cd "$work" || exit
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

show_logs() {
  local log
  for log in "$work"/*.out "$work"/*/logs/*.log; do
    [ ! -s "$log" ] || { echo "--- ${log#"$work/"}"; tail -n 10 "$log"; }
  done
}
submit() {  # NAME RENDER_OPTION...
  name=$1
  render mpi/train.sh.jinja "$1.sh" "${values[@]}" -D name="$1" -D train_dir="$work/$1" "${@:2}"
  bash "$1.sh" >"$1.out" 2>&1 &
  job=$!
  echo "bash $1.sh${2:+, rendered with ${*:2}}"
}
over() { ! kill -0 "$job" 2>/dev/null; }
ends_with() {  # CODE
  local code=0
  until_true 120 'the end of the job' over
  wait "$job" || code=$?
  echo "mpirun of $name: exit code $code"
  [ $code -eq "$1" ] || fail "$name: exit code $code, not $1"
}
# Kills the program of a task. Each rank is a child process of mpirun, and the program is a child process of the rank.
kill_task() {  # ps|worker INDEX
  local rank=$2 mpirun pid child
  [ "$1" = ps ] || rank=$(($2 + 2))
  mpirun=$(cat "/proc/$job/task/$job/children")
  for pid in $(cat "/proc/${mpirun% }/task/${mpirun% }/children"); do
    grep -qzx "OMPI_COMM_WORLD_RANK=$rank" "/proc/$pid/environ" || continue
    child=$(cat "/proc/$pid/task/$pid/children")
    [ "$name" != secure ] || encrypts "${child% }"
    kill -KILL $child || fail "$1$2 does not run, so it cannot be killed"
    echo "killed $1$2, process ${child% } of mpirun's rank $rank, after step $(step_of "$name/logs/worker0.log")"
    until_true 60 "the restart of $1$2" grep -q 'ended with 137: starting it again' "$name/logs/$1$2.log"
    return
  done
  fail "mpirun has no rank $rank"
}

echo "$(mpirun --version | head -n 1)"
host_lists=(-D 'ps_hosts=["n1", "n2"]' -D 'worker_hosts=["n2", "n3", "n4"]')
certificates
for run in main listed secure; do
  case $run in
    main) submit main ;;
    listed) submit listed "${host_lists[@]}" ;;
    secure) submit secure "${host_lists[@]}" -D tls_secret_name="$work/tls" ;;
  esac
  until_true 90 'step 40' reached 40
  kill_task ps 1
  until_true 90 'step 120' reached 120
  kill_task worker 1
  ends_with 0
  check_result $run
done

submit stopped
until_true 90 'step 40' reached 40
kill -TERM "$job"
ends_with 1
grep 'stopped, and saved' stopped.out && [ "$(field stopped complete)" = False ] || fail 'the job did not stop and save'
submit stopped
ends_with 0
grep -h 'going on from its cut' stopped/logs/ps0.log || fail 'the job started from the initial values again'
check_result stopped

# A wrong flag: no restart helps, so the job must end at once.
submit wrong -D data_flag=--date
ends_with 64
! grep 'starting it again' wrong/logs/*.log || fail 'a task was restarted although no restart helps'
