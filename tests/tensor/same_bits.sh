#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: same_bits.sh CXX... [--run COMMAND]
# Compiles same_bits_probe.cpp with each compiler, without flags and with flags up to the most reckless. Every program
# that this machine can run must print same_bits.expected. --run: runs the programs by this command, such as an emulator.
set -eu
[ $# -gt 0 ] || { sed -n 's/^# usage/usage/p' "$0" >&2; exit 2; }
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

compilers= run=
while [ $# -gt 0 ]; do
  case $1 in
    --run) run=$2; shift 2 ;;
    *) compilers="$compilers $1"; shift ;;
  esac
done

can_run() {  # can_run FEATURE...: true if this CPU has all features
  for feature in "$@"; do grep -qw "$feature" /proc/cpuinfo || return 1; done
}

failed=0
check() {  # check CXX FLAGS...
  cxx=$1
  shift
  # Linked without the flags: -ffast-math at the link would set flush-to-zero for the whole program.
  "$cxx" -std=c++20 "$@" -I "$here/../../include" -c "$here/same_bits_probe.cpp" -o "$work/probe.o"
  "$cxx" -static "$work/probe.o" -o "$work/probe"
  # shellcheck disable=SC2086
  if $run "$work/probe" > "$work/printed" && diff "$here/same_bits.expected" "$work/printed" > "$work/difference"; then
    echo "same_bits: $cxx $*: same"
  else
    echo "same_bits: $cxx $*: other bits" >&2
    cat "$work/difference" >&2
    failed=1
  fi
}

for cxx in $compilers; do
  check "$cxx" -O0
  check "$cxx" -O2
  case $("$cxx" -dumpmachine) in
    x86_64*)
      if [ -z "$run" ] && can_run avx2 fma; then check "$cxx" -O3 -march=x86-64-v3 -ffast-math -mrecip=all; fi
      if [ -z "$run" ] && can_run avx512f avx512bw avx512cd avx512dq avx512vl; then
        check "$cxx" -O3 -march=x86-64-v4 -ffast-math
      fi
      ;;
    *) check "$cxx" -O3 -ffast-math ;;
  esac
done
exit $failed
