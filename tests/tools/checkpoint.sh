#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib checkpoint` on files that TensorFlow wrote: whole tensors and slices, of every type. Damage is found and
# named.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
fixtures=$tests/checkpoint/fixtures
checkpoint() { run "$1" checkpoint "${@:2}"; }  # EXPECTED_CODE ARGS...

cp -r "$fixtures/partitioned" "$fixtures/object" "$fixtures/iterator" .
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
checkpoint 0 show $whole f64; says 'least -1.5, most 1e+300, mean 5e+299'
checkpoint 66 show $whole nothing global_step; says 'nothing' err; says '1234'

checkpoint 0 check $whole; says "$whole: good, 11 tensors, 278 B"
checkpoint 0 check partitioned; says good
checkpoint 0 check --json $whole; json 'lines[0]["damaged"] == 0 and lines[0]["tensors"] == 11 and lines[0]["bytes"] == 278'

# A checkpoint with a saved iterator is good, although the iterator's type is not read.
checkpoint 0 check iterator; says 'iterator/.ATTRIBUTES/ITERATOR_STATE  variant [11], 2.2 KiB, its type cannot be read'
says 'iterator/ckpt-1: good, 5 tensors'
checkpoint 0 check --json iterator/ckpt-1
json 'lines[0]["damaged"] == 0 and lines[0]["not_read"] == ["iterator/.ATTRIBUTES/ITERATOR_STATE"]'
checkpoint 0 list --json iterator; json 'by_name["iterator/.ATTRIBUTES/ITERATOR_STATE"]["sha256"] is None'
json 'by_name["iterator/.ATTRIBUTES/ITERATOR_STATE"]["dtype"] == "variant" and len(lines) == 5'
checkpoint 0 show --json iterator
json 'by_name["iterator/.ATTRIBUTES/ITERATOR_STATE"]["values"] is None'
json 'by_name["w/.ATTRIBUTES/VARIABLE_VALUE"]["values"] == [1, 2]'
# A checkpoint with an undamaged complex number and floats with a wrong bit: only the floats are reported as damaged.
from_base64() { base64 -d >"$1"; }
mkdir unread
from_base64 unread/c.index <<'END'
AAAGCAEaAggBAAEPYwgSEgQSAggBKBA1JVk1XgABEXcIARIEEgIIAyAQKAw1c1uJcQAAAAABAAAAADRSQvIAAAAAAQAAAADA8qGwAAECeAA5AAAA
AAEAAAAAU+4PXT4ISw4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABX+4CLJHVH2w==
END
from_base64 unread/c.data-00000-of-00001 <<<'AAAAAAAA8D8AAAAAAAAAQAAAgD8AAABAAABAQQ=='
checkpoint 1 check unread/c; says 'c  complex128 [1], 16 B, its type cannot be read'; says 'DAMAGED, 2 tensors'
says 'data-00000-of-00001: w, at 16' err
checkpoint 1 check --json unread/c; json 'lines[-1]["damaged"] == 1'

# Values that are not finite have the same names everywhere, and do not count for least, most and mean.
mkdir odd
from_base64 odd/c.index <<'END'
AAAGCAEaAggBAAMPYWxsCAESBBICCAIoCDV490I8AAQRc29tZQgBEgQSAggEIAgoEDURTxgNAAAAAAEAAAAANI80EQAAAAABAAAAAMDyobAABQJzb21l
fgA+AAAAAAEAAAAAchpUAkMIUBIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABX+4CLJHVH2w==
END
from_base64 odd/c.data-00000-of-00001 <<<'AADAfwAAgP8AAMB/AAAAQAAAgH8AAEDA'
checkpoint 0 show odd/c; says '  NaN, 2, Infinity, -3'; says '  least -3, most 2, mean -0.5'; says 'NOT FINITE: 2 values'
[ "$(grep -c least out)" -eq 1 ] || fail 'a tensor without finite values has a least value'
checkpoint 0 show --json odd/c; json 'by_name["some"]["values"] == ["NaN", 2, "Infinity", -3]'
json 'by_name["some"]["least"] == -3 and by_name["some"]["most"] == 2 and by_name["some"]["not_finite"] == 2'
json 'by_name["all"]["values"] == ["NaN", "-Infinity"] and "least" not in by_name["all"]'

