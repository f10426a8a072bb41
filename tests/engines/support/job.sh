# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of engines that need no images: the programs of a build run on hosts that are all this machine.
#   prepare BUILD        makes the data, the hash of an undisturbed run in one process ($expected), and the options
#                        $values for rendering templates
#   hosts                makes the host names n1 to n5 known, all of them addresses of this machine
#   certificates         makes $work/tls, certificates for these hosts; a job whose tasks have DISTRIB_TLS_DIRECTORY
#                        encrypts its connections, or fails
#   step_of LOG          prints the last step in a task's log
#   reached STEP         true if worker 0 of the job $name has reached the step, or the job is over (`over` of the
#                        script)

. "$(dirname "${BASH_SOURCE[0]}")/engine.sh"
# The addresses are on a bridge: without an address outside of the loopback device, host names are not resolved.
hosts() {
  hostname distrib
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

certificates() {
  mkdir "$work/tls" && (
    umask 077
    cd "$work/tls" &&
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.crt -days 1 \
        -subj /CN=job -addext "subjectAltName=DNS:n1,DNS:n2,DNS:n3,DNS:n4,DNS:n5,DNS:distrib" 2>/dev/null &&
      cp tls.crt ca.crt
  ) || fail 'openssl made no certificates'
}
encrypts() {  # PROCESS     fails unless the task was told to
  grep -qzx "DISTRIB_TLS_DIRECTORY=$work/tls" "/proc/$1/environ" || fail "process $1 does not have DISTRIB_TLS_DIRECTORY"
}

steps=500
options=(--steps $steps --batch 800 --save_every 20 --evaluate_every 100)
prepare() {  # BUILD
  programs=$(cd "$1/examples" && pwd) || exit 1
  unset TF_CONFIG
  export OPENBLAS_NUM_THREADS=1
  local images=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  must 'convert the images' "$programs/fashion_mnist_convert" "$images" "$work/data"
  must 'the job undisturbed, in one process' \
    "$programs/fashion_mnist_train" --data "$work/data" --out "$work/local" "${options[@]}"
  expected=$(field "$work/local" parameters_sha256)
  values=(-D "command=$(json_list "$programs/fashion_mnist_train" "${options[@]}")" -D data_dir="$work/data")
}
step_of() { cat "$1" 2>/dev/null | last_step; }  # LOG
reached() { local now; now=$(step_of "$name/logs/worker0.log"); [ "${now:-0}" -ge "$1" ] || over; }  # STEP
