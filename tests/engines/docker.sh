#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job under docker-compose, in a Docker daemon of its own, from the template and the image that people use: a
# parameter server and a worker are killed, the job ends by itself, its parameters are those of one undisturbed process.
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

# --- the first process of a container is asked to stop, and goes on later ---

began=$EPOCHREALTIME
docker run -d --name asked "${confined[@]}" -v trainer-data:/data:ro -v asked-out:/out trainer "${train[@]}" >/dev/null
step_reached() { [ "$(step_in "${@:2}")" -ge "$1" ] 2>/dev/null; }  # STEP CONTAINER...
wait_for 120 "step 500 of 'asked'" step_reached 500 asked
asked=$EPOCHREALTIME
docker stop -t 60 asked >/dev/null
code=$(docker inspect -f '{{.State.ExitCode}}' asked)
echo "docker stop: exit code $code after $(seconds_since "$asked") s"
[ "$code" = 1 ] || fail "asked to stop: exit code $code, not 1"
docker start asked >/dev/null
has_ended() { [ "$(docker inspect -f '{{.State.Status}}' "$1")" = exited ]; }
wait_for 300 "the end of 'asked'" has_ended asked
code=$(docker inspect -f '{{.State.ExitCode}}' asked)
[ "$code" = 0 ] || fail "stopped and started again: exit code $code"
echo "stopped, started again, at its end after $(seconds_since "$began") s:"
same_bits asked-out

# --- the cluster ---

tasks=(ps0 ps1 worker0 worker1 worker2)
python3 "$root/tools/render.py" "$root/examples/docker/compose.yaml.jinja" -D image=trainer -D command="$command_value" >"$work/compose.yaml" ||
  { fail "the template is not rendered"; over; exit 1; }
compose+=(-p trainer -f "$work/compose.yaml")
began=$EPOCHREALTIME
"${compose[@]}" up -d >"$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail "compose up"; over; exit 1; }
declare -A container
for task in "${tasks[@]}"; do container[$task]=$("${compose[@]}" ps -q "$task"); done

wait_for 120 'the first tenth of the job' step_reached $((steps / 10)) "${container[worker0]}"
for task in ps0 worker1; do
  got="$(status_of "${container[$task]}" Uid) $(status_of "${container[$task]}" CapEff) $(status_of "${container[$task]}" NoNewPrivs)"
  [ "$got" = '65532 0000000000000000 1' ] || fail "$task runs as (user, capabilities, no new privileges) $got"
done
kill_at() {  # STEP TASK
  wait_for 120 "step $1" step_reached "$1" "${container[worker0]}" || return
  echo "kill -9 $2 at step $(step_in "${container[worker0]}"), after $(seconds_since "$began") s"
  kill_hard "${container[$2]}" || fail "$2 is not there to be killed"
}
kill_at $((steps / 4)) ps1
kill_at $((steps / 2)) worker1
all_ended() {
  local task
  for task in "${tasks[@]}"; do has_ended "${container[$task]}" || return; done
}
wait_for 300 'the end of all tasks' all_ended
echo "2 ps + 3 workers: all containers have ended after $(seconds_since "$began") s"
for task in "${tasks[@]}"; do
  got=$(docker inspect -f 'exit code {{.State.ExitCode}}, started again {{.RestartCount}} times' "${container[$task]}")
  echo "  $task: $got"
  case $task in ps1 | worker1) again=1 ;; *) again=0 ;; esac
  [ "$got" = "exit code 0, started again $again times" ] ||
    { fail "$task: $got"; docker logs --tail 20 "${container[$task]}" 2>&1 | sed 's/^/    /' >&2; }
done
same_bits trainer-out
docker rm alone asked >/dev/null
"${compose[@]}" down -v >"$work/down.log" 2>&1 || { cat "$work/down.log" >&2; fail "compose down"; }
over
