# SPDX-License-Identifier: Apache-2.0
# Sourced by the run.sh of each job, which sets
#   job        its directory in examples/, with which the names of its programs start
#   usage      the text of --help
#   values     flags of its program with a value, "--batch --seed"
#   switches   flags of its program without a value
#   components components of the library that its programs need beside distrib, or nothing
# and calls, in this order:
#   read_flags ARGUMENT...   sets ps, workers, restart, tls, out, and options, the flags for the program. First it offers
#                            each flag to the job's own_flag ARGUMENT..., which sets `used` to the number of arguments
#                            that it has used, or leaves it 0
#   ensure_packages GROUP... of tools/setup.sh
#   find_fashion_mnist       sets raw, the directory of the raw files; exits if they are missing
#   build_job TARGET...      builds these programs of the job, and the programs that all jobs use
#   convert_fashion_mnist    makes the TFRecords of the raw files with fashion_mnist_convert, and sets records
#   train_job RECORDS        trains on these records, in several processes or in one, and draws the curves; returns only
#                            if the job is done

started=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ps=2 workers=3 restart=() tls=() out= options=() given=()
build=build/examples logs=build/logs
. tools/setup.sh

bad() { echo "error: $*" >&2; echo "$usage" >&2; exit 64; }
from_start() { case $1 in /*) echo "$1" ;; *) echo "$started/$1" ;; esac; }

read_flags() {
  local used
  while [ $# -gt 0 ]; do
    case $1 in
      -h|--help) echo "$usage"; exit 0 ;;
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    esac
    used=0
    own_flag "$@"
    if [ $used -gt 0 ]; then given+=("${@:1:used}"); shift $used; continue; fi
    case " --restart --tls $switches " in *" $1 "*)
      case $1 in --restart) restart=("$1") ;; --tls) tls=("$1") ;; *) options+=("$1") ;; esac
      given+=("$1")
      shift
      continue ;;
    esac
    case " --ps --workers --out $values " in *" $1 "*) ;; *) bad "unknown flag $1" ;; esac
    [ $# -ge 2 ] || bad "$1 needs a value"
    case $1 in --ps) ps=$2 ;; --workers) workers=$2 ;; --out) out=$2 ;; *) options+=("$1" "$2") ;; esac
    [ "$1" = --out ] || given+=("$1" "$2")
    shift 2
  done
  case $ps in ''|*[!0-9]*) bad "--ps $ps: not a number" ;; esac
  [ "$((10#$ps))" -ne 0 ] || [ -z "${restart[*]}" ] ||
    bad "--restart: not possible with --ps 0, because nothing restarts a job in one process"
  [ "$((10#$ps))" -ne 0 ] || [ -z "${tls[*]}" ] || bad "--tls: not possible with --ps 0, which has no connections"
  [ -z "$out" ] || out=$(from_start "$out")
}

find_fashion_mnist() {
  local file
  raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  raw=$(from_start "$raw")
  for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
    [ -r "$raw/$file-ubyte.gz" ] || {
      echo "error: $raw/$file-ubyte.gz is missing. Put the four files of Fashion-MNIST into a directory, then run:" >&2
      echo "  FASHION_MNIST_DIR=DIR examples/$job/run.sh" >&2
      exit 66
    }
  done
}
convert_fashion_mnist() {
  records=build/data/fashion_mnist
  if [ ! -e "$records/complete" ] || [ "$(cat "$records/complete")" != "$raw" ]; then
    rm -rf "$records"
    phase 'convert the images to TFRecords' $build/examples/fashion_mnist_convert "$raw" "$records"
    echo "$raw" >"$records/complete"
  fi
}

build_job() {
  phase 'build the example' compile_job "${@/#/${job}_}"
}
compile_job() {
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDISTRIB_BUILD_TESTS=OFF -DDISTRIB_BUILD_BENCHMARKS=OFF \
    -DDISTRIB_BUILD_TOOLS=ON -DDISTRIB_BUILD_DOCS=OFF -DDISTRIB_INSTALL=OFF \
    "-DDISTRIB_COMPONENTS=distrib${components:+;$components}" &&
    cmake --build $build --target "$@" fashion_mnist_report distrib_command
}

# Runs a command in a process group of its own, so that only this script gets Ctrl-C. It passes it on, like SIGTERM and
# SIGHUP.
passed_on=
pass_on() { passed_on=yes; kill -s "$1" $child 2>/dev/null || true; }
run() {
  local status
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  trap 'pass_on INT' INT
  trap 'pass_on TERM' TERM HUP
  passed_on=yes
  while [ -n "$passed_on" ]; do passed_on= status=0; wait $child || status=$?; done
  trap - INT TERM HUP
  return $status
}

train_job() {
  local status=0 n=1 go_on train
  if [ -z "$out" ]; then
    mkdir -p build/runs
    while ! mkdir "build/runs/$job-$n" 2>/dev/null; do n=$((n + 1)); done
    out=$PWD/build/runs/$job-$n
  fi
  mkdir -p "$out"

  train=("$build/examples/${job}_train" --data "$1" --out "$out" "${options[@]}")
  if [ "$((10#$ps))" -eq 0 ]; then
    run "${train[@]}" --workers "$workers" || status=$?
  else
    run $build/tools/distrib launch --ps "$ps" --workers "$workers" "${restart[@]}" "${tls[@]}" -- "${train[@]}" || status=$?
  fi
  go_on="examples/$job/run.sh --out $out${given[*]:+ ${given[*]}}"
  if [ $status -gt 128 ]; then
    printf '\nA process was killed. To continue from the last checkpoint: %s\n' "$go_on" >&2
  fi
  [ $status -le 1 ] || exit $status
  [ ! -d "$out/events" ] || $build/examples/fashion_mnist_report "$out/events" "$out/curves.html"
  if [ $status -eq 1 ]; then
    printf '\nInterrupted, and saved. To continue: %s\n' "$go_on"
    exit 1
  fi
  cat <<END

summary      $out/summary.json
curves       $out/curves.html        (open it in a browser)
checkpoint   $out/checkpoint         (tf.train.load_checkpoint reads it)
events       $out/events             (tensorboard --logdir $out/events)

END
}
