#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that this library answers questions about columns and rows as the connector does. The questions are random;
spark/Connector.java answers them with the connector's own classes.

usage: spark_connector.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the conformance program is found from there.
DISTRIB_SPARK_CONNECTOR: the class path of the connector (tools/spark.sh).
"""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

CASES = 10000
SEED = 20161126
SCALARS = ["Boolean", "Integer", "Long", "Float", "Double", "Decimal", "String", "Binary"]
# Packages that Spark needs, and that Java has closed in later versions.
JAVA = ["java", *(f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.nio", "java.lang", "sun.nio.ch", "java.util"))]


class Chance(random.Random):
    def text(self):
        return "".join(self.choice(["a", "0", " ", "é", "数", "😀", "\n", "\"", "\\"]) for _ in range(self.randint(0, 4)))

    def number(self):
        return self.choice([0.0, -0.0, 1.5, -2.25, 1e-45, 3.4e38, 16777217.0, self.uniform(-1e6, 1e6)])

    def integer(self):
        return self.choice([0, 1, -1, 2**31 - 1, -2**31, 2**31, 2**32 + 7, 2**63 - 1, -2**63, self.getrandbits(40)])

    def bytes(self):
        return bytes(self.choice([0, 0x41, 0x80, 0xBF, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xED, 0xA0, 0xF0, 0x9F, 0x98, 0xF4,
                                  0xFF]) for _ in range(self.randint(0, 5))).hex()

    def value(self, kind):
        if kind.startswith("Array<"):
            return [self.value(kind[6:-1]) for _ in range(self.choice([0, 1, 1, 2, 3]))]
        if kind == "Vector":
            size = self.randint(0, 4)
            dense = [self.number() for _ in range(size)]
            places = sorted(self.sample(range(size), self.randint(0, size)))
            sparse = {"size": size, "indices": places, "values": [dense[i] for i in places]}
            return self.choice([dense, sparse])
        if kind == "Integer":
            return self.choice([0, 7, -1, 2**31 - 1, -2**31])
        return {"Boolean": lambda: self.random() < 0.5, "Long": self.integer, "String": self.text, "Binary": self.bytes,
                "Decimal": lambda: self.choice([0.0, 12.34, -1.5, 1e10])}.get(kind, self.number)()

    def kind(self):
        kind = self.choice([*SCALARS, *SCALARS, "Vector", "Timestamp"])
        return kind if kind in ("Vector", "Timestamp") else self.choice(["{}", "Array<{}>", "Array<Array<{}>>"]).format(kind)

    def feature(self):
        count = self.choice([0, 1, 1, 1, 2, 3])
        return self.choice([{"int64_list": [self.integer() for _ in range(count)]},
                            {"float_list": [self.number() for _ in range(count)]},
                            {"bytes_list_hex": [self.bytes() for _ in range(count)]}, {} if self.random() < 0.2 else
                            {"int64_list": [1]}])

    def seen(self, least=0):
        kind = self.choice(["int64", "float", "bytes"]) if self.random() < 0.97 else None
        return {"kind": kind, "length": self.choice([least, 1, 1, 2, 3])}

    def infer(self):
        if self.random() < 0.3:
            return {"recordType": "SequenceExample", "feature_list": [self.seen(1) for _ in range(self.choice([0, 1, 2, 3]))]}
        sequence = self.random() < 0.3
        rows = []
        for _ in range(self.randint(1, 4)):
            rows.append({name: [self.seen(1) for _ in range(self.randint(1, 3))] if sequence and name > "b" else self.seen()
                         for name in "abcd" if self.random() < 0.7})
        return {"recordType": "SequenceExample" if sequence else "Example", "rows": rows}

    def encode(self):
        # Only versions later than those of Maven Central write Booleans.
        kind = self.choice([k for k in [self.kind() for _ in range(9)] if "Boolean" not in k or "Array<Array" in k])
        null = self.random() < 0.1 and kind != "Timestamp"  # null is left out, but a struct has no such member
        return {"type": kind, "value": None if null else 0 if kind == "Timestamp" else self.value(kind),
                "nullable": self.random() < 0.7, "recordType": self.choice(["Example", "SequenceExample"])}

    def decode(self):
        kind = self.choice([k for k in [self.kind() for _ in range(9)] if k != "Timestamp"])
        question = {"type": kind, "nullable": self.random() < 0.7}
        if self.random() < 0.3 or kind.startswith("Array<Array<"):
            question["feature_list"] = [self.feature() for _ in range(self.randint(0, 3))] if self.random() < 0.9 else None
        if "feature_list" not in question or self.random() < 0.1:
            question["feature"] = self.feature() if self.random() < 0.9 else None
        return question


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() - {"message"} == b.keys() - {"message"} and all(same(a[k], b[k]) for k in a if k != "message")
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return float32(a) == float32(b)  # one prints the shortest text of a float, the other that of a double
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def answers(command, lines):
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line)["output"] for line in done.stdout.splitlines()]


def main():
    chance = Chance(SEED)
    makers = {"spark_infer_schema": chance.infer, "spark_encode": chance.encode, "spark_decode": chance.decode}
    questions = [{"id": str(n), "group": group, "input": makers[group]()}
                 for n, group in enumerate(chance.choices(list(makers), weights=[1, 2, 2], k=CASES))]
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    here = pathlib.Path(__file__).resolve().parent
    classes, folder = os.environ["DISTRIB_SPARK_CONNECTOR"], tempfile.mkdtemp()
    subprocess.run(["javac", "-nowarn", "-cp", classes, "-d", folder, here / "spark/Connector.java"], check=True,
                   stderr=subprocess.DEVNULL)
    theirs = answers([*JAVA, "-cp", f"{folder}:{classes}", "Connector"], lines)
    ours = answers([pathlib.Path(sys.argv[1]).resolve().parent / "conformance/answer_lines"], lines)
    wrong = [(q, a, b) for q, a, b in zip(questions, ours, theirs, strict=True) if not same(a, b)]
    for question, a, b in wrong[:int(os.environ.get("DISTRIB_SHOWN", "5"))]:
        print(f"asked {json.dumps(question)[:600]}\n  we     {str(a)[:300]}\n  theirs {str(b)[:300]}")
    if wrong:
        sys.exit(f"{len(wrong)} of {CASES} answers differ")
    refused = sum("error" in b for b in theirs)
    print(f"{CASES} answers are the connector's, {refused} of them refusals")


if __name__ == "__main__":
    main()
