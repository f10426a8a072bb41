#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first 20 steps of the main job and of the click job end with the bits of same_bits.expected: with each kernel of
# matrix products that this processor has, in one process and on 2 parameter servers and 3 workers. ctest calls it in
# build/PRESET/tests, where the programs are ../examples/* and ../tools/distrib. By hand from there:
#   same_bits.sh --emulated   the same on emulated older processors, without AVX and without AVX-512 (needs qemu-x86_64)
#   same_bits.sh --record     prints what belongs into same_bits.expected, from one process
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG
mode=${1:-}

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist fashion_mnist >convert.txt
"$programs/click_convert" click --generate 6000 2000 >>convert.txt
rm -f fashion_mnist/test-0000[1-9]-* click/test-0000[1-9]-*  # the measurement at the end changes no parameter

hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
options() { echo --data "$1" --steps 20 --evaluate_every 20; }  # JOB
if [ "$mode" = --record ]; then
  for job in fashion_mnist click; do
    # shellcheck disable=SC2046
    "$programs/${job}_train" $(options $job) --out "$job.out" >"$job.log"
    echo "$job $(hash_of "$job.out")"
  done
  exit
fi

# Runs a job with a name of its own, and compares its hash. Emulated, the main job takes some minutes of CPU time.
limit=240
[ "$mode" != --emulated ] || limit=1800
check() {  # JOB NAME COMMAND...
  local job=$1 name=$1-$2 expected status=0
  shift 2
  expected=$(sed -n "s/^$job //p" "$tests/integration/same_bits.expected")
  # shellcheck disable=SC2046
  timeout -k 5 $limit "$@" $(options "$job") --out "$name" >"$name.log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then
    fail "$name: exit code $status"
    tail -n 20 "$name.log" | sed 's/^/    /' >&2
  elif [ "$(hash_of "$name")" != "$expected" ]; then
    fail "$name: the hash is $(hash_of "$name"), not $expected"
  fi
}

for job in fashion_mnist click; do
  program=$programs/${job}_train
  if [ "$mode" = --emulated ]; then
    check $job nehalem qemu-x86_64 -cpu Nehalem "$program"
    check $job haswell qemu-x86_64 -cpu Haswell "$program"
    check $job mixed "$distrib" launch --ps 2 --workers 3 -- qemu-x86_64 -cpu Haswell "$program"
    continue
  fi
  # --products refuses what this processor does not have, and says what it has.
  kernels=$("$program" --data x --products none 2>&1 | grep -oE 'portable|avx2|avx512|neon' | sort -u || true)
  case $kernels in *portable*) ;; *) fail "--products none names no kernels" ;; esac
  for kernel in $kernels; do check $job "$kernel" "$program" --products "$kernel"; done
  check $job processes "$distrib" launch --ps 2 --workers 3 -- "$program" --shards 2
done
[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
