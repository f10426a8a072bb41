#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/run.sh ARGS...     builds the command `distrib` if necessary and runs it with ARGS in the current
# directory
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
command=$root/build/tools/tools/distrib

compile() {
  if [ ! -e build/tools/build.ninja ]; then
    cmake -S . -B build/tools -G Ninja -DCMAKE_BUILD_TYPE=Release -DDISTRIB_BUILD_TESTS=OFF -DDISTRIB_BUILD_DOCS=OFF \
      -DDISTRIB_BUILD_EXAMPLES=OFF -DDISTRIB_BUILD_BENCHMARKS=OFF -DDISTRIB_INSTALL=OFF || return
  fi
  cmake --build build/tools --target distrib_command
}

# Output of the build goes to stderr, because stdout belongs to the command.
(
  cd "$root"
  logs=build/logs
  . tools/setup.sh
  ensure_packages build tools
  [ "${1:-}" != render ] || ensure_packages render
  if [ -x "$command" ]; then
    mkdir -p $logs
    compile >$logs/distrib.log 2>&1 </dev/null || { cat $logs/distrib.log; exit 70; }
  else
    phase 'build the command distrib' compile
  fi
) >&2
exec "$command" "$@"
