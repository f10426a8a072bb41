#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The click job as users run it, with few examples: tables of embeddings give the same bits on 1, 2 and 3 parameter
# servers and in one process; Criteo's text instead of generated examples; clear errors for bad input. ctest calls it in
# build/PRESET/tests, where the programs are ../examples/click_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json")).get(sys.argv[2]))' "$@"; }

"$programs/click_convert" data --generate 6000 2000 >convert.txt
grep -qx 'train: 6000 examples in 10 files' convert.txt || fail 'convert did not print what it wrote'
grep -q 'in the test: 2[0-9]\.[0-9] % clicks' convert.txt || fail 'convert did not print the share of clicks'

# --- the same bits ---

train=("$programs/click_train" --data data --steps 60 --evaluate_every 60 --batch 32)
result() { field "$1" parameters_sha256; field "$1" auc; field "$1" log_loss; }
"${train[@]}" --out local >local.log
result local >expected
for cut in '1 1' '2 1' '3 2'; do
  read -r ps shards <<<"$cut"
  name=on$ps
  timeout -k 5 120 "$distrib" launch --ps "$ps" --workers 3 -- \
    "${train[@]}" --out "$name" --shards "$shards" >$name.log 2>&1 ||
    { fail "$name: exit code $?"; tail -n 40 $name.log >&2; continue; }
  result "$name" | cmp -s - expected || fail "different bits on $ps parameter servers"
done
"${train[@]}" --out again --shards 3 >again.log
result again | cmp -s - expected || fail 'different bits on 3 shards of one process'
"${train[@]}" --out other --seed 2 >other.log
[ "$(field other parameters_sha256)" != "$(head -n 1 expected)" ] || fail 'the same bits with another seed'
python3 - <<'EOP' || fail 'the summary does not fit the job'
import json
s = json.load(open("on2/summary.json"))
print("auc", s["auc"], "of", s["auc_of_generator"])
ok = s["ps"] == 2 and s["workers"] == 3 and s["complete"] and s["log_loss"] < 0.6
raise SystemExit(not (ok and 0.6 < s["auc"] < s["auc_of_generator"]))
EOP
"$programs/fashion_mnist_report" on2/events curves.html
grep -q 'evaluation/auc' curves.html || fail 'no curve of the AUC'

# --- a parameter server and a worker are killed, and started again ---

longer=("$programs/click_train" --data data --steps 300 --evaluate_every 300 --save_every 50 --batch 32)
"${longer[@]}" --out whole >whole.log
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --restart -- "${longer[@]}" --out killed >killed.log 2>&1 &
launch=$!
for victim in ps1 worker2; do
  # After the first steps.
  until grep -qs 'worker0 | step [1-9][0-9]' killed.log || ! kill -0 $launch 2>/dev/null; do sleep 0.02; done
  kill -9 "$(sed -nE "s/^launch \| $victim is process ([0-9]+)\$/\1/p" killed.log | tail -n 1)" 2>/dev/null || true
done
wait $launch || { fail "killed: exit code $?"; tail -n 40 killed.log >&2; }
grep -qE 'ps1 was ended by SIGKILL' killed.log || fail 'no task was killed'
[ "$(result killed)" = "$(result whole)" ] || fail 'different bits after a parameter server and a worker were killed'

# --- the same, with cuts that have only what has changed: a parameter server is killed when it has some ---

newest_file() { ls "$1" 2>/dev/null | sort | tail -n 1 || true; }  # DIRECTORY; by name
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --restart -- "${longer[@]}" --out links --incremental \
  --replay_kib 2600 >links.log 2>&1 &
launch=$!
for victim in ps1 ps0; do
  before=$(newest_file links/checkpoint)
  until compgen -G "links/checkpoint/link-on-*.part-0000${victim#ps}-of-00002" >/dev/null &&
    [ "$(newest_file links/checkpoint)" != "$before" ] || ! kill -0 $launch 2>/dev/null; do sleep 0.02; done
  kill -9 "$(sed -nE "s/^launch \| $victim is process ([0-9]+)\$/\1/p" links.log | tail -n 1)" 2>/dev/null || true
done
wait $launch || { fail "links: exit code $?"; tail -n 40 links.log >&2; }
grep -qE 'ps0 was ended by SIGKILL' links.log || fail 'no task was killed while it had links'
[ "$(result links)" = "$(result whole)" ] || fail 'different bits with cuts of what has changed'
[ -z "$(compgen -G 'links/checkpoint/*link-on-*' || true)" ] || fail 'links are left of a job that is done'

# --- an asynchronous job learns, too ---

"$programs/click_train" --data data --batch 32 --steps 180 --mode async --out async >async.log
python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > 0.6)' "$(field async auc)" ||
  fail '--mode async learned nothing'

# --- Criteo's text ---

"$programs/click_convert" --criteo part.txt 2000
gzip -k part.txt
"$programs/click_convert" criteo part.txt part.txt.gz >criteo.txt
grep -qx 'train: 3600 examples in 10 files' criteo.txt || fail 'not each tenth line is for the test'
[ ! -e criteo/auc_of_generator ] || fail 'there is a best AUC for real data'
"$programs/click_train" --data criteo --steps 5 --out of_criteo >of_criteo.log
[ "$(field of_criteo auc_of_generator)" = None ] || fail 'the summary has a best AUC for real data'

# --- bad input: a clear error, and an exit code other than 0 ---

refused() {  # EXPECTED ARGUMENTS...
  local status=0
  "${@:2}" >out.txt 2>&1 || status=$?
  [ $status -ne 0 ] && [ $status -lt 124 ] || fail "exit code $status: ${*:2}"
  grep -qE -e "$1" out.txt || { fail "no '$1' in the output of: ${*:2}"; sed 's/^/    /' out.txt >&2; }
}
convert=("$programs/click_convert" x)
refused 'cannot open nowhere' "${convert[@]}" nowhere
sed '7s/\t/ /' part.txt >bad.txt
refused 'bad\.txt, line 7: 39 fields between tabs, not 40' "${convert[@]}" part.txt bad.txt
sed '1900s/$/g/' part.txt >bad.txt
refused "bad\.txt, line 1900: field 40: '.*g' is not a token" "${convert[@]}" bad.txt
head -c 3000 /dev/zero | tr '\0' '\t' | cat part.txt - - >bad.txt
head -c 5000 /dev/zero | tr '\0' '\t' >>bad.txt
refused 'bad\.txt, line 2001: longer than 4094 bytes' "${convert[@]}" bad.txt
head -c 20000 part.txt.gz >cut.gz
refused 'cut\.gz' "${convert[@]}" cut.gz
refused 'there are no examples for the training' "${convert[@]}" /dev/null
refused "'many' is not a number of examples" "${convert[@]}" --generate many 5
refused 'usage' "${convert[@]}"
[ -z "$(ls x)" ] || fail "files are left of refused input: $(ls x)"
refused 'nowhere' "$programs/click_train" --data nowhere --out y
refused 'wide_rate' "${train[@]}" --wide_rate 0 --out y

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
