#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads an export log without the library: for serving in Python, and to check the format with a second reader.

usage: export_log.py DIRECTORY [--position N] [--rows]

Prints one JSON object: position, step, and for each table the number of rows and its digest. Verifies the SHA-256 of all
objects and the digests of all tables; a log that is wrong ends with exit code 1 and a sentence. --rows: also all rows.
"""

import argparse
import hashlib
import json
import pathlib
import re
import struct
import sys

MASK = (1 << 64) - 1
FOLDS = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3, 0x1D8E4E27C47D124F,
         0x9FB21C651E98DF25)
SIZES = {"U64": 8, "I64": 8, "F64": 8, "F32": 4, "I32": 4, "U32": 4, "BF16": 2, "F16": 2, "U16": 2, "I16": 2, "U8": 1,
         "I8": 1, "BOOL": 1}


class Wrong(Exception):
    """The log is not what it must be."""


def virtual_shard(key):
    x = (key + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return (x ^ x >> 31) >> 54


def fold(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def row_digest(key, row):
    """Returns the two words that a row adds to the digest of its table."""
    size = len(row)
    row += b"\0" * (-size % 16)
    a, b = key ^ FOLDS[0], key ^ FOLDS[1]
    for at in range(0, len(row), 16):
        x, y = struct.unpack_from("<2Q", row, at)
        a, b = fold(a ^ x, y ^ FOLDS[2]), fold(b ^ y, x ^ FOLDS[3])
    return fold(a ^ size, FOLDS[4]), fold(b ^ size, FOLDS[5])


def table_digest(rows):
    """Returns the digest of {key: bytes of float32} as a manifest has it."""
    first = second = 0
    for key, row in rows.items():
        a, b = row_digest(key, row)
        first, second = (first + a) & MASK, (second + b) & MASK
    return f"{first:016x}{second:016x}"


class Log:
    """An export log in a directory. `state` of a position is {table: {key: bytes}}."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def head(self):
        return json.loads((self.directory / "head").read_text())

    def read(self, name):
        if not re.fullmatch(r"(manifests|parts)/[0-9a-z][0-9a-z.-]*", name):
            raise Wrong(f"{name} is no name of an object")
        data = (self.directory / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != re.search(r"-([0-9a-f]{64})\.", name)[1]:
            raise Wrong(f"{name} has other bytes than its name promises")
        return data

    def manifest(self, name):
        manifest = json.loads(self.read(name))
        if manifest["format"] != 1:
            raise Wrong(f"{name} has format {manifest['format']}")
        return manifest

    def chain(self, position=None):
        """Returns what leads to a position, the newest one by default: the manifests and the parts of each that are read.

        The first manifest has all rows, or is the place of bases that a later one names: these are its parts then.
        """
        head = self.head()
        name, found, named = head["manifest"], [], []
        while name:
            manifest = self.manifest(name)
            name = manifest["before"]
            bases = manifest.get("bases", [])
            if bases and len({base["label"] for base in bases}) != 1 or len(bases) not in (0, len(manifest["parts"])):
                raise Wrong(f"position {manifest['position']} names bases that do not belong together")
            named.append({base["of"]: base for base in bases})
            if position is not None and manifest["position"] > position:
                continue
            parts = [part["name"] for part in manifest["parts"]]
            place = next((bases for bases in named if list(bases) == parts), None)
            if place:
                found.append((manifest, [{"name": base["name"], "bytes": base["bytes"], "on": ""} for base in place.values()]))
                break
            found.append((manifest, manifest["parts"]))
            if all(not part["on"] for part in manifest["parts"]):
                break
        else:
            raise Wrong(f"no position {'' if position is None else position}, or no base")
        if position is not None and found[0][0]["position"] != position:
            raise Wrong(f"no position {position}")
        return found[::-1]

    def tensors(self, name):
        """Returns the tensors of a part, {name: (dtype, shape, bytes)}, and its metadata."""
        data = self.read(name)
        size = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + size])
        metadata = header.pop("__metadata__", {})
        found = {}
        for tensor, entry in header.items():
            begin, end = entry["data_offsets"]
            count = 1
            for extent in entry["shape"]:
                count *= extent
            if end - begin != count * SIZES[entry["dtype"]]:
                raise Wrong(f"{name}: {tensor} has another size than its shape")
            found[tensor] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])
        return found, metadata

    def apply(self, state, part, settings):
        tensors, metadata = self.tensors(part["name"])
        if metadata["on"] != part["on"]:
            raise Wrong(f"{part['name']} is a delta to another part")
        for table, rows in state.items():
            words = lambda what: struct.unpack(f"<{len(tensors[f'{table}/{what}'][2]) // 8}Q", tensors[f"{table}/{what}"][2])
            keys, gone, owned = words("keys"), words("gone"), words("owned")
            if not part["on"]:
                ranges = list(zip(owned[::2], owned[1::2]))
                place = (lambda key: key) if settings[table]["numbered"] else virtual_shard
                for key in [key for key in rows if any(a <= place(key) < b for a, b in ranges)]:
                    del rows[key]
            for key in gone:
                rows.pop(key, None)
            dtype, shape, values = tensors[f"{table}/values"]
            size = shape[1] * SIZES[dtype]
            for at, key in enumerate(keys):
                row = values[at * size:(at + 1) * size]
                if dtype == "BF16":
                    row = b"".join(b"\0\0" + row[i:i + 2] for i in range(0, len(row), 2))
                rows[key] = row
        return {name: tensor for name, tensor in tensors.items() if name in metadata}

    def load(self, position=None):
        """Returns the manifest of a position and its tables, after it has compared their digests."""
        chain = self.chain(position)
        newest = chain[-1][0]
        settings = {table["name"]: table for table in newest["tables"]}
        state = {name: {} for name in settings}
        for _, parts in chain:
            for part in parts:
                self.apply(state, part, settings)
        self.compare_sums(chain)
        for name, table in settings.items():
            if len(state[name]) != table["rows"] or table_digest(state[name]) != table["digest"]:
                raise Wrong(f"table {name} at position {newest['position']} has another digest than the trainer's")
        return newest, state

    def compare_sums(self, chain):
        newest, sum_of = chain[-1][0], lambda parts: sum(part["bytes"] for part in parts)
        bases, begun = newest.get("bases", []), chain[0][1]
        if [base["name"] for base in bases] == [part["name"] for part in begun]:
            # deltas count from the first position that names the bases
            deltas = [sum_of(manifest["parts"]) for manifest, _ in chain if manifest.get("bases") == bases]
        elif not bases and begun is chain[0][0]["parts"]:
            deltas = [sum_of(parts) for _, parts in chain[1:]]
        else:
            return  # an earlier position, which did not know the base that was read
        base_bytes = sum_of(begun)
        if (newest.get("base_bytes", base_bytes), newest.get("delta_bytes", sum(deltas))) != (base_bytes, sum(deltas)):
            raise Wrong(f"position {newest['position']} has other sums of bytes than its parts")


def main():
    parser = argparse.ArgumentParser(usage="export_log.py DIRECTORY [--position N] [--rows]")
    parser.add_argument("directory")
    parser.add_argument("--position", type=int)
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    try:
        manifest, state = Log(options.directory).load(options.position)
    except (OSError, ValueError, KeyError, Wrong) as error:
        sys.exit(f"error: {options.directory}: {error}")
    shown = {"position": manifest["position"], "step": manifest["step"],
             "tables": {table["name"]: {"rows": table["rows"], "digest": table["digest"]} for table in manifest["tables"]}}
    if options.rows:
        for name, rows in state.items():
            shown["tables"][name]["values"] = {
                str(key): struct.unpack(f"<{len(row) // 4}f", row) for key, row in sorted(rows.items())}
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
