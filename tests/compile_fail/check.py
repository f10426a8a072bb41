#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one wrong program: it compiles without its fault; with it the compiler prints the library's text, briefly.

usage: check.py [--cache DIR] [--isystem DIR] COMPILER FILE

FILE's first line is `// error: <regular expression>`, which the compiler's output must match. The macro
DISTRIB_COMPILE_FAIL switches the fault on. The directory of --cache records which files passed, together with a hash of
every file that could change the result. DIR/precompiled has compiled headers with which several wrong programs begin;
it may be removed at any time.
DIR of --isystem has headers of a third party.
"""

import argparse
import fcntl
import hashlib
import pathlib
import re
import subprocess
import sys

MOST_LINES = 15
WORTH_PRECOMPILING = 3  # least number of files that begin with the same header
ROOT = pathlib.Path(__file__).resolve().parents[2]
THIRD_PARTY = []  # options for the compiler
INCLUDE = re.compile(r'^#include ["<]((?:distrib|support)/[^">]+)[">]', re.MULTILINE)


def run_compiler(compiler, *arguments):
    # Without the bodies of functions that are not templates: errors in templates do not depend on them.
    command = [compiler, "-std=c++20", "-DDISTRIB_SEPARATE_COMPILATION", *arguments, f"-I{ROOT}/include", f"-I{ROOT}/tests",
               *THIRD_PARTY]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def problem(compiler, file, *flags):
    """Returns a text about what is wrong with the file; empty if nothing is."""
    first = file.read_text().split("\n", 1)[0]
    if not first.startswith("// error: "):
        return "the first line must be `// error: <regular expression>`"
    expected = first.removeprefix("// error: ")

    clean = run_compiler(compiler, *flags, "-fsyntax-only", str(file))
    if clean.returncode != 0 or clean.stderr:
        return f"does not compile cleanly with the fault off:\n{clean.stderr}"
    faulty = run_compiler(compiler, *flags, "-fsyntax-only", "-DDISTRIB_COMPILE_FAIL", str(file))
    if faulty.returncode == 0:
        return "compiles with the fault on"
    if not re.search(expected, faulty.stderr):
        return f"the compiler's output does not match `{expected}`:\n{faulty.stderr}"
    lines = faulty.stderr.rstrip("\n").count("\n") + 1
    if lines > MOST_LINES:
        return f"{lines} lines of output, allowed are {MOST_LINES}:\n{faulty.stderr}"
    return ""


def first_header(file):
    found = INCLUDE.search(file.read_text())
    return found[1] if found else ""


def precompiled(compiler, file, cache, key):
    """Returns the options with which `file` finds its first header compiled; none if few files begin with that header.

    With these options the compiler prints as many lines as without, or one more (clang: "In file included from").
    """
    header = first_header(file)
    if sum(first_header(other) == header for other in file.parent.glob("*_fail.cpp")) < WORTH_PRECOMPILING:
        return []
    is_clang = "clang" in pathlib.Path(compiler).name
    folder = cache / "precompiled" / pathlib.Path(compiler).name
    made = folder / (header + (".pch" if is_clang else ".gch"))
    stamp = made.with_suffix(".key")
    made.parent.mkdir(parents=True, exist_ok=True)
    with open(made.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test compiles the header, the others wait
        if not stamp.exists() or stamp.read_text() != key:
            stamp.unlink(missing_ok=True)
            source = made.with_suffix(".source")
            source.write_text(f"#include <{header}>\n")
            done = run_compiler(compiler, "-x", "c++-header", str(source), "-o", str(made))
            if done.returncode != 0 or done.stderr:
                made.unlink(missing_ok=True)
                return []  # the compilation of the file itself will report the error
            stamp.write_text(key)
    return ["-include-pch", str(made)] if is_clang else [f"-I{folder}"]


def fingerprint(compiler, *files):
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version)
    headers = sorted([*ROOT.glob("include/**/*.hpp"), *ROOT.glob("tests/support/*.hpp")])
    for path in [pathlib.Path(__file__), *files, *headers]:
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(usage="check.py [--cache DIR] [--isystem DIR] COMPILER FILE")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--isystem")
    parser.add_argument("compiler")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    cache, compiler, file = options.cache, options.compiler, options.file.resolve()
    if options.isystem:
        THIRD_PARTY.extend(["-isystem", options.isystem])
    passed = cache / f"{file.stem}.{pathlib.Path(compiler).name}" if cache else None
    key = fingerprint(compiler, file)
    if passed and passed.exists() and passed.read_text() == key:
        return
    quick = precompiled(compiler, file, cache, fingerprint(compiler)) if cache else []
    found = problem(compiler, file, *quick)
    if found and quick:
        found = problem(compiler, file)  # only a failure without precompiled headers counts
    if found:
        sys.exit(f"{file.relative_to(ROOT)} with {compiler}: {found}")
    if passed:
        cache.mkdir(parents=True, exist_ok=True)
        passed.write_text(key)


if __name__ == "__main__":
    main()
