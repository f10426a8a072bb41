#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a convolutional network of LibTorch on Fashion-MNIST, starting with a fresh Debian machine: installs missing
# packages, builds, makes TFRecords, trains on a cluster of processes, evaluates, draws the curves.
usage='usage: examples/torch/run.sh [--ps N] [--workers N] [--restart] [--steps N] [--mode sync|ssp|async] [--parts N]
                             [--shards N] [--replicas N] [--out DIR]
  --ps N        number of parameter servers, one process each (2); 0: the job runs in one process without sockets
  --workers N   number of workers, one process each; with --ps 0 all in the one process (3)
  --restart     restart a process that was killed, or ended with code 1
  --steps N     global steps (2000; with --mode ssp or async 6000 contributions)
  --mode M      sync: every run has the same bits; ssp: workers wait only for a worker that is too far behind;
                async: no worker waits (sync)
  --parts N     most parts into which each variable is cut (1)
  --shards N    shards of each parameter server, or of the one process (1)
  --replicas N  replicas of each shard, on different parameter servers (1); with 2 the job does not wait if one fails
  --out DIR     directory for the results (a new directory); if it has a checkpoint, the job continues from there
Raw data: Debian'"'"'s package dataset-fashion-mnist, or the four .gz files in $FASHION_MNIST_DIR.
Example: examples/torch/run.sh --ps 2 --workers 3 --restart --out out/torch'
set -euo pipefail
job=torch switches= components=libtorch
values='--steps --replicas --mode --parts --shards --batch --learning_rate --momentum --staleness --seed --save_every --evaluate_every'
. "$(dirname "${BASH_SOURCE[0]}")/../job.sh"
own_flag() { :; }
read_flags "$@"
case " ${options[*]} " in
  *' --steps '*) ;;
  *' --mode ssp '* | *' --mode async '*) options+=(--steps 6000) ;;
  *) options+=(--steps 2000) ;;
esac
ensure_packages build example torch
find_fashion_mnist
phase 'build the example' compile_job torch_train fashion_mnist_convert
convert_fashion_mnist
train_job "$records"
cat <<END
Try next: examples/torch/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/torch/run.sh --restart    and kill -9 any process while it trains: the same bits
          examples/torch/run.sh --ps 3 --parts 3 --shards 2      the same bits
          examples/torch/run.sh --out $out --steps 3000   continues from the checkpoint
END
