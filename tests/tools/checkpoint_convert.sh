#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib checkpoint export` and `import`: values, slots, tables, names, several files, damage. What is exported and
# imported again is the same. Python reads the files here without any package; tests/interop/torch_files.py uses the
# real readers.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/output.sh"
checkpoint() { run "$1" checkpoint "${@:2}"; }  # EXPECTED_CODE ARGS...

cp -r "$tests/ps/cut/fixtures/before_lineages" saved
cp -r "$tests/checkpoint/fixtures/partitioned" "$tests/checkpoint/fixtures/object" "$tests/checkpoint/fixtures/iterator" .

cat >tensors.py <<'END'
"""tensors.py FILE EXPRESSION: EXPRESSION is true for `header`, `meta` and `data(name)` of a safetensors file."""
import hashlib, json, struct, sys, zipfile
def read(path):
    raw = open(path, "rb").read()
    size, = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8:8 + size]), raw[8 + size:]
def write(path, tensors, meta=None):
    header, body = ({"__metadata__": meta} if meta else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)
if __name__ == "__main__":
    if sys.argv[1].endswith(".safetensors"):
        header, body = read(sys.argv[1])
        meta = header.pop("__metadata__", {})
        def data(name): return body[slice(*header[name]["data_offsets"])]
    sys.exit(0 if eval(sys.argv[2]) else 1)
END
tensors() { python3 -B tensors.py "$@" || fail "not $2"; }  # FILE EXPRESSION

# Variables without slots; whole, in whatever slices they were saved; the step and the job are in the metadata.
checkpoint 0 export saved out.safetensors; says 'saved/model.ckpt-20 -> out.safetensors: '
tensors out.safetensors 'not any("Momentum" in name or name.startswith("distrib") or name == "global_step" for name in header)'
tensors out.safetensors 'header["w"]["shape"] == [6, 5] and header["w"]["dtype"] == "F32"'
tensors out.safetensors 'meta["format"] == "pt" and meta["distrib.step"] == "20" and len(meta["distrib.job"]) == 64'
tensors out.safetensors 'all(hashlib.sha256(data(name)).hexdigest() == meta["distrib.sha256." + name] for name in header)'
checkpoint 0 list --json out.safetensors; cp out listed
checkpoint 0 list --json saved
json 'all(by_name[one["name"]]["sha256"] == one["sha256"] for one in map(json.loads, open("listed")))'
checkpoint 0 show out.safetensors w; says 'w  float32 [6,5], 120 B'
checkpoint 0 check out.safetensors; says 'out.safetensors: good'

# Options.
checkpoint 64 export saved out.safetensors; says 'the file exists already; --force replaces it' err
checkpoint 0 export saved out.safetensors --slots --force --no-digest --json
json 'lines[-1]["tensors"] == len(lines) - 1 and lines[-1]["output"] == "out.safetensors" and lines[-1]["left_out"] == 0'
tensors out.safetensors '"w/Momentum" in header and not any(name.startswith("distrib.sha256") for name in meta)'
checkpoint 0 export saved only.safetensors --only w --only b
tensors only.safetensors 'sorted(header) == ["b", "w"]'
checkpoint 0 export saved renamed.safetensors --only w --rename w=net.weight
tensors renamed.safetensors 'list(header) == ["net.weight"]'
checkpoint 0 export saved none.safetensors --only w --rename w=
tensors none.safetensors 'header == {}'
checkpoint 66 export saved missing.safetensors --only nothing; says '--only nothing: not found in checkpoint' err
[ ! -e missing.safetensors ] || fail 'a file of no tensors'
checkpoint 64 export saved x.safetensors --rename w; says 'write OLD=NEW' err
checkpoint 64 export saved x.safetensors --rename w=a --rename w=b; says 'each OLD once' err
checkpoint 64 export saved x.bin; says 'the format is missing' err
checkpoint 0 export saved x.bin --format pt; checkpoint 0 list x.bin; says 'w  float32 [6,5]'
checkpoint 64 export saved out.safetensors --rename b=w --force; says 'w: adding duplicate key' err
tensors out.safetensors '"w/Momentum" in header'  # it was not touched
checkpoint 74 export saved nowhere/x.safetensors; says 'nowhere/.saving.x.safetensors (No such file' err

# A checkpoint of TensorFlow: every type, no texts; an object-based one without the suffix of its names.
checkpoint 0 export partitioned tf.safetensors; says 'words: left out, the format has no string' err
tensors tf.safetensors 'header["emb/table"]["shape"] == [10, 4] and header["bf16"]["dtype"] == "BF16"'
tensors tf.safetensors 'data("emb/table")[:8] == struct.pack("<2f", 0, 0.125) and data("flag") == b"\x01\x00\x01"'
tensors tf.safetensors '[header[name]["dtype"] for name in header] == sorted((header[name]["dtype"] for name in header),
  key=["F64", "F32", "I32", "BF16", "U8", "BOOL"].index)'
checkpoint 0 export object object.safetensors; tensors object.safetensors '"w" in header and "step" in header'
checkpoint 0 export iterator iterator.safetensors; says 'the format has no variant' err

