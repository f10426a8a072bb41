#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the main job in a Docker swarm of one node, in a private Docker daemon, from the template of examples/swarm. A
# parameter server and a worker are killed, and the swarm replaces them. The job must end by itself, with the same
# parameters as one undisturbed process; then the same over TLS. Another job is removed, which asks it to stop, and
# continues when it is deployed again. The functions are in tests/engines/support.
# usage: tests/engines/swarm.sh          as root
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/docker.sh"

start_docker "$@"
init=$(docker swarm init --advertise-addr 127.0.0.1 --listen-addr 127.0.0.1:2377 2>&1) ||
  skip "docker swarm init: $(tail -n 1 <<<"$init")"
prepare_job
certificates
for secret in cloud:key.json job-tls.crt:tls/tls.crt job-tls.key:tls/tls.key job-ca.crt:tls/ca.crt; do
  docker secret create "${secret%:*}" "$work/${secret#*:}" >/dev/null || fail "secret create ${secret%:*}"
done

# --- the cluster ---

# Prints the containers of a service, the newest first. With `-a` it also prints containers that have ended.
containers() {  # SERVICE OPTION...
  docker ps -q --no-trunc "${@:2}" --filter "label=com.docker.swarm.service.name=trainer_$1"
}
step_reached() {  # STEP
  local ids
  ids=$(containers worker -a)
  # shellcheck disable=SC2086
  [ -n "$ids" ] && reached=$(step_in $ids) && [ "${reached:-0}" -ge "$1" ]
}
# Deploys the stack. The job writes to a volume that has the job's name.
deploy() {  # NAME RENDER_OPTION...
  began=$EPOCHREALTIME
  render swarm/stack.yaml.jinja "$work/stack.yaml" "${values[@]}" -D name="$1" "${@:2}"
  must "$1: docker stack deploy" docker stack deploy -c "$work/stack.yaml" --resolve-image never trainer
}
tasks() {
  docker stack ps trainer --no-trunc --format '{{.Name}} {{.CurrentState}} {{.Error}}' |
    sed -E 's/^trainer_//; s/ (about|[0-9]+|less|an?) .* ago//'
}
# Each of the five slots must have one complete task: ps0, ps1, worker.1, worker.2 and worker.3.
all_complete() { [ "$(tasks | grep -c ' Complete')" -eq 5 ]; }
until_all_complete() {  # NAME FAILED      FAILED: the failed tasks with their errors, one on a line
  until_true 300 'the end of all tasks' all_complete
  echo "$1: all tasks are complete after $(seconds_since "$began") s"
  tasks | sed 's/^/  /'
  [ "$(tasks | grep Failed | sort)" = "$2" ] || fail 'the failed tasks are not exactly the killed ones'
  check_result "$(volume "$1-train")"
}
# While tasks are ending, their network is in use and cannot be removed, so the removal is repeated.
removed() { docker stack rm trainer >/dev/null 2>&1; }
nothing_left() { [ -z "$(docker network ls -q --filter name=trainer_; docker ps -aq --filter name=trainer_)" ]; }
remove() {
  until_true 90 'docker stack rm' removed
  until_true 90 'the end of the stack' nothing_left
}

healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(containers ps0)")" = healthy ]; }
kill_at() {  # STEP SERVICE FILTER...
  until_true 120 "step $1" step_reached "$1"
  local id task
  id=$(containers "$2" "${@:3}" | head -n 1)
  [ -n "$id" ] || fail "$2 does not run, so it cannot be killed"
  task=$(docker inspect -f '{{.Name}}' "$id" | sed -E 's|^/trainer_(.*)\..*|\1|')
  echo "kill -9 $task at step $reached, after $(seconds_since "$began") s"
  kill_hard "$id" || fail "$2 could not be killed"
}
for job in first secure; do
  [ $job = first ] && deploy first || deploy secure -D tls_secret_name=job
  until_true 120 'the first tenth of the job' step_reached $((steps / 10))
  has_credential "$(containers ps0)"
  [ $job = first ] || encrypts "$(containers ps0)"
  kill_at $((steps / 4)) ps1
  until_true 30 'ps0 to be healthy' healthy
  kill_at $((steps / 2)) worker --filter 'name=trainer_worker\.2\.'
  until_all_complete $job 'ps1.1 Failed "task: non-zero exit (137)"
worker.2 Failed "task: non-zero exit (137)"'
  remove
done

# --- removed, which asks all tasks to stop, and deployed again ---

deploy again
until_true 120 'the first tenth of the second job' step_reached $((steps / 10))
remove
check_saved again-train
deploy again
until_all_complete again ''
remove
