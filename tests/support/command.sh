# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the command `distrib`, which ctest runs in build/PRESET/tests. Sets $distrib: the command;
# $programs: the directory of the examples; $tests: the directory of the tests; $work: a new, empty directory, which is
# the current one and is removed at the end.
#  fail WORD...   prints the words, after $what, as a failure, and counts it in $failures
distrib=$PWD/../tools/distrib programs=$PWD/../examples
[ -x "$distrib" ] || { echo "there is no $distrib" >&2; exit 1; }
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
what='' failures=0
fail() { echo "FAILED: ${what:+$what: }$*" >&2; failures=$((failures + 1)); }
