#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib events` on a file that TensorFlow wrote, in a directory and below it, and on what is none.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/summary/fixtures
events() { run "$1" events "${@:2}"; }  # EXPECTED_CODE ARGS...

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
