# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that users run. Defines
#   ensure_packages GROUP...   installs the missing packages of these groups on Debian; on other systems says what to
#                              install, and exits with 69
#   phase NAME COMMAND...      runs a command quietly. Prints at once which log it writes; then how far it is, every minute
#                              (on a terminal every second); at the end a line with its seconds. If it fails, shows the
#                              log from the first error of a compiler, a linker or CMake on, otherwise the end of the log
# The output of both goes to $logs, which the sourcing script sets.

packages_of() {
  case $1 in
    build) echo g++ cmake ninja-build ccache python3 ca-certificates libasio-dev libxtensor-dev zlib1g-dev ;;
    tls) echo libssl-dev openssl ;;
    example) echo dataset-fashion-mnist; packages_of tls; packages_of tools ;;
    torch) echo libtorch-dev ;;
    gloo) echo libgloo-dev ;;
    blas) echo libxtensor-blas-dev libopenblas-dev ;;
    render) echo python3-jinja2 python3-yaml python3-jsonschema ;;
    tests) echo catch2 clang-format-19 python3-clang-19 codespell nlohmann-json3-dev libprotobuf-dev protobuf-compiler binutils libisal-dev librdkafka-dev git; packages_of http; packages_of render; packages_of example ;;
    tools) echo libcli11-dev ;;
    http) echo libcpp-httplib-dev pkg-config ;;
    go) echo golang-go ;;
    site)
      echo mkdocs mkdocs-material python3-clang-19 libclang-common-19-dev libasio-dev libxtensor-dev zlib1g-dev libssl-dev \
        libcpp-httplib-dev libisal-dev libprotobuf-dev librdkafka-dev libtorch-dev ;;
    browser) echo chromium chromium-driver python3-selenium ;;
    clang) echo clang-19 libclang-rt-19-dev ;;
    benchmarks) echo libbenchmark-dev libprotobuf-dev protobuf-compiler libisal-dev; packages_of blas ;;
    grpc) echo libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler ;;
    ps_lite) echo libzmq3-dev libprotobuf-dev protobuf-compiler ;;
    interop) echo python3-venv openjdk-17-jdk-headless maven ;;
    soak) echo strace iptables iproute2 ;;
    engines)
      echo debootstrap docker.io containerd runc iptables docker-compose iproute2 util-linux containernetworking-plugins ipset \
        slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge openmpi-bin etcd-server openssl prometheus; packages_of render ;;
    packages) echo python3-venv debootstrap; packages_of aarch64 ;;
    aarch64) echo g++-aarch64-linux-gnu qemu-user ;;
    *) echo "setup.sh: no package group '$1'" >&2; return 64 ;;
  esac
}

ensure_packages() {  # GROUP...
  local wanted=() missing=() group name
  [ -z "${DISTRIB_SKIP_SETUP:-}" ] || return 0
  for group in "$@"; do wanted+=($(packages_of "$group")); done
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    cat >&2 <<EOF
This is not a Debian system, so nothing was installed. Install the contents of these Debian packages:
  ${wanted[*]}
(Asio 1.22, xtensor 0.24, Protocol Buffers 3.21 or newer; g++ 12 or newer.)
dataset-fashion-mnist is four files: train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz
and t10k-labels-idx1-ubyte.gz. Put them into /usr/share/datasets/fashion-mnist, or into another directory and set
FASHION_MNIST_DIR to it.
Then run this again with DISTRIB_SKIP_SETUP=1.
EOF
    exit 69
  fi
  for name in "${wanted[@]}"; do
    grep -qx "$name" <<<"${installed_packages:=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' | sed -n 's/^ii *//p')}" || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "packages are missing; as root, run: apt-get install ${missing[*]}" >&2; exit 69; }
    as_root=(sudo)
  fi
  installed_packages=
  phase "install ${#missing[@]} packages" install_packages "${missing[@]}" || exit 69
}

install_packages() {  # uses as_root of its caller
  "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# Lines that build and test programs print when there is no failure.
phase_noise='^\[[0-9]+/[0-9]+\]|^ *Start +[0-9]+:|\.+ +Passed +[0-9.]+ sec$|^Label Time Summary|^[a-z_]+ += +[0-9.]+ sec\*proc|^-- |^Preset CMake variables:|^  [A-Z_]+=".*"$|^$'

# The first line of a build that says why it failed. Warnings stand before it.
phase_cause='^[^ ]+: (fatal |internal compiler )?error: |: undefined reference to |^CMake Error|^ninja: build stopped: '

phase() {  # NAME COMMAND...
  local name=$1 began=$EPOCHREALTIME log watcher status=0
  log=$logs/$(tr -c 'a-zA-Z0-9\n-' _ <<<"${name:0:40}").log
  mkdir -p "$logs"
  : >"$log"
  [ -t 1 ] || printf '%-56s       ...  (log: %s)\n' "${name:0:56}" "$log"
  exec 9> >(watch_phase "$name" "$log" "$began")  # which ends when 9 is closed
  watcher=$!
  "${@:2}" >"$log" 2>&1 </dev/null 9>&- || status=$?
  exec 9>&-
  wait $watcher || :
  [ ! -t 1 ] || printf '\033[K'
  if [ $status -eq 0 ]; then
    printf '%-56s %7s s\n' "${name:0:56}" "$(seconds_since "$began")"
  else
    printf '%-56s %7s s  FAILED\n' "${name:0:56}" "$(seconds_since "$began")"
    show_failure "$log" | sed 's/^/  /' >&2
    echo "  (complete output: $log)" >&2
  fi
  return $status
}

# Prints how far the phase is, until its stdin ends: with the phase, or with the script. (Not a background process that is
# killed: bash may run the script's trap on EXIT in a process that it has just started.)
watch_phase() {  # NAME LOG BEGAN
  local every=60 left=60 end='\n' ended reached
  [ ! -t 1 ] || every=1 left=0 end='\r'
  while :; do
    if [ $left -eq 0 ]; then
      # "[17/345]" of a build, " 17/751 Test" of ctest
      reached=$(grep -aoE '^(\[[0-9]+/[0-9]+\]| *[0-9]+/[0-9]+ Test)' "$2" | tail -n 1 | tr -cd '0-9/') || :
      printf "%-56s %7s s  ...%s$end" "${1:0:56}" "$(seconds_since "$3")" "${reached:+  [$reached]}"
      left=$every
    fi
    ended=0
    read -r -t 1 || ended=$?
    [ $ended -gt 128 ] || return 0  # otherwise the second is over
    left=$((left - 1))
  done
}

show_failure() {  # LOG
  local from=
  if ! grep -aq 'tests failed out of' "$1"; then from=$(grep -anEm 1 "$phase_cause" "$1" | cut -d: -f1) || :; fi
  if [ -n "$from" ]; then
    tail -n "+$from" "$1" | grep -avE "$phase_noise" | head -n 40 || :
  else
    grep -avE "$phase_noise" "$1" | tail -n 100 || :
  fi
}

seconds_since() {  # EPOCHREALTIME
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}
