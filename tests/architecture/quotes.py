#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that code on the pages of the guide is quoted exactly from the sources.

usage: quotes.py [--root DIR]

In docs/*.md and docs/guide/**/*.md:
- Every block of C++, CMake, JSON, proto or output follows a line `<!-- PATH -->` and is part of that file: the same
  lines in the same order, with any common indentation. A line `// ...` or `# ...` in the block stands for omitted
  lines.
- Every link to a file of this repository leads to an existing file.
In docs/coming-from-tensorflow.md:
- There is one row for each feature of TensorFlow, P001 to P107.
- Each piece of `code` in the C++ column of a row is part of an example, or of a test of
  tests/integration/coming_from_tensorflow_*_test.cpp or tests/{record,example,data,coordinator}, with any line breaks. A row
  without code gives the reason.
First proves, on planted pages, that it finds each kind of fault.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import textwrap

QUOTED = {"cpp", "cmake", "text", "json", "proto"}
FENCE = re.compile(r"^```(\w*)$")
SOURCE = re.compile(r"^<!-- ([\w./-]+) -->$")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
GAP = re.compile(r"^\s*(//|#) \.\.\.$")
TABLE = "docs/coming-from-tensorflow.md"
TABLE_TESTS = ["tests/integration/coming_from_tensorflow_*_test.cpp", "examples/**/*.cpp", "tests/record/**/*_test.cpp",
               "tests/coordinator/*_test.cpp", "tests/example/**/*_test.cpp", "tests/data/**/*_test.cpp"]
FEATURES = [f"P{n:03}" for n in range(1, 108)]
ROW = re.compile(r"^\| (P\d{3}) ")
CELLS = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"`([^`]+)`")


def blocks(lines):
    """Yields (line number, language, path in the comment before it or None, lines) for each fenced block."""
    at = 0
    while at < len(lines):
        if fence := FENCE.match(lines[at]):
            end = next((i for i in range(at + 1, len(lines)) if lines[i] == "```"), len(lines))
            before = SOURCE.match(lines[at - 1]) if at > 0 else None
            yield at + 1, fence[1], before and before[1], lines[at + 1:end]
            at = end
        at += 1


def runs(lines):
    """Yields the parts of the block between its lines `// ...` or `# ...`."""
    run = []
    for line in lines:
        if GAP.match(line):
            yield run
            run = []
        else:
            run.append(line)
    yield run


def dedented(lines):
    return textwrap.dedent("\n".join(lines)).split("\n")


def find(run, source, start):
    """Finds the lines `run` in `source`, from line `start` on. Returns the line after them, or None."""
    wanted = dedented(run)
    for at in range(start, len(source) - len(run) + 1):
        if dedented(source[at:at + len(run)]) == wanted:
            return at + len(run)
    return None


def quote_faults(root, language, path, lines):
    if path is None:
        if language in QUOTED:
            yield "no <!-- PATH --> before it says where it is from"
        return
    if not (root / path).is_file():
        yield f"there is no {path}"
        return
    source = (root / path).read_text().splitlines()
    at = 0
    for run in filter(None, runs(lines)):
        at = find(run, source, at)
        if at is None:
            yield f"{path} does not say: {run[0].strip()}"
            return


def faults(root):
    for page in sorted([*(root / "docs").glob("*.md"), *(root / "docs/guide").rglob("*.md")]):
        name = page.relative_to(root)
        lines = page.read_text().splitlines()
        code = set()
        for number, language, path, block in blocks(lines):
            code.update(range(number - 1, number + len(block) + 1))
            for fault in quote_faults(root, language, path, block):
                yield f"{name}:{number}: {fault}"
        for number, line in enumerate(lines):
            for target in LINK.findall(line) if number not in code else []:
                if "://" not in target and not (page.parent / target).exists():
                    yield f"{name}:{number + 1}: the link {target} leads nowhere"


def squeezed(text):
    return "".join(text.split())


def table_faults(root):
    """Yields the faults of the table. A row: | P001 what | Python | C++ | differences |"""
    page = root / TABLE
    if not page.is_file():
        return
    tests = squeezed("".join(path.read_text() for pattern in TABLE_TESTS for path in sorted(root.glob(pattern))))
    rows = [(number, row[1], CELLS.split(line)) for number, line in enumerate(page.read_text().splitlines(), 1)
            if (row := ROW.match(line))]
    if [feature for _, feature, _ in rows] != FEATURES:
        missing = sorted(set(FEATURES) - {feature for _, feature, _ in rows})
        yield f"{TABLE}: its rows are not those of all features in their order; missing: {' '.join(missing) or 'none'}"
    for number, feature, cells in rows:
        if len(cells) != 6 or not cells[4].strip():
            yield f"{TABLE}:{number}: {feature} has not four cells, the last with what differs or why there is none"
            continue
        for code in CODE.findall(cells[3].replace("\\|", "|")):
            if squeezed(code) not in tests:
                yield f"{TABLE}:{number}: no test has: {code}"


PLANTED_ROWS = {
    "no test has: int b;": "| P001 a | `a` | `int b;` | none |\n",
    "not four cells": "| P001 a | `a` | `int a;` |  |\n",
    "missing: P002": "| P001 a | `a` | `int a;` | none |\n",
}
PLANTED = {
    "does not say: int b;": "<!-- a.cpp -->\n```cpp\nint a;\n// ...\nint b;\n```\n",
    "says where it is from": "```cpp\nint a;\n```\n",
    "there is no b.cpp": "<!-- b.cpp -->\n```cpp\nint a;\n```\n",
    "leads nowhere": "[b](b.md)\n",
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs/guide").mkdir(parents=True)
        (root / "a.cpp").write_text("void f() {\n  int a;\n  int c;\n  int d;\n}\n")
        page = root / "docs/guide/a.md"
        page.write_text("[a](../../a.cpp#f)\n<!-- a.cpp -->\n```cpp\nint a;\n// ...\nint d;\n```\n")
        assert not list(faults(root)), f"a good page was refused: {list(faults(root))}"
        for fault, text in PLANTED.items():
            page.write_text(text)
            assert any(fault in found for found in faults(root)), f"not found: {fault}"
        (root / "tests/integration").mkdir(parents=True)
        (root / "tests/integration/coming_from_tensorflow_a_test.cpp").write_text("int\n  a;\n")
        table = root / TABLE
        table.write_text("".join(f"| {feature} a | `a` | `int a;` | none |\n" for feature in FEATURES))
        assert not list(table_faults(root)), f"a good table was refused: {list(table_faults(root))}"
        for fault, text in PLANTED_ROWS.items():
            table.write_text(text)
            assert any(fault in found for found in table_faults(root)), f"not found: {fault}"


def main():
    parser = argparse.ArgumentParser(usage="quotes.py [--root DIR]")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    self_test()
    root = parser.parse_args().root
    found = [*faults(root), *table_faults(root)]
    for fault in found:
        print(fault, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
