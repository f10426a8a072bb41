#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job as users run it, on the real images: the same bits for any run, parts and shards, and after Ctrl-C; clear
# errors for bad input. ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_*.
set -euo pipefail
programs=$PWD/../examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

train() { "$programs/fashion_mnist_train" --data "$work/data" "$@"; }
hash_of() { sed -E 's/.*"parameters_sha256":"([0-9a-f]*)".*/\1/' "$1/summary.json"; }

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist "$work/data" >"$work/convert.txt"
grep -qx 'train: 60000 examples in 10 files' "$work/convert.txt" || fail 'convert did not print what it wrote'

# The same bits.
train --out "$work/first" --steps 60 >"$work/first.txt"
for cut in '' '--parts 2' '--shards 2' '--parts 3 --shards 3'; do
  # shellcheck disable=SC2086
  train --out "$work/again" --steps 60 $cut >"$work/again.txt"
  [ "$(hash_of "$work/first")" = "$(hash_of "$work/again")" ] || fail "a different hash with '$cut'"
  rm -rf "$work/again"
done
grep -q '"complete":true' "$work/first/summary.json" || fail 'the summary does not say that the job is complete'
grep -qE 'step 60/60 +loss 0\.[0-9]+ +[0-9]+ examples/s' "$work/first.txt" || fail 'no progress in a pipe'
grep -q $'\r' "$work/first.txt" && fail 'a progress bar was printed into a pipe'
"$programs/fashion_mnist_report" "$work/first/events" "$work/curves.html"
grep -q '<polyline' "$work/curves.html" || fail 'no curve'

# The other modes end, and learn.
for mode in async ssp; do
  train --out "$work/$mode" --steps 300 --mode $mode >"$work/$mode.txt"
  python3 - "$work/$mode/summary.json" <<'EOF' || fail "--mode $mode learned nothing"
import json, sys
summary = json.load(open(sys.argv[1]))
sys.exit(not (summary["steps"] == 300 and summary["test_accuracy"] > 0.6))
EOF
done

# Ctrl-C, then the same command again.
train --out "$work/whole" --steps 1500 >"$work/whole.txt"
for signal in INT TERM; do
  mkfifo "$work/pipe"
  "$programs/fashion_mnist_train" --data "$work/data" --out "$work/cut" --steps 1500 >"$work/pipe" &
  pid=$!
  asked=
  while read -r line; do
    echo "$line"
    case $line in step*) [ -n "$asked" ] || kill -s $signal $pid; asked=yes ;; esac  # the first steps are done
  done <"$work/pipe" >"$work/cut.txt"
  rm "$work/pipe"
  status=0
  wait $pid || status=$?
  [ $status -eq 1 ] || fail "SIG$signal: exit code $status"
  grep -q 'asked to stop' "$work/cut.txt" || fail "SIG$signal: the output does not mention it"
  train --out "$work/cut" --steps 1500 >"$work/on.txt" || fail "SIG$signal: it did not end"
  grep -q 'continuing after step [1-9]' "$work/on.txt" || fail "SIG$signal: it did not continue"
  [ "$(hash_of "$work/whole")" = "$(hash_of "$work/cut")" ] || fail "SIG$signal: a different hash at the end"
  rm -rf "$work/cut"
done

# Bad input: a clear error, and an exit code other than 0.
refused() {  # EXPECTED ARGUMENTS...
  local status=0
  "${@:2}" >"$work/out.txt" 2>&1 || status=$?
  [ $status -ne 0 ] || fail "accepted: ${*:2}"
  grep -qE -e "$1" "$work/out.txt" || { fail "no '$1' in the output of: ${*:2}"; sed 's/^/    /' "$work/out.txt" >&2; }
}
refused '(--stpes|stpes)' train --stpes 5
refused 'steps' train --steps -5
refused 'shard' train --shards 0
refused '--worker_hosts|worker_hosts' train --job_name=ps --ps_hosts=a:1
refused 'task_index|index 7' train --job_name=worker --task_index=7 --ps_hosts=a:1 --worker_hosts=b:1
refused "$work/nowhere" "$programs/fashion_mnist_train" --data "$work/nowhere" --out "$work/x"
mkdir "$work/empty"
refused "$work/empty" "$programs/fashion_mnist_train" --data "$work/empty" --out "$work/x"
refused 'seed 1.*seed 2' train --out "$work/first" --steps 60 --seed 2
touch "$work/file"
refused "$work/file" train --out "$work/file/deeper" --steps 5
cp -r "$work/data" "$work/damaged"
printf 'X' | dd of="$work/damaged/train-00003-of-00010" bs=1 seek=100000 conv=notrunc status=none
refused 'train-00003-of-00010.*record 1[0-9]+ at offset' "$programs/fashion_mnist_train" --data "$work/damaged" --out "$work/x" --steps 400
refused 'is not a file of Fashion-MNIST|cannot open' "$programs/fashion_mnist_convert" "$work/empty" "$work/x"

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
