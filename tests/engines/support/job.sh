# SPDX-License-Identifier: Apache-2.0
# Sourced by the engines' scripts that need no images: the main job, what it must come to, and a machine of its own.
#   alone "$0" "$@"      runs the script once more where nobody else is: processes, network, mounts and host name are
#                        its own, so that its daemons end with it, whatever happens. Returns only there, with a
#                        directory $work that is removed in the end
#   prepare BUILD        makes the data, and the hash of an undisturbed run in one process
#   until_true S WHAT COMMAND...   waits for at most S seconds, else says that it waited in vain for WHAT, and fails
#   check_result DIR     the job's result is that of the undisturbed run
# Exit codes: 0 passed, 77 skipped, with a line "skipped: REASON"; 1 failed.

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; show_logs; exit 1; }
show_logs() { :; }
need() {  # PROGRAM PACKAGE...
  command -v "$1" >/dev/null || skip "there is no $1: install ${*:2}"
}

alone() {  # SCRIPT ARGUMENT...
  work=${DISTRIB_ALONE:-}
  [ -z "$work" ] || return 0
  [ "$(id -u)" -eq 0 ] || skip "not root: a network and process ids of its own are refused"
  local own=(unshare --mount --pid --net --uts --fork --kill-child --mount-proc) code=0
  "${own[@]}" true 2>/dev/null || skip 'this machine gives nobody a network and process ids of its own (unshare)'
  work=$(mktemp -d)
  # unshare itself holds back SIGTERM; its end ends everything in there.
  DISTRIB_ALONE=$work timeout -s KILL 420 "${own[@]}" bash "$@" &
  waited=$!
  trap end_alone EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  wait "$waited" || code=$?
  [ "$code" -ne 137 ] || echo 'FAILED: not over after 420 s, or killed'
  exit "$code"
}

end_alone() {
  kill -KILL $(cat "/proc/$waited/task/$waited/children" 2>/dev/null) 2>/dev/null
  wait "$waited"
  rm -rf "$work"
}

# Hosts n1 to n5, all of them this one. Without an address beside those of the loopback no name has any.
hosts() {
  hostname distrib
  ip link set lo up
  ip link add hosts type bridge
  ip link set hosts up
  local n
  echo '127.0.0.1 localhost distrib' >"$work/hosts"
  for n in 1 2 3 4 5; do
    ip address add "10.77.0.$n/24" dev hosts
    echo "10.77.0.$n n$n" >>"$work/hosts"
  done
  mount --bind "$work/hosts" /etc/hosts
}

until_true() {  # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1))
  until "${@:3}"; do
    [ $SECONDS -lt "$end" ] || fail "waited $1 s in vain for $2"
    sleep 0.1
  done
}

steps=500
options=(--steps $steps --batch 800 --save_every 20 --evaluate_every 100)
prepare() {  # BUILD
  programs=$(cd "$1/examples" && pwd) || exit 1
  unset TF_CONFIG
  export OPENBLAS_NUM_THREADS=1
  local images=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  "$programs/fashion_mnist_convert" "$images" "$work/data" >"$work/convert.txt" || exit 1
  "$programs/fashion_mnist_train" --data "$work/data" --out "$work/local" "${options[@]}" >"$work/local.txt" || exit 1
  expected=$(hash_of "$work/local")
  echo "undisturbed, in one process: $steps steps, parameters $expected"
}
json_list() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@"; }
field() {  # DIRECTORY FIELD
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))[sys.argv[2]])' "$@"
}
hash_of() { field "$1" parameters_sha256; }  # DIRECTORY
check_result() {  # DIRECTORY
  local hash
  hash=$(hash_of "$1") || fail 'the chief left no summary'
  [ "$(field "$1" complete)" = True ] || fail 'the job is not complete'
  [ "$hash" = "$expected" ] || fail "other parameters than undisturbed: $hash"
  [ -e "$1/checkpoint/model.ckpt-$steps.index" ] || fail 'no checkpoint of the last step'
  echo "the same parameters as undisturbed: $hash"
}
step_of() { sed -nE 's|.*step ([0-9]+)/.*|\1|p' "$1" 2>/dev/null | tail -n 1; }  # LOG
has_done() { local now; now=$(step_of "$1"); [ "${now:-0}" -ge "$2" ]; }  # LOG STEP
