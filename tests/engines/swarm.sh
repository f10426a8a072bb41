#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job in a swarm of one node, in a Docker daemon of its own, from the template that people use: a parameter
# server and a worker are killed, the swarm replaces them, the job ends by itself, its parameters are those of one
# undisturbed process. Another is removed, which asks it to stop, and goes on when it is deployed again.
# usage: tests/engines/swarm.sh          as root. Exit code 77: it cannot run here, and why
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/docker.sh"

start_docker
docker swarm init --advertise-addr 127.0.0.1 --listen-addr 127.0.0.1:2377 >"$work/init.log" 2>&1 ||
  { tail -n 3 "$work/init.log" >&2; skip "docker swarm init: $(tail -n 1 "$work/init.log")"; }
prepare_job || { over; exit 1; }

deploy() {  # NAME       into a volume of its own
  python3 "$root/tools/render.py" "$root/examples/swarm/stack.yaml.jinja" "${values[@]}" -D name="$1" \
    >"$work/stack.yaml" || { fail "the template is not rendered"; over; exit 1; }
  docker stack deploy -c "$work/stack.yaml" --resolve-image never trainer >"$work/deploy.log" 2>&1 ||
    { cat "$work/deploy.log" >&2; fail "stack deploy"; over; exit 1; }
}
docker secret create cloud "$work/key.json" >/dev/null || fail "secret create"
began=$EPOCHREALTIME
deploy first

# Containers of a service, the newest first; with `-a` also those that have ended.
containers() { docker ps -q --no-trunc "${@:2}" --filter "label=com.docker.swarm.service.name=trainer_$1"; }  # SERVICE OPTION...
step_reached() {  # STEP
  local ids
  ids=$(containers worker -a)
  # shellcheck disable=SC2086
  [ -n "$ids" ] && reached=$(step_in $ids) && [ "${reached:-0}" -ge "$1" ]
}
kill_at() {  # STEP SERVICE FILTER...
  wait_for 120 "step $1" step_reached "$1" || return
  local id
  id=$(containers "$2" "${@:3}" | head -n 1)
  [ -n "$id" ] || { fail "$2 is not there to be killed"; return; }
  echo "kill -9 $(docker inspect -f '{{.Name}}' "$id" | sed -E 's|^/trainer_(.*)\..*|\1|') at step $reached, after $(seconds_since "$began") s"
  kill_hard "$id" || fail "$2 could not be killed"
}
wait_for 120 'the first tenth of the job' step_reached $((steps / 10))
has_credential "$(containers ps0)"
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(containers ps0)")" = healthy ]; }
wait_for 30 'ps0 to be healthy' healthy
kill_at $((steps / 4)) ps1
kill_at $((steps / 2)) worker --filter 'name=trainer_worker\.2\.'

tasks() {
  docker stack ps trainer --no-trunc --format '{{.Name}} {{.CurrentState}} {{.Error}}' |
    sed -E 's/^trainer_//; s/ (about|[0-9]+|less|an?) .* ago//'
}
# A slot has one task that is complete: ps0, ps1, worker.1, worker.2 and worker.3.
all_complete() { [ "$(tasks | grep -c ' Complete')" -eq 5 ]; }
wait_for 300 'the end of all tasks' all_complete
echo "2 ps + 3 workers: all tasks are complete after $(seconds_since "$began") s"
tasks | sed 's/^/  /'
[ "$(tasks | grep Failed | sort | tr '\n' ' ')" = \
  'ps1.1 Failed "task: non-zero exit (137)" worker.2 Failed "task: non-zero exit (137)" ' ] ||
  fail 'others than the two that were killed have failed'
if [ $failures -gt 0 ]; then
  for service in ps0 ps1 worker; do docker service logs --raw --tail 10 "trainer_$service" 2>&1 | sed 's/^/    /' >&2; done
fi
same_bits first-train

# --- removed, which asks all to stop, and deployed again ---

nothing_left() { [ -z "$(docker network ls -q --filter name=trainer_; docker ps -aq --filter name=trainer_)" ]; }
remove() {
  # As long as tasks are ending their network is in use, and has to be removed by another try.
  wait_for 90 'docker stack rm' docker stack rm trainer >"$work/rm.log" 2>&1 || cat "$work/rm.log" >&2
  wait_for 90 'the end of the stack' nothing_left
}
remove
began=$EPOCHREALTIME
deploy again
wait_for 120 'the first tenth of the second job' step_reached $((steps / 10))
remove
saved_in again-train
deploy again
wait_for 300 'the end of all tasks' all_complete
echo "removed, deployed again: all tasks are complete after $(seconds_since "$began") s"
same_bits again-train
remove
docker swarm leave --force >/dev/null || fail "swarm leave"
over
