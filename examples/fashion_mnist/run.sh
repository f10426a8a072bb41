#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a model on Fashion-MNIST, starting with a fresh Debian machine: installs missing packages, builds, makes
# TFRecords, trains on a cluster of processes, evaluates, draws the curves.
usage='usage: examples/fashion_mnist/run.sh [--ps N] [--workers N] [--restart] [--tls] [--steps N] [--mode sync|ssp|async] [--parts N]
                                     [--shards N] [--replicas N] [--local_steps N] [--wire_format F] [--out DIR]
                                     [--hold_out]
  --ps N        number of parameter servers, one process each (2); 0: the job runs in one process without sockets
  --workers N   number of workers, one process each; with --ps 0 all in the one process (3)
  --restart     restart a process that was killed, or ended with code 1
  --tls         encrypt the connections between the processes, with certificates that are made for this run
  --steps N     global steps (6000; with --mode ssp or async 18000 contributions)
  --mode M      sync: every run has the same bits; ssp: workers wait only for a worker that is too far behind;
                async: no worker waits (sync)
  --parts N     most parts into which each variable is cut (1)
  --shards N    shards of each parameter server, or of the one process (1)
  --replicas N  replicas of each shard, on different parameter servers (1); with 2 the job does not wait if one fails
  --out DIR     directory for the results (a new directory); if it has a checkpoint, the job continues from there
  --local_steps N  batches that a worker trains alone before it sends what they have changed (0: it sends each
                gradient); --steps must be a multiple
  --wire_format F  numbers that travel: float32, bfloat16, or int8 (gradients; values as bfloat16) (float32)
  --hold_out    for choosing hyper-parameters: train on nine tenths of the training set, and measure on the last tenth
Raw data: Debian'"'"'s package dataset-fashion-mnist, or the four .gz files in $FASHION_MNIST_DIR.
Example: examples/fashion_mnist/run.sh --ps 2 --workers 3 --restart --out out/fashion_mnist'
set -euo pipefail
job=fashion_mnist switches=--hold_out components=
values='--steps --replicas --mode --parts --shards --batch --local_steps --local_rate --wire_format --learning_rate --momentum --staleness --seed --save_every --evaluate_every'
. "$(dirname "${BASH_SOURCE[0]}")/../job.sh"
own_flag() { :; }
read_flags "$@"
ensure_packages build example
find_fashion_mnist
build_job convert train
convert_fashion_mnist
train_job "$records"
cat <<EOF
Try next: examples/fashion_mnist/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/fashion_mnist/run.sh --restart    and kill -9 any process while it trains: the same bits
          examples/fashion_mnist/run.sh --ps 3 --parts 3 --shards 2      the same bits
          examples/fashion_mnist/run.sh --mode async
          examples/fashion_mnist/run.sh --out $out --steps 8000   continues from the checkpoint
EOF
