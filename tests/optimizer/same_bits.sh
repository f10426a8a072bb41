#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: same_bits.sh CXX... [INCLUDE_DIRECTORY]
# Compiles same_bits_probe.cpp with each compiler, without flags and with flags up to the most reckless. Every program
# that this machine can run must print same_bits.expected. The code must not contain fused or estimating instructions.
# A compiler for another processor (aarch64-linux-gnu-g++): the programs run under qemu.
set -eu
[ $# -gt 0 ] || { sed -n 's/^# usage/usage/p' "$0" >&2; exit 2; }
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
include=$here/../../include
for argument in "$@"; do [ ! -d "$argument" ] || include=$argument; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

can_run() {  # can_run FEATURE...: true if this CPU has all features
  for feature in "$@"; do grep -qw "$feature" /proc/cpuinfo || return 1; done
}

banned='v?fn?m(add|sub)[0-9a-z]*|v?rcp[0-9a-z]*|v?rsqrt[0-9a-z]*'  # x86
banned="$banned|fml[as]|fnml[as]|fn?m(add|sub)|frecpe|frsqrte"        # aarch64

fused_or_estimated() {  # prints the forbidden instructions of an object file
  "$objdump" -d --no-show-raw-insn "$1" | grep -E "[[:space:]]($banned)[[:space:]]" || true
}

failed=0
fail() { echo "same_bits: $*" >&2; failed=1; }

check() {  # check RUN CXX FLAGS...: RUN is yes when this machine can run the program
  run=$1 cxx=$2
  shift 2
  # Linked without the flags: -ffast-math at the link would set flush-to-zero for the whole program.
  "$cxx" -std=c++20 "$@" -I "$include" -c "$here/same_bits_probe.cpp" -o "$work/probe.o"
  "$cxx" "$work/probe.o" -o "$work/probe"
  found=$(fused_or_estimated "$work/probe.o")
  [ -z "$found" ] || fail "$cxx $*: fused or estimating instructions:
$found"
  if [ "$run" = no ]; then
    echo "same_bits: $cxx $*: compiled and searched; this CPU cannot run it"
  elif $emulator "$work/probe" > "$work/printed" && diff "$here/same_bits.expected" "$work/printed" > "$work/difference"; then
    echo "same_bits: $cxx $*: same"
  else
    fail "$cxx $*: other bits
$(cat "$work/difference")"
  fi
}

for cxx in "$@"; do
  [ ! -d "$cxx" ] || continue
  machine=$("$cxx" -dumpmachine | sed "s/-unknown-/-/")  # clang calls Debian's aarch64-linux-gnu so
  processor=${machine%%-*} objdump=objdump emulator=
  if [ "$processor" != "$(uname -m)" ]; then
    objdump=$processor-linux-gnu-objdump emulator="qemu-$processor -L /usr/$processor-linux-gnu"
  fi
  check yes "$cxx" -O0
  check yes "$cxx" -O2
  case $processor in
    x86_64)
      if can_run avx2 fma; then v3=yes; else v3=no; fi
      if can_run avx512f avx512bw avx512cd avx512dq avx512vl; then v4=yes; else v4=no; fi
      check $v3 "$cxx" -O3 -march=x86-64-v3 -ffast-math -mrecip=all
      check $v4 "$cxx" -O3 -march=x86-64-v4 -ffast-math
      # Tests the search itself: ordinary code has a fused instruction, and the search must find it.
      echo 'float fused(float a, float b, float c) { return a * b + c; }' > "$work/careless.cpp"
      "$cxx" -O3 -march=x86-64-v4 -ffast-math -c "$work/careless.cpp" -o "$work/careless.o"
      [ -n "$(fused_or_estimated "$work/careless.o")" ] || fail "$cxx: the search does not find a fused instruction"
      ;;
    aarch64)
      check yes "$cxx" -O3 -ffast-math
      check yes "$cxx" -O3 -ffast-math -mcpu=neoverse-n1
      # Both compilers fuse ordinary code here, without any flag.
      echo 'float fused(float a, float b, float c) { return a * b + c; }' > "$work/careless.cpp"
      "$cxx" -O2 -c "$work/careless.cpp" -o "$work/careless.o"
      [ -n "$(fused_or_estimated "$work/careless.o")" ] || fail "$cxx: the search does not find a fused instruction"
      ;;
    *) check yes "$cxx" -O3 -ffast-math ;;
  esac
done
exit $failed
