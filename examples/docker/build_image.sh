#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds examples, and collects what an image without an operating system needs to run them: DIR/bin has the programs,
# DIR/lib and DIR/lib64 the shared libraries that they need and the loader, DIR/etc the certificates of public
# authorities, if there are any. They can resolve host names. The first program is also called `trainer`.
# With TARGETARCH=arm64, which docker buildx sets, everything is for aarch64: built by Debian's cross compiler, with the
# libraries of Debian's arm64 packages.
# usage: examples/docker/build_image.sh DIR PROGRAM...        for example image fashion_mnist_train
set -euo pipefail
[ $# -ge 2 ] || { sed -n '8s/^# //p' "$0" >&2; exit 64; }
mkdir -p "$1/bin" "$1/lib"
to=$(cd "$1" && pwd)
shift
trainer=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/image toolchain=() strip=strip readelf=readelf
libraries=("/usr/lib/$(uname -m)-linux-gnu" "/lib/$(uname -m)-linux-gnu") loaders=
if [ "${TARGETARCH:-}" = arm64 ] && [ "$(uname -m)" != aarch64 ]; then
  logs=build/logs
  . tools/setup.sh
  . tools/aarch64.sh
  ensure_aarch64
  build=build/image_aarch64 toolchain=(--toolchain cmake/aarch64-linux.cmake)
  strip=aarch64-linux-gnu-strip readelf=aarch64-linux-gnu-readelf
  libraries=("$DISTRIB_AARCH64_ROOT/usr/lib/aarch64-linux-gnu" /usr/aarch64-linux-gnu/lib) loaders=/usr/aarch64-linux-gnu
elif [ "${TARGETARCH:-}" = amd64 ] && [ "$(uname -m)" != x86_64 ]; then
  echo "build_image.sh: programs for x86-64 are built on x86-64" >&2
  exit 69
fi

copy_libraries() {  # FILE     copies the shared libraries that a program or a library needs, and those that they need
  local name directory
  for name in $("$readelf" -d "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p'); do
    [[ $name != ld-linux* ]] && [ ! -e "$to/lib/$name" ] || continue
    for directory in "${libraries[@]}"; do
      if [ -e "$directory/$name" ]; then
        cp -L "$directory/$name" "$to/lib/$name"
        copy_libraries "$to/lib/$name"
        continue 2
      fi
    done
    echo "build_image.sh: $1 needs $name, which is not in ${libraries[*]}" >&2
    exit 1
  done
}

cmake --preset examples -B $build "${toolchain[@]}"
cmake --build $build --target "$@"
for program in "$@"; do
  "$strip" -o "$to/bin/$program" "$build/examples/$program"
  copy_libraries "$to/bin/$program"
done
loader=$("$readelf" -l "$to/bin/$trainer" | sed -nE 's/.*program interpreter: (.*)\]$/\1/p')
mkdir -p "$to/${loader%/*}"
cp -L "$loaders$loader" "$to/$loader"
ln -sf "$trainer" "$to/bin/trainer"
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -e $authorities ]; then install -D -m 644 $authorities "$to$authorities"; fi
