#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the tests of the rooms that need only a compiler and xtensor for aarch64, and runs them with qemu. Skips
# tests that use protobuf or zlib, because their libraries are not available for aarch64 here.
# usage: aarch64.sh [ROOM...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rooms=("${@:-core cluster optimizer placement sharding checkpoint example tensor}")
out=$PWD/build/aarch64
mkdir -p "$out"

compile() {  # compile SOURCE: the headers of Catch2, xtensor and nlohmann-json do not depend on the machine
  local object=$out/${1//\//_}.o
  ccache aarch64-linux-gnu-g++ -std=c++20 -O1 -Iinclude -Itests -idirafter /usr/include \
    -DDISTRIB_TEST_DIR="\"$PWD/tests\"" -c "$1" -o "$object"
}
export -f compile
export out

for room in ${rooms[@]}; do
  rm -f "$out"/*.o
  tests=$(grep -LE 'pb\.h|_oracle\.hpp|<distrib/record' "tests/$room"/*_test.cpp || true)
  printf '%s\0' tests/support/main.cpp tests/support/test_dir.cpp $tests | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1"' compile
  aarch64-linux-gnu-g++ -static "$out"/*.o -o "$out/$room" -pthread
  echo "$room: $(wc -w <<<"$tests") of $(ls "tests/$room"/*_test.cpp | wc -l) files"
  qemu-aarch64 "$out/$room"
done
