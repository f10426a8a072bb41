#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job in a swarm of one node, in a Docker daemon of its own, from the template that people use: a parameter
# server and a worker are killed, the swarm replaces them, the job ends by itself, its parameters are those of one
# undisturbed process. Another is removed, which asks it to stop, and goes on when it is deployed again. See
# tests/engines/support.
# usage: tests/engines/swarm.sh          as root
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/docker.sh"

start_docker "$@"
init=$(docker swarm init --advertise-addr 127.0.0.1 --listen-addr 127.0.0.1:2377 2>&1) ||
  skip "docker swarm init: $(tail -n 1 <<<"$init")"
prepare_job
docker secret create cloud "$work/key.json" >/dev/null || fail 'secret create'

# --- the cluster ---

# The newest first; with `-a` also those that have ended.
containers() {  # SERVICE OPTION...
  docker ps -q --no-trunc "${@:2}" --filter "label=com.docker.swarm.service.name=trainer_$1"
}
step_reached() {  # STEP
  local ids
  ids=$(containers worker -a)
  # shellcheck disable=SC2086
  [ -n "$ids" ] && reached=$(step_in $ids) && [ "${reached:-0}" -ge "$1" ]
}
deploy() {  # NAME       into a volume of its own
  began=$EPOCHREALTIME
  render swarm/stack.yaml.jinja "$work/stack.yaml" "${values[@]}" -D name="$1"
  must "$1: docker stack deploy" docker stack deploy -c "$work/stack.yaml" --resolve-image never trainer
}
tasks() {
  docker stack ps trainer --no-trunc --format '{{.Name}} {{.CurrentState}} {{.Error}}' |
    sed -E 's/^trainer_//; s/ (about|[0-9]+|less|an?) .* ago//'
}
# A slot has one task that is complete: ps0, ps1, worker.1, worker.2 and worker.3.
all_complete() { [ "$(tasks | grep -c ' Complete')" -eq 5 ]; }
until_all_complete() {  # NAME FAILED      tasks and their errors
  until_true 300 'the end of all tasks' all_complete
  echo "$1: all tasks are complete after $(seconds_since "$began") s"
  tasks | sed 's/^/  /'
  [ "$(tasks | grep Failed | sort)" = "$2" ] || fail 'others than the two that were killed have failed'
  check_result "$(volume "$1-train")"
}
# As long as tasks are ending their network is in use, and has to be removed by another try.
removed() { docker stack rm trainer >/dev/null 2>&1; }
nothing_left() { [ -z "$(docker network ls -q --filter name=trainer_; docker ps -aq --filter name=trainer_)" ]; }
remove() {
  until_true 90 'docker stack rm' removed
  until_true 90 'the end of the stack' nothing_left
}

deploy first
until_true 120 'the first tenth of the job' step_reached $((steps / 10))
has_credential "$(containers ps0)"
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(containers ps0)")" = healthy ]; }
kill_at() {  # STEP SERVICE FILTER...
  until_true 120 "step $1" step_reached "$1"
  local id task
  id=$(containers "$2" "${@:3}" | head -n 1)
  [ -n "$id" ] || fail "$2 is not there to be killed"
  task=$(docker inspect -f '{{.Name}}' "$id" | sed -E 's|^/trainer_(.*)\..*|\1|')
  echo "kill -9 $task at step $reached, after $(seconds_since "$began") s"
  kill_hard "$id" || fail "$2 could not be killed"
}
kill_at $((steps / 4)) ps1
until_true 30 'ps0 to be healthy' healthy
kill_at $((steps / 2)) worker --filter 'name=trainer_worker\.2\.'
until_all_complete first 'ps1.1 Failed "task: non-zero exit (137)"
worker.2 Failed "task: non-zero exit (137)"'
remove

# --- removed, which asks all to stop, and deployed again ---

deploy again
until_true 120 'the first tenth of the second job' step_reached $((steps / 10))
remove
check_saved again-train
deploy again
until_all_complete again ''
remove