# The state file names a checkpoint that does not exist: the directory was moved, or another program wrote the file.
mkdir moved
for step in 7 9 10; do for file in index data-00000-of-00001; do cp object/ckpt-1.$file moved/ckpt-$step.$file; done; done
for command in list show; do checkpoint 0 $command moved; says 'w/.ATTRIBUTES/VARIABLE_VALUE'; done
checkpoint 0 list moved; says 'moved/ckpt-10: '
checkpoint 0 check moved; for step in 7 9 10; do says "moved/ckpt-$step: good"; done  # there is no state file
printf '%s "/old/place/%s"\n' model_checkpoint_path: ckpt-9 all_model_checkpoint_paths: ckpt-7 all_model_checkpoint_paths: ckpt-9 >moved/checkpoint
for command in list show; do checkpoint 0 $command moved; says '(there: 2, the newest ckpt-9)' err; says '; used instead: moved/ckpt-9' err; done
checkpoint 0 check moved; says 'moved/ckpt-7: good'; says 'moved/ckpt-9: good'; says 'moved/checkpoint: /old/place/ckpt-9' err
printf 'model_checkpoint_path: "/old/place/ckpt-9"\n' >moved/checkpoint
for command in list show; do
  checkpoint 0 $command moved
  says 'note: moved/checkpoint: /old/place/ckpt-9 (there: 1, the newest ckpt-9)' err; says '; used instead: moved/ckpt-9' err
done
checkpoint 0 check moved; says 'moved/ckpt-9: good'; says '/old/place/ckpt-9' err
printf 'model_checkpoint_path: "inference_model"\n' >moved/checkpoint
checkpoint 0 list moved; says 'moved/ckpt-10: '; says 'inference_model' err
checkpoint 0 check --json moved; json 'len(lines) == 3'
rm moved/ckpt-10.data-00000-of-00001
checkpoint 0 list moved; says 'moved/ckpt-9: '; says 'moved/ckpt-10.data-00000-of-00001: a data file of the checkpoint is missing' err
checkpoint 1 check moved; says 'moved/ckpt-9: good'; says 'moved/ckpt-10.data-00000-of-00001: a data file of the checkpoint is missing' err
rm moved/ckpt-*
checkpoint 66 list moved; says 'moved/checkpoint: inference_model (there: no checkpoint)' err
checkpoint 66 check moved; says 'inference_model' err

# A checkpoint that is named by any of its files; with the index only; without the index; of version 1.
for suffix in .index .data-00000-of-00001 .meta; do
  for command in list check; do checkpoint 0 $command $whole$suffix; says "$whole: "; done
  checkpoint 0 show $whole$suffix global_step; says 1234
done
mkdir alone
cp $whole.index alone/c.index
checkpoint 0 list alone/c; says 'emb/table     float32 [10,4], 160 B in 3 slices'
says 'alone/c.data-00000-of-00001: a data file of the checkpoint is missing: copy all its data files with the index; the list is from the index only' err
checkpoint 0 list alone; says 'alone/c: 11 tensors'
checkpoint 0 list --json alone/c; json 'len(lines) == 11 and all(line["sha256"] is None for line in lines)'
checkpoint 66 show alone/c; says 'alone/c.data-00000-of-00001' err
checkpoint 1 check alone/c; says 'alone/c.data-00000-of-00001' err
mv alone/c.index alone/c.data-00000-of-00001
for name in alone alone/c; do
  checkpoint 1 check $name; says 'alone/c.index: the index file is missing, but there are data files' err
  checkpoint 1 list $name
done
mv alone/c.data-00000-of-00001 alone/c
for command in list show check; do
  checkpoint 66 $command alone/c; says 'alone/c: a checkpoint of version 1; save it again with TensorFlow' err
done
# A tensor with missing slices is reported as damage, not as wrong usage.
mkdir hole
from_base64 hole/c.index <<'END'
AAAGCAEaAggBAAgPAHYAAQEBgIIIARIEEgIIAigINVk85TUAAQ52CAESBBICCAQ6BAoCEAIAAAAAAQAAAADldJltAAAAAAEAAAAAwPKhsAABAncA
PQAAAAABAAAAAKZgxEhCCE8OAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAV/uAiyR1R9s=
END
from_base64 hole/c.data-00000-of-00001 <<<'AACAPwAAAEA='
checkpoint 0 list hole/c; says 'v  float32 [4], 8 B, INCOMPLETE'
checkpoint 1 check hole/c; says 'the slices in the checkpoint do not cover the whole tensor' err; says 'hole/c: DAMAGED, 1 tensors'
checkpoint 1 show hole/c

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
checkpoint 66 show object/ckpt-1; says 'ckpt-1.data-00000-of-00001' err
mkdir nothing
checkpoint 66 list nothing; says 'nothing: there is no such checkpoint' err
checkpoint 66 check nothing
checkpoint 66 list nowhere/model; says 'nowhere/model.index: there is no such checkpoint' err
checkpoint 66 check nowhere/model
checkpoint 64 list; checkpoint 64 look $whole; checkpoint 64 show -n x $whole
checkpoint 0 --help
[ $failures -eq 0 ] && echo 'all passed'
