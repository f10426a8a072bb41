#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds examples as static programs, so that an image needs nothing else. They can still resolve host names.
# The first program is also called `trainer`.
# usage: examples/docker/build_static.sh DIR PROGRAM...        for example image/bin fashion_mnist_train
set -euo pipefail
[ $# -ge 2 ] || { sed -n '5s/^# //p' "$0" >&2; exit 64; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
trainer=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/static
cmake --preset examples -B $build -DCMAKE_EXE_LINKER_FLAGS=-static -DZLIB_USE_STATIC_LIBS=ON
cmake --build $build --target "$@"
for program in "$@"; do
  strip -o "$to/$program" "$build/examples/$program"
  ! readelf -d "$to/$program" | grep NEEDED || { echo "build_static.sh: $program is not static" >&2; exit 1; }
done
ln -sf "$trainer" "$to/trainer"
