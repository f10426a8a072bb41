#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one wrong program: it compiles without its fault, and with it the compiler says our words, briefly.

usage: check.py [--cache DIR] COMPILER FILE

FILE's first line is `// error: <regular expression>`; the fault is compiled in by DISTRIB_COMPILE_FAIL. The directory
given by --cache remembers what passed, by the content of every file that could change the answer.
"""

import hashlib
import pathlib
import re
import subprocess
import sys

MOST_LINES = 15
ROOT = pathlib.Path(__file__).resolve().parents[2]


def compile_once(compiler, file, *flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}/include", f"-I{ROOT}/tests", *flags, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def problem(compiler, file):
    """What is wrong with the file, in words; empty when nothing is."""
    first = file.read_text().split("\n", 1)[0]
    if not first.startswith("// error: "):
        return "the first line must be `// error: <regular expression>`"
    expected = first.removeprefix("// error: ")

    clean = compile_once(compiler, file)
    if clean.returncode != 0 or clean.stderr:
        return f"does not compile cleanly with the fault off:\n{clean.stderr}"
    faulty = compile_once(compiler, file, "-DDISTRIB_COMPILE_FAIL")
    if faulty.returncode == 0:
        return "compiles although the fault is on"
    if not re.search(expected, faulty.stderr):
        return f"the compiler's output does not match `{expected}`:\n{faulty.stderr}"
    lines = faulty.stderr.rstrip("\n").count("\n") + 1
    if lines > MOST_LINES:
        return f"{lines} lines of output, allowed are {MOST_LINES}:\n{faulty.stderr}"
    return ""


def fingerprint(compiler, file):
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version)
    headers = sorted([*ROOT.glob("include/**/*.hpp"), *ROOT.glob("tests/support/*.hpp")])
    for path in [pathlib.Path(__file__), file, *headers]:
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def main(arguments):
    cache = None
    if arguments[:1] == ["--cache"]:
        cache = pathlib.Path(arguments[1])
        arguments = arguments[2:]
    if len(arguments) != 2:
        sys.exit(__doc__)
    compiler, file = arguments[0], pathlib.Path(arguments[1])
    passed = cache / f"{file.stem}.{pathlib.Path(compiler).name}" if cache else None
    key = fingerprint(compiler, file)
    if passed and passed.exists() and passed.read_text() == key:
        return
    found = problem(compiler, file)
    if found:
        sys.exit(f"{file.relative_to(ROOT)} with {compiler}: {found}")
    if passed:
        cache.mkdir(parents=True, exist_ok=True)
        passed.write_text(key)


if __name__ == "__main__":
    main(sys.argv[1:])
