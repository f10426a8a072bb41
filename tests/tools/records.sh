#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib records` on real files: its output, its JSON, its exit codes; outputs appear whole, and replace existing
# files only if asked to.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/record/fixtures
records() { run "$1" records "${@:2}"; }  # EXPECTED_CODE ARGS...
says_not() { ! grep -F -e "$1" "${2:-out}" >&2 || fail "'$1' in ${2:-out}"; }
lines() { [ "$(wc -l <out)" -eq "$1" ] || fail "$(wc -l <out) lines, not $1"; }
silent() { [ ! -s err ] || { fail "errors"; cat err >&2; }; }
there() { [ -e "$1" ] || fail "there is no $1"; }
not_there() { [ ! -e "$1" ] || fail "there is $1"; }

unhex() { python3 -c 'import sys; open(sys.argv[1], "wb").write(bytes.fromhex("".join(sys.argv[2:])))' "$@"; }  # FILE HEX...

mkdir data
cp "$fixtures"/example.tfrecord "$fixtures"/example.tfrecord.gz "$fixtures"/lines-0.tfrecord data
cp "$fixtures"/bad_data_crc.tfrecord "$fixtures"/truncated_payload.tfrecord .

# count: files, directories, patterns
records 0 count data/lines-0.tfrecord; says $'100\tdata/lines-0.tfrecord'; lines 1; silent
records 0 count data; says $'110\ttotal'; lines 4
records 0 count 'data/example*' data/lines-0.tfrecord; says $'110\ttotal'
records 0 count --json data
json 'len(lines) == 3 and all(set(line) == {"file", "records", "payload_bytes", "sha256", "damage"} for line in lines)'
json 'lines[0]["records"] == 5 and lines[0]["sha256"] == lines[1]["sha256"] and lines[0]["damage"] == []'
records 66 count nowhere; says 'nowhere' err
records 66 count --json nowhere; json 'lines[0]["error"] == "not_found" and "nowhere" in lines[0]["where"] and lines[0]["what"]'
records 64 count; records 64 no-such-subcommand; records 64 count --no-such-flag data
records 0 --help; records 0 count --help

# check: all damage, and the records after it
records 0 check data; says_not DAMAGED
records 1 check data bad_data_crc.tfrecord; says 'bad_data_crc.tfrecord: DAMAGED'; says 'record 2 at offset 33'
records 1 check --json bad_data_crc.tfrecord truncated_payload.tfrecord
json 'lines[0]["damage"][0]["offset"] == 33 and lines[0]["damage"][0]["record"] == 2'
json 'lines[0]["damage"][0]["kind"] == "corrupt_payload" and lines[0]["records"] == 4'
json 'lines[1]["damage"][0]["kind"] == "truncated_payload"'

# count says where damage is, too; here a line of a log follows three records
unhex log_line_tail.tfrecord 0300000000000000b099490e6f6e65014055080300000000000000b099490e74776f8990c9090500000000000000eab2043e \
  74687265656023fb45494e464f3a726f6f743a746869732077656e7420746f207468652077726f6e672066696c650a
records 1 count log_line_tail.tfrecord; says $'3\tlog_line_tail.tfrecord'; lines 1
says 'log_line_tail.tfrecord: record 3 at offset 59: the length does not match its checksum' err
says '38 bytes lost' err
records 1 count data/lines-0.tfrecord truncated_payload.tfrecord bad_data_crc.tfrecord; says $'\ttotal'
says 'truncated_payload.tfrecord: record 4' err; says 'bad_data_crc.tfrecord: record 2 at offset 33' err
says_not lines-0 err
records 1 count --json log_line_tail.tfrecord; json 'lines[0]["records"] == 3 and lines[0]["damage"][0]["offset"] == 59'; silent

# a record of more than 2 GiB, which is a hole in the file: here only headers are read, tests/record reads all of it
unhex large 0500000000000000eab2043e666972737455ff23e5 0a000080000000006b5007d5
truncate -s 2147483691 large
unhex tail 7b4074100400000000000000424552046c61737494f984aa
cat tail >>large
records 0 index large; says '3 records'; records 0 split --parts 1 --json large; json 'lines[0]["records"] == 3'
for command in count check 'salvage -o none' 'merge -o none' head; do
  records 64 $command --max-record-bytes 2147483657 large
  says 'large: record 1 at offset 21: 2147483658 bytes, the limit is 2147483657 (--max-record-bytes): the record is longer' err
  says_not DAMAGED; not_there none
done
rm large .large.index
records 64 check --max-record-bytes 0 data; records 64 check --max-record-bytes many data
records 0 count --max-record-bytes 1027 data/example.tfrecord.gz
records 64 count --max-record-bytes 1026 --json data/example.tfrecord.gz
json 'lines[0]["error"] == "exhausted" and "1027 bytes, the limit is 1026" in lines[0]["where"]'

