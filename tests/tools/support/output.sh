# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the output of the command `distrib`. Sources tests/support/command.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../../support/command.sh"

# Runs the command and checks its exit code. Its output is then in `out`, its errors in `err`.
run() {  # EXPECTED_CODE SUBCOMMAND ARGS...
  local status=0
  what="${*:2}"
  "$distrib" "${@:2}" >out 2>err </dev/null || status=$?
  [ $status -eq "$1" ] || { fail "exit code $status, not $1"; sed 's/^/    /' out err >&2; }
}
says() { grep -qF -e "$1" "${2:-out}" || { fail "no '$1' in ${2:-out}"; head -n 20 "${2:-out}" | sed 's/^/    /' >&2; }; }
json() {  # EXPRESSION      is true for `lines`, the objects of the output, and `by_name`
  python3 -c 'import hashlib, json, struct, sys
lines = [json.loads(line) for line in open("out")]
by_name = {line.get("name"): line for line in lines}
sys.exit(0 if eval(sys.argv[1]) else 1)' "$1" || { fail "not $1"; head -n 20 out | sed 's/^/    /' >&2; }
}
