#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules for the structure of the library that a compiler does not check (docs/design/README.md).

usage: check.py RULE [--compiler CXX] [--build DIR] [--root DIR]

Each rule first proves that it finds a violation planted in a small tree, then checks the sources.
"""

import argparse
import concurrent.futures
import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import public_headers
import scanner

# The staircase: a header may include headers of lower steps and of its own room (its folder). A room may be divided
# into sub-rooms, which have steps among themselves: 4.1 is the first floor of step 4. Floors are compared only between
# sub-rooms of the same room: ps/rows and data/stream must not include each other, but data/ may include data/stream.
STAIRS = {
    "core": 0,
    "cluster": 1, "record": 1, "tensor": 1, "optimizer": 1, "net": 1, "net/tls": 1.1, "message": 1,
    "placement": 2, "sharding": 2, "rpc": 2, "checkpoint": 2, "checkpoint/formats": 2.1, "summary": 2, "example": 2,
    "remote": 3, "remote/s3": 3.1, "export_log": 3, "stream_log": 3,
    "ps/job": 4, "ps/rows": 4.1, "ps/wire": 4.1, "ps/store": 4.2, "ps/protocol": 4.3, "ps/cut": 4.3, "ps/server": 4.4,
    "ps/worker": 4.4,
    "data/order": 4, "data/stream": 4.1, "data": 4.2,
    "hadoop": 4, "spark": 4,
    "train/job": 5, "train": 5.1, "train/hooks": 5.2, "tf": 5, "coordinator": 5, "serve": 5,
    "sim": 6, "libtorch": 6, "kafka": 6,
}

# Patterns for the headers of third parties, and the only headers of ours that may include them.
DOORS = {
    r"asio(\.hpp|/ssl.*)?$|asio/": ["net/asio.hpp"],
    r"openssl/": ["net/tls/detail/openssl.hpp"],
    r"httplib": ["remote/detail/http_wire.hpp"],
    r"google/protobuf": ["message/protobuf.hpp"],
    r".*\.pb\.h$": [],
    r"xtensor|xtl/|xsimd/": ["tensor/xtensor.hpp"],
    r"zlib\.h$": ["record/zlib.hpp"],
    r"isa-l": ["record/isal.hpp"],
    r"librdkafka/": ["kafka/rdkafka.hpp"],
    r"(torch|ATen|c10|caffe2)/": ["libtorch/torch.hpp", "libtorch/script_module.hpp"],
}
# Headers that cost much compile time. No header of ours may include them.
BANNED = re.compile(r"(iostream|regex|format|asio\.hpp)$")

# These limits are alarms, not goals. If a better structure exceeds a limit, explain the reason and raise the limit.
LONGEST_CHAIN = 18
LARGEST_ROOM = 45  # core: many small headers that do not depend on each other, which a sub-room would only hide
# Most CPU seconds of one compilation. Facades at -O0: with all bodies, and with DISTRIB_SEPARATE_COMPILATION.
SECONDS_HEADER_ONLY = {"ecosystem.hpp": 8.0, "rpc.hpp": 4.0}
SECONDS_SEPARATE = {"ecosystem.hpp": 3.5, "rpc.hpp": 2.5}
# Not yet within the limit, because these facades include too much: printed, but not reported as a violation.
TO_COME = {"ecosystem.hpp", "ecosystem.hpp, separate"}
# For each header of the component core, at -O0.
SECONDS_VALUE = 1.3
# At -O2 with DISTRIB_SEPARATE_COMPILATION: the largest unit of the main example, and each src.hpp of a room.
PROGRAM = "examples/fashion_mnist/train.cpp"
SECONDS_PROGRAM = 15.0
SECONDS_UNIT = 30.0
# The compilation that measures the machine's speed, see budget_seconds, and its seconds on an otherwise idle machine.
THIRD_PARTIES = ["net/asio.hpp", "tensor/xtensor.hpp"]
SECONDS_THIRD_PARTIES = 1.22

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


class Tree:
    """The headers and bodies of a checkout, by their path under include/distrib, with the includes of each."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        base = self.root / "include/distrib"
        self.text = {str(p.relative_to(base)): p.read_text()
                     for p in sorted(base.rglob("*")) if p.suffix in (".hpp", ".inc", ".ipp")}
        self.includes = {name: INCLUDE.findall(text) for name, text in self.text.items()}
        self.optional = public_headers.optional_headers(self.root / "cmake/DistribComponents.cmake").values()

    def ours(self, name):
        return [i.removeprefix("distrib/") for i in self.includes.get(name, []) if i.startswith("distrib/")]

    def declared(self, name):
        """Returns our headers that `name` includes itself, without bodies: what its declarations need."""
        includes = INCLUDE.findall(self.text.get(name, ""))
        return [i.removeprefix("distrib/") for i in includes if i.startswith("distrib/") and not is_body(i)]

    def reach(self, name):
        """Returns `name` and all files of ours that it includes, directly or indirectly."""
        found, todo = set(), [name]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += self.ours(at)
        return found

    def is_optional(self, name):
        return any(pattern.match(name) for pattern in self.optional)


def room(name):
    """Returns the room of a header, with its sub-room; empty for a facade and version.hpp."""
    return "/".join(folder for folder in name.split("/")[:-1] if folder not in ("detail", "impl"))


def top(name):
    """Returns the room of a header, without its sub-room."""
    return room(name).split("/")[0]


def is_facade(name):
    return room(name) == "" and name != "version.hpp"


