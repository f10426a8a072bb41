# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that need Docker: a private daemon, images, and one undisturbed run of the main job in a
# container.
#   start_docker "$@"    returns inside of private namespaces (see `alone` in engine.sh), with a running daemon
#   prepare_job          makes the image `trainer`, the volume `trainer-data`, the hash $expected, and the options
#                        $values for rendering templates
#   certificates         makes $work/tls, the files of DISTRIB_TLS_DIRECTORY for the hosts ps0, ps1 and worker0 to worker3

. "$(dirname "${BASH_SOURCE[0]}")/engine.sh"
limit=900
outside() { trainer_programs; }

# --- the daemon ---

start_docker() {  # ARGUMENT...
  need docker docker.io
  need dockerd docker.io
  need containerd containerd
  need runc runc
  need iptables iptables
  alone "$@"
  export DOCKER_HOST=unix://$work/docker.sock DOCKER_CONFIG=$work/config
  unset DOCKER_BUILDKIT DOCKER_CONTEXT
  dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" --host "$DOCKER_HOST" \
    --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$groups" >"$work/dockerd.log" 2>&1 &
  local daemon=$! end=$((SECONDS + 60))
  until docker version >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ] || ! kill -0 $daemon 2>/dev/null; then
      tail -n 5 "$work/dockerd.log"
      skip "dockerd does not start: $(grep -aE 'level=(fatal|error)|^failed' "$work/dockerd.log" | tail -n 1)"
    fi
    sleep 0.2
  done
  echo '{"password": "$secret"}' >"$work/key.json"
  docker version --format 'Docker {{.Server.Version}}, client {{.Client.Version}}'
}

show_logs() {
  [ -S "$work/docker.sock" ] || return
  local container
  for container in $(docker ps -aq); do
    docker inspect -f '--- {{.Name}}: {{.State.Status}}, exit code {{.State.ExitCode}}' "$container"
    docker logs --tail 10 "$container" 2>&1
  done
  grep -aE 'level=(error|fatal)' "$work/dockerd.log" | tail -n 10
}

process_of() { docker inspect -f '{{.State.Pid}}' "$1"; }  # CONTAINER
# Kills the process directly. After `docker kill` Docker would not restart the container.
kill_hard() { local pid; pid=$(process_of "$1") && [ "$pid" -gt 0 ] && kill -9 "$pid"; }  # CONTAINER
has_credential() {  # CONTAINER     fails if the container does not have the credential file of its template
  cmp -s "$work/key.json" "/proc/$(process_of "$1")/root"/etc/credential/key.json || fail "$1 has no credential"
}

encrypts() {  # CONTAINER     fails unless the task was told to encrypt, and has the files for it
  local process
  process=$(process_of "$1")
  tr '\0' '\n' <"/proc/$process/environ" | grep -x 'DISTRIB_TLS_DIRECTORY=/etc/distrib/tls' >/dev/null &&
    cmp -s "$work/tls/tls.key" "/proc/$process/root"/etc/distrib/tls/tls.key || fail "$1 has no certificate"
}

# --- images ---

trainer_programs() { programs_of trainer fashion_mnist_train fashion_mnist_convert; }
programs_of() {  # IMAGE PROGRAM...
  must "build ${*:2}" "$root/examples/docker/build_image.sh" "$work/context-$1/image/files" "${@:2}"
}
# Builds the last stages of the examples' Dockerfile, from programs that were built outside of Docker.
make_image() {  # NAME BELOW_BYTES OPTION...
  local context=$work/context-$1 dockerfile=$root/examples/docker/Dockerfile size
  mkdir -p "$context/image/own/data" "$context/image/own/out"
  sed -n '/^FROM scratch/,${s|--from=builder ||; s| /image/| image/|; p}' "$dockerfile" >"$context/Dockerfile"
  must "docker build: $1" docker build -q -t "$1" "${@:3}" "$context"
  size=$(docker image inspect -f '{{.Size}}' "$1")
  echo "image $1: $size bytes"
  [ "$size" -lt "$2" ] || fail "the image $1 has $size bytes, not less than $2"
}

# --- the main job ---

steps=${DISTRIB_ENGINE_STEPS:-6000}
command=(fashion_mnist_train --steps "$steps" --save_every 1000)
confined=(--read-only --cap-drop ALL --security-opt no-new-privileges --network none)
prepare_job() {
  make_image trainer 20000000
  local raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  [ -r "$raw/train-images-idx3-ubyte.gz" ] || skip "there is no Fashion-MNIST: install dataset-fashion-mnist"
  must 'convert the images' docker run --rm "${confined[@]}" -v trainer-data:/data -v "$raw:/raw:ro" trainer \
    fashion_mnist_convert /raw /data
  must "the job undisturbed, in one container" docker run --rm "${confined[@]}" -v trainer-data:/data:ro \
    -v alone-out:/out trainer "${command[@]}" --data=/data --out=/out
  expected=$(field "$(volume alone-out)" parameters_sha256)
  values=(-D image=trainer -D "command=$(json_list "${command[@]}")" -D data_dir=/data -D train_dir=/out
    -D data_volume=trainer-data -D credential_secret_name=cloud -D credential_secret_key=key.json
    -D 'probe=["fashion_mnist_train", "--probe"]')
}
certificates() {
  mkdir "$work/tls" && (
    cd "$work/tls" &&
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.crt -days 1 \
        -subj /CN=job -addext "subjectAltName=$(printf 'DNS:%s,' ps0 ps1 worker0 worker1 worker2)DNS:worker3" 2>/dev/null &&
      cp tls.crt ca.crt && chown 65532:65532 tls.* ca.crt && chmod 400 tls.key
  ) || fail 'openssl made no certificates'
}
volume() { echo "$work/data/volumes/$1/_data"; }  # NAME
# Called when all tasks were asked to stop and have ended. Fails if they did not save a cut between the first tenth of
# the job and its end.
check_saved() {  # VOLUME
  local cut
  cut=$(compgen -G "$(volume "$1")/checkpoint/*" | sed -nE 's/.*ckpt-([0-9]+)\..*/\1/p' | sort -n | tail -n 1)
  echo "saved: step ${cut:-none}"
  [ "${cut:-0}" -ge $((steps / 10)) ] && [ "$cut" -lt "$steps" ] || fail "$1: asked to stop, but not saved"
}
# Prints the last step that is in the logs of these containers.
step_in() {  # CONTAINER...
  local container
  for container in "$@"; do docker logs "$container" 2>&1; done | last_step
}
