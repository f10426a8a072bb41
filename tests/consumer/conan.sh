#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the Conan recipe without any remote: the profile names what the package needs, which comes from the system.
# usage: conan.sh CONAN SCRATCH
set -euo pipefail
conan=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
export CONAN_HOME=$scratch/home
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache

asio_version() {  # 102201 is 1.22.1
  local number
  number=$(echo '#include <asio/version.hpp>
ASIO_VERSION' | g++ -x c++ -E -P - | tail -n 1)
  echo "$((number / 100000)).$((number / 100 % 1000)).$((number % 100))"
}

"$conan" profile detect >/dev/null
sed -i 's/^compiler.cppstd=.*/compiler.cppstd=20/' home/profiles/default
cat >>home/profiles/default <<EOF
[platform_requires]
asio/$(asio_version)
xtensor/$(pkg-config --modversion xtensor)
zlib/$(pkg-config --modversion zlib)
protobuf/$(pkg-config --modversion protobuf)
[platform_tool_requires]
protobuf/$(pkg-config --modversion protobuf)
cmake/$(cmake --version | sed -n 's/^cmake version //p')
EOF

mkdir checkout  # a copy, because Conan leaves files beside the recipe
tar -C "$source_root" -c CMakeLists.txt LICENSE conanfile.py cmake examples include packaging tests/consumer |
  tar -C checkout -x
cd checkout

train() {  # builds and runs a project that requires distrib
  local build=$scratch/$1
  "$conan" install tests/consumer/conan -nr -of "$build" -pr:a default
  cmake -S tests/consumer/conan -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/conan_toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DPROGRAM="$PWD/examples/09_train.cpp"
  cmake --build "$build"
  (cd "$build" && ./consumer)
}

"$conan" create . -nr -pr:a default
"$conan" create . -nr -pr:a default -s build_type=Debug -tf ""
[ "$("$conan" list 'distrib/*:*' --format=json 2>/dev/null | grep -c '"info"')" -eq 1 ] ||
  { echo "the package depends on settings, although it has only headers" >&2; exit 1; }
train package

"$conan" remove -c 'distrib/*'
"$conan" editable add .
train editable
