#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a compiler does not check (docs/design/README.md).

usage: check.py RULE [--compiler CXX] [--root DIR]

Each rule first proves on a small planted tree that it finds a violation, then looks at the sources.
"""

import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

# The staircase: a header includes lower steps or its own room.
STAIRS = {
    "core": 0,
    "cluster": 1, "record": 1, "tensor": 1, "optimizer": 1, "net": 1, "message": 1,
    "placement": 2, "sharding": 2, "rpc": 2, "checkpoint": 2, "summary": 2, "example": 2,
    "ps": 3, "data": 3, "hadoop": 3,
    "train": 4,
    "sim": 5,
}

# Third parties, and the one header that may include each.
DOORS = {
    r"asio(\.hpp|/ssl.*)?$|asio/": ["net/asio.hpp", "net/tls.hpp"],
    r"openssl/": ["net/tls.hpp"],
    r"httplib": ["net/http_client.hpp"],
    r"google/protobuf": ["message/protobuf.hpp"],
    r".*\.pb\.h$": [],
    r"xtensor|xtl/|xsimd/": ["tensor/xtensor.hpp"],
    r"zlib\.h$": ["record/zlib.hpp"],
    r"isa-l": ["record/isal.hpp"],
}
# What only costs compile time: nothing of ours may include it.
BANNED = re.compile(r"(iostream|regex|format|asio\.hpp)$")

LONGEST_HEADER = 400
LONGEST_MEDIAN = 150
MOST_LINES_OF_OURS = 30_000
SECONDS_ECOSYSTEM = 5.0
SECONDS_RPC = 2.5
SECONDS_VALUE = 1.3
SECONDS_PROGRAM = 20.0
# The largest units of a program at -O2: the main example's, and those of distrib::separate.
PROGRAMS = ["examples/fashion_mnist/train.cpp", "cmake/separate/checkpoint.cpp", "cmake/separate/ps.cpp",
            "cmake/separate/shard.cpp", "cmake/separate/train.cpp", "cmake/separate/trainer.cpp"]
# The clock that these are counted by: see budget_seconds.
THIRD_PARTIES = ["net/asio.hpp", "tensor/xtensor.hpp"]
SECONDS_THIRD_PARTIES = 1.22

# What follows in a header is compiled apart, once, in a program that wants it so (docs/design/packages.md).
DEFINITIONS = "#ifndef DISTRIB_SEPARATE_COMPILATION\n"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


class Tree:
    """The headers of a checkout by their path under include/distrib, with what each includes."""

    def __init__(self, root, separate=False):
        self.root = pathlib.Path(root)
        base = self.root / "include/distrib"
        self.text = {str(p.relative_to(base)): p.read_text() for p in sorted([*base.rglob("*.hpp"), *base.rglob("*.inc")])}
        self.includes = {name: INCLUDE.findall(text.split(DEFINITIONS)[0] if separate else text)
                         for name, text in self.text.items()}

    def ours(self, name):
        return [i.removeprefix("distrib/") for i in self.includes.get(name, []) if i.startswith("distrib/")]

    def reach(self, name):
        """Everything of ours that `name` includes, directly or not, and itself."""
        found, todo = set(), [name]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += self.ours(at)
        return found


def room(name):
    """The room of a header; empty for those on top: facades, the umbrella, version.hpp."""
    return name.split("/")[0] if "/" in name else ""


def is_facade(name):
    return room(name) == "" and name != "version.hpp"


# --- rules: each yields violations in words ------------------------------------------------------------------------


def layers(tree):
    for name in tree.text:
        if room(name) and room(name) not in STAIRS:
            yield f"{name}: room {room(name)}/ has no step on the staircase"
            continue
        for other in tree.ours(name):
            if is_facade(name) or other == "version.hpp" or is_facade(other):
                continue
            if other not in tree.text:
                yield f"{name} includes {other}, which does not exist"
            elif room(other) != room(name) and STAIRS.get(room(other), 99) >= STAIRS[room(name)]:
                yield f"{name} includes {other}: {room(other)}/ is not below {room(name)}/"
        if '#include "' in tree.text[name]:
            yield f'{name}: write #include <distrib/...>, not #include "..."'


def staircase(tree):
    """The picture of the house shows every room that there is on its step."""
    shown = {}
    for step, names in re.findall(r'class="b">(\d)  ([^<]*)<', (tree.root / "docs/design/staircase.svg").read_text()):
        shown |= {name: int(step) for name in names.split(" · ")}
    for name in sorted({room(name) for name in tree.text if room(name) in STAIRS}):
        if shown.get(name) != STAIRS[name]:
            yield f"docs/design/staircase.svg does not show {name}/ on step {STAIRS[name]}"


def cycles(tree):
    tree = Tree(tree.root, separate=True)
    for name in tree.text:
        for other in tree.ours(name):
            if name in tree.reach(other):
                yield f"{name} includes {other}, which reaches {name} again"


def doors(tree):
    for name, includes in tree.includes.items():
        for included in includes:
            if BANNED.match(included):
                yield f"{name} includes <{included}>, which no header of ours may"
            for pattern, allowed in DOORS.items():
                if re.match(pattern, included) and name not in allowed:
                    yield f"{name} includes <{included}>: only {', '.join(allowed) or 'generated code'} may"
    for name in tree.reach("ecosystem.hpp") & set(tree.text):
        if room(name) == "message" or name in ("net/tls.hpp", "net/http_client.hpp", "record/isal.hpp"):
            yield f"ecosystem.hpp reaches {name}, an optional component"


def facades(tree):
    for name, text in tree.text.items():
        if is_facade(name):
            code = re.sub(r"//[^\n]*|#[^\n]*", "", text).strip()
            if code:
                yield f"{name}: headers on top only include, this one says {code.splitlines()[0]!r}"
        else:
            for other in tree.ours(name):
                if is_facade(other):
                    yield f"{name} includes {other}: facades are for users"


def components_of(tree):
    """Rooms, and facades, of each component with those that it links to; from CMakeLists.txt."""
    text = (tree.root / "CMakeLists.txt").read_text()
    found = {}
    for name, rooms, links in re.findall(r"^distrib_component\((\w+) ROOMS ([\w ]+?)(?: LINKS ([\w ]+?))?(?: NEEDS .*)?\)$",
                                         text, re.MULTILINE):
        found[name] = set(rooms.split()).union(*(found[link.removeprefix("distrib_")] for link in links.split()))
    return found


def components(tree):
    """A component promises to need no other third parties than it says, so it reaches no header of another one; and the
    doors stand in the components that say they need what is behind them. Each header belongs to one."""
    found = components_of(tree)
    home = {"net/asio.hpp": "rpc", "tensor/xtensor.hpp": "tensor", "record/zlib.hpp": "record"}
    optional = re.compile(r"message/|record/isal\.hpp|net/(detail/)?(tls|http)|hadoop/webhdfs")
    for name in tree.text:
        if optional.match(name):
            continue
        own = [c for c, rooms in found.items() if (room(name) or name.removesuffix(".hpp")) in rooms]
        if not own:
            yield f"{name} belongs to no component of CMakeLists.txt"
            continue
        for other in tree.reach(name):
            if (room(other) or other.removesuffix(".hpp")) not in found[own[0]]:
                yield f"{name} belongs to distrib::{own[0]} but reaches {other}"
    for door, component in home.items():
        if door in tree.text and room(door) not in found.get(component, ()):
            yield f"{door} is not in distrib::{component}, which links to what is behind it"


def mirrors(tree):
    tests = tree.root / "tests"
    for name in tree.text:
        if is_facade(name) or "/detail/" in name:
            continue
        test = name.removesuffix(".hpp") + "_test.cpp"
        if not (tests / test).exists():
            yield f"{name} has no test: write tests/{test}"
            continue
        first = INCLUDE.search((tests / test).read_text())
        if not first or first[1] != f"distrib/{name}":
            yield f"tests/{test} must include <distrib/{name}> first"
    for folder in [tests, *(tests / r for r in STAIRS)]:
        for path in sorted(folder.glob("*_test.cpp")):
            name = str(path.relative_to(tests)).removesuffix("_test.cpp") + ".hpp"
            if name not in tree.text:
                yield f"tests/{path.relative_to(tests)} mirrors no header: there is no {name}"


def length(tree):
    lines = {name: text.count("\n") for name, text in tree.text.items()}
    for name, count in lines.items():
        if count > LONGEST_HEADER:
            yield f"{name} has {count} lines, at most {LONGEST_HEADER} are allowed"
    if lines and statistics.median(lines.values()) > LONGEST_MEDIAN:
        yield f"the median header has {statistics.median(lines.values())} lines, at most {LONGEST_MEDIAN} are allowed"


SOURCES = ["include/**/*.hpp", "include/**/*.inc", "tests/**/*.hpp", "tests/**/*.cpp", "examples/**/*.hpp", "examples/**/*.cpp",
           "tools/**/*.hpp", "tools/**/*.cpp",
           "benchmarks/**/*.hpp", "benchmarks/**/*.cpp", "tools/**/*.cpp", "include/**/*.proto"]
SCRIPTS = ["tests/**/*.py", "tests/**/*.sh", "examples/**/*.sh", "examples/**/*.py", "tools/**/*.py", "tools/**/*.sh",
           "benchmarks/**/*.sh", "benchmarks/**/*.py", "cmake/*", "**/CMakeLists.txt", ".ci/*", ".clang-format"]


def files(root, patterns):
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            if path.is_file() and not re.match(r"(build|out|\.git)/|.*/__pycache__/", name):
                yield name, path


def prologue(tree):
    spdx = "SPDX-License-Identifier: Apache-2.0"
    for name, path in files(tree.root, SOURCES + SCRIPTS):
        lines = path.read_text().split("\n", 4)[:3]
        # A compile-fail file begins with its expectation, a script with its interpreter.
        at = 1 if lines[0].startswith(("// error: ", "#!")) else 0
        if len(lines) <= at or spdx not in lines[at]:
            yield f"{name}: line {at + 1} must be the comment {spdx}"
        if name.endswith(".hpp") and not re.search(r"^#pragma once$", path.read_text(), re.MULTILINE):
            yield f"{name}: #pragma once is missing"


def versions(tree):
    header = tree.text["version.hpp"]
    words = re.search(r'std::string_view version = "(\d+)\.(\d+)\.(\d+)"', header)
    number = re.search(r"#define DISTRIB_VERSION (\d+)", header)
    if not words or not number:
        yield "version.hpp: no `version` in words or no DISTRIB_VERSION"
        return
    major, minor, patch = map(int, words.groups())
    text = ".".join(words.groups())
    if int(number[1]) != 10000 * major + 100 * minor + patch:
        yield f"version.hpp: DISTRIB_VERSION is {number[1]}, but the words say {text}"
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (tree.root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not newest or newest[1] != text:
        yield f"CHANGELOG.md: the newest section is {newest[1] if newest else 'missing'}, version.hpp says {text}"
    for name, path in files(tree.root, ["packaging/**/vcpkg.json"]):
        if f'"version": "{text}"' not in path.read_text():
            yield f"{name} does not name version {text}"


def contracts(tree):
    """Every public name has a contract, and the pages made of the contracts are current."""
    command = [sys.executable, "-B", str(tree.root / "tools/reference.py"), "--check"]
    yield from subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()


# Built from pieces, so that this file does not find itself.
MACHINE_PATH = re.compile("|".join(["/" + "work/", "/" + r"tmp/(?!\$|\{|distrib)[a-z]", "/" + "root/", "/" + "home/[a-z]"]))


def paths(tree):
    for name, path in files(tree.root, [*SOURCES, *SCRIPTS, "*.md", "docs/**/*.md", "CMakePresets.json"]):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: a path of one machine: {line.strip()}"


def lines_of_ours(preprocessed):
    """Non-blank lines that came from our headers, in the output of `-E`, whose line markers name each file."""
    count, ours = 0, False
    for line in preprocessed.split("\n"):
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            ours = "/include/distrib/" in marker[1]
        elif ours and line.strip():
            count += 1
    return count


def budget_lines(tree, compiler="g++"):
    for name in tree.text:
        if is_facade(name):
            command = [compiler, "-std=c++20", "-E", f"-I{tree.root}/include", "-include", f"distrib/{name}", "-xc++",
                       "/dev/null"]
            count = lines_of_ours(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"{name}: {count} lines of ours")
            if count > MOST_LINES_OF_OURS:
                yield f"{name}: {count} preprocessed lines of ours, at most {MOST_LINES_OF_OURS} are allowed"


def cpu_seconds(tree, compiler, *arguments):
    """User and system seconds of one compilation."""
    command = [compiler, "-std=c++20", f"-I{tree.root}/include", "-c", "-o", "/dev/null", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def header_seconds(tree, compiler, *names, times=1):
    """Of compiling these headers alone at -O0, the best of so many times."""
    arguments = ["-O0", *(f"-include{tree.root}/include/distrib/{name}" for name in names), "-xc++", "/dev/null"]
    return min(cpu_seconds(tree, compiler, *arguments) for _ in range(times))


def budget_seconds(tree, compiler="g++"):
    """What else the machine does makes a compiler up to twice as slow. So seconds are counted by a clock that slows down
    with it: compiling the third parties' headers, which takes SECONDS_THIRD_PARTIES where nothing else runs. Where it
    takes less, seconds are seconds: newer processors gain more on headers like those than on instantiations, and would
    be told that our 4.4 seconds are 5.4. A header or a program is measured until it is below its limit, eight times at
    most."""
    limits = {name: SECONDS_PROGRAM for name in PROGRAMS}
    limits |= {"ecosystem.hpp": SECONDS_ECOSYSTEM, "rpc.hpp": SECONDS_RPC}
    limits |= {name: SECONDS_VALUE for name in tree.text if room(name) in components_of(tree)["core"]}
    for name, limit in limits.items():
        if name not in tree.text and not (tree.root / name).exists():
            continue
        seconds = float("inf")
        for attempt in range(8):
            if limit != SECONDS_VALUE or attempt > 0:
                pace = min(1.0, SECONDS_THIRD_PARTIES / header_seconds(tree, compiler, *THIRD_PARTIES, times=3))
            if name in PROGRAMS:
                measured = cpu_seconds(tree, compiler, "-O2", "-DDISTRIB_SEPARATE_COMPILATION", str(tree.root / name))
            else:
                measured = header_seconds(tree, compiler, name)
            seconds = min(seconds, pace * measured)
            if seconds <= limit:
                break
        print(f"{name}: {seconds:.2f} s of {limit} s (the machine's pace: {pace:.2f})")
        if seconds > limit:
            yield f"{name}: {seconds:.2f} CPU seconds, at most {limit} are allowed"


# --- the violation each rule must find -----------------------------------------------------------------------------

CMAKE = """# SPDX-License-Identifier: Apache-2.0
distrib_component(core ROOMS core cluster)
distrib_component(rpc ROOMS net LINKS distrib_core NEEDS distrib::asio)
"""
PLANTED = {
    "layers": {"include/distrib/core/a.hpp": "#include <distrib/ps/b.hpp>\n", "include/distrib/ps/b.hpp": ""},
    "staircase": {"include/distrib/record/a.hpp": "", "docs/design/staircase.svg": '<text class="b">2  record</text>'},
    "cycles": {"include/distrib/core/a.hpp": "#include <distrib/core/detail/b.hpp>\n",
               "include/distrib/core/detail/b.hpp": "#include <distrib/core/a.hpp>\n"},
    "doors": {"include/distrib/ps/a.hpp": "#include <asio/ip/tcp.hpp>\n"},
    "facades": {"include/distrib/core/a.hpp": "#include <distrib/ps.hpp>\n", "include/distrib/ps.hpp": ""},
    "components": {"include/distrib/cluster/a.hpp": "#include <distrib/net/b.hpp>\n",
                    "include/distrib/net/b.hpp": "", "CMakeLists.txt": CMAKE},
    "mirrors": {"include/distrib/core/a.hpp": "", "tests/core/b_test.cpp": ""},
    "length": {"include/distrib/core/a.hpp": "\n" * (LONGEST_HEADER + 1)},
    "prologue": {"include/distrib/core/a.hpp": "// hello\n"},
    "versions": {"include/distrib/version.hpp":
                 '#define DISTRIB_VERSION 203\ninline constexpr std::string_view version = "0.2.3";\n',
                 "CHANGELOG.md": "## [0.2.2]\n"},
    "contracts": {"include/distrib/core/a.hpp": "/// Said.\nauto said() -> int;\n\nauto unsaid() -> int;\n"},
    "budget_seconds": {"include/distrib/core/a.hpp": "#include <vector>\n"},
    "paths": {"docs/a.md": "see /" + "home/somebody/a\n"},
}


def self_test(rule):
    if rule == "budget_lines":
        text = '# 1 "/x/include/distrib/a.hpp"\nint a;\n\n# 9 "/usr/include/b.h" 1 3\nint b;\n'
        assert lines_of_ours(text) == 1, "budget_lines does not tell our lines from others"
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED[rule].items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tree = Tree(folder)
        if rule == "budget_seconds":
            found = header_seconds(tree, "g++", "core/a.hpp") > 0.01
        elif rule == "contracts":
            import reference  # in tools/, see main()

            found = list(reference.without_contract({"core/a.hpp": reference.read(tree.root / "include/distrib/core/a.hpp")}))
        else:
            found = list(RULES[rule](tree))
        assert found, f"{rule} does not find the violation planted for it"


RULES = {f.__name__: f for f in [layers, staircase, cycles, doors, facades, components, mirrors, length, prologue, versions,
                                 paths, contracts, budget_lines, budget_seconds]}


def main():
    parser = argparse.ArgumentParser(usage="check.py RULE [--compiler CXX] [--root DIR]")
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()

    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(options.root, "tools")))
    self_test(options.rule)
    tree = Tree(options.root)
    if options.rule.startswith("budget_"):
        violations = list(RULES[options.rule](tree, options.compiler))
    else:
        violations = list(RULES[options.rule](tree))
    for violation in violations:
        print(violation, file=sys.stderr)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
