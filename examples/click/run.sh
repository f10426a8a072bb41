#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predicts clicks, starting with a fresh Debian machine: installs missing packages, builds, generates examples of
# Criteo's shape or reads Criteo's files, trains a model with embeddings on a cluster of processes, measures its AUC,
# draws the curves.
usage='usage: examples/click/run.sh [--ps N] [--workers N] [--restart] [--tls] [--steps N] [--mode sync|ssp|async] [--shards N]
                             [--replicas N] [--out DIR] [--examples N | --data FILE...] [--min_count N]
                             [--max_rows N] [--half_life N]
  --ps N        number of parameter servers, one process each (2); 0: the job runs in one process without sockets
  --workers N   number of workers, one process each; with --ps 0 all in the one process (3)
  --restart     restart a process that was killed, or ended with code 1
  --tls         encrypt the connections between the processes, with certificates that are made for this run
  --steps N     global steps (3000, which is one epoch; with --mode ssp or async 9000 contributions)
  --mode M      sync: every run has the same bits; ssp: workers wait only for a worker that is too far behind;
                async: no worker waits (sync)
  --shards N    shards of each parameter server, or of the one process (1)
  --replicas N  replicas of each shard, on different parameter servers (1); with 2 the job does not wait if one fails
  --out DIR     directory for the results (a new directory); if it has a checkpoint, the job continues from there
  --examples N  generate N examples for training, and N / 10 for the test (600000)
  --data FILE.. use Criteo'"'"'s text files, plain or gzip (train.txt of its Display Advertising Challenge). Every tenth
                line is for the test, until there are 100000. Above a few million lines, set --min_count too
  --min_count N a value gets rows in the tables once N contributions have contained it (1)
  --max_rows N  most rows of each table; those that were used least go (no limit)
  --half_life N with --max_rows: steps after which a use counts as half a use (all uses count alike)
  --export DIR  export the model to this directory (or URL, s3://BUCKET/PREFIX) while it is trained, and build the program
                that serves it: build/examples/examples/click_serve DIR 127.0.0.1:8080. Not with --ps 0, nor --mode
                async or ssp
  --export_every N   steps between two positions of the export (100)
  --export_ms N      milliseconds between two positions, instead of steps
Example: examples/click/run.sh --ps 2 --workers 3 --restart --out out/click'
set -euo pipefail
job=click switches= components=
values='--steps --replicas --mode --shards --batch --wide_rate --deep_rate --min_count --staleness --seed --save_every'
values+=' --max_rows --half_life --evaluate_every --export_every --export_ms'
. "$(dirname "${BASH_SOURCE[0]}")/../job.sh"

examples=600000 files=() exported=
own_flag() {
  case $1 in
    --export)
      [ -n "${2:-}" ] || bad '--export needs a directory'
      case $2 in *://*) exported=$2 ;; *) exported=$(from_start "$2") ;; esac
      options+=(--export "$exported") used=2 ;;
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
for file in "${files[@]}"; do [ -r "$file" ] || { echo "error: $file: cannot read this file" >&2; exit 66; }; done
ensure_packages build tools ${tls:+tls}
case $exported in *://*) ensure_packages http ;; esac
build_job convert train ${exported:+serve}

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

if [ -n "$exported" ]; then
  printf 'To serve the model while it is trained:\n  %s %s 127.0.0.1:8080\n' "$PWD/$build/examples/click_serve" "$exported"
fi
train_job $records
cat <<END
Try next: examples/click/run.sh --ps 0       one process, the same bits: compare parameters_sha256
          examples/click/run.sh --ps 3 --shards 2      the same bits
          examples/click/run.sh --restart    and kill -9 any process while it trains: the same bits
          examples/click/run.sh --mode async
          examples/click/run.sh --data train.txt       Criteo's own examples
END