# head, cat
records 0 head data/example.tfrecord -n 1; says 'label'; says 'int64, 1 value, missing in 4'; says 'record 0 at offset 0'
says_not 'record 1'
records 0 head --json data/example.tfrecord -n 2; lines 3
json '[f["name"] for f in lines[0]["features"]] == sorted(f["name"] for f in lines[0]["features"])'
records 0 cat data/example.tfrecord; lines 5; json 'lines[0]["feature"]["label"] == {"int64_list": [7]}'
json 'lines[1]["feature"]["text"]["bytes_list"][0] == "aGVsbG8=" and lines[2]["feature"]["empty_kind"] == {}'
json 'lines[2]["feature"]["floats"]["float_list"][3] == "Infinity"'
records 0 cat -n 7 data/example.tfrecord data/example.tfrecord.gz; lines 7
records 1 cat bad_data_crc.tfrecord; says 'record' err

# a SequenceExample without a context, which looks like an empty Example
unhex lists.tfrecord 1700000000000000e7cef81e12150a130a0177120e0a051a030a01010a051a030a01028e428ec8
records 0 head lists.tfrecord; says 'w  feature list, 2 steps: int64, 1 value'; says '  w: 2 steps: [1], [2]'
cp out seen; records 0 head --sequence lists.tfrecord; cmp out seen >&2 || fail 'head shows something else with --sequence'
for sequence in '' --sequence; do
  records 0 head --json $sequence lists.tfrecord; lines 2
  json 'lines[0]["feature_lists"][0]["name"] == "w" and lines[0]["feature_lists"][0]["most_steps"] == 2'
  json 'lines[1]["feature_lists"]["feature_list"]["w"] == [{"int64_list": [1]}, {"int64_list": [2]}]'
done
records 0 head --sequence data/example.tfrecord; says 'label'
# an Example, and then a SequenceExample with a context; a feature list without steps
unhex mixed.tfrecord 0e00000000000000c5e5693f0a0c0a0a0a016b12051a030a01077dfb8e41 \
  2700000000000000bbe1b1460a0d0a0b0a02696412051a030a010512160a140a0177120f0a051a030a01010a061a040a020203f5472140
records 0 head mixed.tfrecord; says 'w   feature list, 2 steps: int64, 1 .. 2 values, missing in 1'; says '  w: 2 steps: [1], [2, 3]'
says '  k: 7'; says '  id: 5'
records 0 head --json mixed.tfrecord; json 'lines[1] == {"feature": {"k": {"int64_list": [7]}}}'
json 'lines[2]["context"]["feature"] == {"id": {"int64_list": [5]}} and lines[0]["feature_lists"][0]["missing"] == 1'
json 'lines[2]["feature_lists"]["feature_list"]["w"] == [{"int64_list": [1]}, {"int64_list": [2, 3]}]'
unhex no_steps.tfrecord 0c00000000000000f4c8fe0a120a0a080a046e6f6e651200ec78d50a
records 0 head no_steps.tfrecord; says 'none  feature list, 0 steps: no kind'; says '  none: 0 steps'
records 0 head --json no_steps.tfrecord; json 'lines[1]["feature_lists"]["feature_list"] == {"none": []}'

# a name that is not UTF-8 is no failure
unhex latin1.tfrecord 200000000000000029eda9500a1e0a100a077665726cfc737412051a030a01010a0a0a016b12051a030a01078e44191c
records 0 cat latin1.tfrecord; json 'lines[0]["feature"] == {"k": {"int64_list": [7]}, "verl\\xfcst": {"int64_list": [1]}}'
records 0 head latin1.tfrecord; says '  verl\xfcst: 1'; says '  verl\xfcst  int64, 1 value'; says '  k: 7'
records 0 head --json latin1.tfrecord; json '[f["name"] for f in lines[0]["features"]] == ["k", "verl\\xfcst"]'

