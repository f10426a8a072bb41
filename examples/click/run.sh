#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predicts clicks, starting with a fresh Debian machine: installs missing packages, builds, generates examples of
# Criteo's shape or reads Criteo's files, trains a model with embeddings on a cluster of processes, measures its AUC,
# draws the curves.
usage='usage: examples/click/run.sh [--ps N] [--workers N] [--restart] [--steps N] [--mode sync|ssp|async] [--shards N]
                             [--replicas N] [--out DIR] [--examples N | --data FILE...] [--min_count N]
  --ps N        parameter servers, a process each (2); 0 trains in one process without sockets
  --workers N   workers, a process each; with --ps 0 inside the one process (3)
  --restart     start a process again that died
  --steps N     global steps (3000, which is one epoch; with --mode ssp or async 9000 contributions)
  --mode M      sync: same bits every time; ssp, async: nobody waits (sync)
  --shards N    shards of each parameter server, or of the one process (1)
  --replicas N  replicas of each shard, on different parameter servers (1); with 2 one of them may die without a pause
  --out DIR     where results go (a new directory); one that holds a checkpoint is gone on from
  --examples N  generate so many to learn from, and a tenth as many to measure on (600000)
  --data FILE.. Criteo'"'"'s text files, plain or gzip (train.txt of its Display Advertising Challenge); each tenth line
                is measured on, until there are 100000; of more than a few million lines, give --min_count too
  --min_count N contributions that have a value before it gets rows in the tables (1)'
set -euo pipefail
job=click switches=
values='--steps --replicas --mode --shards --batch --wide_rate --deep_rate --min_count --staleness --seed --save_every'
values+=' --evaluate_every'
. "$(dirname "${BASH_SOURCE[0]}")/../job.sh"

examples=600000 files=()
own_flag() {
  case $1 in
    --examples)
      case ${2:-} in ''|*[!0-9]*) bad "--examples ${2:-}: not a number" ;; esac
      examples=$2 used=2 ;;
    --data)
      used=1
      while [ $# -gt $used ]; do
        case ${@:used + 1:1} in --*) break ;; esac
        files+=("$(from_start "${@:used + 1:1}")") used=$((used + 1))
      done
      [ $used -gt 1 ] || bad '--data needs a file' ;;
  esac
}
read_flags "$@"
for file in "${files[@]}"; do [ -r "$file" ] || { echo "error: $file: no file that can be read" >&2; exit 66; }; done
ensure_packages build blas tools
build_job convert train

source="--generate $examples $((10#$examples / 10))"
if [ ${#files[@]} -gt 0 ]; then source=$(ls -lL --time-style=full-iso -- "${files[@]}"); fi
records=build/data/click
if [ ! -e $records/complete ] || [ "$(cat $records/complete)" != "$source" ]; then
  rm -rf $records
  if [ ${#files[@]} -gt 0 ]; then
    phase 'convert the files to TFRecords' $build/examples/click_convert $records "${files[@]}"
  else
    # shellcheck disable=SC2086
    phase 'generate TFRecords' $build/examples/click_convert $records $source
  fi
  echo "$source" >$records/complete
fi

train_job $records
cat <<END
Try next: examples/click/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/click/run.sh --ps 3 --shards 2      the same bits
          examples/click/run.sh --restart    and meanwhile kill -9 any process: the same bits
          examples/click/run.sh --mode async
          examples/click/run.sh --data train.txt       Criteo's own examples
END
