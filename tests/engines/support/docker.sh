# SPDX-License-Identifier: Apache-2.0
# Sourced by docker.sh and swarm.sh: a Docker daemon of their own, in namespaces of its own, so that its bridges, rules,
# mounts and containers are gone with it; the images; and the main job undisturbed. Exit code 77: it cannot run here.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
skip() { echo "skipped: $*"; exit 77; }
seconds_since() { awk -v began="$1" -v now="$EPOCHREALTIME" 'BEGIN {printf "%.1f", now - began}'; }
wait_for() {  # SECONDS WHAT COMMAND...
  local until=$((SECONDS + $1))
  until "${@:3}"; do
    [ $SECONDS -lt $until ] || { fail "waited $1 s in vain for $2"; return 1; }
    sleep 0.2
  done
}

# --- the daemon ---

work= namespace=
start_docker() {
  [ "$(id -u)" -eq 0 ] || skip "only root may start a Docker daemon"
  local needed
  for needed in dockerd docker containerd runc iptables unshare nsenter setpriv ip; do
    command -v $needed >/dev/null || skip "there is no $needed: apt-get install docker.io containerd runc iptables iproute2"
  done
  python3 -c 'import jinja2' 2>/dev/null || skip "there is no Jinja2: apt-get install python3-jinja2"
  work=$(mktemp -d)
  trap stop_docker EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  export DOCKER_HOST=unix://$work/docker.sock DOCKER_CONFIG=$work/config
  unset DOCKER_BUILDKIT DOCKER_CONTEXT
  setsid setpriv --pdeathsig KILL unshare --net --mount --pid --fork --mount-proc --kill-child -- \
    sh -c 'ip link set lo up && exec dockerd "$@"' dockerd --data-root "$work/data" --exec-root "$work/exec" \
    --pidfile "$work/pid" --host "$DOCKER_HOST" --cgroup-parent "/distrib-engines-$$" >"$work/dockerd.log" 2>&1 &
  namespace=$!
  local until=$((SECONDS + 60))
  until docker version >/dev/null 2>&1; do
    if [ $SECONDS -ge $until ] || ! kill -0 $namespace 2>/dev/null; then
      tail -n 5 "$work/dockerd.log" >&2
      skip "dockerd does not start: $(grep -aE 'level=(fatal|error)|^failed' "$work/dockerd.log" | tail -n 1)"
    fi
    sleep 0.2
  done
  echo '{"password": "$secret"}' >"$work/key.json"
  docker version --format 'Docker {{.Server.Version}}, client {{.Client.Version}}'
}

stop_docker() {
  local status=$? first until=$((SECONDS + 20)) controller
  if [ -n "$namespace" ]; then
    first=$(first_of_namespace)
    [ -z "$first" ] || kill "$first" 2>/dev/null  # dockerd ends its containers
    while kill -0 "$namespace" 2>/dev/null && [ $SECONDS -lt $until ]; do sleep 0.2; done
    kill -9 "$namespace" 2>/dev/null  # and with the first process of its namespace whatever is left
    wait "$namespace" 2>/dev/null
  fi
  for controller in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ ! -d "$controller/distrib-engines-$$" ] ||
      find "$controller/distrib-engines-$$" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  if [ -n "${DISTRIB_KEEP:-}" ]; then echo "kept: $work" >&2; else rm -rf --one-file-system "$work"; fi
  exit $status
}
first_of_namespace() { local pids; pids=$(cat "/proc/$namespace/task/$namespace/children" 2>/dev/null) || true; echo "${pids%% *}"; }

# Not `docker kill`, after which Docker takes a container for one that is not wanted any more.
kill_hard() {  # CONTAINER
  local pid
  pid=$(docker inspect -f '{{.State.Pid}}' "$1") && [ "$pid" -gt 0 ] &&
    nsenter -t "$(first_of_namespace)" -p -- sh -c "kill -9 $pid"
}
status_of() {  # CONTAINER FIELD    what /proc says about its first process
  local pid
  pid=$(docker inspect -f '{{.State.Pid}}' "$1")
  nsenter -t "$(first_of_namespace)" -p -m -r -- sed -nE "s/^$2:\s+(\S+).*/\1/p" "/proc/$pid/status"
}

has_credential() {  # CONTAINER     the file that its template promises
  local pid
  pid=$(docker inspect -f '{{.State.Pid}}' "$1")
  nsenter -t "$(first_of_namespace)" -p -m -r -- cmp -s "$work/key.json" "/proc/$pid/root"/etc/credential/key.json ||
    fail "$1 has no credential"
}

# --- images ---