# Several files and their index.
checkpoint 0 export saved big.safetensors --max-file-bytes 100; says 'big.safetensors.index.json'
[ ! -e big.safetensors ] || fail 'one file beside several'
checkpoint 0 list --json big.safetensors.index.json; cp out listed
checkpoint 0 list --json out.safetensors
json 'all(by_name[one["name"]]["sha256"] == one["sha256"] for one in map(json.loads, open("listed")))'
checkpoint 64 export saved big.safetensors; says 'big.safetensors.index.json: the file exists already' err
mv big-00001-of-*.safetensors moved
checkpoint 66 list big.safetensors.index.json; says 'big-00001-of' err; says 'a data file of the checkpoint is missing' err

# PyTorch: an archive of stored entries, aligned to 64.
checkpoint 0 export saved model.pt
python3 -B - <<'END' || fail 'model.pt'
import struct, zipfile
archive = zipfile.ZipFile("model.pt")
assert archive.testzip() is None
names = archive.namelist()
assert "model/data.pkl" in names and "model/data/0" in names and archive.read("model/byteorder") == b"little"
assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
raw = open("model.pt", "rb").read()
for entry in archive.infolist():
    name, extra = struct.unpack("<HH", raw[entry.header_offset + 26:entry.header_offset + 30])
    assert (entry.header_offset + 30 + name + extra) % 64 == 0
END
checkpoint 0 list --json model.pt; cp out listed
checkpoint 0 list --json out.safetensors
json 'all(by_name[one["name"]]["sha256"] == one["sha256"] for one in map(json.loads, open("listed")))'

# Import makes a checkpoint; exported again it is the same file.
checkpoint 0 export saved first.safetensors
checkpoint 74 import first.safetensors made/model.ckpt-20; says 'No such file or directory' err
mkdir made
checkpoint 0 import first.safetensors made/model.ckpt-20; says 'first.safetensors -> made/model.ckpt-20: '
checkpoint 0 check made; says 'made/model.ckpt-20: good'
checkpoint 0 show --json made global_step; json 'lines[0]["values"] == [20]'
checkpoint 0 export made/model.ckpt-20 second.safetensors
tensors second.safetensors 'read("first.safetensors")[1] == body and meta["distrib.step"] == "20"'
checkpoint 64 import first.safetensors made/model.ckpt-20; says 'the file exists already' err
checkpoint 0 import model.pt made/other --rename /=net/ --step 7
checkpoint 0 show --json made/other global_step; json 'lines[0]["values"] == [7]'
checkpoint 0 list made/other; says 'net/w  '
checkpoint 64 import model.pt made/x --rename w=b; says 'b: adding duplicate key' err
checkpoint 64 import saved/model.ckpt-20 made/x; says 'it is a checkpoint already' err

# A table of any keys: keys in any order in, ascending out; 16-bit rows become float32.
python3 -B - <<'END'
import struct
from tensors import write
keys = [5, 2**63 + 1, 3]
rows = [[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]]
half = b"".join(struct.pack("<2e", *row) for row in rows)
write("table.safetensors", {"users/keys": ("U64", [3], struct.pack("<3Q", *keys)), "users/values": ("F16", [3, 2], half),
                            "bias": ("F32", [1], struct.pack("<f", 9))}, {"distrib.step": "4"})
write("twice.safetensors", {"users/keys": ("U64", [2], struct.pack("<2Q", 1, 1)), "users/values": ("F16", [2, 2], half[:8])})
END
checkpoint 0 import table.safetensors made/table
checkpoint 0 list made/table; says 'users/shard-00000-of-00001/keys'; says 'users/shard-00000-of-00001/values  '
checkpoint 0 export made/table again.safetensors
tensors again.safetensors 'header["users/keys"] == {"dtype": "U64", "shape": [3], "data_offsets": header["users/keys"]["data_offsets"]}'
tensors again.safetensors 'data("users/keys") == struct.pack("<3Q", 3, 5, 2**63 + 1)'
tensors again.safetensors 'data("users/values") == struct.pack("<6f", 0.5, 0.25, 1, 2, 3, -4) and "users/uses" not in header'
checkpoint 0 export made/table again.safetensors --slots --force
tensors again.safetensors 'data("users/uses") == struct.pack("<6i", 1, 0, 1, 0, 1, 0)'
checkpoint 0 import again.safetensors made/again; checkpoint 0 list --json made/again; cp out listed
checkpoint 0 list --json made/table
json 'all(by_name[one["name"]]["sha256"] == one["sha256"] for one in map(json.loads, open("listed")))'
checkpoint 0 export made/table bare.safetensors --no-tables; tensors bare.safetensors 'list(header) == ["bias"]'
checkpoint 0 export made/table table.pt; checkpoint 0 list table.pt; says 'users/keys    int64 [3]'
checkpoint 1 import twice.safetensors made/twice; says 'users/keys: key 1 occurs twice' err
[ ! -e made/twice.index ] || fail 'a damaged file was imported'

