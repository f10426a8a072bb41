#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib records` on real files: what it says, its JSON, its exit codes, that outputs appear whole and are not replaced
# unasked.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/record/fixtures
records() { run "$1" records "${@:2}"; }  # EXPECTED_CODE ARGS...
says_not() { ! grep -F -e "$1" "${2:-out}" >&2 || fail "'$1' in ${2:-out}"; }
lines() { [ "$(wc -l <out)" -eq "$1" ] || fail "$(wc -l <out) lines, not $1"; }
silent() { [ ! -s err ] || { fail "errors"; cat err >&2; }; }
there() { [ -e "$1" ] || fail "there is no $1"; }
not_there() { [ ! -e "$1" ] || fail "there is $1"; }

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

# check: all of the damage, and the records behind it
records 0 check data; says_not DAMAGED
records 1 check data bad_data_crc.tfrecord; says 'bad_data_crc.tfrecord: DAMAGED'; says 'record 2 at offset 33'
records 1 check --json bad_data_crc.tfrecord truncated_payload.tfrecord
json 'lines[0]["damage"][0]["offset"] == 33 and lines[0]["damage"][0]["record"] == 2'
json 'lines[0]["damage"][0]["kind"] == "corrupt_payload" and lines[0]["records"] == 4'
json 'lines[1]["damage"][0]["kind"] == "truncated_payload"'

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

# index
records 0 index data/lines-0.tfrecord; there data/.lines-0.tfrecord.index
records 0 index --dali data/lines-0.tfrecord; there data/lines-0.tfrecord.idx
[ "$(wc -l <data/lines-0.tfrecord.idx)" -eq 100 ] || fail 'the text has another number of lines'
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
records 64 merge data -o all; says 'is there already' err
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

# An output that cannot be written to is a failure.
if [ -w /dev/full ]; then
  what='records cat >/dev/full'
  "$distrib" records cat data/example.tfrecord >/dev/full 2>err
  [ $? -eq 74 ] || fail "exit code is not 74"
fi

# Files behind an HTTP server that gives parts of them, whose connections are cut now and then.
python3 - "$fixtures" >port 2>/dev/null <<'EOF' &
import http.server, pathlib, re, sys
class Files(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        path = pathlib.Path(sys.argv[1]) / self.path[1:]
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
if "$distrib" records count "$url/lines-0.tfrecord" 2>&1 | grep -q 'built without the component http'; then
  records 64 count "$url/lines-0.tfrecord"
else
  records 0 count "$url/lines-0.tfrecord" "$url/example.tfrecord.gz" data/lines-0.tfrecord; says $'100\t'"$url/lines-0.tfrecord"
  records 0 cat "$url/example.tfrecord.gz"; cp out far; records 0 cat data/example.tfrecord.gz; cmp out far >&2 || fail 'cat says other things of files elsewhere'
  records 1 check "$url/bad_data_crc.tfrecord"; says 'DAMAGED'
  records 0 merge "$url/lines-0.tfrecord" -o from_far; cmp from_far data/lines-0.tfrecord >&2 || fail 'a file from far is not the same'
  records 74 count "$url/none"; says 'status 404' err
  records 64 index "$url/lines-0.tfrecord"; says 'copy it here first' err
fi

[ $failures -eq 0 ]
