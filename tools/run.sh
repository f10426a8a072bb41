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

# Prints the optional components of the library that the arguments need: http to read URLs, tls for certificates.
components_for() {
  local argument
  for argument in "$@"; do
    case $1:$argument in
      *:--) return ;;  # what follows is for another program
      records:*://* | checkpoint:*://* | export:*://* | store:*://*) echo http; return ;;
      launch:--tls | status:--tls* | scale:--tls*) echo tls; return ;;
    esac
  done
}

# Output of the build goes to stderr, because stdout belongs to the command.
(
  cd "$root"
  logs=build/logs
  . tools/setup.sh
  ensure_packages build tools
  [ "${1:-}" != render ] || ensure_packages render
  for component in $(components_for "$@"); do
    ensure_packages $component
    # A build that was configured before the packages were there does not look for them again by itself.
    grep -q "DISTRIB_TOOLS_${component^^}" build/tools/build.ninja 2>/dev/null || rm -f build/tools/build.ninja "$command"
  done
  if [ -x "$command" ]; then
    mkdir -p $logs
    compile >$logs/distrib.log 2>&1 </dev/null || { cat $logs/distrib.log; exit 70; }
  else
    phase 'build the command distrib' compile
  fi
) >&2
exec "$command" "$@"
