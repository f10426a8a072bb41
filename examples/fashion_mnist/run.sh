#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a model on Fashion-MNIST from a fresh Debian machine on: installs what is missing, builds, makes TFRecords,
# trains on a cluster of processes, evaluates, draws the curves.
usage='usage: examples/fashion_mnist/run.sh [--ps N] [--workers N] [--restart] [--steps N] [--mode sync|ssp|async] [--parts N]
                                     [--shards N] [--out DIR] [--hold_out]
  --ps N        parameter servers, a process each (2); 0 trains in one process without sockets
  --workers N   workers, a process each; with --ps 0 inside the one process (3)
  --restart     start a process again that died
  --steps N     global steps (6000; with --mode ssp or async 18000 contributions)
  --mode M      sync: same bits every time; ssp, async: nobody waits (sync)
  --parts N     parts each variable is cut into, at most (1)
  --shards N    shards of each parameter server, or of the one process (1)
  --out DIR     where results go (a new directory); one that holds a checkpoint is gone on from
  --hold_out    choose hyper-parameters: train on nine tenths of the training set, measure on the rest of it
Raw data: Debian'"'"'s package dataset-fashion-mnist, or the four .gz files in $FASHION_MNIST_DIR.'
set -euo pipefail
started=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

ps=2 workers=3 restart=() out= options=() given=()
bad() { echo "error: $*" >&2; echo "$usage" >&2; exit 64; }
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) echo "$usage"; exit 0 ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    --restart) restart=("$1"); given+=("$1"); shift ;;
    --hold_out) options+=("$1"); given+=("$1"); shift ;;
    --ps|--out|--workers|--steps|--mode|--parts|--shards|--batch|--learning_rate|--momentum|--staleness|--seed|--save_every|--evaluate_every)
      [ $# -ge 2 ] || bad "$1 needs a value"
      case $1 in --ps) ps=$2 ;; --workers) workers=$2 ;; --out) out=$2 ;; *) options+=("$1" "$2") ;; esac
      [ "$1" = --out ] || given+=("$1" "$2")
      shift 2 ;;
    *) bad "unknown flag $1" ;;
  esac
done
case $ps in ''|*[!0-9]*) bad "--ps $ps: not a number" ;; esac
[ "$((10#$ps))" -ne 0 ] || [ -z "${restart[*]}" ] || bad "--restart: with --ps 0 there is nobody to start the one process again"
case $out in ''|/*) ;; *) out=$started/$out ;; esac

logs=build/logs
. tools/setup.sh
ensure_packages build example

raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
case $raw in /*) ;; *) raw=$started/$raw ;; esac
records=build/data/fashion_mnist
for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
  [ -r "$raw/$file-ubyte.gz" ] || {
    echo "error: $raw/$file-ubyte.gz is missing. Put the four files of Fashion-MNIST into a directory and name it:" >&2
    echo "  FASHION_MNIST_DIR=DIR examples/fashion_mnist/run.sh" >&2
    exit 66
  }
done

build=build/examples
compile() {
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDISTRIB_BUILD_TESTS=OFF -DDISTRIB_BUILD_BENCHMARKS=OFF \
    -DDISTRIB_BUILD_TOOLS=ON -DDISTRIB_BUILD_DOCS=OFF -DDISTRIB_INSTALL=OFF &&
    cmake --build $build --target fashion_mnist_convert fashion_mnist_train fashion_mnist_report distrib_command
}
phase 'build the example' compile

if [ ! -e "$records/complete" ] || [ "$(cat "$records/complete")" != "$raw" ]; then
  rm -rf "$records"
  phase 'convert the images to TFRecords' $build/examples/fashion_mnist_convert "$raw" "$records"
  echo "$raw" >"$records/complete"
fi

if [ -z "$out" ]; then
  mkdir -p build/runs
  n=1
  while ! mkdir "build/runs/fashion_mnist-$n" 2>/dev/null; do n=$((n + 1)); done
  out=$PWD/build/runs/fashion_mnist-$n
fi
mkdir -p "$out"

# Runs in a process group of its own, so that Ctrl-C comes to us alone; we pass it on, and SIGTERM and SIGHUP too.
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

train=($build/examples/fashion_mnist_train --data "$records" --out "$out" "${options[@]}")
status=0
export OPENBLAS_NUM_THREADS=1
if [ "$((10#$ps))" -eq 0 ]; then
  run "${train[@]}" --workers "$workers" || status=$?
else
  run $build/tools/distrib launch --ps "$ps" --workers "$workers" "${restart[@]}" -- "${train[@]}" || status=$?
fi
go_on="examples/fashion_mnist/run.sh --out $out${given[*]:+ ${given[*]}}"
if [ $status -gt 128 ]; then
  printf '\nA process was killed. To go on from the last checkpoint: %s\n' "$go_on" >&2
fi
[ $status -le 1 ] || exit $status
[ ! -d "$out/events" ] || $build/examples/fashion_mnist_report "$out/events" "$out/curves.html"

if [ $status -eq 1 ]; then
  printf '\nInterrupted, and saved. To go on: %s\n' "$go_on"
  exit 1
fi
cat <<EOF

summary      $out/summary.json
curves       $out/curves.html        (open it in a browser)
checkpoint   $out/checkpoint         (tf.train.load_checkpoint reads it)
events       $out/events             (tensorboard --logdir $out/events)

Try next: examples/fashion_mnist/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/fashion_mnist/run.sh --restart    and meanwhile kill -9 any process: the same bits
          examples/fashion_mnist/run.sh --ps 3 --parts 3 --shards 2      the same bits
          examples/fashion_mnist/run.sh --mode async
          examples/fashion_mnist/run.sh --out $out --steps 8000   goes on from the checkpoint
EOF
