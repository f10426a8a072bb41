#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib events` on a file that TensorFlow wrote, in a directory and below it, and on what is none. Called by ctest in
# build/PRESET/tests, where the command is ../tools/distrib.
set -uo pipefail
distrib=$PWD/../tools/distrib
[ -x "$distrib" ] || { echo "there is no $distrib" >&2; exit 1; }
fixtures=$(cd "$(dirname "${BASH_SOURCE[0]}")/../summary/fixtures" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
failures=0
fail() { echo "FAILED: $what: $*" >&2; failures=$((failures + 1)); }
events() {  # EXPECTED_CODE ARGS...
  local status=0
  what="events ${*:2}"
  "$distrib" events "${@:2}" >out 2>err </dev/null || status=$?
  [ $status -eq "$1" ] || { fail "exit code $status, not $1"; sed 's/^/    /' out err >&2; }
}
says() { grep -qF -e "$1" "${2:-out}" || { fail "no '$1' in ${2:-out}"; head -n 20 "${2:-out}" | sed 's/^/    /' >&2; }; }
json() {  # EXPRESSION      of `lines`, the objects of the output
  python3 -c 'import json, sys
lines = [json.loads(line) for line in open("out")]
sys.exit(0 if eval(sys.argv[1]) else 1)' "$1" || { fail "not $1"; head -n 5 out | sed 's/^/    /' >&2; }
}
mkdir -p runs/a/b
cp "$fixtures"/*tfevents* runs/a
cp "$fixtures"/*tfevents* runs/a/b

events 0 runs/a/b; says 'loss  10 points, steps 0 to 9: 1 to 0.1, least 0.1, most 1'; says 'acc   10 points'
events 0 runs; says 'a/b'
events 0 --json runs
json 'len(lines) == 40 and all(set(line) == {"run", "tag", "step", "wall_time", "value"} for line in lines)'
json '{line["run"] for line in lines} == {"a", "a/b"} and {line["tag"] for line in lines} == {"loss", "acc"}'
json 'lines[0]["wall_time"] > 1.6e9'
events 0 --json --tag loss runs/a/b
json '[line["step"] for line in lines] == list(range(10)) and {line["run"] for line in lines} == {"."}'
events 0 --json runs/a/b/*tfevents*; json 'len(lines) == 20'
events 0 --tag nothing runs; [ ! -s out ] || fail "says $(cat out)"

printf 'no events: %90s' . >runs/a/b/events.out.tfevents.1.x
events 1 runs; says 'runs/a/b/events.out.tfevents.1.x' err; says 'a'
events 66 nowhere; says nowhere err
events 66 --json nowhere; json 'lines[0]["error"] == "not_found"'
mkdir empty
events 66 empty; says empty err
events 64
events 0 --help
[ $failures -eq 0 ] && echo 'all is as it should be'
