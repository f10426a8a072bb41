#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/run.sh           installs what is missing, builds (g++, release), runs every test
#        tests/run.sh all       the same, then clang, each header alone, sanitizers and budgets
#        tests/run.sh interop   our files against real TensorFlow and TensorBoard (from PyPI, in a cache directory)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
logs=build/logs
. tools/setup.sh
jobs=$(nproc)

configure_and_build() {  # PRESET [TARGET...]
  cmake --preset "$1" && cmake --build "build/$1" -j "$jobs" ${2:+--target "${@:2}"}
}

build() { phase "build $1" configure_and_build "$@"; }  # PRESET [TARGET...]

# Counts into `passed` and `failed`; keeps ctest's summary.
passed=0 failed=0 summary= run_under=()
run_ctest() {  # PRESET [OPTION...]
  local log=$logs/ctest-$1.txt status=0 counts
  rm -f "$log"
  phase "test $1" "${run_under[@]}" ctest --preset "$1" -j "$jobs" --output-log "$log" "${@:2}" || status=$?
  summary=$(grep -aE 'tests passed, |^Total Test time' "$log")
  counts=$(sed -nE 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$log")
  [ -n "$counts" ] || return 1
  failed=$((failed + ${counts% *}))
  passed=$((passed + ${counts#* } - ${counts% *}))
  return $status
}

release() { build release && run_ctest release; }
clang() { build clang && run_ctest clang; }
headers() { phase "compile each header alone" configure_and_build clang all_verify_interface_header_sets; }
address() { build asan-ubsan && run_ctest asan-ubsan; }
thread() {  # the rooms with threads, and whole jobs
  local rooms=() room
  for room in net rpc ps data train integration; do
    ! compgen -G "tests/$room/*_test.cpp" >/dev/null || rooms+=("$room")
  done
  local targets=("${rooms[@]/#/distrib_}") label
  label=$(IFS='|'; echo "^(${rooms[*]})$")
  # Thread sanitizer needs the address space where it expects it, which some kernels randomise too far.
  ! setarch -R true 2>/dev/null || run_under=(setarch -R)
  build tsan "${targets[@]/%/_tests}" && run_ctest tsan -L "$label"
  local status=$?
  run_under=()
  return $status
}
budgets() { run_ctest budget; }

part_names=() part_seconds=() part_results=()
part() {  # NAME COMMAND...
  local began=$EPOCHREALTIME failed_before=$failed result=ok
  if ! "${@:2}"; then
    result=FAILED
    [ "$failed" -ne "$failed_before" ] || failed=$((failed + 1))  # no test ran: the part itself counts
  fi
  part_names+=("$1") part_seconds+=("$(seconds_since "$began")") part_results+=("$result")
}

table() {
  local i
  printf '\n%-40s %9s\n' part seconds
  for i in "${!part_names[@]}"; do printf '%-40s %9s  %s\n' "${part_names[i]}" "${part_seconds[i]}" "${part_results[i]}"; done
}

# Real TensorFlow reads what our programs wrote, and our programs what it wrote.
interop() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/interop script
  local packages=(tensorflow-cpu tensorboard)
  if [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ]; then
    phase "create a Python environment" python3 -m venv --clear "$venv" &&
      phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
      echo "${packages[*]}" >"$venv/installed" || return
  fi
  build release distrib_interop || return
  for script in tests/interop/*.py; do
    [ -e "$script" ] || continue
    if phase "$script" env TF_CPP_MIN_LOG_LEVEL=3 "$venv/bin/python" -B "$script" build/release/tests/interop; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
  done
  [ "$failed" -eq 0 ]
}

case ${1:-} in
  "")
    ensure_packages build tests
    release
    status=$?
    [ -z "$summary" ] || echo "$summary"
    exit $status
    ;;
  all)
    ensure_packages build tests clang
    part "g++ release: all tests" release
    part "clang: all tests" clang
    part "clang: each header alone" headers
    part "address and undefined" address
    part "thread" thread
    part "budgets" budgets
    ;;
  interop)
    ensure_packages build tests interop
    part "interop" interop
    ;;
  *)
    sed -n '3,5s/^# //p' "$0" >&2
    exit 64
    ;;
esac
table
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