# The last stages of the Dockerfile as they stand, on programs that were built outside.
make_image() {  # NAME BELOW_BYTES PROGRAM...      the small one has a program without --probe
  local context=$work/context-$1 size
  mkdir -p "$context/image/own/data" "$context/image/own/out"
  "$root/examples/docker/build_static.sh" "$context/image/bin" "${@:3}" >"$work/build-$1.log" 2>&1 ||
    { tail -n 30 "$work/build-$1.log" >&2; fail "no static ${*:3}"; return 1; }
  sed -n '/^FROM scratch/,${s|--from=builder ||; s| /image/| image/|; p}' "$root/examples/docker/Dockerfile" >"$context/Dockerfile"
  local target=()
  [ "$1" != small ] || target=(--target plain)
  docker build -q -t "$1" "${target[@]}" "$context" >"$work/image-$1.log" 2>&1 ||
    { cat "$work/image-$1.log" >&2; fail "docker build"; return 1; }
  size=$(docker image inspect -f '{{.Size}}' "$1")
  echo "image $1 (${*:3}): $size bytes"
  [ "$size" -lt "$2" ] || fail "the image $1 has $size bytes, not less than $2"
}

# --- the main job ---

steps=${DISTRIB_ENGINE_STEPS:-6000}
own=(--steps "$steps" --save_every 1000)
alone=(fashion_mnist_train "${own[@]}" --data=/data --out=/out)
values=(-D credential_secret_name=cloud -D credential_secret_key=key.json -D image=trainer -D data_dir=/data
        -D train_dir=/out -D data_volume=trainer-data -D 'probe=["fashion_mnist_train", "--probe"]' -D "command=[\"fashion_mnist_train\"$(printf ', "%s"' "${own[@]}")]")
confined=(--read-only --cap-drop ALL --security-opt no-new-privileges --network none)

prepare_job() {  # makes image `trainer`, volume `trainer-data`, and $expected
  make_image trainer 45000000 fashion_mnist_train fashion_mnist_convert || return
  local raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  [ -r "$raw/train-images-idx3-ubyte.gz" ] || skip "there is no Fashion-MNIST: apt-get install dataset-fashion-mnist"
  docker run --rm "${confined[@]}" -v trainer-data:/data -v "$raw:/raw:ro" trainer \
    fashion_mnist_convert /raw /data >"$work/convert.log" 2>&1 ||
    { cat "$work/convert.log" >&2; fail "the images are not converted"; return 1; }
  local began=$EPOCHREALTIME
  docker run "${confined[@]}" -v trainer-data:/data:ro -v alone-out:/out trainer "${alone[@]}" >"$work/alone.log" 2>&1 ||
    { tail "$work/alone.log" >&2; fail "the undisturbed job"; return 1; }
  expected=$(hash_in alone-out)
  echo "undisturbed, one container: $steps steps in $(seconds_since "$began") s, parameters_sha256 $expected"
}
volume_file() { echo "$work/data/volumes/$1/_data/$2"; }
field_in() {  # VOLUME FIELD
  python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$(volume_file "$1" summary.json)" "$2"
}
hash_in() { field_in "$1" parameters_sha256; }
# When all have been asked to stop and are gone: whether they have saved.
saved_in() {  # VOLUME
  local cuts
  cuts=$(compgen -G "$(volume_file "$1" checkpoint)/model.ckpt-*" | sed -E 's/.*ckpt-([0-9]+)\..*/\1/' | sort -n | tail -n 1)
  echo "saved: step ${cuts:-none}"
  [ "${cuts:-0}" -ge $((steps / 10)) ] && [ "$cuts" -lt "$steps" ] || fail "$1: asked to stop, but not saved"
}
same_bits() {  # VOLUME
  local hash
  hash=$(hash_in "$1" 2>&1)
  echo "parameters_sha256 $hash, step $(field_in "$1" steps 2>/dev/null), accuracy $(field_in "$1" test_accuracy 2>/dev/null)"
  [ "$hash" = "$expected" ] || fail "$1: another hash than the undisturbed job's $expected"
  [ -e "$(volume_file "$1" "checkpoint/model.ckpt-$steps.index")" ] || fail "$1: no checkpoint of step $steps"
}
# The last step that any of these containers told of.
step_in() {  # CONTAINER...
  local container
  for container in "$@"; do docker logs "$container" 2>&1; done | sed -nE 's/.*step ([0-9]+)\/.*/\1/p' | sort -n | tail -n 1
}

over() {  # prints how it went; the last command of a test
  [ $failures -eq 0 ] || { grep -aE 'level=(error|fatal)' "$work/dockerd.log" | tail -n 10 >&2; return 1; }
  echo 'all is as it should be'
}
