# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that users run. Defines
#   ensure_packages GROUP...   installs the missing packages of these groups on Debian; on other systems says what to
#                              install, and exits with 69
#   phase NAME COMMAND...      runs a command quietly and prints one line with its seconds; shows its output if it fails
# The output of both goes to $logs, which the sourcing script sets.

packages_of() {
  case $1 in
    build) echo g++ cmake ninja-build ccache python3 ca-certificates libasio-dev libxtensor-dev zlib1g-dev ;;
    example) echo libssl-dev openssl dataset-fashion-mnist; packages_of blas; packages_of tools ;;
    torch) echo libtorch-dev ;;
    gloo) echo libgloo-dev ;;
    blas) echo libxtensor-blas-dev libopenblas-dev ;;
    render) echo python3-jinja2 python3-yaml python3-jsonschema ;;
    tests) echo catch2 clang-format-19 python3-clang-19 codespell nlohmann-json3-dev libprotobuf-dev protobuf-compiler binutils libisal-dev libcpp-httplib-dev pkg-config git; packages_of render; packages_of example ;;
    tools) echo libcli11-dev ;;
    site)
      echo mkdocs mkdocs-material python3-clang-19 libclang-common-19-dev libasio-dev libxtensor-dev zlib1g-dev libssl-dev \
        libcpp-httplib-dev libisal-dev libprotobuf-dev libtorch-dev ;;
    browser) echo chromium chromium-driver python3-selenium ;;
    clang) echo clang-19 libclang-rt-19-dev ;;
    benchmarks) echo libbenchmark-dev libprotobuf-dev protobuf-compiler libisal-dev ;;
    grpc) echo libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler ;;
    ps_lite) echo libzmq3-dev libprotobuf-dev protobuf-compiler ;;
    interop) echo python3-venv openjdk-17-jdk-headless maven ;;
    soak) echo strace iptables iproute2 ;;
    engines)
      echo debootstrap docker.io containerd runc iptables docker-compose iproute2 util-linux containernetworking-plugins ipset \
        slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge openmpi-bin etcd-server openssl; packages_of render ;;
    packages) echo python3-venv debootstrap g++-aarch64-linux-gnu qemu-user ;;
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

phase() {  # NAME COMMAND...
  local name=$1 began=$EPOCHREALTIME log status=0
  log=$logs/$(tr -c 'a-zA-Z0-9\n-' _ <<<"${name:0:40}").log
  mkdir -p "$logs"
  [ ! -t 1 ] || printf '%-56s       ...\r' "${name:0:56}"
  "${@:2}" >"$log" 2>&1 </dev/null || status=$?
  if [ $status -eq 0 ]; then
    printf '%-56s %7s s\n' "${name:0:56}" "$(seconds_since "$began")"
  else
    printf '%-56s %7s s  FAILED\n' "${name:0:56}" "$(seconds_since "$began")"
    grep -avE "$phase_noise" "$log" | tail -n 100 | sed 's/^/  /' >&2
    echo "  (complete output: $log)" >&2
  fi
  return $status
}

seconds_since() {  # EPOCHREALTIME
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}
