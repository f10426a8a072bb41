#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes, with Docker, the files of the main job for a container runtime without Docker: DIR/images.tar with the image of
# the trainer and an image of the program PAUSE.C, DIR/records with the data, DIR/command.json with the command, and
# DIR/expected with the hash of the undisturbed job. For each static PROGRAM, images.tar also has an image with the name
# of the program, which contains only the program, as /manager.
# usage: tests/engines/support/images.sh DIR PAUSE.C [PROGRAM...]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/docker.sh"

start_docker "$@"
prepare_job
images=(trainer pause)
image_of() {  # NAME PROGRAM PATH
  mkdir "$work/context-$1" && cp "$2" "$work/context-$1/program" || fail "there is no $2"
  printf '%s\n' 'FROM scratch' "COPY program $3" 'USER 65532:65532' "ENTRYPOINT [\"$3\"]" >"$work/context-$1/Dockerfile"
  must "docker build: $1" docker build -q -t "$1" "$work/context-$1"
}
"${CC:-gcc}" -x c -O2 -static -o "$work/pause" "$2" || fail 'building pause failed'
image_of pause "$work/pause" /pause
for program in "${@:3}"; do
  image_of "$(basename "$program")" "$program" /manager
  images+=("$(basename "$program")")
done
docker save -o "$1/images.tar" "${images[@]}" && cp -a "$(volume trainer-data)/." "$1/records" ||
  fail 'saving the images and records failed'
json_list "${command[@]}" >"$1/command.json"
echo "$expected" >"$1/expected"
