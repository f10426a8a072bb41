# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the command `distrib`, which ctest runs in build/PRESET/tests. Sets $distrib: the command;
# $programs: the directory of the examples; $tests: the directory of the tests; $work: a new, empty directory, which is
# the current one and is removed at the end.
#  fail WORD...   prints the words, after $what, as a failure, and counts it in $failures
#  start_store    starts an object store in memory, which ends with the script: $store is its process, $bucket the URL of
#                 its bucket; sets the variables of its keys, and $HOME, so that no others are found
distrib=$PWD/../tools/distrib programs=$PWD/../examples
[ -x "$distrib" ] || { echo "there is no $distrib" >&2; exit 1; }
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
what='' failures=0
fail() { echo "FAILED: ${what:+$what: }$*" >&2; failures=$((failures + 1)); }
start_store() {
  export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=SECRETSECRET AWS_REGION=us-east-1
  export AWS_EC2_METADATA_DISABLED=true HOME=$work
  python3 "$tests/tools/support/fake_s3.py" >store 2>store.log &
  store=$!
  trap 'kill $store; rm -rf "$work"' EXIT
  local end=$((SECONDS + 30))
  until [ -s store ]; do
    [ $SECONDS -lt $end ] || { echo 'the object store does not start:' >&2; cat store.log >&2; exit 1; }
    sleep 0.05
  done
  bucket=s3+$(cat store)/bucket
}
