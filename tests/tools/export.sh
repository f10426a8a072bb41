#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib export` on a log that Python has written, and Python's reader on what the command writes: two readers and two
# writers of one format.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
log() { run "$1" export "${@:2}"; }  # EXPECTED_CODE ARGS...
write() { python3 "$tests/tools/support/write_export_log.py" "$@" || fail "write_export_log.py $*"; }
python_reads() { python3 "$tests/../tools/export_log.py" "$@" >out 2>err || fail "export_log.py $*"; }

write log
log 0 log log; says 'position 3  step 30  delta  2 parts'; says 'position 1  step 10  base  2 parts'
log 0 log --json log
json 'len(lines) == 3 and lines[0]["position"] == 3 and lines[2]["kind"] == "base" and lines[0]["shards"] == 2'
json 'lines[2]["digests"]["t"] == "8597e4d26185a8d179361bf505759121"'
json 'lines[1]["digests"]["t"] == "756d18c229810d88671e8122c6cb2cd7" and lines[1]["rows"] == 3'
log 0 verify log; says '3 of 3 positions are good, from 1 to 3'
log 0 verify --json log; json 'lines == [{"positions": 3, "good": 3}]'

python_reads log --position 2 --rows
json 'lines[0]["step"] == 20 and lines[0]["tables"]["t"]["values"]["7"] == [1, 1, 1, 1]'
log 0 compact log; says 'compacted'
log 0 log --json --last 1 log; json 'lines[0]["position"] == 4 and lines[0]["kind"] == "base" and lines[0]["step"] == 30'
python_reads log --rows
json 'lines[0]["position"] == 4 and lines[0]["tables"]["t"]["values"]["0"] == [9, 9, 9, 9]'
json 'set(lines[0]["tables"]["t"]["values"]) == {"0", "2", str(2**64 - 1)}'
log 0 verify log; says '4 of 4'
log 0 compact log
log 0 verify log; says '4 of 4'

write bases bases
log 0 log bases; says 'position 2  step 20  delta  2 parts'; says 'bases beside it'
log 0 log --json bases; json '[line["begins"] for line in lines] == [False, True] and lines[1]["kind"] == "delta"'
log 0 verify bases; says '2 of 2 positions are good, from 2 to 3'
python_reads bases --rows
json 'lines[0]["position"] == 3 and set(lines[0]["tables"]["t"]["values"]) == {"0", "2", str(2**64 - 1)}'
python_reads bases --position 2 --rows
json 'lines[0]["step"] == 20 and lines[0]["tables"]["t"]["values"]["7"] == [1, 1, 1, 1]'
log 0 compact bases
log 0 log --json --last 1 bases; json 'lines[0]["position"] == 4 and lines[0]["kind"] == "base" and lines[0]["begins"]'
log 0 verify bases; says '3 of 3'
python_reads bases
write flipped_bases flip_bases
log 1 verify flipped_bases; says '2 of 3 positions are good'; says 'position 2' err; says 'trainer had' err
python3 "$tests/../tools/export_log.py" flipped_bases >out 2>err && fail 'bases with a wrong bit are read'
says 'another digest' err

write wrong leave_out
log 1 verify wrong; says '2 of 3 positions are good'; says 'position 3' err; says 'trainer had' err
write flipped flip
log 1 verify --json flipped; json 'lines[0]["error"] == "corrupt" and lines[1] == {"positions": 3, "good": 2}'
part=$(ls log/parts | head -n 1)
printf x >>"log/parts/$part"
log 1 verify log; says "$part" err
log 66 log nothing
log 66 verify nothing
log 66 compact nothing
[ $failures -eq 0 ] && echo 'all passed'
