#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a model on Fashion-MNIST, starting with a fresh Debian machine: installs missing packages, builds, makes
# TFRecords, trains on a cluster of processes, evaluates, draws the curves.
usage='usage: examples/fashion_mnist/run.sh [--ps N] [--workers N] [--restart] [--steps N] [--mode sync|ssp|async] [--parts N]
                                     [--shards N] [--replicas N] [--out DIR] [--hold_out]
  --ps N        parameter servers, a process each (2); 0 trains in one process without sockets
  --workers N   workers, a process each; with --ps 0 inside the one process (3)
  --restart     start a process again that died
  --steps N     global steps (6000; with --mode ssp or async 18000 contributions)
  --mode M      sync: same bits every time; ssp, async: nobody waits (sync)
  --parts N     parts each variable is cut into, at most (1)
  --shards N    shards of each parameter server, or of the one process (1)
  --replicas N  replicas of each shard, on different parameter servers (1); with 2 one of them may die without a pause
  --out DIR     where results go (a new directory); one that holds a checkpoint is gone on from
  --hold_out    choose hyper-parameters: train on nine tenths of the training set, measure on the rest of it
Raw data: Debian'"'"'s package dataset-fashion-mnist, or the four .gz files in $FASHION_MNIST_DIR.'
set -euo pipefail
job=fashion_mnist switches=--hold_out
values='--steps --replicas --mode --parts --shards --batch --learning_rate --momentum --staleness --seed --save_every --evaluate_every'
. "$(dirname "${BASH_SOURCE[0]}")/../job.sh"
own_flag() { :; }
read_flags "$@"
ensure_packages build example

raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
raw=$(from_start "$raw")
records=build/data/fashion_mnist
for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
  [ -r "$raw/$file-ubyte.gz" ] || {
    echo "error: $raw/$file-ubyte.gz is missing. Put the four files of Fashion-MNIST into a directory and name it:" >&2
    echo "  FASHION_MNIST_DIR=DIR examples/fashion_mnist/run.sh" >&2
    exit 66
  }
done

build_job convert train
if [ ! -e "$records/complete" ] || [ "$(cat "$records/complete")" != "$raw" ]; then
  rm -rf "$records"
  phase 'convert the images to TFRecords' $build/examples/fashion_mnist_convert "$raw" "$records"
  echo "$raw" >"$records/complete"
fi

train_job "$records"
cat <<EOF
Try next: examples/fashion_mnist/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/fashion_mnist/run.sh --restart    and meanwhile kill -9 any process: the same bits
          examples/fashion_mnist/run.sh --ps 3 --parts 3 --shards 2      the same bits
          examples/fashion_mnist/run.sh --mode async
          examples/fashion_mnist/run.sh --out $out --steps 8000   goes on from the checkpoint
EOF
