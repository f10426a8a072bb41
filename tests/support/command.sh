# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the command `distrib`, which ctest calls in build/PRESET/tests. Gives $distrib, the command;
# $programs, the directory of the examples; $tests, this one's; a new directory to be in, $work, until the end.
#   fail WORD...   says, under $what, what is wrong, and counts it in $failures
distrib=$PWD/../tools/distrib programs=$PWD/../examples
[ -x "$distrib" ] || { echo "there is no $distrib" >&2; exit 1; }
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
what='' failures=0
fail() { echo "FAILED: ${what:+$what: }$*" >&2; failures=$((failures + 1)); }
