#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds examples as static programs, so that an image needs nothing else. They can still resolve host names.
# The first program is also called `trainer`. With TARGETARCH=arm64, which docker buildx sets, the programs are for
# aarch64: built by Debian's cross compiler, with the libraries of Debian's arm64 packages.
# usage: examples/docker/build_static.sh DIR PROGRAM...        for example image/bin fashion_mnist_train
set -euo pipefail
[ $# -ge 2 ] || { sed -n '7s/^# //p' "$0" >&2; exit 64; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
trainer=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/static toolchain=() strip=strip readelf=readelf
if [ "${TARGETARCH:-}" = arm64 ] && [ "$(uname -m)" != aarch64 ]; then
  logs=build/logs
  . tools/setup.sh
  . tools/aarch64.sh
  ensure_aarch64
  build=build/static_aarch64 toolchain=(--toolchain cmake/aarch64-linux.cmake)
  strip=aarch64-linux-gnu-strip readelf=aarch64-linux-gnu-readelf
elif [ "${TARGETARCH:-}" = amd64 ] && [ "$(uname -m)" != x86_64 ]; then
  echo "build_static.sh: programs for x86-64 are built on x86-64" >&2
  exit 69
fi
cmake --preset examples -B $build "${toolchain[@]}" -DCMAKE_EXE_LINKER_FLAGS=-static -DZLIB_USE_STATIC_LIBS=ON
cmake --build $build --target "$@"
for program in "$@"; do
  "$strip" -o "$to/$program" "$build/examples/$program"
  ! "$readelf" -d "$to/$program" | grep NEEDED || { echo "build_static.sh: $program is not static" >&2; exit 1; }
done
ln -sf "$trainer" "$to/trainer"