# Averages in place of values: of variables, of tables; what has none is as it is.
python3 -B - <<'END'
import struct
from tensors import write
def floats(*numbers): return struct.pack(f"<{len(numbers)}f", *numbers)
write("averaged.safetensors", {"w": ("F32", [2], floats(1, 2)), "w/ExponentialMovingAverage": ("F32", [2], floats(3, 4)),
                               "seen": ("I64", [], struct.pack("<q", 9)), "c": ("F32", [1], floats(5)),
                               "users/keys": ("U64", [2], struct.pack("<2Q", 8, 7)),
                               "users/values": ("F32", [2, 1], floats(1, 2)),
                               "users/values/ExponentialMovingAverage": ("F32", [2, 1], floats(3, 4))})
END
checkpoint 0 import averaged.safetensors made/averaged
checkpoint 0 export made/averaged values.safetensors
tensors values.safetensors 'sorted(header) == ["c", "seen", "users/keys", "users/values", "w"]'
tensors values.safetensors 'data("w") == struct.pack("<2f", 1, 2) and data("users/values") == struct.pack("<2f", 2, 1)'
checkpoint 0 export made/averaged averages.safetensors --averages
tensors averages.safetensors 'sorted(header) == ["c", "seen", "users/keys", "users/values", "w"]'
tensors averages.safetensors 'data("w") == struct.pack("<2f", 3, 4) and data("users/values") == struct.pack("<2f", 4, 3)'
tensors averages.safetensors 'data("seen") == struct.pack("<q", 9) and data("c") == struct.pack("<f", 5)'
tensors averages.safetensors 'data("users/keys") == struct.pack("<2Q", 7, 8)'
tensors averages.safetensors 'all(hashlib.sha256(data(name)).hexdigest() == meta["distrib.sha256." + name] for name in header)'
checkpoint 0 export made/averaged w.safetensors --averages --only w --rename w=net.weight
tensors w.safetensors 'data("net.weight") == struct.pack("<2f", 3, 4)'
checkpoint 66 export saved none-averaged.safetensors --averages
says '--averages: NAME/ExponentialMovingAverage: not found in checkpoint' err
[ ! -e none-averaged.safetensors ] || fail 'values in place of averages'
checkpoint 64 export made/averaged x.safetensors --averages --slots; says '--slots excludes --averages' err

# Damage: nothing is written. A file whose bytes do not have the SHA-256 of its metadata is not imported.
printf '\x55' | dd of=saved/model.ckpt-20.data-00001-of-00002 bs=1 seek=10 conv=notrunc status=none
checkpoint 1 export saved/model.ckpt-20 damaged.safetensors; says 'the data of the checkpoint is damaged' err
checkpoint 1 export saved/model.ckpt-20 damaged.pt
checkpoint 1 export saved/model.ckpt-20 damaged.safetensors --no-digest
[ -z "$(ls -a | grep -e damaged -e saving)" ] || fail 'a damaged checkpoint left files'
cp first.safetensors changed.safetensors
printf '\x55' | dd of=changed.safetensors bs=1 seek=$(($(stat -c %s changed.safetensors) - 2)) conv=notrunc status=none
checkpoint 1 import changed.safetensors made/changed; says 'its SHA-256 is not the one in the file' err
[ -z "$(ls -a made | grep -e changed -e saving)" ] || fail 'a damaged file left files'

# Files that are none: their words, and no code runs.
printf 'x' >short.safetensors; checkpoint 1 list short.safetensors; says 'too few for the length of a header' err
python3 -c 'import pickle; pickle.dump({"a": 1}, open("old.pt", "wb"), 2)'
checkpoint 66 list old.pt; says 'a pickle, as PyTorch wrote it before 1.6; load it with PyTorch and save it again' err
tar cf tape.pt first.safetensors; checkpoint 66 list tape.pt; says 'a tape archive, as PyTorch wrote it before 0.1.10' err
python3 - <<'END'
import os, pickle, zipfile
class Bad:
    def __reduce__(self): return os.system, ("touch ran",)
with zipfile.ZipFile("bad.pt", "w") as archive:
    archive.writestr("bad/data.pkl", pickle.dumps({"w": Bad()}, 2))
with zipfile.ZipFile("small.pt", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("small/data.pkl", b"\0" * 1_000_000)
with zipfile.ZipFile("script.pt", "w") as archive:
    archive.writestr("script/data.pkl", pickle.dumps({}, 2))
    archive.writestr("script/constants.pkl", b"")
END
checkpoint 66 import bad.pt made/bad; says 'it needs posix.system of Python' err
[ ! -e ran ] || fail 'code of a pickle ran'
checkpoint 66 list small.pt; says 'small/data.pkl is compressed' err
checkpoint 66 list script.pt; says 'a TorchScript module' err
checkpoint 66 list nothing.pt; says 'nothing.pt: there is no such checkpoint' err
checkpoint 66 list nothing.safetensors; says 'there is no such checkpoint' err
checkpoint 64 export saved; checkpoint 0 export --help; says 'Examples: distrib checkpoint export'
checkpoint 0 import --help; says 'Example: distrib checkpoint import'
[ $failures -eq 0 ] && echo 'all passed'
