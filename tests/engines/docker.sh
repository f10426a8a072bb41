#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job under docker-compose, in a Docker daemon of its own, from the template and the image that people use: a
# parameter server and a worker are killed, the job ends by itself, its parameters are those of one undisturbed process.
# Another is asked to stop and goes on later. Both images are as small as promised.
# usage: tests/engines/docker.sh          as root. Exit code 77: it cannot run here, and why
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/docker.sh"

compose=(docker-compose)
command -v docker-compose >/dev/null || compose=(docker compose)
"${compose[@]}" version >/dev/null 2>&1 || skip "there is no Compose: apt-get install docker-compose"
start_docker
prepare_job || { over; exit 1; }

# --- a trainer without BLAS ---

make_image small 5000000 12_cluster &&
  { docker run --rm "${confined[@]}" -v small-out:/out small 12_cluster || fail "the small image: exit code $?"; }

# --- the cluster ---

tasks=(ps0 ps1 worker0 worker1 worker2)
declare -A container
up() {  # NAME
  python3 "$root/tools/render.py" "$root/examples/docker/compose.yaml.jinja" "${values[@]}" -D name="$1" \
    >"$work/$1.yaml" || { fail "the template is not rendered"; over; exit 1; }
  "${compose[@]}" -p "$1" -f "$work/$1.yaml" up -d >"$work/up.log" 2>&1 ||
    { cat "$work/up.log" >&2; fail "compose up"; over; exit 1; }
  for task in "${tasks[@]}"; do container[$task]=$("${compose[@]}" -p "$1" -f "$work/$1.yaml" ps -q "$task"); done
}
down() {  # NAME
  "${compose[@]}" -p "$1" -f "$work/$1.yaml" down >"$work/down.log" 2>&1 || { cat "$work/down.log" >&2; fail "compose down"; }
}
step_reached() { [ "$(step_in "${container[worker0]}")" -ge "$1" ] 2>/dev/null; }  # STEP
all_ended() {
  local task
  for task in "${tasks[@]}"; do [ "$(docker inspect -f '{{.State.Status}}' "${container[$task]}")" = exited ] || return; done
}
ended() {  # TASK TIMES       with 0, started again so often
  local got
  got=$(docker inspect -f 'exit code {{.State.ExitCode}}, started again {{.RestartCount}} times' "${container[$1]}")
  echo "  $1: $got"
  [ "$got" = "exit code 0, started again $2 times" ] ||
    { fail "$1: $got"; docker logs --tail 20 "${container[$1]}" 2>&1 | sed 's/^/    /' >&2; }
}

began=$EPOCHREALTIME
up first
wait_for 120 'the first tenth of the job' step_reached $((steps / 10))
for task in ps0 worker1; do
  got=$(for field in Uid CapEff NoNewPrivs; do status_of "${container[$task]}" $field; done | tr '\n' ' ')
  [ "$got" = '65532 0000000000000000 1 ' ] || fail "$task runs as (user, capabilities, no new privileges) $got"
done
has_credential "${container[worker0]}"
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "${container[$1]}")" = healthy ]; }
wait_for 30 'ps0 to be healthy' healthy ps0
wait_for 30 'worker0 to be healthy, by the check of the image' healthy worker0
kill_at() {  # STEP TASK
  wait_for 120 "step $1" step_reached "$1" || return
  echo "kill -9 $2 at step $(step_in "${container[worker0]}"), after $(seconds_since "$began") s"
  kill_hard "${container[$2]}" || fail "$2 is not there to be killed"
}
kill_at $((steps / 4)) ps1
kill_at $((steps / 2)) worker1
wait_for 300 'the end of all tasks' all_ended
echo "2 ps + 3 workers: all containers have ended after $(seconds_since "$began") s"
for task in "${tasks[@]}"; do
  case $task in ps1 | worker1) ended "$task" 1 ;; *) ended "$task" 0 ;; esac
done
same_bits first-train
down first

# --- asked to stop, and going on later ---

began=$EPOCHREALTIME
up again
wait_for 120 'the first tenth of the second job' step_reached $((steps / 10))
asked=$EPOCHREALTIME
"${compose[@]}" -p again -f "$work/again.yaml" stop >"$work/stop.log" 2>&1 || { cat "$work/stop.log" >&2; fail "compose stop"; }
codes=$(for task in "${tasks[@]}"; do docker inspect -f '{{.State.ExitCode}}' "${container[$task]}"; done | tr '\n' ' ')
echo "stop: exit codes $codes after $(seconds_since "$asked") s"
[ "$codes" = '1 1 1 1 1 ' ] || fail "asked to stop: exit codes $codes"
down again
saved_in again-train
up again
wait_for 300 'the end of all tasks' all_ended
echo "stopped, removed, up again: all containers have ended after $(seconds_since "$began") s"
for task in "${tasks[@]}"; do ended "$task" 0; done
same_bits again-train
down again
over
