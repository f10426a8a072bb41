#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib events` on a file that TensorFlow wrote, in a directory and below it, and on files that are not event files.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/summary/fixtures
events() { run "$1" events "${@:2}"; }  # EXPECTED_CODE ARGS...

mkdir -p runs/a/b
cp "$fixtures"/*tfevents* runs/a
cp "$fixtures"/*tfevents* runs/a/b

events 0 runs/a/b; says 'loss  10 points, steps 0 to 9: 1 to 0.1, least 0.1, most 1'; says 'acc   10 points'
events 0 runs; says 'a/b'
events 0 --json runs
json 'len(lines) == 40 and all(set(line) == {"run", "tag", "step", "wall_time", "value"} for line in lines)'
json '{line["run"] for line in lines} == {"a", "a/b"} and {line["tag"] for line in lines} == {"loss", "acc"}'
json 'lines[0]["wall_time"] > 1.6e9'
events 0 --json --tag loss runs/a/b
json '[line["step"] for line in lines] == list(range(10)) and {line["run"] for line in lines} == {"."}'
events 0 --json runs/a/b/*tfevents*; json 'len(lines) == 20'
events 0 --tag nothing runs; [ ! -s out ] || fail "says $(cat out)"

# A damaged file does not hide other files. Hidden names, unfinished files and entries that are not files are skipped.
printf 'no events: %90s' . >runs/a/b/events.out.tfevents.1.x
events 1 runs; says 'runs/a/b/events.out.tfevents.1.x: record 0 at offset 0: the length does not match' err
says 'a/b'; [ "$(grep -c 'loss  10 points' out)" -eq 2 ] || fail 'the curves of the good files are not all there'
events 1 --json runs; json 'sum("step" in line for line in lines) == 40 and sum("error" in line for line in lines) == 1'
mv runs/a/b/events.out.tfevents.1.x runs/a/b/._events.out.tfevents.1.x
cp runs/a/b/._events.out.tfevents.1.x runs/a/b/events.out.tfevents.2.x.tmp
mkfifo runs/a/b/events.out.tfevents.3.x
events 0 runs; [ "$(grep -c 'loss  10 points' out)" -eq 2 ] || fail 'wrong number of curves'; [ ! -s err ] || fail "says $(cat err)"
rm runs/a/b/*events.out.tfevents.[123].x*

# Runs that are links, as in TensorBoard's README. The search continues after loops and dead links.
mkdir -p inside/linked
ln -s ../../runs/a/b inside/linked/best; ln -s ../../runs/a/b inside/linked/again; ln -s ../../runs inside/linked/tree
ln -s .. inside/linked/up; ln -s nowhere inside/linked/gone; ln -s self inside/linked/self
events 0 inside/linked/best; says 'loss  10 points'
events 0 inside; says 'linked/best'; says 'linked/again'; says 'linked/tree/a'; says 'linked/tree/a/b'
says 'linked/up: the link leads to itself or to a directory above it: not followed' err; says 'linked/gone: the link leads to a file that does not exist' err; says 'linked/self: the link leads to ' err
[ "$(grep -c 'loss  10 points' out)" -eq 4 ] || fail 'not four runs'

unhex() { python3 -c 'import pathlib, sys; path = pathlib.Path(sys.argv[1]); path.parent.mkdir(exist_ok=True)
path.write_bytes(bytes.fromhex("".join(sys.argv[2:])))' "$@"; }  # FILE HEX...
name=events.out.tfevents.0000000100.host.1.0
version=1800000000000000a37f4b220900000000000059401a0d627261696e2e4576656e743a32b0a1d5e4
one=1a00000000000000129bd82d09000000000040594010012a0d0a0b0a046c6f7373150000803ff201e8d3

# Values that are not finite are shown by name, and do not count for least and most.
unhex odd/$name $version 1a00000000000000129bd82d09000000000040594010012a0d0a0b0a046c6f7373150000c07f9b569728 \
  1a00000000000000129bd82d09000000000080594010022a0d0a0b0a046c6f7373150000807f24c09abc \
  1a00000000000000129bd82d090000000000c0594010032a0d0a0b0a046c6f7373150000803ffd52ec73 \
  1a00000000000000129bd82d090000000000005a4010042a0d0a0b0a046c6f737315000080ffada90f35
events 0 odd
says 'loss  4 points, steps 1 to 4: NaN to -Infinity, least 1, most 1, 3 not finite (1 NaN, 2 infinite)'
events 0 --json odd; json '[line["value"] for line in lines] == ["NaN", "Infinity", 1, "-Infinity"]'

# Files without a version, with a version that comes late or after an empty event, and with another version.
unhex none/$name $one 1a00000000000000129bd82d09000000000080594010022a0d0a0b0a046c6f7373150000003f158b1f77
unhex late/$name 090000000000000037f9713909000000000000594046dc981d $version $one
unhex first/$name 000000000000000029039807d8ea82a2 $version $one
unhex v1/$name 1800000000000000a37f4b220900000000000059401a0d627261696e2e4576656e743a31517b3d48 $one
events 0 none; says 'loss  2 points'
for run in late first v1; do events 0 $run; says 'loss  1 point, steps 1 to 1: 1 to 1'; done
mkdir records; cp "$tests"/record/fixtures/example.tfrecord records/$name
events 64 records; says "records/$name: not an event file" err

# Scalars of other types and of shape [1].
tensor() {  # RUN VALUE HEX...
  unhex "$1/$name" $version "${@:3}"
  events 0 "$1"; says "loss  1 point, steps 1 to 1: $2 to $2"
}
tensor half 1.5 2e00000000000000c5cb57fa09000000000040594010012a210a1f0a046c6f73734208081312006a02807c4a0d0a090a077363616c6172732001ff6e3622
tensor shape 1.5 34000000000000005e33175c09000000000040594010012a270a250a046c6f7373420e080112041202080122040000c03f4a0d0a090a077363616c6172732001e75f3660
tensor uint8 7 2d000000000000003c418afb09000000000040594010012a200a1e0a046c6f73734207080412002201074a0d0a090a077363616c617273200184de441e
tensor int64 7 2d000000000000003c418afb09000000000040594010012a200a1e0a046c6f73734207080912005201074a0d0a090a077363616c6172732001f4afc952
tensor bool 1 2d000000000000003c418afb09000000000040594010012a200a1e0a046c6f73734207080a12005a01014a0d0a090a077363616c6172732001283dd7bf

# Values that are not points are counted, and named by their type: a text, two numbers, a complex number.
unhex other/$name $version 290000000000000037ff5f0009000000000040594010012a1c0a1a0a046e6f7465420808071200420268694a080a060a0474657874a254df0a \
  36000000000000004f578cef090000000000c0594010032a290a270a04706169724212080112041202080222080000803f000000404a0b0a090a077363616c617273654cc1bc \
  36000000000000004f578cef09000000000080594010022a290a270a04706169724212080112041202080222080000803f000000404a0b0a090a077363616c617273837171f4 \
  3200000000000000241956ec090000000000005a4010042a250a230a0477617665420e0808120022080000803f000000404a0b0a090a077363616c6172730e1d0d48
events 0 other; says 'note  not a curve: 1 value, text'; says 'pair  not a curve: 2 values, float32 [2]'
says 'wave  not a curve: 1 value, type 8'; ! grep -q points out || fail 'the output says that there are points'
events 0 --json other
json '[(line["tag"], line["what"], line["no_points"]) for line in lines][:2] == [("note", "text", 1), ("pair", "float32 [2]", 2)]'

# Points that a run wrote before it went back to an earlier step are left out, and the output says so.
unhex back/$name $version $one 1a00000000000000129bd82d09000000000080594010022a0d0a0b0a046c6f7373150000003f158b1f77
cp back/$name back/events.out.tfevents.0000000200.host.1.0
events 0 back; says 'loss  2 points, steps 1 to 2'; says '2 points left out'
events 0 --all back; says 'loss  4 points'; ! grep -q 'left out' out || fail 'the output says that points are left out'
events 0 --json back; json 'sum("step" in line for line in lines) == 2 and lines[-1]["left_out"] == 2'
events 66 nowhere; says nowhere err
events 66 --json nowhere; json 'lines[0]["error"] == "not_found"'
mkdir empty
events 66 empty; says empty err
events 64
events 0 --help
[ $failures -eq 0 ] && echo 'all passed'
