#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a container runtime without Docker needs of the main job, made by Docker: DIR/images.tar has the trainer's image
# and that of PAUSE.C, DIR/records its data, DIR/command.json its command and DIR/expected the undisturbed hash.
# With it are images of nothing but a static program /manager, named as PROGRAM.
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
"${CC:-gcc}" -x c -O2 -static -o "$work/pause" "$2" || fail 'pause is not built'
image_of pause "$work/pause" /pause
for program in "${@:3}"; do
  image_of "$(basename "$program")" "$program" /manager
  images+=("$(basename "$program")")
done
docker save -o "$1/images.tar" "${images[@]}" && cp -a "$(volume trainer-data)/." "$1/records" ||
  fail 'images and records are not saved'
json_list "${command[@]}" >"$1/command.json"
echo "$expected" >"$1/expected"