def is_source(name):
    """True for src.hpp, which includes the bodies of a room or of all rooms. One unit of a program compiles it."""
    return name.split("/")[-1] == "src.hpp"


def is_body(name):
    return name.endswith(".ipp")


def header_of(name):
    """Returns the header of a body: X.hpp for impl/X.ipp. Other names are unchanged. A pair counts as one file."""
    return re.sub(r"impl/([^/]+)\.ipp$", r"\1.hpp", name)


LITERAL_OR_COMMENT = re.compile(r'R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\[^\n]{1,4})\'|//[^\n]*', re.DOTALL)


def without_comments(text):
    return LITERAL_OR_COMMENT.sub(lambda found: "" if found[0].startswith("//") else found[0], text)


# --- rules: each yields a message for each violation ---------------------------------------------------------------


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
            elif room(other) != room(name) and not is_below(other, name):
                yield f"{name} includes {other}: {room(other)}/ is not below {room(name)}/"
        if '#include "' in tree.text[name]:
            yield f'{name}: write #include <distrib/...>, not #include "..."'


def is_below(other, name):
    step, own = STAIRS.get(room(other), 99), STAIRS[room(name)]
    return int(step) < int(own) or (top(other) == top(name) and step < own)


def staircase(tree):
    """docs/design/staircase.svg shows every existing room on its step, and every sub-room on its floor."""
    picture = (tree.root / "docs/design/staircase.svg").read_text()
    shown = {}
    for step, names in re.findall(r'class="b">(\d)  ([^<]*)<', picture):
        shown |= {name: int(step) for name in names.split(" · ")}
    for rooms, step, names in re.findall(r'data-floor="(\w+) ([\d.]+)">([^<]*)<', picture):
        shown |= {f"{rooms}/{name}": float(step) for name in names.split(" · ")}
    for name in sorted({room(name) for name in tree.text if room(name) in STAIRS}):
        whole = name.split("/")[0]
        if shown.get(whole) != int(STAIRS[name]):
            yield f"docs/design/staircase.svg does not show {whole}/ on step {int(STAIRS[name])}"
        elif "/" in name and shown.get(name) != STAIRS[name]:
            yield f"docs/design/staircase.svg does not show {name}/ on floor {STAIRS[name]}"


def cycles(tree):
    """No header includes itself, directly or indirectly. A header and its body count as one file."""
    below = {}
    for name in tree.text:
        needs = tree.ours(name) if is_body(name) else tree.declared(name)
        below.setdefault(header_of(name), set()).update(other for other in needs if other != header_of(name))
    for name, others in below.items():
        found, todo = set(), list(others)
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += below.get(at, ())
        if name in found:
            yield f"{name} includes itself through: {', '.join(sorted(o for o in others if o in found))}"


def bodies(tree):
    """impl/X.ipp is the body of X.hpp. X.hpp and the room's src.hpp include it, and no other file does.

    Apart from DISTRIB_DECL functions it must define nothing: in a header-only program each unit would see it, or
    compile it once more.
    """
    for name, text in tree.text.items():
        others = tree.ours(name)
        for other in filter(is_body, others):
            if header_of(other) != name and not (is_source(name) and room(name) == room(other)):
                yield f"{name} includes {other}: only {header_of(other)} and {room(other)}/src.hpp may"
        for other in filter(is_source, others):
            if name != "src.hpp":
                yield f"{name} includes {other}: only src.hpp, which has the bodies of all rooms, may"
        if not is_body(name):
            if "/impl/" in name:
                yield f"{name}: impl/ may only contain bodies: impl/X.ipp is the body of the header X.hpp beside impl/"
            continue
        header, source = header_of(name), f"{room(name)}/src.hpp"
        if header == name or header not in tree.text:
            yield f"{name}: a body must be in impl/ beside its header, but there is no {header}"
        elif others[:1] != [header]:
            yield f"{name}: the first include must be <distrib/{header}>"
        elif name not in tree.ours(header) or name not in tree.ours(source):
            yield f"{name} must be included by {header} and by {source}"
        for pattern, words in [(r"namespace\s*\{", "an unnamed namespace"), (r"static\b", "a static function or object"),
                               (r"using namespace\b", "a using directive")]:
            if re.search(rf"^{pattern}", without_comments(text), re.MULTILINE):
                yield f"{name} has {words}: a body may only have DISTRIB_DECL functions; helpers are in distrib::detail"
        for macro in re.findall(r"^#\s*define (\w+)", text, re.MULTILINE):
            if f"#undef {macro}\n" not in text:
                yield f"{name} does not #undef its macro {macro}"
    if "ecosystem.hpp" in tree.text:
        for name in sorted(filter(is_body, tree.reach("ecosystem.hpp"))):
            if f"{room(name)}/src.hpp" not in tree.ours("src.hpp"):
                yield f"src.hpp lacks {room(name)}/src.hpp, and ecosystem.hpp reaches {name}"


def details(tree):
    """Only files of the same room or sub-room include its detail/."""
    for name in tree.text:
        for other in tree.ours(name):
            if "/detail/" in other and not name.startswith(other.split("detail/")[0]):
                yield f"{name} includes {other}: only {room(other)}/ may"


