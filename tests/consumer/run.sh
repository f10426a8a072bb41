#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a user's first trainer in one of several ways, with strict warnings as errors, and trains a few steps.
# usage: run.sh find_package|compiled|fetch_content|add_subdirectory|plugins|pkg_config|vcpkg|plain|src COMPILER SCRATCH
#        BUILD (where distrib was configured)
set -euo pipefail
way=$1 compiler=$2 scratch=$3 build=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)
program=$source_root/examples/09_train.cpp
strict='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror'
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache

version() { sed -n 's/.*string_view version_text = "\(.*\)".*/\1/p' "$source_root/include/distrib/version.hpp"; }

install_and_move() {  # an installed package may be moved, and must not contain the path of its build
  cmake --install "$build" --prefix "$scratch/first" >/dev/null
  mv first moved
  ! grep -rnF -e "$source_root" -e "$scratch" moved || { echo "the package contains a path of its build" >&2; exit 1; }
}

# The user's own flags and those that every user needs are allowed; the library must add no others.
check_flags() {
  python3 - "$strict" "$way" <<'EOF'
import json, re, sys
allowed = set(sys.argv[1].split()) | {"-std=gnu++20", "-DASIO_STANDALONE", "-DASIO_HAS_CO_AWAIT=1", "-pthread", "-o", "-c"}
for entry in json.load(open("build/compile_commands.json")):
    if entry["file"].endswith(("09_train.cpp", "main.cpp")):
        flags = re.sub(r"-isystem \S+", "", entry["command"]).split()
        if "compiled" in sys.argv[2:]:
            flags.remove("-DDISTRIB_SEPARATE_COMPILATION")
        ours = [flag for flag in flags if flag.startswith("-") and not flag.startswith("-I") and flag not in allowed]
        assert not ours, f"{entry['file']} is compiled with {ours}, which its project did not ask for"
EOF
}

build_project() {  # OPTION...
  cmake -S "$here/$way" -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$strict" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DPROGRAM="$program" "$@"
  cmake --build build
}

refused() {  # refused COMPONENT TEXT OPTION...: a component that is not available must be refused with this text
  local said
  said=$(cmake -S "$here/refused" -B refused -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$scratch/moved" -DCOMPONENT="$1" "${@:3}" 2>&1 | tr -s ' \n' ' ') && return 1
  rm -rf refused
  [[ $said == *"$2"* ]] || { echo "component $1 is refused with another text: $said" >&2; return 1; }
}

# What CMake looks at of a LibTorch of this version and ABI of std::string.
fake_libtorch() {  # fake_libtorch DIRECTORY MAJOR MINOR ABI
  local include=$1/include/torch/csrc/api/include/torch
  mkdir -p "$include" "$1/lib"
  touch "$include/types.h"
  printf '#define TORCH_VERSION_MAJOR %s\n#define TORCH_VERSION_MINOR %s\n' "$2" "$3" >"$include/version.h"
  echo '#include <string>
        namespace c10 { namespace detail { void torchCheckFail(const char*, const char*, unsigned, const std::string&) {} } }' |
    "$compiler" -shared -fPIC "-D_GLIBCXX_USE_CXX11_ABI=$4" -xc++ - -o "$1/lib/libc10.so"
  echo 'int torch_cpu = 0;' | "$compiler" -shared -fPIC -xc++ - -o "$1/lib/libtorch_cpu.so"
}

case $way in
  find_package)
    install_and_move
    build_project -DCMAKE_PREFIX_PATH="$scratch/moved" -DEXPECTED_VERSION="$(version)"
    check_flags
    build/consumer
    build/core_only/core_only
    build/rpc_only/rpc_only
    build/message/message
    [ ! -d build/http ] || build/http/read_url
    [ ! -d build/kafka ] || build/kafka/read_topic
    refused training "distrib has no component 'training': there are core, record, rpc, tensor, same_bits, distrib, compiled, message,"
    refused separate "distrib has no component 'separate' any more: its name is 'compiled', and its target distrib::compiled"
    refused rpc "distrib has no component 'rpc' without Asio 1.22 or newer, standalone (libasio-dev)" \
      -DCMAKE_DISABLE_FIND_PACKAGE_asio=ON
    refused kafka "distrib's component kafka needs librdkafka 2.0 or newer (librdkafka-dev)" -DDISTRIB_RDKAFKA_LIBRARY=
    fake_libtorch old_abi 2 1 0
    refused libtorch "it was built with the old ABI of std::string (_GLIBCXX_USE_CXX11_ABI=0)" \
      "-DCMAKE_PREFIX_PATH=$scratch/moved;$scratch/old_abi"
    fake_libtorch old_version 1 12 1
    refused libtorch "needs LibTorch 1.13 or newer, $scratch/old_version has 1.12" \
      "-DCMAKE_PREFIX_PATH=$scratch/moved;$scratch/old_version"
    if "$compiler" --version | grep -q clang; then
      fake_libtorch no_clang 1 13 1
      refused libtorch "needs g++, or LibTorch 2 or newer: clang cannot compile the headers of LibTorch 1.13" \
        "-DCMAKE_PREFIX_PATH=$scratch/moved;$scratch/no_clang"
    fi
    ;;
  compiled)
    install_and_move
    build_project -DCMAKE_PREFIX_PATH="$scratch/moved"
    check_flags
    build/consumer
    ;;
  fetch_content)  # from an archive with the files of a release
    tar -C "$source_root" -czf distrib.tar.gz CMakeLists.txt LICENSE cmake include
    build_project -DDISTRIB_ARCHIVE="$scratch/distrib.tar.gz" \
      -DDISTRIB_ARCHIVE_SHA256="$(sha256sum distrib.tar.gz | cut -d' ' -f1)"
    check_flags
    build/consumer
    ;;
  add_subdirectory)
    build_project -DDISTRIB_SOURCE="$source_root"
    check_flags
    build/consumer
    ;;
  plugins)
    install_and_move
    build_project -DCMAKE_PREFIX_PATH="$scratch/moved"
    for symbols in local global; do build/consumer $symbols build/first.so build/second.so; done
    ;;
  pkg_config)
    install_and_move
    export PKG_CONFIG_PATH=$scratch/moved/share/pkgconfig
    [ "$(pkg-config --modversion distrib)" = "$(version)" ]
    "$compiler" -std=c++20 $strict "$program" -o consumer $(pkg-config --cflags --libs distrib)
    ./consumer
    ;;
  vcpkg)
    cmake -D PACKAGES="$scratch/package" -P "$here/vcpkg.cmake"
    build_project -DCMAKE_PREFIX_PATH="$scratch/package"
    check_flags
    build/consumer
    ;;
  plain)
    "$compiler" -std=c++20 $strict -I "$source_root/include" "$program" -o consumer -lz -pthread
    ./consumer
    ;;
  src)  # without CMake, with the bodies in a unit of their own
    echo '#include <distrib/src.hpp>' >src.cpp
    "$compiler" -std=c++20 $strict -DDISTRIB_SEPARATE_COMPILATION -I "$source_root/include" "$program" src.cpp \
      -o consumer -lz -pthread
    ./consumer
    ;;
  *) sed -n '4,5p' "$0" >&2; exit 64 ;;
esac
