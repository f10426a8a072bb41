#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the main job with Docker Compose, in a private Docker daemon, from the template of examples/docker and from the
# last stages of its Dockerfile. A parameter server and a worker are killed. The job must end by itself, with the same
# parameters as one undisturbed process; then the same over TLS. Another job is asked to stop and continues later. Both
# images must be smaller than a limit. The functions are in tests/engines/support.
# usage: tests/engines/docker.sh          as root
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/docker.sh"

compose_command=(docker-compose)
command -v docker-compose >/dev/null || compose_command=(docker compose)
"${compose_command[@]}" version >/dev/null 2>&1 || skip "there is no Compose: install docker-compose"
outside() { trainer_programs; programs_of small 12_cluster; }
start_docker "$@"
prepare_job

# --- the small image: a trainer without TLS and object stores ---

make_image small 10000000 --target plain
docker run --rm "${confined[@]}" -v small-out:/out small 12_cluster || fail "the small image: exit code $?"

# --- the cluster ---

tasks=(ps0 ps1 worker0 worker1 worker2)
declare -A container
compose() { "${compose_command[@]}" -p "$1" -f "$work/$1.yaml" "${@:2}"; }  # NAME WORD...
up() {  # NAME RENDER_OPTION...
  began=$EPOCHREALTIME
  render docker/compose.yaml.jinja "$work/$1.yaml" "${values[@]}" -D name="$1" "${@:2}"
  must "$1: compose up" compose "$1" up -d
  for task in "${tasks[@]}"; do container[$task]=$(compose "$1" ps -q "$task"); done
  until_true 120 'the first tenth of the job' step_reached $((steps / 10))
}
down() { must "$1: compose down" compose "$1" down; }  # NAME
step_reached() { [ "$(step_in "${container[worker0]}")" -ge "$1" ] 2>/dev/null; }  # STEP
all_ended() {
  local task
  for task in "${tasks[@]}"; do
    [ "$(docker inspect -f '{{.State.Status}}' "${container[$task]}")" = exited ] || return
  done
}
# Waits until all containers have ended. The named tasks must have been restarted once, the others never.
until_all_ended() {  # NAME [RESTARTED_TASK...]
  local task times got told='exit code {{.State.ExitCode}}, started again {{.RestartCount}} times'
  until_true 300 'the end of all tasks' all_ended
  echo "$1: all containers have ended after $(seconds_since "$began") s"
  for task in "${tasks[@]}"; do
    times=0
    [[ " ${*:2} " != *" $task "* ]] || times=1
    got=$(docker inspect -f "$told" "${container[$task]}")
    echo "  $task: $got"
    [ "$got" = "exit code 0, started again $times times" ] || fail "$task: $got"
  done
  check_result "$(volume "$1-train")"
}

healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "${container[$1]}")" = healthy ]; }
kill_at() {  # STEP TASK
  until_true 120 "step $1" step_reached "$1"
  echo "kill -9 $2 at step $(step_in "${container[worker0]}"), after $(seconds_since "$began") s"
  kill_hard "${container[$2]}" || fail "$2 does not run, so it cannot be killed"
}
certificates
for job in first secure; do
  [ $job = first ] && up first || up secure -D tls_secret_name="$work/tls"
  for task in ps0 worker1; do
    got=$(awk '/^(Uid|CapEff|NoNewPrivs):/ {printf "%s ", $2}' "/proc/$(process_of "${container[$task]}")/status")
    [ "$got" = '65532 0000000000000000 1 ' ] || fail "$task runs as (user, capabilities, no new privileges) $got"
  done
  has_credential "${container[worker0]}"
  [ $job = first ] || encrypts "${container[ps0]}"
  kill_at $((steps / 4)) ps1
  until_true 30 'ps0 to be healthy' healthy ps0
  until_true 30 'worker0 to be healthy, by the check of the image' healthy worker0
  kill_at $((steps / 2)) worker1
  until_all_ended $job ps1 worker1
  down $job
done

# --- asked to stop, and continued later ---

up again
must 'again: compose stop' compose again stop
codes=$(for task in "${tasks[@]}"; do docker inspect -f '{{.State.ExitCode}}' "${container[$task]}"; done | tr '\n' ' ')
echo "again: exit codes $codes"
[ "$codes" = '1 1 1 1 1 ' ] || fail "asked to stop: exit codes $codes"
down again
check_saved again-train
up again
until_all_ended again
down again