def doors(tree):
    for name, includes in tree.includes.items():
        for included in includes:
            if BANNED.match(included):
                yield f"{name} includes <{included}>, which no header of ours may"
            for pattern, allowed in DOORS.items():
                if re.match(pattern, included) and header_of(name) not in allowed:
                    yield f"{name} includes <{included}>: only {', '.join(allowed) or 'generated code'} may"
    for start in ("ecosystem.hpp", "src.hpp"):
        for name in sorted(filter(tree.is_optional, tree.reach(start))):
            yield f"{start} reaches {name}, an optional component"


def facades(tree):
    for name, text in tree.text.items():
        if is_facade(name) or is_source(name):
            code = re.sub(r"#[^\n]*", "", without_comments(text)).strip()
            if code:
                yield f"{name} may only contain includes, it has {code.splitlines()[0]!r}"
        if not is_facade(name):
            for other in tree.ours(name):
                if is_facade(other):
                    yield f"{name} includes {other}: facades are for users"


def components_of(tree):
    """Returns the rooms and facades of each component and of the components that it links to, from CMakeLists.txt."""
    text = (tree.root / "CMakeLists.txt").read_text()
    found = {}
    for name, rooms, links in re.findall(r"^distrib_component\((\w+) ROOMS ([\w ]+?)(?: LINKS ([\w ]+?))?(?: NEEDS .*)?\)$",
                                         text, re.MULTILINE):
        found[name] = set(rooms.split()).union(*(found[link.removeprefix("distrib_")] for link in links.split()))
    return found


def components(tree):
    """Each header belongs to a component, and includes only headers of this component and of those that it links to.

    So a component needs no third parties but the ones that it declares. The only headers that may include a third party
    must be in a component that links to it.
    """
    found = components_of(tree)
    home = {"net/asio.hpp": "rpc", "tensor/xtensor.hpp": "tensor", "record/zlib.hpp": "record"}
    for name in tree.text:
        if tree.is_optional(name):
            continue
        own = [c for c, rooms in found.items() if (top(name) or name.removesuffix(".hpp")) in rooms]
        if not own:
            yield f"{name} belongs to no component of CMakeLists.txt"
            continue
        for other in tree.reach(name):
            if tree.is_optional(other):
                yield f"{name} belongs to distrib::{own[0]} but reaches {other}, an optional component"
            elif (top(other) or other.removesuffix(".hpp")) not in found[own[0]]:
                yield f"{name} belongs to distrib::{own[0]} but reaches {other}"
    for door, component in home.items():
        if door in tree.text and top(door) not in found.get(component, ()):
            yield f"{door} must be in distrib::{component}, which links to the library that it includes"


def has_logic(text):
    """True if the header has something to test: a concept, a function with a body, or a declared function that is not
    pure, defaulted or deleted. False for plain aggregates, enums, interfaces, and headers that only include others."""
    code, before = re.sub(r"^\s*#.*", "", without_comments(text), flags=re.MULTILINE), ""
    while code != before:  # empties all parentheses: their contents do not matter
        code, before = re.sub(r"\([^()]+\)", "()", code), code
    code = re.sub(r"\b(\w+)\(\) -> \1\b", "", code)  # deduction guides
    code = re.sub(r"\btemplate\s*<[^<>]*(<[^<>]*>[^<>]*)*>", "", code)
    code = re.sub(r"\{[^{};]*\}", "{}", code)  # initialisers
    function = r"\(\)(\s|&|\b(const|noexcept|override|final)\b|(?<=noexcept)\(\))*(->[^;{}=]*)?"
    if re.search(r"\bconcept\b", code) or re.search(function + r"(:[^;]*)?\{", code):
        return True
    return any(re.search(function + "$", part) and "=" not in part for part in re.split("[;{}]", code))


