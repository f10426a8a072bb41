#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a container runtime without Docker needs of the main job, made by Docker: DIR/images.tar has the trainer's image
# and that of PAUSE.C, DIR/records its data, DIR/values.json the job's values and DIR/expected the undisturbed hash.
# usage: tests/engines/support/images.sh DIR PAUSE.C
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/docker.sh"

start_docker
prepare_job || { over; exit 1; }
mkdir "$work/pause"
printf '%s\n' 'FROM scratch' 'COPY pause /' 'ENTRYPOINT ["/pause"]' >"$work/pause/Dockerfile"
"${CC:-gcc}" -x c -O2 -static -o "$work/pause/pause" "$2" &&
  docker build -q -t pause "$work/pause" >"$work/image-pause.log" 2>&1 ||
  { fail "the image of pause"; exit 1; }
docker save -o "$1/images.tar" trainer pause && cp -a "$(volume_file trainer-data .)" "$1/records" ||
  { fail "images and records are not saved"; exit 1; }
python3 -c 'import json, sys; json.dump(sys.argv[1:], sys.stdout)' fashion_mnist_train "${own[@]}" >"$1/command.json"
echo "$expected" >"$1/expected"
