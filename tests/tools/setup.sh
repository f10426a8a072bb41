#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup.sh: what a phase prints into a file, at once and when its command fails; how far it is, at a terminal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
. tools/setup.sh
fail() { echo "FAILED: $*" >&2; exit 1; }

quick() { [ -s "$logs/said" ] || { echo 'nothing was printed before the command began'; return 1; }; value=set; }
phase 'a phase' quick >"$logs/said" || fail 'a phase'
[ "${value:-}" = set ] || fail 'the command of a phase cannot set a variable of the script'
grep -q "^a phase .*(log: $logs/a_phase.log)$" "$logs/said" || fail 'the first line does not name the log'
grep -qE '^a phase +[0-9]+\.[0-9] s$' "$logs/said" || fail 'the last line does not have the seconds'

says() {  # WANTED COMMAND...   fails unless the phase prints WANTED first, and passes on that its command failed
  local wanted=$1 said status=0
  said=$(phase broken "${@:2}" 2>&1 >/dev/null) || status=$?
  [ $status -eq 7 ] || fail "code $status instead of 7"
  [ "${said%%$'\n'*}" = "  $wanted" ] || fail "instead of '$wanted' it says first: $said"
  [[ $said == *"(complete output: $logs/broken.log)" ]] || fail "it does not name the log: $said"
}
warnings() { local i; for i in {1..200}; do echo "a.hpp:$i:1: warning: unused"; done; }
compiler() { warnings; echo 'FAILED: a.o'; echo 'a.cpp:3:4: error: no b'; echo 'ninja: build stopped: subcommand failed.'; return 7; }
memory() { warnings; echo 'g++: fatal error: Killed signal terminated program cc1plus'; return 7; }
stopped() { warnings; echo 'ninja: build stopped: interrupted by user.'; return 7; }
other() { echo 'no such host'; echo 'a.cpp: error message'; return 7; }
tests() { echo '1: wrong value'; echo 'a.cpp:3:4: error: wanted'; echo '50% tests passed, 1 tests failed out of 2'; return 7; }
says 'a.cpp:3:4: error: no b' compiler
says 'g++: fatal error: Killed signal terminated program cc1plus' memory
says 'ninja: build stopped: interrupted by user.' stopped
says 'no such host' other
says '1: wrong value' tests

at_terminal() {  # WANTED LINE   fails unless the phase prints WANTED while a command runs whose log ends with LINE
  local said
  echo "$2" >"$logs/line"
  cat >"$logs/slow.sh" <<END
. tools/setup.sh
logs=$logs
slow() { cat "$logs/line"; sleep 1.5; }
phase slow slow
END
  said=$(script -qec "bash $logs/slow.sh" /dev/null)
  [[ $said == *" s  ...  $1"* ]] || fail "instead of '$1' it says: $said"
}
at_terminal '[3/345]' '[3/345] Building CXX object a.cpp.o'
at_terminal '[17/751]' ' 17/751 Test #615: a ......   Passed    0.66 sec'