def tests_of_concepts(tests, text):
    """Yields the test of each concept in the header; it tries the smallest type that satisfies the concept."""
    for concept in re.findall(r"^concept (\w+)", text, re.MULTILINE):
        yield tests / "concepts" / (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", concept).lower() + "_test.cpp")


def mirrors(tree):
    """Each header with something to test, except in detail/, has its test or a test of its concept. Each test has its
    header."""
    tests = tree.root / "tests"
    for name, text in tree.text.items():
        if is_facade(name) or is_source(name) or is_body(name) or "/detail/" in name or not has_logic(text):
            continue
        test = name.removesuffix(".hpp") + "_test.cpp"
        if not any(path.exists() for path in [tests / test, *tests_of_concepts(tests, text)]):
            yield f"{name} has no test: write tests/{test}"
    rooms = {name.split("/")[0] for name in STAIRS}
    for path in sorted([*tests.glob("*_test.cpp"), *(p for name in rooms for p in (tests / name).rglob("*_test.cpp"))]):
        test = path.relative_to(tests)
        name = str(test).removesuffix("_test.cpp") + ".hpp"
        first = INCLUDE.search(path.read_text())
        if name not in tree.text:
            yield f"tests/{test} has no header: there is no {name}"
        elif not first or first[1] != f"distrib/{name}":
            yield f"tests/{test} must include <distrib/{name}> first"


def orphans(tree, build):
    """Every test file is compiled into a program. CMake writes the list of compiled test files into the build folder.
    If an optional component is switched off, none of its tests may be in the list; otherwise all of them must be."""
    listed = build / "tests/test_files.txt"
    if not listed.exists():
        yield f"there is no {listed}: configure first"
        return
    compiled = set(listed.read_text().split())
    left_out = [p for p in tree.optional if not any(p.match(name) for name in compiled)]
    tests = tree.root / "tests"
    for path in sorted(tests.rglob("*_test.cpp")):
        name = str(path.relative_to(tests))
        if name not in compiled and not any(pattern.match(name) for pattern in left_out):
            yield f"tests/{name} is not compiled into any program"
    for name in sorted(compiled):
        if not (tests / name).exists():
            yield f"{listed} names {name}, which does not exist: configure again"


def chain(tree):
    """Limits the longest chain of includes, bodies not counted: a reader has to know all headers of the chain."""
    longest = {}

    def below(name):
        if name not in longest:
            longest[name] = []  # ends the search if the includes are cyclic; the rule `cycles` reports that
            ways = (below(other) for other in tree.declared(name) if other in tree.text)
            longest[name] = [name, *max(ways, key=len, default=[])]
        return longest[name]

    headers = [name for name in tree.text if room(name) and not is_body(name) and not is_source(name)]
    found = max(map(below, headers), key=len, default=[])
    print(f"{len(found)} headers: {' -> '.join(found)}")
    if len(found) > LONGEST_CHAIN:
        yield f"the chain from {found[0]} to {found[-1]} has {len(found)} headers, at most {LONGEST_CHAIN} are allowed"


def room_size(tree):
    """Limits the number of headers of a room or sub-room, not counting its sub-rooms and detail/."""
    sizes = {}
    for name in tree.text:
        if name.endswith(".hpp") and not is_source(name) and "/detail/" not in name and room(name):
            sizes[room(name)] = sizes.get(room(name), 0) + 1
    for name, size in sizes.items():
        if size > LARGEST_ROOM:
            yield f"{name}/ has {size} headers, at most {LARGEST_ROOM} are allowed: divide it into sub-rooms"


def parameters(head):
    """Returns the parameters of a template, from the text between its angle brackets."""
    found, at, start = [], 0, 0
    while at < len(head):
        if head[at] == "<":
            at = scanner.skip_angles(head, at)
        elif head[at] in "([{":
            at = scanner.skip_brackets(head, at)
        else:
            if head[at] == ",":
                found.append(head[start:at])
                start = at + 1
            at = scanner.step(head, at)
    return [parameter.strip() for parameter in [*found, head[start:]] if parameter.strip()]


WORDS_OF_TYPES = {"unsigned", "signed", "long", "short", "int", "char", "bool", "float", "double", "auto", "class", "typename"}


def name_of(parameter):
    """Returns the name of a template parameter, empty if it has none; None if it has no default and is no pack, so that
    it must be given or deduced."""
    declared, default, _ = re.sub(r"([^=!<>])=(?!=)", r"\1\0", parameter, count=1).partition("\0")
    if not default and "..." not in declared:
        return None
    words = re.findall(r"[\w:]+", re.sub(r"<.*>|\bconst\b|\.\.\.", " ", declared))
    named = len(words) > 1 and ":" not in words[-1] and words[-1] not in WORDS_OF_TYPES
    return words[-1] if named else ""


def disguises(tree):
    """A function template that needs no argument and deduces none is a plain function, made a template only to delay
    its compilation. Its body belongs in impl/."""
    for file, text in tree.text.items():
        code = without_comments(text)
        for head in re.finditer(r"\btemplate\s*<", code):
            end = scanner.skip_angles(code, head.end() - 1)
            names = [name_of(parameter) for parameter in parameters(code[head.end() : end - 1])]
            start = scanner.skip_heading(code, head.start())
            if not names or None in names or re.match(r"(class|struct|union|enum|using|concept)\b", code[start:]):
                continue
            if "(" not in re.split(r"[={;]", code[start:], maxsplit=1)[0]:
                continue  # a variable
            rest = code[end : scanner.end_of_declaration(code, start)[1]]
            if not any(name and re.search(rf"\b{name}\b", rest) for name in names):
                line = code[: head.start()].count("\n") + 1
                yield f"{file}:{line}: a plain function, made a template by {code[head.start() : end]}"


LARGEST_WEAK_FUNCTION = 512  # bytes


def weak_functions(tree, build):
    """A program linked to distrib::compiled has no large inline functions of the library that each unit compiles again.

    A plain function that is weak in the program's object is such a function. If it is larger than
    LARGEST_WEAK_FUNCTION, its body belongs in impl/. Templates do not count.
    """
    objects = list((build / "examples").glob("**/fashion_mnist/train.cpp.o"))
    if not objects:
        yield f"there is no object of {PROGRAM} in {build}: build it first"
    for file in objects:
        symbols = subprocess.run(["nm", "-CS", file], check=True, capture_output=True, text=True).stdout
        yield from (f"{PROGRAM}: {found}" for found in large_weak_functions(symbols))


def large_weak_functions(symbols):
    for line in symbols.splitlines():
        weak = re.match(r"[0-9a-f]+ ([0-9a-f]+) [WV] (.*)", line)
        if not weak:
            continue
        size, name = int(weak[1], 16), weak[2].removeprefix("decltype(auto) ")
        # Without its parameters: those of a program's own functions may be the library's.
        function = name.replace("operator()", "operator").split("(")[0]
        if size > LARGEST_WEAK_FUNCTION and "distrib::" in function and "<" not in function:
            yield f"{name} has {size} bytes"


SOURCES = ["include/**/*.hpp", "include/**/*.inc", "include/**/*.ipp", "tests/**/*.hpp", "tests/**/*.cpp", "examples/**/*.hpp",
           "examples/**/*.cpp", "tools/**/*.hpp", "tools/**/*.cpp", "benchmarks/**/*.hpp", "benchmarks/**/*.cpp",
           "include/**/*.proto"]
SCRIPTS = ["tests/**/*.py", "tests/**/*.sh", "docs/**/*.py", "docs/**/*.sh", "examples/**/*.sh", "examples/**/*.py",
           "tools/**/*.py", "tools/**/*.sh", "benchmarks/**/*.sh", "benchmarks/**/*.py", "cmake/*", "**/CMakeLists.txt",
           ".ci/*", ".clang-format"]


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
        # The first line of a compile-fail test is the expected error, the first line of a script its interpreter.
        at = 1 if lines[0].startswith(("// error: ", "#!")) else 0
        if len(lines) <= at or spdx not in lines[at]:
            yield f"{name}: line {at + 1} must be the comment {spdx}"
        if name.endswith((".hpp", ".ipp")) and not re.search(r"^#pragma once$", path.read_text(), re.MULTILINE):
            yield f"{name}: #pragma once is missing"


def versions(tree):
    header = tree.text["version.hpp"]
    words = re.search(r'std::string_view version_text = "(\d+)\.(\d+)\.(\d+)"', header)
    number = re.search(r"#define DISTRIB_VERSION (\d+)", header)
    if not words or not number:
        yield "version.hpp: no string `version_text`, or no DISTRIB_VERSION"
        return
    major, minor, patch = map(int, words.groups())
    text = ".".join(words.groups())
    if int(number[1]) != 10000 * major + 100 * minor + patch:
        yield f"version.hpp: DISTRIB_VERSION is {number[1]}, but `version_text` is {text}"
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (tree.root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not newest or newest[1] != text:
        yield f"CHANGELOG.md: the newest section is {newest[1] if newest else 'missing'}, version.hpp says {text}"
    for name, path in files(tree.root, ["packaging/**/vcpkg.json"]):
        if f'"version": "{text}"' not in path.read_text():
            yield f"{name} does not name version {text}"
    for name, path in files(tree.root, ["README.md", "docs/guide/**/*.md"]):
        for asked in re.finditer(r"find_package\(distrib (\d+\.\d+)|distrib/\[>=(\d+\.\d+)", path.read_text()):
            if (asked[1] or asked[2]) != f"{major}.{minor}":
                yield f"{name}: '{asked[0]}' asks for another version than {text}"


def contracts(tree):
    """Every public name has a contract."""
    script = pathlib.Path(public_headers.__file__).with_name("reference.py")  # its first line names a Python with libclang
    done = subprocess.run([script, "--check", "--root", tree.root], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr, end="")
        sys.exit(77)
    yield from done.stderr.splitlines()


# Words that make a sentence hard to understand. A line of a page that begins with ">" quotes other people's words.
OLD_WORDS = re.compile(r"\b(of[\s/#*]+(which|whom)|whom|whoever|whatsoever|thereof|somebody|nobody[\s/#*]+else|in[\s/#*]+vain)\b",
                       re.IGNORECASE)
# Put together from pieces, so that the rule `paths` does not report this file.
MACHINE_PATH = re.compile("|".join(["/" + "work/", "/" + r"tmp/(?!\$|\{|distrib)[a-z]", "/" + "root/", "/" + "home/[a-z]"]))


def paths(tree):
    for name, path in files(tree.root, [*SOURCES, *SCRIPTS, "*.md", "docs/**/*.md", "CMakePresets.json"]):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: a path that exists on one machine only: {line.strip()}"


def words(tree):
    for name, path in files(tree.root, [*SOURCES, *SCRIPTS, "*.md", "docs/**/*.md"]):
        if path == pathlib.Path(__file__):
            continue
        text = path.read_text()
        for found in OLD_WORDS.finditer(text):
            line = text[:found.start()].count("\n")
            if not text.split("\n")[line].startswith(">"):
                yield f"{name}:{line + 1}: say it without '{' '.join(found[0].split())}': name the noun again"


def cpu_seconds(tree, compiler, *arguments):
    """Returns the user and system CPU seconds of one compilation."""
    command = [compiler, "-std=c++20", f"-I{tree.root}/include", "-c", "-o", "/dev/null", *arguments]
    _, status, used = os.wait4(os.posix_spawnp(compiler, command, os.environ), 0)
    if status != 0:
        raise RuntimeError(f"failed: {shlex.join(command)}")
    return used.ru_utime + used.ru_stime


def alone(tree, *names):
    """Returns the compiler arguments for a unit that only includes these headers."""
    return [*(f"-include{tree.root}/include/distrib/{name}" for name in names), "-xc++", "/dev/null"]


def budgets(tree):
    """Yields what is compiled: (name, limit in seconds, arguments for the compiler)."""
    separate = "-DDISTRIB_SEPARATE_COMPILATION"
    yield PROGRAM, SECONDS_PROGRAM, ["-O2", separate, str(tree.root / PROGRAM)]
    for name in filter(is_source, tree.text):
        if name != "src.hpp":
            yield name, SECONDS_UNIT, ["-O2", separate, *alone(tree, name)]
    for name, limit in SECONDS_HEADER_ONLY.items():
        yield name, limit, ["-O0", *alone(tree, name)]
    for name, limit in SECONDS_SEPARATE.items():
        yield f"{name}, separate", limit, ["-O0", separate, *alone(tree, name)]
    for name in tree.text:
        if top(name) in components_of(tree)["core"] and not is_body(name) and not is_source(name):
            yield name, SECONDS_VALUE, ["-O0", *alone(tree, name)]


def budget_seconds(tree, compiler="g++"):
    """Each compilation stays within its limit of CPU seconds.

    First everything is compiled in parallel on all processors. What exceeds its limit is then compiled again, alone, up
    to eight times, and the shortest time counts. Because other programs on the machine make a compiler up to twice as
    slow, these times are multiplied by a factor for the machine's speed: SECONDS_THIRD_PARTIES, which is how long the
    headers of the third parties take to compile on the idle reference machine, divided by how long they take now. The
    factor is at most 1: newer processors compile these headers faster in proportion than instantiations, so a larger
    factor would count 4.4 seconds of ours as 5.4. It is measured when it is older than a minute, and before each
    further attempt.
    """
    everything = list(budgets(tree))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        first = list(pool.map(lambda budget: cpu_seconds(tree, compiler, *budget[2]), everything))
    asked, pace = float("-inf"), 1.0
    for (name, limit, arguments), seconds in zip(everything, first):
        for attempt in range(2 if name in TO_COME else 8):
            if seconds <= limit:
                break
            if attempt > 0 or time.monotonic() > asked + 60:
                clock = [cpu_seconds(tree, compiler, "-O0", *alone(tree, *THIRD_PARTIES)) for _ in range(3)]
                asked, pace = time.monotonic(), min(1.0, SECONDS_THIRD_PARTIES / min(clock))
            seconds = min(seconds, pace * cpu_seconds(tree, compiler, *arguments))
        print(f"{name}: {seconds:.2f} s of {limit} s (factor for the machine's speed: {pace:.2f})")
        if seconds > limit and name not in TO_COME:
            yield f"{name}: {seconds:.2f} CPU seconds, at most {limit} are allowed"


# --- the violation each rule must find -----------------------------------------------------------------------------

CMAKE = """# SPDX-License-Identifier: Apache-2.0
distrib_component(core ROOMS core cluster)
distrib_component(rpc ROOMS net LINKS distrib_core NEEDS distrib::asio)
"""
BODY = {
    "include/distrib/core/a.hpp": "#include <distrib/core/impl/a.ipp>\n",
    "include/distrib/core/impl/a.ipp": "#include <distrib/core/a.hpp>\n#include <distrib/core/b.hpp>\n",
    "include/distrib/core/b.hpp": "",
    "include/distrib/core/src.hpp": "#include <distrib/core/impl/a.ipp>\n",
    "include/distrib/src.hpp": "#include <distrib/core/src.hpp>\n",
}
PUBLIC = {"include/distrib/core.hpp": "#include <distrib/core/a.hpp>\n"}
# For each rule, trees with a violation: the contents of each file.
PLANTED = {
    "layers": [
        {"include/distrib/core/a.hpp": "#include <distrib/ps/job/b.hpp>\n", "include/distrib/ps/job/b.hpp": ""},
        {"include/distrib/core/impl/a.ipp": "#include <distrib/ps/job/b.hpp>\n", "include/distrib/ps/job/b.hpp": ""},
        {"include/distrib/ps/rows/a.hpp": "#include <distrib/ps/wire/b.hpp>\n", "include/distrib/ps/wire/b.hpp": ""},
        {"include/distrib/ps/job/a.hpp": "#include <distrib/ps/rows/b.hpp>\n", "include/distrib/ps/rows/b.hpp": ""},
        {"include/distrib/ps/worker/a.hpp": "#include <distrib/data/order/b.hpp>\n", "include/distrib/data/order/b.hpp": ""},
        {"include/distrib/ps/elsewhere/a.hpp": ""},
    ],
    "staircase": [
        {"include/distrib/record/a.hpp": "", "docs/design/staircase.svg": '<text class="b">2  record</text>'},
        {"include/distrib/ps/rows/a.hpp": "",
         "docs/design/staircase.svg": '<text class="b">4  data · ps</text><text data-floor="ps 4.2">rows · store</text>'},
    ],
    "cycles": [
        {"include/distrib/core/a.hpp": "#include <distrib/core/detail/b.hpp>\n",
         "include/distrib/core/detail/b.hpp": "#include <distrib/core/a.hpp>\n"},
        {"include/distrib/core/a.hpp": "#include <distrib/core/impl/a.ipp>\n",
         "include/distrib/core/impl/a.ipp": "#include <distrib/core/a.hpp>\n#include <distrib/core/b.hpp>\n",
         "include/distrib/core/b.hpp": "#include <distrib/core/a.hpp>\n"},
    ],
    "bodies": [
        {**BODY, "include/distrib/core/src.hpp": ""},
        {**BODY, "include/distrib/ecosystem.hpp": "#include <distrib/core/a.hpp>\n", "include/distrib/src.hpp": ""},
        {**BODY, "include/distrib/core/a.hpp": ""},
        {**BODY, "include/distrib/core/impl/a.ipp": ""},
        {**BODY, "include/distrib/core/impl/b.ipp": "#include <distrib/core/b.hpp>\n"},
        {**BODY, "include/distrib/core/c.ipp": ""},
        {**BODY, "include/distrib/core/impl/c.hpp": ""},
        {**BODY, "include/distrib/core/b.hpp": "#include <distrib/core/impl/a.ipp>\n"},
        {**BODY, "include/distrib/core/b.hpp": "#include <distrib/core/src.hpp>\n"},
        *({**BODY, "include/distrib/core/impl/a.ipp": f"#include <distrib/core/a.hpp>\n{text}\n"}
          for text in ["namespace {", "static int a;", "using namespace std;", "#define A 1"]),
    ],
    "details": [
        {"include/distrib/ps/job/a.hpp": "#include <distrib/core/detail/b.hpp>\n"},
        {"include/distrib/ps/job/impl/a.ipp": "#include <distrib/ps/rows/detail/b.hpp>\n"},
        {"include/distrib/core.hpp": "#include <distrib/core/detail/b.hpp>\n"},
    ],
    "doors": [
        {"include/distrib/ps/job/a.hpp": "#include <asio/ip/tcp.hpp>\n"},
        {"include/distrib/ps/job/impl/a.ipp": "#include <asio/ip/tcp.hpp>\n"},
        {"include/distrib/ecosystem.hpp": "#include <distrib/record/isal.hpp>\n", "include/distrib/record/isal.hpp": "",
         "cmake/DistribComponents.cmake": 'set(distrib_isal_headers "record/isal[.]hpp")\n'},
    ],
    "facades": [
        {"include/distrib/core/a.hpp": "#include <distrib/ps.hpp>\n", "include/distrib/ps.hpp": ""},
        {"include/distrib/core/src.hpp": "#pragma once\nint a;\n"},
    ],
    "components": [
        {"include/distrib/cluster/a.hpp": "#include <distrib/net/b.hpp>\n", "include/distrib/net/b.hpp": "",
         "CMakeLists.txt": CMAKE},
        {"include/distrib/cluster/impl/a.ipp": "#include <distrib/net/b.hpp>\n", "include/distrib/net/b.hpp": "",
         "CMakeLists.txt": CMAKE},
    ],
    "mirrors": [
        {"include/distrib/core/a.hpp": "inline auto a() -> int { return 1; }\n"},
        {"include/distrib/core/a.hpp": "DISTRIB_DECL auto a(int b = 3) const noexcept -> int;\n"},
        {"include/distrib/core/a.hpp": "struct A {\n  A(int a) : a_{a} {}\n  int a_ = 0;\n};\n"},
        {"include/distrib/core/a.hpp": "template <class T>\nconcept LessOf = requires { 1; };\n",
         "tests/concepts/of_test.cpp": ""},
        {"tests/core/b_test.cpp": ""},
        {"tests/ps/job/detail/b_test.cpp": ""},
        {"include/distrib/core/a.hpp": "", "tests/core/a_test.cpp": "#include <vector>\n"},
    ],
    "orphans": [
        {"tests/core/detail/a_test.cpp": "", "build/tests/test_files.txt": ""},
        {"tests/core/detail/a_test.cpp": ""},
        {"build/tests/test_files.txt": "core/a_test.cpp\n"},
        {"tests/net/tls/a_test.cpp": "", "tests/net/tls/b_test.cpp": "", "build/tests/test_files.txt": "net/tls/a_test.cpp\n",
         "cmake/DistribComponents.cmake": 'set(distrib_tls_headers "net/tls/")\n'},
    ],
    "chain": [{f"include/distrib/core/a{n}.hpp": f"#include <distrib/core/a{n + 1}.hpp>\n" for n in range(LONGEST_CHAIN + 1)}],
    "room_size": [{f"include/distrib/ps/job/a{n}.hpp": "" for n in range(LARGEST_ROOM + 1)}],
    "disguises": [{"include/distrib/core/a.hpp": f"namespace distrib {{\n{text}\n}}\n"} for text in [
        "template <class = void> auto a(int) -> int;", "template <int = 0>\nvoid a() { b(); }",
        "template <typename = void, bool = true> inline void a();", "template <class...> void a();",
        "template <class Unused = void> void a(int b) { c(b); }", "template <std::size_t = 3, auto...> void a();",
        "template <unsigned long = 0> [[nodiscard]] auto a() -> int { return 0; }",
        "template <class = void>\n  requires true\nvoid a();", "template <template <class> class = std::vector> void a();",
        "template <class T> template <class = void> void A<T>::a() {}", "template <typename A::type = 0> void a();",
        "struct A {\n  template <class = void> static auto a() -> const char* { return \"//\"; }\n};",
    ]],
    "weak_functions": [{"symbols": "0000000000000000 0000000000000201 W distrib::v0::A::A(std::vector<int> const&)\n"}],
    "prologue": [
        {"include/distrib/core/a.hpp": "// hello\n"},
        {"include/distrib/core/impl/a.ipp": "// SPDX-License-Identifier: Apache-2.0\n"},
    ],
    "versions": [
        {"include/distrib/version.hpp":
         '#define DISTRIB_VERSION 203\ninline constexpr std::string_view version_text = "0.2.3";\n', "CHANGELOG.md": "## [0.2.2]\n"},
        *({"include/distrib/version.hpp":
           '#define DISTRIB_VERSION 203\ninline constexpr std::string_view version_text = "0.2.3";\n',
           "CHANGELOG.md": "## [0.2.3]\n", "docs/guide/a.md": asked}
          for asked in ["find_package(distrib 0.1 REQUIRED)", "distrib/[>=0.1 <0.2]"]),
    ],
    "contracts": [
        {**PUBLIC, "include/distrib/core/a.hpp": "/// Said.\nauto said() -> int;\n\nauto unsaid() -> int;\n"},
        {**PUBLIC, "include/distrib/core/a.hpp": "/// Said.\nenum class a_errc {\n  unsaid = 1,\n};\n"},
    ],
    "budget_seconds": [{"include/distrib/core/a.hpp": "#include <vector>\n"}],
    "words": [
        {"include/distrib/core/a.hpp": "/// The list of\n/// which a is the end.\n"},
        {"docs/a.md": "Whoever comes\n"},
        {"tests/core/a_test.cpp": 'TEST_CASE("a waits in vain") {}\n'},
        {"tools/a.sh": "# somebody calls this\n"},
    ],
    "paths": [
        {"docs/a.md": "see /" + "home/somebody/a\n"},
        {"include/distrib/core/impl/a.ipp": "// see /" + "home/somebody/a\n"},
    ],
}
# For some rules, a tree that looks like a violation but is none.
GOOD = {
    "weak_functions": {"symbols": "\n".join([
        "0000000000000000 0000000000000200 W distrib::v0::A::A()", "0000000000000000 0000000000000201 T distrib::v0::a()",
        "0000000000000000 0000000000000201 W void distrib::v0::B<int>::b()", "0000000000000000 0000000000000201 W std::a()",
        "0000000000000000 0000000000000201 W Own::a(distrib::v0::A const&)", "                 U distrib::v0::b()", ""])},
    "layers": {
        "include/distrib/data/a.hpp": "#include <distrib/data/stream/b.hpp>\n", "include/distrib/data/order/c.hpp": "",
        "include/distrib/data/stream/b.hpp":
            "#include <distrib/data/stream/detail/b.hpp>\n#include <distrib/data/order/c.hpp>\n",
        "include/distrib/data/stream/detail/b.hpp": "#include <distrib/data/stream/impl/d.ipp>\n",
        "include/distrib/data/stream/impl/d.ipp": "", "include/distrib/tf/a.hpp": "#include <distrib/data/stream/b.hpp>\n",
    },
    "cycles": BODY,
    "bodies": BODY,
    "doors": {"include/distrib/record/impl/zlib.ipp": "#include <zlib.h>\n"},
    "contracts": {**PUBLIC, "include/distrib/core/a.hpp": "\n".join([
        "/// Said.", "struct A {", "  int a = 0;", "  auto operator==(const A&) const -> bool = default;", "};", "",
        "/// Said of both.", "auto a() -> int;", "auto b() -> int;", "", "auto a(int) -> int;",
        "enum class a_errc;", "namespace detail {", "auto c() -> int;", "}", ""])},
    "details": {"include/distrib/net/tls/a.hpp":
                    "#include <distrib/net/detail/b.hpp>\n#include <distrib/net/tls/detail/b.hpp>\n"},
    "words": {"docs/a.md": "> a quotation of whom\n", "include/distrib/core/a.hpp": "bool in_vain = somebody_lost;\n"},
    "mirrors": {
        "include/distrib/core/a.hpp":
            "/// Returned (at the end) {}.\nstruct A {\n  int a = 0, b = std::max(1, 2);\n  int c{f()};\n"
            "  virtual auto b() const -> int = 0;\n  std::function<void(int)> c;\n"
            "  auto operator==(const A&) const -> bool = default;\n};\nA(int) -> A<int>;\n",
        "include/distrib/core/b.hpp": "template <class T>\nconcept LessOf = requires { 1; };\n",
        "tests/concepts/less_of_test.cpp": "",
    },
    "disguises": {"include/distrib/core/a.hpp": "\n".join([
        "namespace distrib {", "template <class T> void a(T);", "template <class = void> struct A;",
        "template <class T = int> auto b() -> T;", "template <class T, class = std::enable_if_t<true>> void c(T);",
        "template <class... Ts> void d(Ts... ts);", "template <> void a(int);",
        "template <class = void> inline constexpr int e = f(1);", "template <int n = 3> auto g() { return n; }", "}\n"])},
}


def plant(folder, contents):
    for name, text in contents.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(folder)


def found_in(rule, tree):
    if rule == "budget_seconds":
        return cpu_seconds(tree, "g++", "-O0", *alone(tree, "core/a.hpp")) > 0.01
    if rule == "weak_functions":
        return list(large_weak_functions((tree.root / "symbols").read_text()))
    return list(RULES[rule](tree, tree.root / "build") if rule == "orphans" else RULES[rule](tree))


@contextlib.contextmanager
def planted(contents):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        yield plant(folder, contents)


def self_test(rule):
    for contents in PLANTED[rule]:
        with planted(contents) as tree:
            assert found_in(rule, tree), f"{rule} does not find the violation planted for it: {contents}"
    if rule in GOOD:
        with planted(GOOD[rule]) as tree:
            found = found_in(rule, tree)
            assert not found, f"{rule} reports a violation in a good tree: {found}"


RULES = {f.__name__: f for f in [layers, staircase, cycles, bodies, details, doors, facades, components, mirrors, orphans,
                                 chain, room_size, disguises, weak_functions, prologue, versions, paths, words, contracts,
                                 budget_seconds]}


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(usage="check.py RULE [--compiler CXX] [--build DIR] [--root DIR]")
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/release")
    parser.add_argument("--root", type=pathlib.Path, default=root)
    options = parser.parse_args()

    self_test(options.rule)
    more = {"budget_seconds": [options.compiler], "orphans": [options.build], "weak_functions": [options.build]}
    violations = list(RULES[options.rule](Tree(options.root), *more.get(options.rule, [])))
    for violation in violations:
        print(violation, file=sys.stderr)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
