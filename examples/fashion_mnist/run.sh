#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a model on Fashion-MNIST from a fresh Debian machine on: installs what is missing, builds, makes TFRecords,
# trains, evaluates, draws the curves.
usage='usage: examples/fashion_mnist/run.sh [--ps N] [--workers N] [--steps N] [--mode sync|ssp|async] [--parts N] [--shards N]
                                     [--out DIR] [--hold_out]
  --ps N        parameter servers; 0, the default, trains in one process without sockets
  --workers N   workers (3)
  --steps N     global steps (6000; with --mode ssp or async 18000 contributions)
  --mode M      sync: same bits every time; ssp, async: nobody waits (sync)
  --parts N     parts each variable is cut into, at most (1)
  --shards N    shards the variables are spread over (1)
  --out DIR     where results go (a new directory); one that holds a checkpoint is gone on from
  --hold_out    choose hyper-parameters: train on nine tenths of the training set, measure on the rest of it
Raw data: Debian'"'"'s package dataset-fashion-mnist, or the four .gz files in $FASHION_MNIST_DIR.'
set -euo pipefail
started=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

ps=0 out= options=()
bad() { echo "error: $*" >&2; echo "$usage" >&2; exit 64; }
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) echo "$usage"; exit 0 ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    --hold_out) options+=("$1"); shift ;;
    --ps|--out|--workers|--steps|--mode|--parts|--shards|--batch|--learning_rate|--momentum|--staleness|--seed|--save_every|--evaluate_every)
      [ $# -ge 2 ] || bad "$1 needs a value"
      case $1 in --ps) ps=$2 ;; --out) out=$2 ;; *) options+=("$1" "$2") ;; esac
      shift 2 ;;
    *) bad "unknown flag $1" ;;
  esac
done
[ "$ps" = 0 ] || bad "--ps $ps: this version trains in one process; leave --ps out or give 0"
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
    -DDISTRIB_BUILD_DOCS=OFF -DDISTRIB_INSTALL=OFF &&
    cmake --build $build --target fashion_mnist_convert fashion_mnist_train fashion_mnist_report
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

status=0
OPENBLAS_NUM_THREADS=1 $build/examples/fashion_mnist_train --data "$records" --out "$out" "${options[@]}" || status=$?
[ $status -le 1 ] || exit $status
$build/examples/fashion_mnist_report "$out/events" "$out/curves.html"

if [ $status -eq 1 ]; then
  printf '\nInterrupted, and saved. To go on: examples/fashion_mnist/run.sh --out %s%s\n' "$out" "${options[*]:+ ${options[*]}}"
  exit 1
fi
cat <<EOF

summary      $out/summary.json
curves       $out/curves.html        (open it in a browser)
checkpoint   $out/checkpoint         (tf.train.load_checkpoint reads it)
events       $out/events             (tensorboard --logdir $out/events)

Try next: examples/fashion_mnist/run.sh --mode async
          examples/fashion_mnist/run.sh --parts 3 --shards 2      the same bits: compare parameters_sha256
          examples/fashion_mnist/run.sh --out $out --steps 8000   goes on from the checkpoint
EOF
