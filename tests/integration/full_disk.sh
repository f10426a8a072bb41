#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job while the disk of its cuts becomes full: that is reported, and training continues to its last step, even
# if a parameter server is killed meanwhile and has no space to merge its cuts. When there is space again, the job ends
# with the bits of one process. The disk is a small one in memory, mounted where only this script sees it. ctest calls
# it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  unshare --map-root-user --mount true 2>/dev/null || { echo 'skipped: this user cannot mount anything here'; exit 77; }
  exec unshare --map-root-user --mount bash "$0" --inside
fi
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
trap 'umount "$work/job/checkpoint" 2>/dev/null || true; rm -rf "$work"' EXIT
unset TF_CONFIG NO_COLOR
fail() { echo "FAILED: $*" >&2; [ ! -e job.log ] || tail -n 40 job.log >&2; exit 1; }
until_log() {  # PATTERN      waits until the log contains it, for at most 60 s
  local tries=0
  until grep -qsE -e "$1" job.log; do
    [ $((tries += 1)) -le 3000 ] || fail "no '$1' in the log"
    kill -0 "$launch" 2>/dev/null || fail "the job ended without '$1' in the log"
    sleep 0.02
  done
}
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
train=("$programs/fashion_mnist_train" --data data --steps 1200 --save_every 1200)  # it makes a cut every 300 steps
"${train[@]}" --out local >local.log

mkdir -p job/checkpoint
mount -t tmpfs -o size=8m tmpfs job/checkpoint
timeout -k 5 240 "$distrib" launch --ps 2 --workers 3 --restart -- "${train[@]}" --out job >job.log 2>&1 &
launch=$!
parts=(job/checkpoint/model.ckpt-300.part-0000{0,1}-of-00002)
until [ -e "${parts[0]}" ] && [ -e "${parts[1]}" ]; do
  kill -0 "$launch" 2>/dev/null || fail 'the job ended without a cut'
done
cat /dev/zero >job/checkpoint/filler 2>/dev/null || true
until_log 'ps0 \| .*no room for the cut of step [0-9]+, .*No space left on device'
kill -9 "$(sed -nE 's/^launch \| ps1 is process ([0-9]+)$/\1/p' job.log)"
until_log 'ps1 \| .*going on from its cut of step [1-9]'
until_log 'worker0 \| step 11[0-9]+/1200'
until_log 'ps[01] \| .*no room for the cut of step 1200,'
rm job/checkpoint/filler
wait "$launch" || fail "exit code $?"
[ "$(hash_of job)" = "$(hash_of local)" ] || fail 'the bits differ from those of one process'
[ -e job/checkpoint/model.ckpt-1200.index ] || fail 'no checkpoint'
[ -z "$(find job/checkpoint -name '.saving.*' -size +0)" ] || fail "unfinished files are left: $(ls -A job/checkpoint)"
echo 'all passed'
