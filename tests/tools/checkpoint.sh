#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib checkpoint` on what TensorFlow wrote: tensors whole and in slices, of every type; damage is found and named.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/checkpoint/fixtures
checkpoint() { run "$1" checkpoint "${@:2}"; }  # EXPECTED_CODE ARGS...

cp -r "$fixtures/partitioned" "$fixtures/object" .
whole=partitioned/model.ckpt-1234

checkpoint 0 list $whole; says 'emb/table     float32 [10,4], 160 B in 3 slices'; says 'words         string [3]'
says "$whole: 11 tensors, 278 B in 1 file"
checkpoint 0 list partitioned; says "$whole: 11 tensors"
checkpoint 0 list --json $whole
json 'len(lines) == 11 and all(set(line) == {"name", "dtype", "shape", "sha256"} for line in lines)'
json 'by_name["i32"]["dtype"] == "int32" and by_name["i32"]["shape"] == [2, 2]'
json 'by_name["global_step"]["sha256"] == hashlib.sha256(struct.pack("<q", 1234)).hexdigest()'
json 'by_name["empty"]["sha256"] == hashlib.sha256(b"").hexdigest()'
checkpoint 0 list object; says 'w/.ATTRIBUTES/VARIABLE_VALUE'

checkpoint 0 show --json $whole
json 'by_name["global_step"]["values"] == [1234] and by_name["global_step"]["mean"] == 1234'
json 'len(by_name["emb/table"]["values"]) == 8 and len(by_name["words"]["values"]) == 3'
json 'all(type(value) is int for value in by_name["flag"]["values"]) and len(by_name["bf16"]["values"]) == 3'
json 'by_name["empty"]["values"] == [] and "least" not in by_name["empty"]'
checkpoint 0 show --json -n 40 $whole emb/table
json 'len(lines) == 1 and len(lines[0]["values"]) == 40 and min(lines[0]["values"]) == lines[0]["least"]'
json 'max(lines[0]["values"]) == lines[0]["most"] and abs(sum(lines[0]["values"]) / 40 - lines[0]["mean"]) < 1e-6'
checkpoint 0 show -n 2 $whole emb/table; says ', ...'; says 'least '
checkpoint 66 show $whole nothing global_step; says 'nothing' err; says '1234'

checkpoint 0 check $whole; says "$whole: good, 11 tensors, 278 B"
checkpoint 0 check partitioned; says good
checkpoint 0 check --json $whole; json 'lines[0]["damaged"] == 0 and lines[0]["tensors"] == 11 and lines[0]["bytes"] == 278'

printf '\x55' | dd of=$whole.data-00000-of-00001 bs=1 seek=100 conv=notrunc status=none
checkpoint 1 check partitioned; says 'DAMAGED, 11 tensors'; says "$whole.data-00000-of-00001: emb/table, slice" err
checkpoint 1 check --json $whole; json 'lines[0]["error"] == "corrupt" and lines[-1]["damaged"] == 1'
checkpoint 1 list --json $whole; json 'sum("error" in line for line in lines) == 1 and len(lines) == 11'
checkpoint 0 list $whole
printf x >>$whole.index
checkpoint 1 list $whole; says "$whole.index" err
truncate -s 10 object/ckpt-1.data-00000-of-00001
checkpoint 1 check object; says 'ckpt-1.data-00000-of-00001 ends at 10' err
rm object/ckpt-1.data-00000-of-00001
checkpoint 1 show object/ckpt-1; says 'ckpt-1.data-00000-of-00001' err
mkdir nothing
checkpoint 66 list nothing; says 'nothing: no checkpoint' err
checkpoint 66 check nothing
checkpoint 66 list nowhere/model; says 'nowhere/model.index' err
checkpoint 64 list; checkpoint 64 look $whole; checkpoint 64 show -n x $whole
checkpoint 0 --help
[ $failures -eq 0 ] && echo 'all is as it should be'
