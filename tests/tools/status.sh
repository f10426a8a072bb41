#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib status` without a server: its texts in both forms, and its exit codes. The status of a server that answers is
# tested in ask_status_test.cpp and status_text_test.cpp.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"

expect() {  # CODE TEXT ARGUMENT...      ends with CODE; its output contains TEXT
  local code=$1 text=$2 said status=0
  shift 2
  said=$("$distrib" status "$@" 2>&1 </dev/null) || status=$?
  [ "$status" -eq "$code" ] || fail "status $*: exit code $status, not $code"
  [[ $said == *"$text"* ]] || fail "status $*: '$said' has no '$text'"
}

# No process listens on port 1 of this machine.
expect 69 'error: shard 0 of the parameter server at 127.0.0.1:1: no process listens there: start the task, or check its port' 127.0.0.1:1
expect 69 '{"error":"unavailable","where":"shard 0 of the parameter server at 127.0.0.1:1","what":"no process listens there: start the task, or check its port"}' \
  127.0.0.1:1 --json
expect 69 'no process listens there' 127.0.0.1:1 --watch --within 1
expect 64 "'here': not an address; write HOST:PORT" here
expect 64 '{"error":"invalid_argument","where":"'"'here'"'",' here --json
expect 64 'not an address' 127.0.0.1:0
expect 66 '/nowhere/secret' 127.0.0.1:1 --secret /nowhere/secret
expect 64 'address is required'
expect 64 'within' 127.0.0.1:1 --within 0

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures != 0))
