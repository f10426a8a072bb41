#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small export log without the library, as its format is described: two shards, three positions.

usage: write_export_log.py DIRECTORY [leave_out|flip|bases|flip_bases]

leave_out, flip: the last position lacks a tombstone, or has one wrong bit. bases: the last position names bases with the
rows of the second one, and the first one is removed. flip_bases: they have one wrong bit, and the first one is there.
"""

import hashlib
import json
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from export_log import table_digest, virtual_shard

LOG, SEED, SHARDS = "00000000000000ab", "0000000000000003", 2


def compact_json(value):
    return (json.dumps(value, separators=(",", ":")) + "\n").encode()


def safetensors(tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    root = pathlib.Path(sys.argv[1])
    mistake = sys.argv[2] if len(sys.argv) > 2 else ""
    for folder in ("manifests", "parts"):
        (root / folder).mkdir(parents=True)

    def put(stem, data, suffix):
        name = f"{stem}-{hashlib.sha256(data).hexdigest()}{suffix}"
        (root / name).write_bytes(data)
        return name

    floats = lambda *values: struct.pack(f"<{len(values)}f", *values)
    words = lambda values: struct.pack(f"<{len(values)}Q", *values)
    states = [{1: floats(.5, -1, 2, 0), 2: floats(.001, 0, 0, 0), 2**64 - 1: floats(3, 4, 5, 6)},
              {2: floats(.001, .25, 0, 0), 2**64 - 1: floats(3, 4, 5, 6), 7: floats(1, 1, 1, 1)},
              {2: floats(.001, .25, 0, 0), 2**64 - 1: floats(3, 4, 5, 6), 0: floats(9, 9, 9, 9)}]
    before, manifest_name, last, bases, of_first = {}, "", [""] * SHARDS, [], []
    for position, state in enumerate(states, 1):
        step, parts = 10 * position, []
        for shard in range(SHARDS):
            ours = lambda rows: {k: row for k, row in rows.items() if virtual_shard(k) * SHARDS // 1024 == shard}
            own, old = ours(state), ours(before)
            changed = {k: row for k, row in sorted(own.items()) if old.get(k) != row}
            gone = sorted(k for k in old if k not in own)
            if position == 3 and mistake == "leave_out":
                gone = []
            if position == 3 and mistake == "flip":
                changed = {k: bytes([row[0] ^ 1]) + row[1:] for k, row in changed.items()}
            def part(rows, gone, on):
                tensors = {"t/keys": ("U64", [len(rows)], words(list(rows))), "t/gone": ("U64", [len(gone)], words(gone)),
                           "t/owned": ("U64", [1, 2], words([shard * 512, shard * 512 + 512])),
                           "t/values": ("F32", [len(rows), 4], b"".join(rows.values())),
                           "bias/slice/0": ("F32", [1], floats(position))}
                return safetensors(tensors, {"step": str(step), "shard": str(shard), "on": on,
                                             "bias/slice/0": f"[2] {shard},1"})
            data = part(changed, gone, last[shard])
            name = put(f"parts/{step:020}-s{shard}-of-{SHARDS}", data, ".safetensors")
            parts.append({"name": name, "bytes": len(data), "on": last[shard], "state": table_digest(own)})
            last[shard] = name
            if position == 2 and mistake.endswith("bases"):
                rows = dict(sorted(own.items()))
                if mistake == "flip_bases":
                    rows = {k: bytes([row[0] ^ 1]) + row[1:] for k, row in rows.items()}
                data = part(rows, [], "")
                bases.append({"label": step, "of": name, "bytes": len(data),
                              "name": put(f"parts/{step:020}-s{shard}-of-{SHARDS}-base-e1", data, ".safetensors")})
        table = {"name": "t", "dim": 4, "numbered": 0, "initializer": "uniform low=-0.05 high=0.05", "format": "float32",
                 "seed": SEED, "rows": len(state), "digest": table_digest(state)}
        manifest = {"format": 1, "log": LOG, "position": position, "before": manifest_name, "step": step,
                    "lineage": "0000000000000001", "parts": parts, "tables": [table]}
        if position == 3 and bases:
            manifest["bases"] = bases
        manifest_name = put(f"manifests/{position:020}", compact_json(manifest), ".json")
        if position == 1:
            of_first = [manifest_name, *last]
        before = state
    if mistake == "bases":
        for name in of_first:
            (root / name).unlink()
    (root / "head").write_bytes(compact_json(
        {"format": 1, "log": LOG, "position": len(states), "manifest": manifest_name, "epochs": [1, 1]}))


if __name__ == "__main__":
    main()
