#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib store check`, and `distrib records` that read objects and write them.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/record/fixtures
export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=SECRETSECRET AWS_REGION=us-east-1
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 HTTP_PROXY HTTPS_PROXY http_proxy https_proxy
export AWS_EC2_METADATA_DISABLED=true HOME=$work

servers=()
trap 'for s in "${servers[@]}"; do kill $s; done; rm -rf "$work"' EXIT
serve() {  # NAME OPTIONS...      starts a store; its URL is then in $url
  python3 "$tests/tools/support/fake_s3.py" "${@:2}" >"$1" 2>"$1.log" &
  servers+=($!)
  until [ -s "$1" ]; do sleep 0.05; done
  url=s3+$(cat "$1")/bucket
}

serve good
run 64 store check nowhere; run 64 store; run 0 store check --help
if ! "$distrib" store check "$url/run" >out 2>err && grep -F 'built without the component http' out err >/dev/null; then
  exit 0
fi

# a store that honours everything; nothing is left
run 0 store check "$url/run"
for what_works in list write read 'list after write' 'put if absent' 'replace if version' copy 'write in parts' \
                  'abort uploads' delete 'read after delete'; do
  [ "$(grep -c "^$what_works  .*yes" out)" -eq 1 ] || { fail "'$what_works' is not yes"; cat out >&2; }
done
run 0 store check --json "$url/run"
json 'all(line["good"] for line in lines) and len(lines) >= 12'
run 66 records count "$url/run/*"; says 'does not exist' err
run 0 store check --read-only "$url/run"; says 'nothing to read'

# records: written, not replaced, read
records() { run "$1" records "${@:2}"; }
records 0 merge "$fixtures"/lines-0.tfrecord "$fixtures"/example.tfrecord -o "$url/d/all.tfrecord"; says '105 records'
records 0 count "$url/d/all.tfrecord"; says $'105\t'
records 64 merge "$fixtures"/lines-0.tfrecord -o "$url/d/all.tfrecord"; says '--force replaces it' err
records 0 merge "$fixtures"/lines-0.tfrecord -o "$url/d/all.tfrecord" --force
records 0 merge "$url/d/all.tfrecord" -o back; cmp back "$fixtures"/lines-0.tfrecord >&2 || fail 'other bytes came back'
records 0 recompress --compression gzip -d "$url/packed" "$fixtures"/lines-0.tfrecord "$url/d/all.tfrecord"
records 0 count "$url/packed/*"; says $'200\ttotal'
records 1 salvage -d "$url/saved" "$fixtures"/bad_data_crc.tfrecord
records 0 count "$url/saved/bad_data_crc.tfrecord"
records 0 split --parts 3 -o "$url/parts/p" "$fixtures"/lines-0.tfrecord; records 0 count "$url/parts/*"; says $'100\ttotal'
records 0 index "$url/parts/*"; says '.p-00000-of-00003.index: '; records 0 count "$url/parts/*"; says $'100\ttotal'
records 64 index --dali "$url/parts/*"; says 'copy it here first' err
records 74 merge "$fixtures"/lines-0.tfrecord -o "http://127.0.0.1:1/x?sig=SECRET"; says 'can only be read' err
records 66 merge "$fixtures"/lines-0.tfrecord -o "${url%bucket}other/x"
run 0 store check --read-only "$url"
run 66 store check "${url%bucket}other/x"

# a store that ignores conditions is good enough, and is told; one that does not let delete is not
serve careless ignores-conditions
run 0 store check "$url/run"; says 'ignored: it replaced the object'
serve strict denies-delete
run 74 store check "$url/run"; says 'no: the permission DeleteObject is missing'; says 'DELETE s3://bucket/run/' err
! grep -F SECRET out err >/dev/null || fail 'the secret is told'
[ $failures -eq 0 ]