# index
records 0 index data/lines-0.tfrecord; there data/.lines-0.tfrecord.index
records 0 index --dali data/lines-0.tfrecord; there data/lines-0.tfrecord.idx
[ "$(wc -l <data/lines-0.tfrecord.idx)" -eq 100 ] || fail 'the index has a wrong number of lines'
records 64 index --dali data/lines-0.tfrecord; says '--force' err
records 0 index --dali --force --json data/lines-0.tfrecord; json 'lines[0]["records"] == 100'
records 64 index data/example.tfrecord.gz; says 'compressed' err
rm data/*.idx data/.*.index

# split
records 0 split --parts 3 --json data/lines-0.tfrecord; lines 3
json 'all(set(line) == {"file", "part", "first", "end", "records"} for line in lines)'
json 'lines[0]["first"] == 0 and sum(line["records"] for line in lines) == 100'
json 'all(a["end"] == b["first"] for a, b in zip(lines, lines[1:]))'
records 0 split --parts 3 -o part data/lines-0.tfrecord; there part-00002-of-00003
records 0 merge part-0000* -o joined; cmp joined data/lines-0.tfrecord >&2 || fail 'parts are not the whole'
records 64 split --parts 3 -o part data/lines-0.tfrecord; records 64 split --parts 0 data/lines-0.tfrecord
records 64 split --parts 2 -o part data

# merge, recompress
records 0 merge data -o all --json; json 'lines == [{"output": "all", "files": 3, "records": 110}]'
records 64 merge data -o all; says 'the file exists already' err
records 0 merge data -o all --force --compression gzip; records 0 count all; says $'110\tall'
records 1 merge data bad_data_crc.tfrecord -o none; not_there none
records 0 recompress all --compression none -o plain; records 0 recompress data -d zlib --compression zlib --level 9
records 0 count zlib; says $'110\ttotal'
records 64 recompress all -o x; records 64 recompress data --compression zlib -o x
records 64 recompress data --compression brotli -d x; records 64 recompress all --compression gzip; not_there x
records 1 recompress truncated_payload.tfrecord --compression none -o x; not_there x
records 74 merge data -o /dev/full/x
[ -z "$(find . -name '*.tmp*')" ] || fail 'temporary files are left'

# salvage
records 1 salvage bad_data_crc.tfrecord -o saved; says '1 ranges lost'; records 0 check saved
records 1 salvage truncated_payload.tfrecord -d rescued --json; json 'lines[0]["records"] == 4 and lines[0]["lost_ranges"] == 1'
records 0 check rescued
records 0 salvage data/lines-0.tfrecord -o same; cmp same data/lines-0.tfrecord >&2 || fail 'a good file is not the same'

# An output that cannot be written is a failure.
if [ -w /dev/full ]; then
  what='records cat >/dev/full'
  "$distrib" records cat data/example.tfrecord >/dev/full 2>err
  [ $? -eq 74 ] || fail "exit code is not 74"
fi

# Files on an HTTP server that sends parts of them, and that breaks connections now and then.
python3 - "$fixtures" >port 2>/dev/null <<'EOF' &
import http.server, pathlib, re, sys
class Files(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        path = pathlib.Path(sys.argv[1]) / self.path[1:].partition("?")[0]
        if not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        first, last = map(int, re.match(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        part = data[first:last + 1]
        self.send_response(206 if part else 416)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}" if part else f"bytes */{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        Files.asked += 1
        self.wfile.write(part if Files.asked % 3 else part[:len(part) // 2])
        self.close_connection = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
EOF
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -s port ]; do sleep 0.05; done
url=$(cat port)
if [[ $("$distrib" records count "$url/lines-0.tfrecord" 2>&1) = *'built without the component http'* ]]; then
  records 64 count "$url/lines-0.tfrecord"
else
  records 0 count "$url/lines-0.tfrecord" "$url/example.tfrecord.gz" data/lines-0.tfrecord; says $'100\t'"$url/lines-0.tfrecord"
  records 0 cat "$url/example.tfrecord.gz"; cp out far; records 0 cat data/example.tfrecord.gz; cmp out far >&2 || fail 'cat prints something else for remote files'
  records 1 check "$url/bad_data_crc.tfrecord"; says 'DAMAGED'
  records 0 merge "$url/lines-0.tfrecord" -o from_far; cmp from_far data/lines-0.tfrecord >&2 || fail 'a remote file is not the same'
  records 74 count "$url/none"; says 'status 404' err
  records 64 index "$url/lines-0.tfrecord"; says 'copy it here first' err
  # A query may contain a token: it is in no line, no message and no name of a file.
  for command in count check head cat "recompress --compression none -d from_far.d" index "count --json" "head --json"; do
    for file in lines-0.tfrecord bad_data_crc.tfrecord none; do
      "$distrib" records $command "$url/$file?sig=SECRET" >out 2>err
      grep -q 'lines-0\|crc\|none\|line' out err || fail "$command $file says nothing"
      ! grep -q SECRET out err || fail "$command $file tells the token"
    done
  done
  "$distrib" records count "http://me:SECRET@h/x?sig=SECRET" >out 2>err
  ! grep -q SECRET out err || fail 'a wrong URL tells the token'
  [ -e from_far.d/lines-0.tfrecord ] && [ -z "$(find . -name '*SECRET*')" ] || fail 'the name of a file tells the token'
fi

[ $failures -eq 0 ]
