#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a user's first trainer in one of three ways, and trains a few steps.
# usage: run.sh find_package|add_subdirectory|plain COMPILER SCRATCH BUILD     (BUILD: where distrib was configured)
set -euo pipefail
way=$1 compiler=$2 scratch=$3 build=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)
program=$source_root/examples/09_train.cpp
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache

build_and_train() {  # OPTION...
  cmake -S "$here/$way" -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DPROGRAM="$program" "$@"
  cmake --build build
  build/consumer
}

case $way in
  find_package)
    version=$(sed -n 's/.*string_view version = "\(.*\)".*/\1/p' "$source_root/include/distrib/version.hpp")
    cmake --install "$build" --prefix "$scratch/first" >/dev/null
    mv first moved  # an installed package may be moved
    ! grep -rnF -e "$source_root" -e "$scratch" moved || { echo "the package names a path of its build" >&2; exit 1; }
    build_and_train -DCMAKE_PREFIX_PATH="$scratch/moved" -DEXPECTED_VERSION="$version"
    build/core_only/core_only
    build/message/message
    ;;
  add_subdirectory) build_and_train -DDISTRIB_SOURCE="$source_root" ;;
  plain)
    "$compiler" -std=c++20 -I "$source_root/include" "$program" -o consumer -lz -pthread
    ./consumer
    ;;
  *) sed -n '4p' "$0" >&2; exit 64 ;;
esac
